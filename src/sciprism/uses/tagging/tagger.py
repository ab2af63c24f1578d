"""A tagger: a vocabulary, what was learned of it, and the call that suggests tags, each with a reason."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from textwrap import shorten
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Doubles, Floats
from sciprism.checksums import check_folder, write_checksums
from sciprism.errors import InputError
from sciprism.files import explain_write_errors, open_draft, recover_folder, replace_folder, write_json, write_lines
from sciprism.papers.records import Label, Paper
from sciprism.uses.tagging.evidence import FEATURES, Evidence, EvidenceCollector, LabelSide
from sciprism.uses.tagging.paper_space import PaperSpace
from sciprism.uses.tagging.ranker import Weighing
from sciprism.uses.tagging.suggestions import ABOVE, PaperTags, Tag, TagChoice
from sciprism.uses.tagging.tagged_papers import NearestPapers, Sources, TaggedPapers, TagMatrix
from sciprism.uses.tagging.vocabulary import Match, Vocabulary

RANKER_FILE = "default_ranker.json"
"""The rankers that ship, trained by benchmarks/tagging_default.py on MeSH terms of PubMed papers."""
PAPER_BLOCK = 256
MAX_SCORES = 1 << 23
"""Scores of one source in memory, papers by labels: 32 MB; a larger vocabulary takes fewer papers at once."""
MAX_REASONS = 2
MAX_NAME = 60


def build_zero_shot(vocabulary: Vocabulary, label_vectors: Floats, *, tagged: TaggedPapers | None = None) -> Tagger:
    """Return a tagger without training: its ranker, trained on another vocabulary, weighs names and meaning.

    label_vectors: (labels, e). tagged: papers with tags of the vocabulary, a few or many, whose tags count too.
    """
    shipped = json.loads(files("sciprism.uses.tagging").joinpath(RANKER_FILE).read_text(encoding="utf-8"))
    weighing = Weighing.from_json(shipped["names" if tagged is None else "names and papers"])
    facts: dict[str, Any] = {"threshold": round(weighing.threshold, 4)}
    if tagged is None:
        return Tagger(vocabulary, label_vectors, weighing, facts=facts)
    facts["tagged papers"] = len(tagged.papers)
    return Tagger(vocabulary, label_vectors, weighing, NearestPapers(tagged.vectors, tagged.tags), facts=facts)


def block_size(labels: int) -> int:
    """Return how many papers' candidates are collected together."""
    return max(1, min(PAPER_BLOCK, MAX_SCORES // labels))


@dataclass(slots=True, eq=False)
class Tagger:
    """Suggest labels of a vocabulary for papers.

    label_vectors: (labels, e), by the encoder whose fingerprint and space are `encoder`; papers need vectors of the
    same. near: tagged papers to compare with. space, sources, training: of a trained tagger, what its papers taught
    and these papers, for the next training. facts: what is printed about it.
    """

    vocabulary: Vocabulary
    label_vectors: Floats
    weighing: Weighing
    near: NearestPapers | None = None
    space: PaperSpace | None = None
    sources: Sources | None = None
    encoder: dict[str, Any] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    training: TaggedPapers | None = None
    collector: EvidenceCollector = field(init=False)

    def __post_init__(self) -> None:
        side = LabelSide.build(self.vocabulary.labels, self.label_vectors)
        self.collector = EvidenceCollector(self.vocabulary, side)

    def collect(self, papers: Sequence[Paper], vectors: Floats, allowed: NDArray[np.bool_] | None = None) -> Evidence:
        """Return the candidates of a block of papers with vectors (b, e), all or of the allowed labels (labels,)."""
        located, centred = None, vectors
        if self.space is not None:
            located, centred = self.space.locate(papers, vectors), vectors - self.space.centre
        elif self.near is not None:
            located = vectors
        return self.collector.collect(
            papers, centred, near=self.near, sources=self.sources, located=located, allowed=allowed
        )

    def suggest(
        self, papers: Sequence[Paper], vectors: Floats, choice: TagChoice | None = None
    ) -> Iterator[list[PaperTags]]:
        """Yield the tags of each block of papers, in their order. vectors: (n, e)."""
        choice = choice or TagChoice()
        allowed = choice.allowed(self.vocabulary)
        if len(papers) != len(vectors):
            raise InputError(f"{len(papers)} papers and {len(vectors)} vectors; each paper needs one")
        size = block_size(len(self.vocabulary))
        for start in range(0, len(papers), size):
            block = papers[start : start + size]
            evidence = self.collect(block, vectors[start : start + size], allowed)
            probabilities = self.weighing.weigh(evidence.features)
            starts = np.searchsorted(evidence.papers, np.arange(len(block) + 1))
            yield [
                self._tag(paper, evidence, probabilities, slice(starts[number], starts[number + 1]), choice)
                for number, paper in enumerate(block)
            ]

    def _tag(
        self, paper: Paper, evidence: Evidence, probabilities: Doubles, part: slice, choice: TagChoice
    ) -> PaperTags:
        labels, values = evidence.labels[part], probabilities[part]
        picked = choice.pick(labels, values, self.weighing.threshold, self.vocabulary)
        places = {int(label): part.start + place for place, label in enumerate(labels)}
        tags = []
        for rank, (row, probability, below) in enumerate(picked, 1):
            label = self.vocabulary.labels[row]
            facts = {"uri": label.id, "notation": label.codes[0] if label.codes else "", "label": label.name}
            if below is not None:
                why = ABOVE.format(name=self.vocabulary.labels[below].name)
            else:
                match = evidence.matches[evidence.papers[places[row]]].get(row)
                why = explain(evidence.features[places[row]], match, evidence.neighbours)
            tags.append(Tag(rank=rank, **facts, probability=round(probability, 4), why=why))
        return PaperTags(paper.id, paper.title, tuple(tags))


def explain(features: Floats, match: Match | None, neighbours: int) -> str:
    """Return the strongest reasons for one label: its name, near papers, its words, its meaning.

    features: (f,), of `FEATURES`. neighbours: near papers that were counted.
    """
    value = dict(zip(FEATURES, features.tolist(), strict=True))
    parts = []
    if match is not None:
        parts.append(f"found in {match.where}: {shorten(match.text, MAX_NAME, placeholder='...')!r}")
    if near := round(value["near papers"] * neighbours):
        parts.append(f"{near} of {neighbours} nearest papers")
    if value["linear"] > 0.1:
        parts.append("words and meaning like its papers'")
    if value["coverage"] >= 0.5 and match is None:
        parts.append("most words of its name")
    parts.append(f"its meaning is near (cosine {value['cosine']:.2f})")
    return "; ".join(parts[:MAX_REASONS])


FORMAT = "sciprism.tagger/1"
FACTS_FILE = "tagger.json"
_REMEDY = "train it again with `sciprism tag train`"


def is_tagger(folder: Path) -> bool:
    """Tell whether a folder holds a tagger."""
    return (folder / FACTS_FILE).is_file()


def check_output(folder: Path) -> None:
    """Raise InputError where a tagger cannot be written: the path is a file, or a folder of something else."""
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir()) and not is_tagger(folder)):
        raise InputError(f"{folder} exists and is no tagger; name another folder")


def save_tagger(tagger: Tagger, folder: Path) -> None:
    """Write a trained tagger with the papers it was trained on, in place of one that was there."""
    space, sources, data = tagger.space, tagger.sources, tagger.training
    if space is None or sources is None or data is None:
        raise InputError("only a trained tagger is stored; a vocabulary alone needs no training")
    check_output(folder)
    with explain_write_errors(folder):
        recover_folder(folder)
        with open_draft(folder) as draft:
            write_lines(draft / "vocabulary.jsonl", _json_lines(tagger.vocabulary.labels), errors="replace")
            write_lines(draft / "papers.jsonl", _json_lines(data.papers), errors="replace")
            write_json(draft / "terms.json", space.terms.get_feature_names_out().tolist(), indent=None)
            arrays = {
                "label_vectors": tagger.label_vectors.astype(np.float16),
                "vectors": data.vectors.astype(np.float16),
                "tag_starts": data.tags.ones.indptr,
                "tag_rows": data.tags.ones.indices,
                "idf": space.terms.idf_,
                "directions": space.directions.astype(np.float16),
                "centre": space.centre,
                "linear": sources.linear.astype(np.float16),
                "compatibility": sources.compatibility.astype(np.float16),
                "name_rate": sources.name_rate,
            }
            np.savez(draft / "arrays.npz", **arrays)
            facts = {"format": FORMAT, "encoder": tagger.encoder, "facts": tagger.facts}
            facts["judged"] = {str(paper): sorted(labels) for paper, labels in data.judged.items()}
            write_json(draft / FACTS_FILE, facts | {"weighing": tagger.weighing.to_json()})
            write_checksums(draft)
            replace_folder(folder, draft)


def read_facts(folder: Path) -> dict[str, Any]:
    """Return what a tagger's folder states of it. Raises InputError where the folder is none."""
    if not is_tagger(folder):
        raise InputError(f"{folder} is no tagger: it has no {FACTS_FILE}; make one with `sciprism tag train`")
    facts: dict[str, Any] = json.loads((folder / FACTS_FILE).read_text(encoding="utf-8"))
    return facts


def load_tagger(folder: Path) -> Tagger:
    """Read a tagger. Raises InputError where the folder is none, DamagedFileError where a file is damaged."""
    recover_folder(folder)
    if is_tagger(folder):
        check_folder(folder)
    facts = read_facts(folder)
    if facts.get("format") != FORMAT:
        raise InputError(f"{folder} is a tagger of format {facts.get('format')!r}, not {FORMAT}; {_REMEDY}")
    try:
        vocabulary = Vocabulary(map(Label.from_json, _read_lines(folder / "vocabulary.jsonl")))
        papers = [Paper.from_json(row) for row in _read_lines(folder / "papers.jsonl")]
        terms = json.loads((folder / "terms.json").read_text(encoding="utf-8"))
        with np.load(folder / "arrays.npz", allow_pickle=False) as arrays:
            values = {name: arrays[name] for name in arrays.files}
        weighing = Weighing.from_json(facts["weighing"])
    except (OSError, KeyError, ValueError, TypeError, EOFError, BadZipFile, zlib.error) as error:
        raise InputError(f"{folder} is incomplete or damaged ({error}); {_REMEDY}") from error
    judged = {int(paper): frozenset(labels) for paper, labels in facts["judged"].items()}
    tags = TagMatrix.restore(values["tag_starts"], values["tag_rows"], len(vocabulary))
    data = TaggedPapers(papers, _full(values["vectors"]), tags, judged)
    space = PaperSpace.restore(terms, values["idf"], _full(values["directions"]), values["centre"])
    near, counts = NearestPapers(space.locate(papers, data.vectors), tags), tags.counts()
    linear, compatibility = _full(values["linear"]), _full(values["compatibility"])
    sources = Sources(np.flatnonzero(counts), counts, linear, compatibility, near, values["name_rate"])
    return Tagger(
        vocabulary,
        _full(values["label_vectors"]),
        weighing,
        near=near,
        space=space,
        sources=sources,
        encoder=facts["encoder"],
        facts=facts["facts"],
        training=data,
    )


def _full(values: Any) -> Floats:
    return np.asarray(values, np.float32)


def _json_lines(records: Iterable[Label | Paper]) -> Iterable[str]:
    return (json.dumps(record.to_json(), ensure_ascii=False) for record in records)


def _read_lines(path: Path) -> Iterable[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)
