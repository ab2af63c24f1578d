"""The embedding of a citation graph: time, memory, and how well it finds citations that were held out.

The graph is synthetic (topics, fields, copied references, preferential
attachment, recency) or that of a file of papers with references. Each held-out
citation is ranked among papers that are cited as often as the cited one and not linked to the citing one: by
the cosine of the embedding, by Adamic-Adar over the other citations, by the number of citations, and at
random. Ties are in random order: their reciprocal ranks are averaged. Run from the repository root:

    python benchmarks/graph.py --size 1000000 --edges 10000000 --dim 512 -o results/graph.json
    python benchmarks/graph.py --papers PAPERS --share 0.1 -o results/graph_papers.json
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from measurement import build_parser, peak_memory_mb, provenance, write_result
from sciprism.drop_report import DropReport
from sciprism.papers import Paper, read_papers
from sciprism.prepare.samplers.sampling import references
from sciprism.prepare.samplers.triplets import default_steps, embed_graph
from sciprism.prepare.sources.citation_corpus import CitationGraph, Rows

Scores = NDArray[np.float64]


COPIED, OWN_TOPIC, OWN_FIELD = 0.45, 0.35, 0.12  # of the references; the rest leads anywhere
SPARE = 1.3  # references sampled for each in the graph: some are sampled twice
MAX_REFERENCES = 300  # references of a paper
COHORTS = 100
GROWTH = np.exp(3)  # of the last cohort over the first
Numbers = NDArray[np.int64]


class PaperGroups:
    """Papers by group, oldest first."""

    def __init__(self, group: Numbers) -> None:
        self.group = group
        self.order = np.lexsort((np.arange(len(group)), group))
        self.keys = group[self.order] * len(group) + self.order

    def sample_earlier(self, rows: Numbers, before: int, fraction: NDArray[np.float64]) -> Numbers:
        """Draw a paper of each row's group that is older than `before`, recent ones first; -1 for none."""
        own = self.group[rows] * len(self.group)
        start, end = np.searchsorted(self.keys, own), np.searchsorted(self.keys, own + before)
        at = end - 1 - ((end - start) * fraction**2).astype(np.int64)
        return np.where(end > start, self.order[np.maximum(at, 0)], -1)


def build_synthetic_graph(
    size: int, edges: int, *, seed: int = 0, per_topic: int = 250, fields: int = 20
) -> CitationGraph:
    """Grow a graph of `size` papers; topics have `per_topic` papers on average, sizes log-normal."""
    random = np.random.default_rng(seed)
    weights = random.lognormal(0, 1, max(1, size // per_topic))
    topic = np.searchsorted(np.cumsum(weights / weights.sum())[:-1], random.random(size))
    groups = PaperGroups(topic), PaperGroups(random.integers(0, fields, len(weights))[topic])
    counts = random.lognormal(0, 0.8, size)
    counts = np.minimum(np.ceil(counts * SPARE * edges / size / counts.mean()), MAX_REFERENCES).astype(np.int64)
    firsts = size * (GROWTH ** np.linspace(0, 1, COHORTS + 1) - 1) / (GROWTH - 1)
    firsts = np.unique(firsts.astype(np.int64))
    counts[: firsts[1]] = 0  # the first cohort has nobody to cite
    bounds = np.concatenate([[0], np.cumsum(counts)])
    cited = np.full(bounds[-1], -1)
    for first, end in pairwise(firsts[1:].tolist()):
        _cite(range(first, end), bounds, cited, groups, random)
    pairs = np.unique(np.repeat(np.arange(size), counts) * size + cited)
    if len(pairs) > edges:
        pairs = pairs[np.sort(random.choice(len(pairs), edges, replace=False))]
    return CitationGraph(size, (pairs // size).astype(np.int32), (pairs % size).astype(np.int32))


def _cite(
    cohort: range,
    bounds: Numbers,
    cited: Numbers,
    groups: tuple[PaperGroups, PaperGroups],
    random: np.random.Generator,
) -> None:
    """Fill in the references of one cohort, the first of each paper, then the second, and so on."""
    rows, counts = np.arange(cohort.start, cohort.stop), np.diff(bounds)
    for slot in range(int(counts[cohort.start : cohort.stop].max(initial=0))):
        rows = rows[counts[rows] > slot]
        kind = np.searchsorted(np.cumsum((COPIED, OWN_TOPIC, OWN_FIELD)), random.random(len(rows)))
        fraction, found = random.random(len(rows)), np.full(len(rows), -1)
        if slot:
            model = cited[bounds[rows] + random.integers(0, slot, len(rows))]
            able = (kind == 0) & (counts[model] > 0)
            found[able] = cited[bounds[model[able]] + (fraction[able] * counts[model[able]]).astype(np.int64)]
        for group, kinds in zip(groups, ((0, 1), (2,)), strict=True):
            open_ = np.isin(kind, kinds) & (found < 0)
            found[open_] = group.sample_earlier(rows[open_], cohort.start, fraction[open_])
        open_ = found < 0
        past = int(bounds[cohort.start])
        if past:
            found[open_] = cited[random.integers(0, past, open_.sum())]
        else:
            found[open_] = random.integers(0, cohort.start, open_.sum())
        cited[bounds[rows] + slot] = found


@dataclass(frozen=True)
class HeldOut:
    """Held-out citations: the citing rows (n,), and (n, 1 + candidates), the cited one first."""

    graph: CitationGraph
    citing: Rows
    candidates: Rows


def split_edges(graph: CitationGraph, share: float, part: str, seed: int) -> tuple[CitationGraph, Rows, Rows]:
    """Return the graph without the dev and test edges, and the edges of one of these parts."""
    citing, cited = graph.edges
    order = np.random.default_rng(seed).permutation(len(citing))
    count = round(share * len(citing))
    dev, test, rest = order[:count], order[count : 2 * count], order[2 * count :]
    selected = dev if part == "dev" else test
    return CitationGraph(graph.size, citing[rest], cited[rest]), citing[selected], cited[selected]


def hold_out(whole: CitationGraph, args: argparse.Namespace) -> HeldOut:
    """Take edges out and find each one's candidates: those nearest to the cited paper in citations."""
    graph, citing, cited = split_edges(whole, args.share, args.part, args.seed)
    citing, cited = citing[: args.max_citations], cited[: args.max_citations]
    random = np.random.default_rng(args.seed)
    order = np.lexsort((random.random(graph.size), graph.citing.counts))
    place = np.empty(graph.size, np.int64)
    place[order] = np.arange(graph.size)
    candidates = np.empty((len(citing), args.candidates + 1), np.int32)
    for at, (one, other) in enumerate(zip(citing.tolist(), cited.tolist(), strict=True)):
        linked = [*whole.linked(one)]
        reach = args.candidates + len(linked)
        near = order[max(0, place[other] - reach) : place[other] + reach + 1]
        near = near[~np.isin(near, linked)]
        nearest = np.argsort(np.abs(place[near] - place[other]), kind="stable")
        candidates[at] = [other, *near[nearest[: args.candidates]]]
    return HeldOut(graph, citing, candidates)


def reciprocal_ranks(scores: Scores) -> Scores:
    """Return the reciprocal rank of the first column of each row; equal scores in random order."""
    above = (scores[:, 1:] > scores[:, :1]).sum(1)
    ties = (scores[:, 1:] == scores[:, :1]).sum(1) + 1
    sums = np.concatenate([[0], np.cumsum(1 / np.arange(1, scores.shape[1] + 1))])
    found: Scores = (sums[above + ties] - sums[above]) / ties
    return found


def difference(ours: Scores, other: Scores) -> dict[str, float]:
    """Return the mean difference over held-out citations, with its 95% interval."""
    each = ours - other
    error = 1.96 * float(each.std(ddof=1)) / len(each) ** 0.5
    mean = float(each.mean())
    return {"mean": round(mean, 4), "low": round(mean - error, 4), "high": round(mean + error, 4)}


def score_by_cosine(held: HeldOut, vectors: NDArray[np.float32]) -> Scores:
    """Score each candidate by the cosine with the citing paper."""
    return np.stack([vectors[others] @ vectors[row] for row, others in zip(held.citing, held.candidates, strict=True)])


def score_by_adamic_adar(held: HeldOut) -> Scores:
    """Score each candidate by the neighbours shared with the citing paper, each weighed 1 / log degree."""
    ones, others = held.graph.edges
    pairs = np.concatenate([ones, others]), np.concatenate([others, ones])
    links = csr_array((np.ones(len(pairs[0]), np.float32), pairs), shape=(held.graph.size,) * 2)
    links.data[:] = 1  # two papers that cite each other are neighbours once
    degrees = np.maximum(np.diff(links.indptr), 2)
    weighed = links @ diags_array((1 / np.log(degrees)).astype(np.float32))
    return np.stack(
        [
            (links[others] @ weighed[[row]].T).toarray()[:, 0]
            for row, others in zip(held.citing, held.candidates, strict=True)
        ]
    )


def read(paths: list[Path]) -> tuple[CitationGraph, dict[str, Any]]:
    """Return the graph of papers with references, and counts of what was dropped."""
    papers = [paper for paper in read_papers(paths) if isinstance(paper, Paper)]
    dropped = DropReport()
    graph = CitationGraph.from_edges([paper.id for paper in papers], references(papers), dropped)
    return graph, {reason: each["count"] for reason, each in dropped.to_json().items()}


def measure(args: argparse.Namespace) -> dict[str, Any]:
    began = time.perf_counter()
    dropped: dict[str, Any] = {}
    if args.papers:
        whole, dropped = read(args.papers)
    else:
        whole = build_synthetic_graph(args.size, args.edges, seed=args.seed)
    made, held_before = time.perf_counter() - began, peak_memory_mb()
    held = hold_out(whole, args)
    before = peak_memory_mb()
    began = time.perf_counter()
    vectors = embed_graph(held.graph, dim=args.dim, seed=args.seed, steps=args.steps, smoothing=args.smoothing)
    seconds, after = time.perf_counter() - began, peak_memory_mb()
    ranks = {
        "embedding": reciprocal_ranks(score_by_cosine(held, vectors)),
        "Adamic-Adar": reciprocal_ranks(score_by_adamic_adar(held)),
        "degree": reciprocal_ranks(held.graph.citing.counts[held.candidates].astype(np.float64)),
        "random": reciprocal_ranks(np.zeros((1, args.candidates + 1))),
    }
    return {
        "graph": [path.name for path in args.papers or ()] or "synthetic",
        "papers": whole.size,
        "citations": len(whole.edges[0]),
        "left_out": dropped,
        "graph_seconds": round(made, 1),
        "graph_peak_memory_mb": held_before,
        "embedding": {
            "dim": args.dim,
            "steps": args.steps or default_steps(whole.size),
            "smoothing": args.smoothing,
            "seconds": round(seconds, 1),
            "peak_memory_mb": after,
            "peak_memory_before_mb": before,
            "without_vector": int((~vectors.any(axis=1)).sum()),
        },
        "held_out": {"part": args.part, "share": args.share, "ranked": len(held.citing)},
        "mrr": {name: round(float(each.mean()), 4) for name, each in ranks.items()},
        "above_adamic_adar": difference(ranks["embedding"], ranks["Adamic-Adar"]),
    }


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("--papers", type=Path, nargs="+", help="papers with references, instead of a synthetic graph")
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--share", type=float, default=0.01, help="of the citations, for dev and for test each")
    parser.add_argument("--part", choices=["dev", "test"], default="test")
    parser.add_argument("--max-citations", type=int, default=3_000, help="held-out citations that are ranked")
    parser.add_argument("--candidates", type=int, default=1_000)
    parser.add_argument("--dim", type=int, default=512)
    parser.add_argument("--steps", type=int, default=0, help="0: by the size of the graph")
    parser.add_argument("--smoothing", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    found = measure(args)
    result = provenance(
        ["numpy", "scipy", "torch", "sciprism"], seed=args.seed, threads=torch.get_num_threads(), **found
    )
    print(result)
    write_result(args.output, result)


if __name__ == "__main__":
    main()
