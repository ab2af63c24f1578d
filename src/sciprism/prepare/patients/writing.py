"""Write the train and dev examples of PMC-Patients, with what was kept and dropped beside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from heapq import nsmallest
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile

from sciprism.datasets.layouts.judgements import NO_DOCUMENT, NO_QUERY
from sciprism.errors import InputError
from sciprism.files import sha256, write_json
from sciprism.papers.records import Paper
from sciprism.prepare.patients.negatives import Negatives, negatives
from sciprism.prepare.patients.paper_file import PaperFile
from sciprism.prepare.patients.release import Release, Relevant, Search, Split
from sciprism.prepare.samplers.drawing import NONE, Draw, Sampled
from sciprism.seeding import random_fraction
from sciprism.training.examples import Example, write_examples

LATER: dict[Split, tuple[Split, ...]] = {"train": ("dev", "test"), "dev": ("test",)}
"""The splits whose patients an example of a split may not have."""
BLOCK = 1024
"""Patients whose negatives are searched at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What is made: articles for a patient ("par") or patients like a patient ("ppr").

    negatives: their kind. count: of one patient, at most. pool: documents that negatives are taken from,
    drawn by a hash, 0 for all; BM25 holds some 20 kB for each and reads all of them for every patient.
    """

    search: Search = "ppr"
    negatives: str = "bm25"
    count: int = 4
    pool: int = 50_000
    seed: int = 0

    def __post_init__(self) -> None:
        if min(self.count, self.pool, self.seed) < 0:
            raise InputError(f"count {self.count}, pool {self.pool}, seed {self.seed}: none may be negative")


@dataclass(frozen=True, slots=True)
class Prepared:
    """The files and what was made of each split; how many documents there are, and how many in the pool."""

    files: dict[Split, Path]
    reports: dict[Split, Sampled]
    documents: int
    pool: int


def prepare_patients(folder: Path, out: Path, choices: Choices) -> Prepared:
    """Write `train/patients-SEARCH.jsonl`, `dev/...` and `patients-SEARCH.json` out of the published files.

    folder: the release, or what holds it. The same choices write the same bytes. The corpus is read once:
    texts of relevant documents wait on disk, those of the pool in memory. Raises InputError for a file that
    is missing or wrong, and for a split without an example.
    """
    kind, release = negatives[choices.negatives], Release(folder, choices.search)
    reports: dict[Split, Sampled] = {split: Sampled() for split in LATER}
    relevant = {split: release.relevant(split, report.dropped) for split, report in reports.items()}
    files: dict[Split, Path] = {}
    out.mkdir(parents=True, exist_ok=True)
    with TemporaryFile(dir=out) as file:
        texts = PaperFile(file)
        pool, documents = _read(release, texts, relevant.values(), choices)
        source = kind(pool, count=choices.count, seed=choices.seed)
        making = _Making(release, texts, source, choices.negatives)
        for split, report in reports.items():
            files[split] = out / split / f"patients-{choices.search}.jsonl"
            if not write_examples(making.examples(split, relevant[split], report), files[split]):
                files[split].unlink()
                reasons = ", ".join(report.dropped.to_json()) or "there is none"
                raise InputError(f"{folder}: no {split} patient makes an example: {reasons}")
    prepared = Prepared(files, reports, documents, len(pool))
    _write_facts(out, prepared, choices, release)
    return prepared


@dataclass(frozen=True, slots=True)
class _Making:
    """What examples are made with."""

    release: Release
    texts: PaperFile
    negatives: Negatives
    kind: str

    def examples(self, split: Split, relevant: Relevant, report: Sampled) -> Iterator[Example]:
        """Yield an example of each patient with a relevant document, in the order of the queries."""
        asked = self._asked(split, relevant, report)
        while block := list(islice(asked, BLOCK)):
            known = [{patient.id, *relevant[patient.id]} for patient, _ in block]
            drawn = self.negatives.draw([patient for patient, _ in block], known)
            for (patient, positives), hard in zip(block, drawn, strict=True):
                pairs = len(positives)
                report.add(Draw(tuple(range(pairs)), (), (self.kind if hard else NONE,) * pairs))
                yield Example(patient, positives, hard)

    def _asked(
        self, split: Split, relevant: Relevant, report: Sampled
    ) -> Iterator[tuple[Paper, tuple[Paper, ...]]]:
        later = {patient.id for name in LATER[split] for patient in self.release.patients(name)}
        seen: set[str] = set()
        for patient in self.release.patients(split):
            reason = _obstacle(patient, relevant, later, seen)
            seen.add(patient.id)
            positives = () if reason else self._positives(patient.id, relevant[patient.id], report)
            if positives:
                yield patient, positives
            else:
                report.dropped.add(reason or "patient whose relevant documents are all left out", patient.id)
        for name, documents in relevant.items():
            if documents and name not in seen:
                report.dropped.add(NO_QUERY, name)

    def _positives(self, patient: str, names: list[str], report: Sampled) -> tuple[Paper, ...]:
        found = []
        for name in names:
            paper = self.texts.get(name)
            if name == patient:
                report.dropped.add("patient judged relevant to the same patient", patient)
            elif paper is None:
                report.dropped.add(NO_DOCUMENT, f"{patient} {name}")
            elif not (paper.title or paper.abstract):
                report.dropped.add("relevant document without text", f"{patient} {name}")
            else:
                found.append(paper)
        return tuple(found)


def _obstacle(patient: Paper, relevant: Relevant, later: set[str], seen: set[str]) -> str:
    """Return why a patient asks for nothing, or an empty text."""
    if patient.id in seen:
        return "patient who stands twice, the first counts"
    if not relevant.get(patient.id):
        return "patient without a relevant document"
    if patient.id in later:
        return "patient of a later split"
    return "" if patient.abstract else "patient without text"


def _read(
    release: Release, texts: PaperFile, relevant: Iterable[Relevant], choices: Choices
) -> tuple[list[Paper], int]:
    """Keep the relevant documents; return the pool that negatives are taken from, and how many there are."""
    wanted = {name for part in relevant for names in part.values() for name in names}
    count = 0

    def usable() -> Iterator[Paper]:
        nonlocal count
        for paper in release.documents():
            count += 1
            if paper.id in wanted:
                texts.put(paper)
            if paper.title or paper.abstract:
                yield paper

    def turn(paper: Paper) -> float:
        return random_fraction(choices.seed, paper.id)

    pool = nsmallest(choices.pool, usable(), turn) if choices.pool else sorted(usable(), key=turn)
    once: dict[str, Paper] = {}
    for paper in pool:
        once.setdefault(paper.id, paper)
    return list(once.values()), count


def _write_facts(out: Path, prepared: Prepared, choices: Choices, release: Release) -> None:
    parts = {}
    for split, path in prepared.files.items():
        told = prepared.reports[split].to_json()
        parts[split] = {"file": str(path.relative_to(out)), "sha256": sha256(path)} | told
    facts = {
        "version": version("sciprism"),
        "choices": asdict(choices),
        "documents": prepared.documents,
        "pool": prepared.pool,
        "parts": parts,
        "data": release.home.provenance(),
    }
    write_json(out / f"patients-{choices.search}.json", facts)
