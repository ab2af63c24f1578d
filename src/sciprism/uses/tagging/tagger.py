"""A tagger: a vocabulary and what was learned of it; the call that suggests tags; its training and its folder."""

from __future__ import annotations

import json
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np
from scipy.sparse import csr_array

import sciprism.files as files
from sciprism.arrays import Doubles, Floats, Rows
from sciprism.encoders.cached_encoder import CachedEncoder
from sciprism.errors import InputError
from sciprism.formats import Format, Role
from sciprism.papers import read_labels, read_papers
from sciprism.papers.records import Label, Paper
from sciprism.parallel import Progress, show_nothing
from sciprism.store import StoredCollection
from sciprism.uses.calibration import Calibration
from sciprism.uses.collection import find_encoder, read_with_vectors
from sciprism.uses.tagging.evidence import (
    FEATURES,
    Evidence,
    EvidenceCollector,
    Mask,
    NearestPapers,
    PaperSpace,
    Ranker,
    Sources,
    TaggedPapers,
    Tags,
    Weighing,
    build_tags,
    without_labels,
)
from sciprism.uses.tagging.suggestions import ABOVE, Judgement, PaperTags, Tag, TagChoice, resolve_tags
from sciprism.uses.tagging.vocabulary import Match, Vocabulary

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder


RANKER_FILE = "default_ranker.json"
"""The rankers that ship, fitted by benchmarks/tagging_default.py to eleven vocabularies."""
RANKED_BLOCK = 256
MAX_SCORES = 1 << 23
"""Scores of one source in memory, papers by labels: 32 MB; a larger vocabulary takes fewer papers at once."""
MAX_REASONS = 2
MAX_NAME = 60


def build_zero_shot(vocabulary: Vocabulary, label_vectors: Floats, *, tagged: TaggedPapers | None = None) -> Tagger:
    """Return a tagger without training: its ranker, trained on another vocabulary, weighs names and meaning.

    label_vectors: (labels, e). tagged: papers with tags of the vocabulary, a few or many, whose tags count too.
    """
    shipped = json.loads(Path(__file__).with_name(RANKER_FILE).read_text(encoding="utf-8"))
    weighing = Weighing.from_json(shipped["names" if tagged is None else "names and papers"])
    near = None if tagged is None else NearestPapers(tagged.vectors, tagged.tags)
    return Tagger(vocabulary, label_vectors, weighing, near)


def block_size(labels: int) -> int:
    """Return how many papers' candidates are collected together."""
    return max(1, min(RANKED_BLOCK, MAX_SCORES // labels))


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
        self.collector = EvidenceCollector(self.vocabulary, self.label_vectors, is_trained=self.space is not None)

    def collect(self, papers: Sequence[Paper], vectors: Floats, allowed: Mask = None, centre: Any = 0.0) -> Evidence:
        """Return the candidates of a block of papers, all or of the allowed labels.

        vectors: (b, e). centre: (e,), what they are taken around where no training gave it.
        """
        located = vectors if self.space is None else self.space.locate(papers, vectors)
        around = vectors - (centre if self.space is None else self.space.centre)
        options: dict[str, Any] = {"near": self.near, "sources": self.sources, "allowed": allowed}
        return self.collector.collect(papers, around, located=located, **options)

    def suggest(self, papers: Sequence[Paper], vectors: Floats, choice: TagChoice | None = None) -> Iterator[PaperTags]:
        """Yield the tags of each paper, in their order. vectors: (n, e)."""
        choice = choice or TagChoice()
        allowed, centre = choice.allowed(self.vocabulary), self.collector.find_centre(vectors)
        size = block_size(len(self.vocabulary))
        for start in range(0, len(papers), size):
            block, rows = papers[start : start + size], vectors[start : start + size]
            evidence = self.collect(block, rows, allowed, centre)
            probabilities = self.weighing.weigh(evidence.features)
            starts = np.searchsorted(evidence.papers, np.arange(len(block) + 1)).tolist()
            for paper, part in zip(block, pairwise(starts), strict=True):
                yield self._tag(paper, evidence, probabilities, slice(*part), choice)

    def _tag(
        self, paper: Paper, evidence: Evidence, probabilities: Doubles, part: slice, choice: TagChoice
    ) -> PaperTags:
        labels, values = evidence.labels[part], probabilities[part]
        if choice.one:
            values = self.weighing.share(values)
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
    """Return the strongest reasons for one label: its name, near papers, words, its meaning.

    features: (f,), of `FEATURES`. neighbours: near papers that were counted.
    """
    value = dict(zip(FEATURES, features.tolist(), strict=True))
    parts = []
    if match is not None:
        where = "title" if match.title else "abstract"
        parts.append(f"found in {where}: {shorten(match.text, MAX_NAME, placeholder='...')!r}")
    if near := round(value["near papers"] * neighbours):
        parts.append(f"{near} of {neighbours} nearest papers")
    if value["linear"] > 0.1:
        parts.append("words and meaning like its papers'")
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
        raise InputError(f"{folder} exists and is not a tagger; name another folder")


def save_tagger(tagger: Tagger, folder: Path) -> None:
    """Write a trained tagger with the papers it was trained on, in place of one that was there."""
    space, sources, data = tagger.space, tagger.sources, tagger.training
    if space is None or sources is None or data is None:
        raise InputError("only a trained tagger is stored; a vocabulary alone needs no training")
    check_output(folder)
    with files.explain_write_errors(folder):
        files.recover_folder(folder)
        with files.open_draft(folder) as draft:
            files.write_lines(draft / "vocabulary.jsonl", _json_lines(tagger.vocabulary.labels), errors="replace")
            files.write_lines(draft / "papers.jsonl", _json_lines(data.papers), errors="replace")
            files.write_json(draft / "terms.json", space.terms.get_feature_names_out().tolist(), indent=None)
            arrays = {
                "label_vectors": tagger.label_vectors.astype(np.float16),
                "vectors": data.vectors.astype(np.float16),
                "tag_starts": data.tags.indptr,
                "tag_rows": data.tags.indices,
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
            files.write_json(draft / FACTS_FILE, facts | {"weighing": tagger.weighing.to_json()})
            files.write_checksums(draft)
            files.replace_folder(folder, draft)


def read_facts(folder: Path) -> dict[str, Any]:
    """Return what a tagger's folder states of it. Raises InputError where the folder is none."""
    if not is_tagger(folder):
        raise InputError(f"{folder} is not a tagger: it has no {FACTS_FILE}; make one with `sciprism tag train`")
    facts: dict[str, Any] = json.loads((folder / FACTS_FILE).read_text(encoding="utf-8"))
    return facts


def load_tagger(folder: Path) -> Tagger:
    """Read a tagger. Raises InputError where the folder is none, DamagedFileError where a file is damaged."""
    files.recover_folder(folder)
    if is_tagger(folder):
        files.check_folder(folder)
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
    ones = np.ones(len(values["tag_rows"]), np.float32)
    tags: Tags = csr_array((ones, values["tag_rows"], values["tag_starts"]), shape=(len(papers), len(vocabulary)))
    data = TaggedPapers(papers, _full(values["vectors"]), tags, judged)
    space = PaperSpace.restore(terms, values["idf"], _full(values["directions"]), values["centre"])
    near, counts = NearestPapers(space.locate(papers, data.vectors), tags), tags.sum(axis=0, dtype=np.float64)
    linear, compatibility = _full(values["linear"]), _full(values["compatibility"])
    sources = Sources(np.flatnonzero(counts), counts, linear, compatibility, near, values["name_rate"])
    label_vectors, encoder, told = _full(values["label_vectors"]), facts["encoder"], facts["facts"]
    return Tagger(vocabulary, label_vectors, weighing, near, space, sources, encoder, told, data)


def _full(values: Any) -> Floats:
    return np.asarray(values, np.float32)


def _json_lines(records: Iterable[Label | Paper]) -> Iterable[str]:
    return (json.dumps(record.to_json(), ensure_ascii=False) for record in records)


def _read_lines(path: Path) -> Iterable[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


FOLDS = 3
HIDDEN_SHARE = 0.1
"""Labels that are hidden from the sources in each fold, so that the ranker learns what to do for unseen ones."""
MAX_RANKED = 10_000  # papers that the ranker is trained on: more change little and cost memory
CALIBRATION_SHARE = 0.15  # papers that the ranker does not see, for calibration and threshold
MIN_PAPERS = 20  # fewer tagged papers teach less than the names alone
Ranked = tuple[Rows, Floats, Floats]
"""Of candidates their papers (c,), features (c, f), float16, and whether they are right (c,)."""


def train(
    vocabulary: Vocabulary,
    label_vectors: Floats,
    data: TaggedPapers,
    *,
    seed: int = 0,
    progress: Progress = show_nothing,
) -> Tagger:
    """Train sources, ranker, calibration and threshold. label_vectors: (labels, e).

    Raises InputError for too few tagged papers.
    """
    if (tagged := int((np.diff(data.tags.indptr) > 0).sum())) < MIN_PAPERS:
        raise InputError(
            f"{tagged} papers have tags of the vocabulary; training needs {MIN_PAPERS}; tag with --vocabulary, and "
            "correct the suggestions until there are enough"
        )
    data = TaggedPapers(data.papers, _round(data.vectors), data.tags, data.judged)
    label_vectors = _round(label_vectors)
    collector = EvidenceCollector(vocabulary, label_vectors)
    matches = collector.find_names(data.papers)
    papers, features, right = rank_out_of_fold(collector, data, matches, seed, progress)
    held = (np.random.default_rng(seed + 1).random(len(data.papers)) < CALIBRATION_SHARE)[papers]
    if not right[~held].any() or not right[held].any():
        held = np.zeros(len(held), bool)  # too few papers to hold some out
    ranker = Ranker.fit(features[~held].astype(np.float32), right[~held], range(len(FEATURES)), seed=seed)
    shown = held if held.any() else ~held  # calibration and threshold are of papers that the ranker does not see
    scores, outcomes = ranker.score(features[shown].astype(np.float32)), right[shown].astype(np.float64)
    calibration = Calibration.fit(scores, outcomes)
    totals = np.diff(data.tags.indptr)[np.unique(papers[shown])].sum()
    threshold = choose_threshold(calibration.apply(scores), outcomes, totals)
    weighing = Weighing(ranker, calibration, threshold)
    space = PaperSpace.learn(data.papers, data.vectors)
    space = replace(space, directions=_round(space.directions))
    sources = Sources.fit(space.locate(data.papers, data.vectors), data.tags, collector.vectors, matches)
    sources = replace(sources, linear=_round(sources.linear), compatibility=_round(sources.compatibility))
    facts = {"papers": len(data.papers), "tagged papers": tagged, "labels with papers": len(sources.seen)}
    more = {"judged papers": len(data.judged), "threshold": round(weighing.threshold, 4)}
    return Tagger(vocabulary, label_vectors, weighing, sources.near, space, sources, facts=facts | more, training=data)


def rank_out_of_fold(
    collector: EvidenceCollector,
    data: TaggedPapers,
    matches: list[dict[int, Match]],
    seed: int,
    progress: Progress = show_nothing,
) -> Ranked:
    """Return candidates of each paper, or of a sample, by a space and sources learned from the other folds' papers.

    In a space that has seen them, papers are longer than new ones, and probabilities become too high.
    """
    rng = np.random.default_rng(seed)
    folds = rng.permutation(np.arange(len(data.papers)) % FOLDS)
    ranked = rng.permutation(len(data.papers))[:MAX_RANKED]
    parts: list[Ranked] = []
    done = 0
    for fold in range(FOLDS):
        inside, outside = np.flatnonzero(folds != fold), np.sort(ranked[folds[ranked] == fold])
        hidden = np.flatnonzero(rng.random(data.tags.shape[1]) < HIDDEN_SHARE)
        tags = without_labels(data.tags[inside], hidden)
        known = [data.papers[i] for i in inside.tolist()]
        space = PaperSpace.learn(known, data.vectors[inside])
        located = space.locate(known, data.vectors[inside])
        sources = Sources.fit(located, tags, collector.vectors, [matches[i] for i in inside])
        for rows in np.array_split(outside, -(-len(outside) // block_size(data.tags.shape[1]))):
            texts, named = [data.papers[i] for i in rows], [matches[i] for i in rows]
            here, around = space.locate(texts, data.vectors[rows]), data.vectors[rows] - space.centre
            evidence = collector.collect(texts, around, near=sources.near, sources=sources, located=here, matches=named)
            owners, labels = rows[evidence.papers], evidence.labels
            pairs = zip(owners.tolist(), labels.tolist(), strict=True)
            judged = [paper not in data.judged or label in data.judged[paper] for paper, label in pairs]
            right = np.asarray(data.tags[owners, labels], np.float32)
            parts.append((owners[judged], evidence.features[judged].astype(np.float16), right[judged]))
            done += len(rows)
            progress("training", "papers", done, len(ranked))
    papers, features, right = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return papers, features, right


def choose_threshold(probabilities: Doubles, right: Doubles, relevant: int) -> float:
    """Return the probability from which on suggestions have the best F1. relevant: right labels, found or not."""
    order = np.argsort(-probabilities, kind="stable")
    hits = np.cumsum(right[order])
    f1 = 2 * hits / (np.arange(1, len(order) + 1) + max(1, relevant))
    return float(probabilities[order[int(f1.argmax())]]) if len(order) else 1.0


def _round(values: Floats) -> Floats:
    """Return values as they are stored, in half precision: a loaded tagger gives the same probabilities."""
    return values.astype(np.float16).astype(np.float32)


@dataclass(frozen=True, slots=True)
class FeedbackReport:
    """Counts of verdicts learned from.

    unknown: tags that the vocabulary lacks. ambiguous: tags that are a name of several labels -> the ids of these.
    missing: ids of papers without text.
    """

    papers: int
    accepted: int
    rejected: int
    unknown: tuple[str, ...]
    ambiguous: Mapping[str, Sequence[str]]
    missing: tuple[str, ...]


def learn_from_feedback(
    tagger: Tagger,
    judgements: Sequence[Judgement],
    papers: Sequence[Paper],
    vectors: Floats,
    *,
    progress: Progress = show_nothing,
) -> tuple[Tagger, FeedbackReport]:
    """Train again with judged tags added to the papers of the tagger.

    papers, vectors: of the judged papers that the tagger does not have. A paper that it has keeps its other tags. Of
    a new paper only the judged labels count, as right or wrong: nobody said that it has no others. Raises InputError
    for a tag of a paper that was both accepted and rejected.
    """
    data = tagger.training
    if data is None:
        raise InputError("this tagger was not trained; train one first with `sciprism tag train`")
    verdicts: defaultdict[str, dict[int, bool]] = defaultdict(dict)
    resolved, report = resolve_tags(([judgement.tag] for judgement in judgements), tagger.vocabulary)
    for judgement, labels in zip(judgements, resolved, strict=True):
        for row in labels:
            if verdicts[judgement.paper].setdefault(row, judgement.accepted) != judgement.accepted:
                where = f"paper {judgement.paper}: the tag {judgement.tag}"
                raise InputError(f"{where} is accepted in one row, rejected in another")
    stored = {paper.id for paper in data.papers}
    given = {paper.id: row for row, paper in enumerate(papers)}
    missing = tuple(id for id in verdicts if id not in stored and id not in given)
    usable = {id: of_paper for id, of_paper in verdicts.items() if id in stored or id in given}
    if not usable:
        raise InputError("none of the judged papers is in the tagger or among --papers; name the file that has them")
    rows = [given[id] for id in usable if id not in stored]
    merged = _add_verdicts(data, usable, [papers[row] for row in rows], vectors[np.array(rows, np.int64)])
    learned = train(tagger.vocabulary, tagger.label_vectors, merged, progress=progress)
    learned.encoder = tagger.encoder
    accepted = sum(sum(of_paper.values()) for of_paper in usable.values())
    rejected = sum(map(len, usable.values())) - accepted
    unknown = tuple(report.unknown)
    return learned, FeedbackReport(len(usable), accepted, rejected, unknown, report.homonyms, missing)


def _add_verdicts(
    data: TaggedPapers, verdicts: Mapping[str, Mapping[int, bool]], papers: Sequence[Paper], vectors: Floats
) -> TaggedPapers:
    """Append the papers of a review to the tagged papers; add the tags it accepted, remove those it rejected."""
    all_papers = [*data.papers, *papers]
    numbers = {paper.id: number for number, paper in enumerate(all_papers)}
    tags = [set(rows.tolist()) for rows in np.split(data.tags.indices, data.tags.indptr[1:-1])] + [
        set[int]() for _ in papers
    ]
    judged = data.judged | {number: frozenset() for number in range(len(data.papers), len(all_papers))}
    for id, labels in verdicts.items():
        number = numbers[id]
        for label, right in labels.items():
            (tags[number].add if right else tags[number].discard)(label)
        if number in judged:
            judged[number] |= labels.keys()
    matrix = build_tags(tags, data.tags.shape[1])
    return TaggedPapers(all_papers, np.concatenate([data.vectors, vectors]), matrix, judged)


def list_unknown_papers(tagger: Tagger, judgements: Sequence[Judgement]) -> set[str]:
    """Return the ids of judged papers whose text the tagger does not have."""
    stored = {paper.id for paper in tagger.training.papers} if tagger.training is not None else set()
    return {judgement.paper for judgement in judgements} - stored


PAPER_BLOCK = 4096  # papers that are in memory together, where they are only tagged
FORMATS: tuple[Format, ...] = ("classification", "proximity", "search")
"""Formats in whose space papers and labels may both be, the better one first."""


def tag(
    papers: str | Path | Iterable[Paper],
    *,
    vocabulary: str | Path | Sequence[str | Path] | Sequence[Label] = (),
    tagger: str | Path | None = None,
    choice: TagChoice | None = None,
    model: str | Encoder = "",
) -> Iterator[PaperTags]:
    """Yield the labels suggested for each paper, best first, with probabilities and reasons.

    papers: a file, a folder, or papers; they are read in blocks. vocabulary: files of labels, or labels; or else
    tagger: a folder that `sciprism tag train` made. choice: how many and which labels. model: that encodes papers and
    labels; by default the tagger's, or the model that ships. Raises InputError where neither or both are given.

    >>> from sciprism import Label, Paper, tag
    >>> subjects = [Label(id="sky", name="galaxies"), Label(id="life", name="cell division")]
    >>> (paper,) = tag([Paper(id="1", title="A survey of nearby galaxies")], vocabulary=subjects)
    >>> paper.tags[0].uri, paper.tags[0].why
    ('sky', "found in title: 'galaxies'; its meaning is near (cosine 0.59)")
    """
    if (tagger is None) == (not vocabulary):
        raise InputError("name a vocabulary or a tagger, one of them")
    folder = None if tagger is None else Path(tagger)
    vectors = load_vectors(model, folder)
    if folder is not None:
        opened = load_tagger(folder)
    else:
        given = [vocabulary] if isinstance(vocabulary, str | Path) else vocabulary
        labels = [item for item in given if isinstance(item, Label)]
        read = Vocabulary(labels or read_labels([item for item in given if not isinstance(item, Label)]))
        opened = build_zero_shot(read, vectors.encode(read.labels, "label"))
    records = read_papers(papers) if isinstance(papers, str | Path) else iter(papers)
    blocks = iter(lambda: list(islice(records, PAPER_BLOCK)), [])
    return (tags for block in blocks for tags in opened.suggest(block, vectors.encode(block), choice))


def load_vectors(model: str | Encoder, tagger: Path | None, collections: Sequence[StoredCollection] = ()) -> TagVectors:
    """Load the model of the vectors: as named, that of the tagger or of a collection, or the default."""
    trained = read_facts(tagger)["encoder"] if tagger is not None else None
    encoder = find_encoder(model, collections) if trained is None else find_encoder(model or trained["name"])
    vectors = TagVectors(encoder, FORMATS if trained is None else [trained["format"]])
    if trained is not None and any(trained.get(name) != vectors.facts[name] for name in ("fingerprint", "space")):
        raise InputError(
            f"the tagger was trained on vectors of {trained.get('name')}, which differ from those of {encoder.name}; "
            "name the folder of its model with --model"
        )
    return vectors


class TagVectors:
    """An encoder in the format in which papers and labels compare."""

    def __init__(self, encoder: Encoder, formats: Sequence[Format] = FORMATS) -> None:
        self.encoder, self._cached = encoder, CachedEncoder(encoder)
        known = [format for format in formats if format in encoder.formats]
        shared = [format for format in known if encoder.space(format, "paper") == encoder.space(format, "label")]
        if not shared:
            raise InputError(f"{encoder.name} has no format in which papers and labels compare; use another model")
        self.format = shared[0]
        self._space = encoder.space(self.format, "paper")

    @property
    def facts(self) -> dict[str, Any]:
        """Return what vectors must agree in: name, fingerprint, format and space."""
        facts = {"name": self.encoder.name, "fingerprint": self.encoder.fingerprint, "format": self.format}
        return facts | {"space": self._space, "options": dict(self.encoder.options)}

    def encode(
        self, records: Sequence[Label] | Sequence[Paper], role: Role = "paper", progress: Progress = show_nothing
    ) -> Floats:
        """Return the vectors of papers, or as role "label" those of labels' names and definitions, (n, e)."""
        self._cached.watch(progress, "encoding", f"{role}s")
        return self._cached.encode(list(records), format=self.format, role=role)

    def iterate_collection(
        self, stored: StoredCollection, chosen: Rows | None = None
    ) -> Iterator[tuple[list[Paper], Floats]]:
        """Yield the papers of a collection, all or those of some rows, and their vectors in blocks.

        The vectors are the stored ones, or encoded where it has none of the format. Raises InputError as
        `read_collection` does.
        """
        stored.check_encoder(self.encoder)
        known = [*stored.manifest.spaces]
        space = self._space if self._space in known else known[0]
        for papers, vectors in read_with_vectors(stored, space, chosen):
            yield papers, vectors if space == self._space else self.encode(papers)

    def read_collection(self, stored: StoredCollection) -> tuple[list[Paper], Floats]:
        """Return the papers of a collection and their vectors; InputError where another model made them."""
        parts = list(self.iterate_collection(stored))
        empty = np.empty((0, self.encoder.dim), np.float32)
        return [paper for papers, _ in parts for paper in papers], np.concatenate([empty, *(v for _, v in parts)])
