"""Pairs of a paper and a label, with labels of related papers as hard negatives (SciMult, section 3.4)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.records import Label, Paper
from sciprism.prepare.samplers.links import Links, SharedAttributeLinks
from sciprism.prepare.samplers.sampling import NONE, QuerySample, Sampling, references, seeded_random
from sciprism.prepare.sources.citation_graph import CitationGraph, rows_of
from sciprism.seeding import random_fraction
from sciprism.training.examples import Example

MAX_PER_LABEL = 100  # pairs of one label at most (SciMult, section 4.1)
TRIES = 10  # related papers of one kind that are tried before the next kind
BEYOND_LABEL_LIMIT = "pair beyond the maximum of its label"


def sample_label_pairs(
    papers: Sequence[Paper],
    labels: Sequence[Label],
    paper_labels: Sequence[Iterable[int]],
    sampling: Sampling,
    *,
    max_per_label: int = MAX_PER_LABEL,
) -> Iterator[Example]:
    """Yield the labels of each paper in random order, each with a label that the paper does not have.

    The negative is a label of a paper that it cites, or that shares an author or the venue with it: these are the
    papers' own; authors are compared as written, so give identifiers where there are any. paper_labels: label
    rows of each paper. max_per_label: pairs of one label, selected by hash, 0 for all; the limit of papers
    applies after that.
    """
    if len(paper_labels) != len(papers):
        raise InputError(f"{len(papers)} papers, but labels of {len(paper_labels)}; give labels of each paper")
    rows_of(paper.id for paper in papers)
    rows = [row for row, paper in enumerate(papers) if sampling.has_text(paper)]
    papers = [papers[row] for row in rows]
    all_labels = [frozenset(paper_labels[row]) for row in rows]
    sampler = _LabelSampler(
        names=[paper.id for paper in papers],
        labels=all_labels,
        positives=_select_positives(papers, labels, all_labels, max_per_label, sampling),
        related=_find_related(papers),
        seed=sampling.seed,
    )
    labelled = [row for row, positives in enumerate(sampler.positives) if positives]
    return sampling.examples(sampler, sampling.select(sampler.names, labelled), papers, labels)


def _select_positives(
    papers: Sequence[Paper],
    labels: Sequence[Label],
    all_labels: Sequence[frozenset[int]],
    max_per_label: int,
    sampling: Sampling,
) -> list[tuple[int, ...]]:
    """Return the labels of each paper that are within the label's maximum: the pairs that hash lowest."""
    holders: dict[int, list[int]] = defaultdict(list)
    for row, label_rows in enumerate(all_labels):
        if not label_rows:
            sampling.drop("no label", papers[row].id)
        for label in label_rows:
            holders[label].append(row)
    positives: list[list[int]] = [[] for _ in papers]
    limit = max_per_label or len(papers)
    for label, rows in sorted(holders.items()):
        if len(rows) > limit:
            name = labels[label].id
            rows.sort(key=lambda row: (random_fraction(sampling.seed, papers[row].id, name), row))
            for row in rows[limit:]:
                sampling.drop(BEYOND_LABEL_LIMIT, papers[row].id)
        for row in rows[:limit]:
            positives[row].append(label)
    return list(map(tuple, positives))


def _find_related(papers: Sequence[Paper]) -> dict[str, Links]:
    names = {paper.id for paper in papers}
    inside = (edge for edge in references(papers) if edge[1] in names)
    return {
        "citation": CitationGraph.from_edges([paper.id for paper in papers], inside, DropReport()),
        "author": SharedAttributeLinks([paper.authors for paper in papers]),
        "venue": SharedAttributeLinks([(paper.venue,) for paper in papers]),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _LabelSampler:
    """Samples one negative label for each positive of a paper; pickled for other processes.

    labels: all label rows of each paper. positives: those of them that are its positives. related: kind ->
    related papers. The kinds are tried in random order; a label is sampled at most once for a paper.
    """

    names: Sequence[str]
    labels: Sequence[frozenset[int]]
    positives: Sequence[tuple[int, ...]]
    related: Mapping[str, Links]
    seed: int

    def __call__(self, row: int) -> QuerySample:
        """Return the sample of a row; it depends on the row's name and the seed alone."""
        random = seeded_random(self.seed, self.names[row])
        positives = random.sample(self.positives[row], len(self.positives[row]))
        negatives: dict[int, str] = {}
        for _ in positives:
            label, kind = self._sample_one(random, row, self.labels[row].union(negatives))
            if label is not None:
                negatives[label] = kind
        missing = len(positives) - len(negatives)
        return QuerySample(tuple(positives), tuple(negatives), (*negatives.values(), *[NONE] * missing))

    def _sample_one(self, random: Random, row: int, excluded: frozenset[int]) -> tuple[int | None, str]:
        for kind in random.sample([*self.related], len(self.related)):
            for _ in range(TRIES):
                other = self.related[kind].sample_one(random, row)
                if other is None:
                    break
                if labels := sorted(self.labels[other] - excluded):
                    return random.choice(labels), kind
        return None, NONE
