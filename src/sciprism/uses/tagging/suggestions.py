"""Suggest labels for papers, with probability and reason; hold a person's review of them; score them."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Doubles, Rows
from sciprism.errors import InputError
from sciprism.files import explain_write_errors
from sciprism.uses.tagging.vocabulary import Vocabulary

Parents = Literal["keep", "drop", "add"]
LIMIT = 10
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

    limit: tags for each paper. threshold: the lowest probability; None is what the tagger learned. excluded, branch:
    labels that are never suggested; labels below which (or which) all suggestions are, each by id, notation or name.
    parents: of labels above other suggested ones: keep them where they were found, drop them, or add them all.
    """

    limit: int = LIMIT
    threshold: float | None = None
    excluded: Sequence[str] = field(default_factory=tuple)
    branch: Sequence[str] = field(default_factory=tuple)
    parents: Parents = "keep"

    def __post_init__(self) -> None:
        if self.limit < 1:
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
            inside |= {row for top in list(inside) for row in vocabulary.below(top)}
            mask[:] = False
            mask[list(inside)] = True
        for name in self.excluded:
            mask[vocabulary.find_named(name, "the excluded label")] = False
        if not mask.any():
            raise InputError("every label of the branch is excluded; nothing can be suggested")
        return mask

    def pick(
        self, labels: Rows, probabilities: Doubles, threshold: float, vocabulary: Vocabulary
    ) -> list[tuple[int, float, int | None]]:
        """Return rows and probabilities of the tags of one paper, best first, and the label that one was added for."""
        least = threshold if self.threshold is None else self.threshold
        order = np.argsort(-probabilities, kind="stable")
        ranked = [(int(labels[i]), float(probabilities[i])) for i in order if probabilities[i] >= least]
        if self.parents == "drop":
            above = {row for label, _ in ranked[: self.limit] for row in vocabulary.above(label)}
            ranked = [(label, value) for label, value in ranked if label not in above]
        picked: list[tuple[int, float, int | None]] = [(*candidate, None) for candidate in ranked[: self.limit]]
        if self.parents == "add":
            chosen = {label for label, _, _ in picked}
            for label, value, _ in list(picked):  # a label above a right one is right
                for row in sorted(vocabulary.above(label) - chosen):
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


@dataclass(frozen=True, slots=True)
class TagScores:
    """Means over papers that have tags; precision_5 and f1_5: of the first five; f1: of all suggestions."""

    papers: int
    precision_1: float
    precision_5: float
    ndcg_5: float
    f1_5: float
    f1: float


@dataclass(frozen=True, slots=True)
class TagReportCard:
    """Scores of suggestions, and the errors of every label that was suggested or missed."""

    scores: TagScores
    labels: tuple[LabelErrors, ...]

    def list_worst(self, kind: Literal["wrong", "missed"], count: int) -> list[LabelErrors]:
        """Return the labels that were most often suggested wrongly, or missed."""
        ranked = sorted(self.labels, key=lambda errors: -getattr(errors, kind))[:count]
        return [errors for errors in ranked if getattr(errors, kind)]

    def to_json(self, count: int) -> dict[str, Any]:
        """Return scores and the first labels as JSON values."""
        return {
            "scores": asdict(self.scores),
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
    return TagReportCard(TagScores(len(rows), *(round(mean, 4) for mean in means)), errors)


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
