"""Suggested labels of papers: which are chosen, a person's review, scores, and files of tags, read and written."""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Doubles, Rows
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.files import explain_write_errors, join_cells, write_lines
from sciprism.papers.cleaning import MISSING_VALUES, clean_id
from sciprism.papers.input_file import InputFile
from sciprism.papers.readers.vocabularies import bare_uri
from sciprism.papers.records import Paper
from sciprism.papers.rows import cell_getter, detect_columns, read_rows
from sciprism.uses.tagging.vocabulary import Vocabulary, find_reached

Parents = Literal["keep", "drop", "add"]
ABOVE = "above {name!r}"  # the reason of a label that is added because it is above a suggested one


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """One suggested label of a paper. probability: that it is right, calibrated on held-out papers."""

    rank: int
    uri: str
    notation: str
    label: str
    probability: float
    why: str


@dataclass(frozen=True, slots=True)
class PaperTags:
    """The tags suggested for one paper, best first."""

    id: str
    title: str
    tags: tuple[Tag, ...]

    def to_json(self) -> dict[str, Any]:
        """Return id, title and tags as JSON values."""
        return {"id": self.id, "title": self.title, "tags": [asdict(tag) for tag in self.tags]}


@dataclass(frozen=True, slots=True, kw_only=True)
class TagChoice:
    """Which candidates are suggested.

    limit: tags for each paper, at most; None: all that reach the threshold. threshold: the lowest probability; None is
    what the tagger learned. excluded, branch: labels that are never suggested; labels below which (or which) all
    suggestions are, each by id, notation or name. parents: of labels above other suggested ones: keep them where they
    were found, drop them, or add them all. one: exactly one label is right, which
    all probabilities are for; the best alone is suggested, unless a limit or a threshold is given.
    """

    limit: int | None = None
    threshold: float | None = None
    excluded: Sequence[str] = field(default_factory=tuple)
    branch: Sequence[str] = field(default_factory=tuple)
    parents: Parents = "keep"
    one: bool = False

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise InputError(f"the limit is {self.limit}; ask for at least one tag")
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise InputError(f"the threshold is {self.threshold}, not a probability from 0 to 1")
        if self.parents not in get_args(Parents):
            raise InputError(f"parents {self.parents!r} is not one of {', '.join(get_args(Parents))}")

    def allowed(self, vocabulary: Vocabulary) -> NDArray[np.bool_]:
        """Return which labels may be suggested, True or False of each; InputError for an unknown name or none left."""
        mask = np.ones(len(vocabulary), bool)
        if self.branch:
            inside = {vocabulary.find_named(name, "the branch") for name in self.branch}
            inside |= {row for top in list(inside) for row in find_reached(top, vocabulary.children)}
            mask[:] = False
            mask[list(inside)] = True
        for name in self.excluded:
            mask[vocabulary.find_named(name, "the excluded label")] = False
        if not mask.any():
            raise InputError("every label of the branch is excluded; nothing can be suggested")
        return mask

    def find_threshold(self, learned: float) -> float:
        """Return the lowest probability of a suggestion. learned: of the tagger."""
        return (0.0 if self.one else learned) if self.threshold is None else self.threshold

    def pick(
        self, labels: Rows, probabilities: Doubles, threshold: float, vocabulary: Vocabulary
    ) -> list[tuple[int, float, int | None]]:
        """Return rows and probabilities of the tags of one paper, best first, and the label that one was added for."""
        least, limit = self.find_threshold(threshold), self.limit or (1 if self.one else None)
        order = np.argsort(-probabilities, kind="stable")
        ranked = [(int(labels[i]), float(probabilities[i])) for i in order if probabilities[i] >= least]
        if self.parents == "drop":
            above = {row for label, _ in ranked[:limit] for row in find_reached(label, vocabulary.parents)}
            ranked = [(label, value) for label, value in ranked if label not in above]
        picked: list[tuple[int, float, int | None]] = [(*candidate, None) for candidate in ranked[:limit]]
        if self.parents == "add":
            chosen = {label for label, _, _ in picked}
            for label, value, _ in list(picked):  # a label above a right one is right
                for row in sorted(find_reached(label, vocabulary.parents) - chosen):
                    chosen.add(row)
                    picked.append((row, value, label))
        return picked


TOP = 5


@dataclass(frozen=True, slots=True)
class LabelErrors:
    """How often a label was suggested rightly, wrongly, and missed."""

    uri: str
    label: str
    right: int
    wrong: int
    missed: int


SCORES = ("precision_1", "precision_5", "ndcg_5", "f1_5", "f1")
"""Means over papers that have tags; precision_5 and f1_5: of the first five; f1: of all suggestions."""


@dataclass(frozen=True, slots=True)
class TagReportCard:
    """The number of papers, their `SCORES`, and the errors of every label that was suggested or missed."""

    scores: dict[str, float]
    labels: tuple[LabelErrors, ...]

    def list_worst(self, kind: Literal["wrong", "missed"], count: int) -> list[LabelErrors]:
        """Return the labels that were most often suggested wrongly, or missed."""
        ranked = sorted(self.labels, key=lambda errors: -getattr(errors, kind))[:count]
        return [errors for errors in ranked if getattr(errors, kind)]

    def to_json(self, count: int) -> dict[str, Any]:
        """Return scores and the first labels as JSON values."""
        return {
            "scores": self.scores,
            "most_wrong": [asdict(errors) for errors in self.list_worst("wrong", count)],
            "most_missed": [asdict(errors) for errors in self.list_worst("missed", count)],
        }


def compare_tags(
    vocabulary: Vocabulary, suggested: Iterable[PaperTags], gold: Sequence[Sequence[int]]
) -> TagReportCard:
    """Compare suggestions with the right labels, rows of the vocabulary; papers without a right one are left out."""
    right, wrong, missed = Counter[int](), Counter[int](), Counter[int]()
    rows: list[tuple[float, ...]] = []
    for paper, labels in zip(suggested, gold, strict=True):
        if not labels:
            continue
        suggested_rows, truth = [vocabulary.rows[tag.uri] for tag in paper.tags], set(labels)
        right.update(truth.intersection(suggested_rows))
        wrong.update(set(suggested_rows) - truth)
        missed.update(truth - set(suggested_rows))
        rows.append(score_ranking(suggested_rows, truth))
    means = np.mean(rows, axis=0).tolist() if rows else [0.0] * 5
    errors = tuple(
        LabelErrors(vocabulary.labels[row].id, vocabulary.labels[row].name, right[row], wrong[row], missed[row])
        for row in sorted(right.keys() | wrong.keys() | missed.keys())
    )
    scores = {name: round(mean, 4) for name, mean in zip(SCORES, means, strict=True)}
    return TagReportCard({"papers": len(rows), **scores}, errors)


def score_ranking(ranked: Sequence[int], truth: set[int]) -> tuple[float, float, float, float, float]:
    """Return P@1, P@5, nDCG@5, F1@5 and F1 of the labels found for one paper, best first.

    P@5 divides by 5, also of fewer labels, as in extreme classification; nDCG@5 by the best possible gain.
    """
    hits = np.array([row in truth for row in ranked[:TOP]], float)
    gains = 1 / np.log2(np.arange(2, TOP + 2))
    ideal = gains[: min(TOP, len(truth))].sum()
    all_hits = sum(row in truth for row in ranked)
    return (
        float(hits[:1].sum()),
        float(hits.sum() / TOP),
        float((hits * gains[: len(hits)]).sum() / ideal),
        float(2 * hits.sum() / (len(hits) + len(truth))),
        2 * all_hits / (len(ranked) + len(truth)),
    )


YES, NO, NONE = "yes", "no", ""


class TagReview:
    """Suggestions, as `write_tags` writes them in the format jsonl, and the decisions on them.

    papers: id -> its suggestions, in the order of the file. verdicts: paper and uri -> yes or no. A decision is on the
    disk when its call returns; a line that a kill left half-written is not read.
    """

    def __init__(self, suggestions: Path, decisions: Path) -> None:
        with suggestions.open(encoding="utf-8", newline="\n") as file:  # texts may hold other ends of lines
            read = [
                PaperTags(row["id"], row["title"], tuple(Tag(**tag) for tag in row["tags"]))
                for row in map(json.loads, file)
            ]
        self.papers = {paper.id: paper for paper in read if paper.tags}
        self.tags = {(paper.id, tag.uri): tag for paper in self.papers.values() for tag in paper.tags}
        self.verdicts: dict[tuple[str, str], str] = {}
        self._decisions = decisions
        for line in decisions.read_bytes().splitlines() if decisions.is_file() else ():
            with suppress(ValueError):
                self._apply(*json.loads(line))

    def decide(self, paper: str, uri: str, verdict: str) -> None:
        """Store a verdict, "" to withdraw one. Raises InputError for another one, or a tag that is not suggested."""
        if verdict not in (YES, NO, NONE) or (paper, uri) not in self.tags:
            raise InputError(f"no verdict {verdict!r} is possible on the tag {uri!r} of {paper!r}; state yes or no")
        line = "\n" + json.dumps([paper, uri, verdict])
        with explain_write_errors(self._decisions), self._decisions.open("a", encoding="utf-8") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        self._apply(paper, uri, verdict)

    def reject_rest(self, paper: str) -> None:
        """Reject each tag of a paper that has no verdict."""
        while uri := self.find_open(paper):
            self.decide(paper, uri, NO)

    def undo(self) -> str:
        """Withdraw the latest verdict that stands; return the paper's id, "" where there is none."""
        if not self.verdicts:
            return ""
        paper, uri = next(reversed(self.verdicts))
        self.decide(paper, uri, NONE)
        return paper

    def find_open(self, paper: str) -> str:
        """Return the uri of a paper's first tag without a verdict, "" where each has one. Raises InputError."""
        if paper not in self.papers:
            raise InputError(f"no tags are suggested for {paper!r}")
        return next((tag.uri for tag in self.papers[paper].tags if (paper, tag.uri) not in self.verdicts), "")

    def next_paper(self, after: str = "") -> str:
        """Return the first paper with a tag to decide, of those after a paper if there is one; "" for none."""
        left = [paper for paper in self.papers if self.find_open(paper)]
        order = {paper: place for place, paper in enumerate(self.papers)}
        later = (paper for paper in left if order[paper] > order.get(after, -1))
        return next(later, next(iter(left), ""))

    def counts(self) -> Counter[str]:
        """Return how many tags are suggested, and have each verdict."""
        return Counter(self.verdicts.values()) + Counter(tags=len(self.tags))

    def accepted(self) -> Iterator[PaperTags]:
        """Yield each paper with its accepted tags alone."""
        for id, paper in self.papers.items():
            yield replace(paper, tags=tuple(tag for tag in paper.tags if self.verdicts.get((id, tag.uri)) == YES))

    def _apply(self, paper: str, uri: str, verdict: str) -> None:
        self.verdicts.pop((paper, uri), None)  # the latest is the last
        if verdict and (paper, uri) in self.tags:
            self.verdicts[paper, uri] = verdict


_HEADERS = {
    "paper": "paper paperid document documentid docid id",
    "tag": "uri tag label subject concept notation term",
    "verdict": "verdict judgement judgment accepted decision",
}
_YES = frozenset(["yes", "y", "true", "1", "+", "accept", "accepted", "right", "ok", "x"])
_NO = frozenset(["no", "n", "false", "0", "-", "reject", "rejected", "wrong"])


@dataclass(slots=True)
class TagReport:
    """Counts of the tags that were read.

    unknown: tags that no label has, and how often. ambiguous: tags that are a name of several labels, and how often;
    homonyms: such a tag -> the ids of these labels. untagged: papers without a known tag. unused: papers of a table
    that are not among the papers. dropped: lines that were not used.
    """

    tags: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    ambiguous: Counter[str] = field(default_factory=Counter)
    homonyms: dict[str, list[str]] = field(default_factory=dict)
    untagged: int = 0
    unused: int = 0
    dropped: DropReport = field(default_factory=DropReport)

    def to_json(self) -> dict[str, Any]:
        """Return the counts as JSON values."""
        values = {name: getattr(self, name) for name in ("tags", "homonyms", "untagged", "unused")}
        counts = {"unknown": dict(self.unknown), "ambiguous": dict(self.ambiguous), "dropped": self.dropped.to_json()}
        return values | counts


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a person said of one tag of one paper."""

    paper: str
    tag: str
    accepted: bool


def resolve_tags(
    named: Iterable[Iterable[str]], vocabulary: Vocabulary, dropped: DropReport | None = None
) -> tuple[list[list[int]], TagReport]:
    """Return the rows of each paper's tags, given by id, notation or name, and what could not be used.

    dropped: what was left out before, for the report.
    """
    report, resolved = TagReport(dropped=dropped or DropReport()), list[list[int]]()
    for names in named:
        rows = list[int]()
        for name in names:
            found = vocabulary.find_all(name)
            if len(found) == 1:
                rows += found
            elif found:
                report.ambiguous[name] += 1
                report.homonyms[name] = [vocabulary.labels[row].id for row in found]
            else:
                report.unknown[name] += 1
        resolved.append(rows)
        report.tags += len(rows)
        report.untagged += not rows
    return resolved, report


def read_tag_table(path: Path, dropped: DropReport) -> dict[str, list[str]]:
    """Return paper -> tags of a table with columns paper and uri, tag or label: one tag a row.

    Rows that a person rejected are left out, so reviewed suggestions can be read. dropped: counts rows left out.
    """
    tags: defaultdict[str, list[str]] = defaultdict(list)
    for place, row in _read_table(path, dropped, judged=False):
        if row.accepted:
            tags[row.paper].append(row.tag)
        else:
            dropped.add("row that a person rejected", place)
    return dict(tags)


def read_judgements(path: Path, dropped: DropReport | None = None) -> list[Judgement]:
    """Return the judged rows of a table with columns paper, uri and verdict. dropped: counts rows without a verdict.

    Raises InputError for a verdict that is neither yes nor no, or a table without any.
    """
    judgements = [row for _, row in _read_table(path, dropped or DropReport(), judged=True)]
    if not judgements:
        raise InputError(f"{path} has no verdict; write yes or no into the column verdict of some rows")
    return judgements


def _read_table(path: Path, dropped: DropReport, *, judged: bool) -> Iterator[tuple[str, Judgement]]:
    """Yield the place and the content of each row that has a paper and a tag, if judged also a verdict."""
    file = InputFile(path)
    layout, columns = detect_columns(file.head(), _HEADERS)
    for name, shown in {"paper": "paper", "tag": "uri", **({"verdict": "verdict"} if judged else {})}.items():
        if name not in columns:
            listed = ", ".join(filter(None, layout.headers))
            raise InputError(f"{path} has no column {shown!r}; its columns: {listed}; its first line must name it")
    for cells, fault in read_rows(file, layout):
        place = f"{path}, line {file.record_line}"
        if fault:
            raise InputError(f"{place}: {fault}")
        text = cell_getter(cells, columns)
        paper = clean_id(text("paper"))
        verdict = "" if text("verdict") in MISSING_VALUES else text("verdict").casefold()
        if verdict not in _YES | _NO | {""}:
            raise InputError(f"{place}: the verdict {text('verdict')!r} is neither yes nor no")
        if judged and not verdict:
            dropped.add("row without a verdict", place)
        elif not paper or not text("tag"):
            dropped.add("row without a paper or a tag", place)
        else:
            yield place, Judgement(paper, bare_uri(text("tag")), verdict not in _NO)


COLUMNS = ("paper", "title", "rank", "uri", "notation", "label", "probability", "why", "verdict")
"""Of the CSV; verdict is empty, for yes or no of the person who reviews it."""
SUFFIXES = {".csv": "csv", ".tsv": "annif-tsv", ".jsonl": "jsonl", ".json": "annif-json"}
NO_VERDICTS: Mapping[tuple[str, str], str] = {}


def choose_format(output: Path) -> str:
    """Return the format of an output file by its suffix; InputError for an unknown one."""
    if output.suffix.lower() not in SUFFIXES:
        raise InputError(
            f"{output}: no format is known for {output.suffix or 'a name without suffix'}; end its name in "
            f"{', '.join(SUFFIXES)}"
        )
    return SUFFIXES[output.suffix.lower()]


def check_verdicts(output: Path, format: str) -> None:
    """Raise InputError for a CSV of suggestions that a person has reviewed: writing it again would lose that."""
    if format != "csv" or not output.is_file():
        return
    file = InputFile(output)
    layout, columns = detect_columns(file.head(), _HEADERS)
    if count := sum(bool(cell_getter(cells, columns)("verdict")) for cells, _ in read_rows(file, layout)):
        raise InputError(
            f"{output} has {count:,} verdicts, which would be lost; `sciprism tag feedback` learns from them; "
            "name another file to write, or delete this one"
        )


def write_tags(output: Path, format: str, tagged: Iterable[tuple[Paper, PaperTags]]) -> list[int]:
    """Write papers' tags, whole or not at all, and return how many each paper has; one paper at a time is in memory."""
    counts: list[int] = []

    def count() -> Iterator[tuple[Paper, PaperTags]]:
        for paper, tags in tagged:
            counts.append(len(tags.tags))
            yield paper, tags

    write_lines(output, format_tags(format, count()), errors="replace")
    return counts


def format_tags(
    format: str, tagged: Iterable[tuple[Paper, PaperTags]], verdicts: Mapping[tuple[str, str], str] = NO_VERDICTS
) -> Iterator[str]:
    """Yield the lines of a file of tags. verdicts: of the CSV, by paper and uri."""
    if format == "csv":
        yield join_cells(COLUMNS)
        for _, suggested in tagged:
            for tag in suggested.tags:
                facts = (tag.rank, tag.uri, tag.notation, tag.label, f"{tag.probability:.4f}", tag.why)
                cells = (suggested.id, suggested.title, *facts, verdicts.get((suggested.id, tag.uri), ""))
                yield join_cells(" ".join(str(cell).split()) for cell in cells)  # without ends of lines
    elif format == "jsonl":
        for _, suggested in tagged:
            yield json.dumps(suggested.to_json(), ensure_ascii=False)
    elif format == "annif-json":  # as Annif's REST method `suggest-batch`
        yield "["
        separator = ""
        for _, suggested in tagged:
            results = [
                {"uri": tag.uri, "label": tag.label, "notation": tag.notation or None, "score": tag.probability}
                for tag in suggested.tags
            ]
            yield separator + json.dumps({"document_id": suggested.id, "results": results}, ensure_ascii=False)
            separator = ","
        yield "]"
    else:  # Annif's short-text corpus: the text, a tab, the subjects
        for paper, suggested in tagged:
            text = " ".join(f"{paper.title} {paper.abstract}".split())
            yield f"{text}\t" + " ".join(f"<{tag.uri}>" for tag in suggested.tags)
