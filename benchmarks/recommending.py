"""Recommend papers that authors went on to cite: interests of a library against BM25, vectors and citation counts.

Vis: an author of at least five papers with references has as library what their papers until 2015 cite, and hidden
is what their papers from 2016 on cite besides; candidates are the papers that are in neither the library nor theirs,
those from 2016 on alone ("vis-new") or all ("vis-all"). The model that ships has seen no citation of a paper from
2016 on. ACL and CACM: of a paper with at least four links, half is the library, half hidden. Mixed: the library of a
Vis author with at least 25 papers, and the two to four of an ACL paper: how much of the small interest is found?
Feedback: of the list, the first five papers that are not hidden are named as unwanted, and the rest is ranked again.
Unwanted topic: of the mixed libraries, the ACL papers are named as unwanted: how much of the list is from ACL still?

Users: half of a real user's library of at least eight papers is the library, the other half hidden; candidates are all
other papers of the users.

Settings are chosen on the dev half of users (by hash), and reported on the test half of users, authors and papers; the
weight of unwanted papers by feedback and unwanted topic. Intervals: paired bootstrap over authors or
papers; authors share papers, so that theirs are too narrow. Run from the repository root:

    SCIPRISM_DATA=... python benchmarks/recommending.py users vis-new vis-all acl cacm mixed \
        -o results/recommending.json
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from bm25s import BM25
from bm25s.tokenization import Tokenizer

from differences import paired_difference
from measurement import build_parser, provenance, write_result
from sciprism import Encoder, Paper
from sciprism.arrays import normalize_rows
from sciprism.encoders.cached_encoder import CachedEncoder
from sciprism.evaluation.intervals import bootstrap_interval, estimate
from sciprism.evaluation.item_scores import ItemScores
from sciprism.seeding import random_bits, random_fraction
from sciprism.uses.recommending.interests import find_interests
from sciprism.uses.recommending.run import COMMON, RETAINED, LibraryProfile, choose_papers
from sciprism.uses.recommending.settings import RecommendSettings

FIRST_NEW = 2016
DEPTH, CUT = 50, 20
SMALL_LINKS = 4
SMALL_LIBRARY = 8
BIG_LIBRARY = 25
REJECTED = 5
WEIGHTS = (0.0, 0.025, 0.05, 0.1, 0.25)
LISTED = RecommendSettings(k=DEPTH)


@dataclass(frozen=True)
class Case:
    """A library, the papers that are hidden, and the candidates, all as rows. small: hidden of the small interest."""

    id: str
    library: list[int]
    hidden: frozenset[int]
    candidates: np.ndarray
    own: frozenset[int] = frozenset()
    small: frozenset[int] = frozenset()

    @property
    def part(self) -> str:
        return "dev" if random_fraction("recommending", self.id) < 0.5 else "test"


@dataclass
class Graph:
    """Papers with vectors (n, d) and citations (citing row, cited row)."""

    papers: list[Paper]
    vectors: np.ndarray
    citations: list[tuple[int, int]]
    index: BM25 | None = None
    words: list[list[int]] = field(default_factory=list)
    bm25: dict[int, np.ndarray] = field(default_factory=dict)
    interests: dict[Any, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.years = np.array([np.nan if paper.year is None else paper.year for paper in self.papers], float)

    def cited_by(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = defaultdict(list)
        for citing, cited in self.citations:
            found[citing].append(cited)
        return found


def read_rows(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def encode(papers: list[Paper], encoder: CachedEncoder) -> np.ndarray:
    return normalize_rows(encoder.encode(papers, format="proximity", role="paper"))


def load_vis(folder: Path, encoder: CachedEncoder) -> Graph:
    papers = [Paper.from_json(row) for row in read_rows(folder / "citegraph_vis" / "papers.jsonl.gz")]
    return Graph(papers, encode(papers, encoder), list_citations(papers))


def load_acl(folder: Path, encoder: CachedEncoder) -> Graph:
    papers = [Paper.from_json(row) for row in read_rows(folder / "citegraph_acl" / "papers.jsonl.gz")]
    return Graph(papers, encode(papers, encoder), list_citations(papers))


def load_cacm(folder: Path, encoder: CachedEncoder) -> Graph:
    """Load CACM; its links have no direction: each counts as two citations."""
    rows = list(read_rows(folder / "ir_cacm" / "corpus.jsonl.gz"))
    papers = [Paper(id=row["_id"], title=row["title"] or "", abstract=row["text"] or "") for row in rows]
    place = {paper.id: row for row, paper in enumerate(papers)}
    lines = (folder / "ir_cacm" / "citation_links.tsv").read_text(encoding="utf-8").splitlines()[1:]
    pairs = [tuple(place[id] for id in line.split("\t")) for line in lines]
    return Graph(papers, encode(papers, encoder), [pair for one, two in pairs for pair in ((one, two), (two, one))])


def load_users(folder: Path, encoder: CachedEncoder) -> Graph:
    papers = [Paper.from_json(row) for row in read_rows(folder / "rec_user_libraries" / "papers.jsonl.gz")]
    return Graph(papers, encode(papers, encoder), list_citations(papers))


def list_citations(papers: list[Paper]) -> list[tuple[int, int]]:
    place = {paper.id: row for row, paper in enumerate(papers)}
    found = ((row, place.get(id)) for row, paper in enumerate(papers) for id in dict.fromkeys(paper.references))
    return [(row, cited) for row, cited in found if cited is not None and cited != row]


def build_vis_cases(graph: Graph, *, new: bool) -> list[Case]:
    """Return a case of each author; new: candidates and hidden papers from 2016 on alone."""
    cited, years, own = graph.cited_by(), graph.years, defaultdict(set)
    for row, paper in enumerate(graph.papers):
        for author in paper.authors:
            own[author].add(row)
    cases = []
    for author, rows in sorted(own.items()):
        if sum(row in cited for row in rows) < 5:
            continue
        library = {other for row in rows if years[row] < FIRST_NEW for other in cited.get(row, ())} - rows
        later = {other for row in rows if years[row] >= FIRST_NEW for other in cited.get(row, ())} - rows - library
        open_rows = np.array([row for row in range(len(years)) if row not in library and row not in rows])
        if new:
            open_rows = open_rows[years[open_rows] >= FIRST_NEW]
        hidden = frozenset(later) & frozenset(open_rows.tolist())
        if len(library) >= 3 and hidden:
            cases.append(Case(author, sorted(library), hidden, open_rows, frozenset(rows)))
    return cases


def build_link_cases(graph: Graph, name: str) -> list[Case]:
    """Return a case of each paper with enough links: half of them is the library."""
    cases = []
    for row, linked in sorted(graph.cited_by().items()):
        rows = sorted(set(linked), key=lambda other: random_bits(name, row, other))
        if len(rows) >= SMALL_LINKS:
            half = (len(rows) + 1) // 2
            open_rows = np.setdiff1d(np.arange(len(graph.papers)), [row, *rows[:half]])
            id = f"{name}/{graph.papers[row].id}"
            cases.append(Case(id, sorted(rows[:half]), frozenset(rows[half:]), open_rows, frozenset([row])))
    return cases


def build_user_cases(graph: Graph, folder: Path) -> list[Case]:
    """Return a case of each user with enough papers: half of them is the library."""
    place = {paper.id: row for row, paper in enumerate(graph.papers)}
    cases = []
    for user in read_rows(folder / "rec_user_libraries" / "libraries.jsonl.gz"):
        rows = sorted((place[id] for id in user["papers"]), key=lambda row: random_bits(user["user"], row))
        if len(rows) >= SMALL_LIBRARY:
            half = (len(rows) + 1) // 2
            open_rows = np.setdiff1d(np.arange(len(graph.papers)), rows[:half])
            cases.append(Case(user["user"], sorted(rows[:half]), frozenset(rows[half:]), open_rows))
    return cases


def mix_cases(vis: Graph, acl: Graph) -> tuple[Graph, list[Case]]:
    """Return both graphs as one, and for each ACL paper three cases: with the library of a Vis author each."""
    first = len(vis.papers)
    big = [case for case in build_vis_cases(vis, new=True) if len(case.library) >= BIG_LIBRARY]
    cases = []
    for small in build_link_cases(acl, "acl"):
        mates = sorted((case for case in big if case.part == small.part), key=lambda c: random_bits(small.id, c.id))
        for mate in mates[:3]:
            hidden = frozenset(row + first for row in small.hidden)
            candidates = np.concatenate([mate.candidates, small.candidates + first])
            library = [*mate.library, *(row + first for row in small.library)]
            cases.append(Case(small.id, library, mate.hidden | hidden, candidates, small=hidden))
    numbered = [replace(case, id=f"{case.id} {number}") for number, case in enumerate(cases)]
    parts = {case.id: case.part for case in cases}
    both = Graph([*vis.papers, *acl.papers], np.concatenate([vis.vectors, acl.vectors]), [])
    return both, [_PartedCase(**vars(case), of=parts[case.id.rsplit(" ", 1)[0]]) for case in numbered]


@dataclass(frozen=True)
class _PartedCase(Case):
    """A case whose part is that of the ACL paper in it."""

    of: str = "dev"

    @property
    def part(self) -> str:
        return self.of


Rank = Callable[[Graph, Case], list[int]]


def rank_ours(settings: RecommendSettings, unwanted: Sequence[int] = ()) -> Rank:
    """Return the ranking of `recommend` with some settings."""

    def rank(graph: Graph, case: Case) -> list[int]:
        vectors, key = graph.vectors[case.library], (tuple(case.library), settings.interests)
        if key not in graph.interests:
            graph.interests[key] = find_interests(vectors, settings.interests)
        centre = COMMON * graph.vectors[case.candidates].mean(axis=0)
        profile = LibraryProfile(vectors, graph.interests[key], graph.vectors[list(unwanted)], settings, centre)
        rows = select_pool(profile, graph, case.candidates)
        chosen, _ = choose_papers(profile, graph.vectors[rows].astype(np.float64), graph.years[rows], settings)
        return rows[chosen].tolist()

    return rank


def select_pool(profile: LibraryProfile, graph: Graph, rows: np.ndarray) -> np.ndarray:
    """Return the candidates that `CandidatePool` retains: the best overall, and the best that fit each interest."""
    found = profile.score(graph.vectors[rows], graph.years[rows])
    pool = set(np.argsort(-found.overall, kind="stable")[:RETAINED].tolist())
    for interest in range(len(profile.sizes)):
        inside = np.where(found.fits & (found.interest == interest), found.inside, -np.inf)
        best = np.argsort(-inside, kind="stable")[:RETAINED]
        pool |= set(best[inside[best] > -np.inf].tolist())
    return rows[sorted(pool)]


def rank_by(score: Callable[[Graph, Case], np.ndarray]) -> Rank:
    """Return the ranking by one score per candidate, ties in random order."""

    def rank(graph: Graph, case: Case) -> list[int]:
        scores = score(graph, case)
        ties = np.array([random_bits("tie", case.id, int(row)) for row in case.candidates])
        return case.candidates[np.lexsort((ties, -scores))[:DEPTH]].tolist()

    return rank


def score_mean_vector(graph: Graph, case: Case) -> np.ndarray:
    return graph.vectors[case.candidates] @ graph.vectors[case.library].mean(axis=0)


def score_nearest(graph: Graph, case: Case) -> np.ndarray:
    return (graph.vectors[case.candidates] @ graph.vectors[case.library].T).max(axis=1)


def score_five_nearest(graph: Graph, case: Case) -> np.ndarray:
    return np.sort(graph.vectors[case.candidates] @ graph.vectors[case.library].T, axis=1)[:, -5:].mean(axis=1)


def score_bm25(graph: Graph, case: Case) -> np.ndarray:
    """Return the sum of the BM25 scores of all own papers as queries."""
    if graph.index is None:
        tokenizer = Tokenizer(stopwords="english")
        texts = [f"{paper.title} {paper.abstract}" for paper in graph.papers]
        graph.words = tokenizer.tokenize(texts, update_vocab=True, show_progress=False)
        graph.index = BM25(k1=1.2, b=0.75, method="lucene")
        graph.index.index((graph.words, tokenizer.get_vocab_dict()), show_progress=False)
    for row in case.library:
        if row not in graph.bm25:
            graph.bm25[row] = np.array(graph.index.get_scores_from_ids(graph.words[row]))
    return np.sum([graph.bm25[row] for row in case.library], axis=0)[case.candidates]


def score_citations(before: int | None) -> Callable[[Graph, Case], np.ndarray]:
    """Return the citations by others' papers. before: those before a year, which alone are known at the time."""

    def score(graph: Graph, case: Case) -> np.ndarray:
        years = graph.years
        counts = Counter(
            cited
            for citing, cited in graph.citations
            if citing not in case.own and (before is None or years[citing] < before)
        )
        return np.array([counts[row] for row in case.candidates.tolist()], float)

    return score


def ndcg(ranked: Sequence[int], hidden: frozenset[int]) -> float:
    gains = sum(1 / np.log2(rank + 1) for rank, row in enumerate(ranked[:CUT], 1) if row in hidden)
    return float(gains / sum(1 / np.log2(rank + 1) for rank in range(1, min(CUT, len(hidden)) + 1)))


def recall(ranked: Sequence[int], hidden: frozenset[int]) -> float:
    return len(hidden & set(ranked[:DEPTH])) / len(hidden)


def likeness(graph: Graph, ranked: Sequence[int]) -> float:
    """Return the mean cosine of two papers among the first 20."""
    near = graph.vectors[list(ranked[:CUT])]
    count = len(near)
    return float(((near @ near.T).sum() - count) / (count * (count - 1)))


def measure(graph: Graph, cases: Iterable[Case], rank: Rank) -> dict[str, ItemScores]:
    """Return the scores of each case."""
    ids, rows = [], []
    for case in cases:
        ranked = rank(graph, case)
        small = (recall(ranked, case.small), float(bool(case.small & set(ranked)))) if case.small else (0.0, 0.0)
        rows.append([ndcg(ranked, case.hidden), recall(ranked, case.hidden), likeness(graph, ranked), *small])
        ids.append(case.id)
    table = 100 * np.array(rows)
    names = ("ndcg@20", "recall@50", "likeness", "small_recall@50", "small_found")
    return {name: ItemScores(tuple(ids), table[:, [i]], "mean") for i, name in enumerate(names)}


def summarize(scores: dict[str, ItemScores], ours: dict[str, ItemScores], names: Sequence[str]) -> dict[str, Any]:
    """Return each score with its interval, and the difference to ours with its interval."""
    found: dict[str, Any] = {}
    for name in names:
        low, high = bootstrap_interval(scores[name])
        entry: dict[str, Any] = {"value": round(estimate(scores[name]), 2), "interval": [round(low, 2), round(high, 2)]}
        if scores is not ours:
            gap = paired_difference(ours[name], scores[name])
            entry["ours_minus_this"] = [round(number, 2) for number in (gap.value, gap.low, gap.high)]
        found[name] = entry
    return found


def list_measures(data: str) -> list[str]:
    return ["ndcg@20", "recall@50", "likeness", *(["small_recall@50", "small_found"] if data == "mixed" else [])]


def choose_on_dev(data: str, graph: Graph, cases: Sequence[Case]) -> dict[str, Any]:
    """Return the scores of settings on the dev half, one setting changed at a time."""
    grids: dict[str, list[Any]] = {
        "balance": [0.0, 0.25, 0.5, 0.75, 1.0],
        "diversity": [0.0, 0.1, 0.2, 0.3, 0.5],
        "interests": [None, 1, 3, 5],
    }
    dev = [case for case in cases if case.part == "dev"]
    found: dict[str, Any] = {"cases": len(dev)}
    for setting, values in grids.items():
        for value in values:
            scores = measure(graph, dev, rank_ours(replace(LISTED, **{setting: value})))
            line = {name: round(estimate(scores[name]), 2) for name in list_measures(data)}
            found[f"{setting}={'found' if value is None else value}"] = line
            print("dev", data, setting, value, line, flush=True)
    return found


def compare_on_test(data: str, graph: Graph, cases: Sequence[Case]) -> dict[str, Any]:
    """Return all systems on the test half."""
    systems: dict[str, Rank] = {
        "recommend": rank_ours(LISTED),
        "recommend, balance 0": rank_ours(replace(LISTED, balance=0.0)),
        "recommend, balance 0.5": rank_ours(replace(LISTED, balance=0.5)),
        "recommend, balance 1": rank_ours(replace(LISTED, balance=1.0)),
        "recommend, diversity 0.1": rank_ours(replace(LISTED, diversity=0.1)),
        "recommend, diversity 0.3": rank_ours(replace(LISTED, diversity=0.3)),
        "nearest own paper": rank_by(score_nearest),
        "mean of the five nearest own papers": rank_by(score_five_nearest),
        "mean vector": rank_by(score_mean_vector),
        "BM25": rank_by(score_bm25),
        "most cited until 2015": rank_by(score_citations(FIRST_NEW)),
        "most cited by others until today": rank_by(score_citations(None)),
        "random": rank_by(lambda graph, case: np.zeros(len(case.candidates))),
    }
    test = [case for case in cases if case.part == "test"]
    skipped = ["most cited until 2015"] if data != "vis-all" else []
    skipped += ["most cited by others until today"] if data in ("mixed", "users") else []
    scores = {name: measure(graph, test, rank) for name, rank in systems.items() if name not in skipped}
    names = list_measures(data)
    found: dict[str, Any] = {
        "cases": len(test),
        "library_median": float(np.median([len(case.library) for case in test])),
        "hidden_median": float(np.median([len(case.hidden) for case in test])),
        "candidates_median": float(np.median([len(case.candidates) for case in test])),
        "systems": {name: summarize(each, scores["recommend"], names) for name, each in scores.items()},
    }
    for name, each in found["systems"].items():
        print("test", data, name, {key: value["value"] for key, value in each.items()}, flush=True)
    return found


def measure_unwanted_topic(graph: Graph, cases: Sequence[Case], part: str, first: int) -> dict[str, Any]:
    """Return by the weight of unwanted papers, the small interest's, how much of the list is of its kind.

    first: the first row of its kind. Hidden papers are those of the big interest alone.
    """
    found: dict[str, dict[str, ItemScores]] = {}
    chosen = [replace(case, hidden=case.hidden - case.small) for case in cases if case.part == part]
    for weight in WEIGHTS:
        shares: dict[str, float] = {}

        def rank(graph: Graph, case: Case, weight: float = weight, shares: dict[str, float] = shares) -> list[int]:
            unwanted = [row for row in case.library if row >= first] if weight else []
            ranked = rank_ours(replace(LISTED, unwanted_weight=weight), unwanted)(graph, case)
            shares[case.id] = 100 * float(np.mean([row >= first for row in ranked]))
            return ranked

        scores = measure(graph, chosen, rank)
        rows = np.array(list(shares.values()))[:, None]
        found[f"unwanted_weight={weight}"] = scores | {"unwanted share": ItemScores(tuple(shares), rows, "mean")}
    base = found["unwanted_weight=0.0"]
    return {name: summarize(scores, base, ["ndcg@20", "unwanted share"]) for name, scores in found.items()}


def measure_feedback(graph: Graph, cases: Sequence[Case], part: str) -> dict[str, Any]:
    """Return the scores after five papers of the list were named as unwanted, by their weight; all leave the list."""
    found: dict[str, dict[str, ItemScores]] = {}
    for weight in WEIGHTS:

        def rank(graph: Graph, case: Case, weight: float = weight) -> list[int]:
            shown = rank_ours(LISTED)(graph, case)
            rejected = [row for row in shown if row not in case.hidden][:REJECTED]
            rest = replace(case, candidates=np.setdiff1d(case.candidates, rejected))
            return rank_ours(replace(LISTED, unwanted_weight=weight), rejected)(graph, rest)

        found[f"unwanted_weight={weight}"] = measure(graph, [case for case in cases if case.part == part], rank)
    base = found["unwanted_weight=0.0"]
    return {name: summarize(scores, base, ["ndcg@20", "recall@50"]) for name, scores in found.items()}


def measure_data(data: str, folder: Path, encoder: CachedEncoder) -> dict[str, Any]:
    """Return all results on one data set."""
    loaders = {"acl": load_acl, "cacm": load_cacm, "users": load_users}
    graph = loaders.get(data, load_vis)(folder, encoder)
    first = len(graph.papers)
    if data == "users":
        cases = build_user_cases(graph, folder)
    elif data == "mixed":
        graph, cases = mix_cases(graph, load_acl(folder, encoder))
    else:
        is_vis = data.startswith("vis")
        cases = build_vis_cases(graph, new=data == "vis-new") if is_vis else build_link_cases(graph, data)
    result = {"dev": choose_on_dev(data, graph, cases), "test": compare_on_test(data, graph, cases)}
    for part in result:
        found = {}
        if data == "vis-new":
            found["feedback"] = measure_feedback(graph, cases, part)
        if data == "mixed":
            found["unwanted topic"] = measure_unwanted_topic(graph, cases, part, first)
        result[part] |= found
        for kind, by_weight in found.items():
            for name, each in by_weight.items():
                print(part, kind, name, {key: value["value"] for key, value in each.items()}, flush=True)
    return result


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("sets", nargs="+", choices=["users", "vis-new", "vis-all", "acl", "cacm", "mixed"])
    parser.add_argument("--data", type=Path, default=os.environ.get("SCIPRISM_DATA"), help="folder of the open data")
    args: argparse.Namespace = parser.parse_args()
    model = Encoder.load()
    encoder = CachedEncoder(model)
    settings = {name: getattr(LISTED, name) for name in RecommendSettings.__slots__}
    facts = {"model": model.name, "fingerprint": model.fingerprint, "seed": "hashes of ids", "settings": settings}
    for data in args.sets:
        result = measure_data(data, Path(args.data), encoder)
        write_result(args.output, provenance(["sciprism", "numpy", "torch", "bm25s"], **facts) | result, data)


if __name__ == "__main__":
    main()
