"""Recommend papers that authors went on to cite: interests of a library against BM25, vectors and citation counts.

Vis: an author of at least five papers with references has as library what their papers until 2015 cite, and hidden
is what their papers from 2016 on cite besides; candidates are the papers from 2016 on that are in neither the library
nor theirs. The model that ships has seen no citation of a paper from 2016 on. Users: half of a real user's library of
at least eight papers is the library, the other half hidden; candidates are all other papers of the users.

Settings were chosen on the dev half of users and authors (by hash); reported is the test half. Intervals: paired
bootstrap over authors or users; authors share papers, so that theirs are too narrow. Run from the repository root:

    SCIPRISM_DATA=... python benchmarks/recommending.py users vis-new -o results/recommending.json
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from bm25s import BM25
from bm25s.tokenization import Tokenizer

from citation_data import list_citations, read_cited_papers
from differences import describe_difference, describe_score
from measurement import build_parser, provenance, read_json_lines, write_result
from sciprism import Encoder, Paper
from sciprism.arrays import normalize_rows
from sciprism.encoders.cached_encoder import CachedEncoder
from sciprism.evaluation.item_scores import ItemScores
from sciprism.seeding import random_bits, random_fraction
from sciprism.uses.recommending.interests import find_interests
from sciprism.uses.recommending.run import COMMON, RETAINED, LibraryProfile, choose_papers
from sciprism.uses.recommending.settings import RecommendSettings

FIRST_NEW = 2016
DEPTH, CUT = 50, 20
MEASURES = ("ndcg@20", "recall@50")
SMALL_LIBRARY = 8
LISTED = RecommendSettings(k=DEPTH)


@dataclass(frozen=True)
class Case:
    """A library, the papers that are hidden, and the candidates, all as rows."""

    id: str
    library: list[int]
    hidden: frozenset[int]
    candidates: np.ndarray
    own: frozenset[int] = frozenset()

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


def encode(papers: list[Paper], encoder: CachedEncoder) -> np.ndarray:
    return normalize_rows(encoder.encode(papers, format="proximity", role="paper"))


def load_graph(folder: Path, name: str, encoder: CachedEncoder) -> Graph:
    """Load papers with citations."""
    if name == "users":
        rows = read_json_lines(folder / "rec_user_libraries" / "papers.jsonl.gz")
        papers = [Paper.from_json(row) for row in rows]
    else:
        papers = read_cited_papers(folder, name)
    return Graph(papers, encode(papers, encoder), list_citations(papers))


def build_vis_cases(graph: Graph) -> list[Case]:
    """Return a case of each author; candidates and hidden papers are those from 2016 on alone."""
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
        recent = np.flatnonzero(years >= FIRST_NEW).tolist()
        open_rows = np.array([row for row in recent if row not in library and row not in rows])
        hidden = frozenset(later) & frozenset(open_rows.tolist())
        if len(library) >= 3 and hidden:
            cases.append(Case(author, sorted(library), hidden, open_rows, frozenset(rows)))
    return cases


def build_user_cases(graph: Graph, folder: Path) -> list[Case]:
    """Return a case of each user with enough papers: half of them is the library."""
    place = {paper.id: row for row, paper in enumerate(graph.papers)}
    cases = []
    for user in read_json_lines(folder / "rec_user_libraries" / "libraries.jsonl.gz"):
        rows = sorted((place[id] for id in user["papers"]), key=lambda row: random_bits(user["user"], row))
        if len(rows) >= SMALL_LIBRARY:
            half = (len(rows) + 1) // 2
            open_rows = np.setdiff1d(np.arange(len(graph.papers)), rows[:half])
            cases.append(Case(user["user"], sorted(rows[:half]), frozenset(rows[half:]), open_rows))
    return cases


Rank = Callable[[Graph, Case], list[int]]


def rank_ours(settings: RecommendSettings) -> Rank:
    """Return the ranking of `recommend` with some settings."""

    def rank(graph: Graph, case: Case) -> list[int]:
        vectors, key = graph.vectors[case.library], tuple(case.library)
        if key not in graph.interests:
            graph.interests[key] = find_interests(vectors)
        centre = COMMON * graph.vectors[case.candidates].mean(axis=0)
        profile = LibraryProfile(vectors, graph.interests[key], graph.vectors[:0], settings, centre)
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


def score_citations(graph: Graph, case: Case) -> np.ndarray:
    """Return the citations by others' papers until today, which nobody knows of a new paper."""
    counts = Counter(cited for citing, cited in graph.citations if citing not in case.own)
    return np.array([counts[row] for row in case.candidates.tolist()], float)


def ndcg(ranked: Sequence[int], hidden: frozenset[int]) -> float:
    gains = sum(1 / np.log2(rank + 1) for rank, row in enumerate(ranked[:CUT], 1) if row in hidden)
    return float(gains / sum(1 / np.log2(rank + 1) for rank in range(1, min(CUT, len(hidden)) + 1)))


def recall(ranked: Sequence[int], hidden: frozenset[int]) -> float:
    return len(hidden & set(ranked[:DEPTH])) / len(hidden)


def measure(graph: Graph, cases: Iterable[Case], rank: Rank) -> dict[str, ItemScores]:
    """Return the scores of each case."""
    ids, rows = [], []
    for case in cases:
        ranked = rank(graph, case)
        rows.append([ndcg(ranked, case.hidden), recall(ranked, case.hidden)])
        ids.append(case.id)
    table = 100 * np.array(rows)
    return {name: ItemScores(tuple(ids), table[:, [i]], "mean") for i, name in enumerate(MEASURES)}


def summarize(scores: dict[str, ItemScores], ours: dict[str, ItemScores]) -> dict[str, Any]:
    """Return each score with its interval, and the difference of ours to it with its interval."""
    found = {name: describe_score(each, 2) for name, each in scores.items()}
    if scores is not ours:
        for name, entry in found.items():
            entry["ours_minus_this"] = describe_difference(ours[name], scores[name], 2)
    return found


def compare_on_test(data: str, graph: Graph, cases: Sequence[Case]) -> dict[str, Any]:
    """Return all systems on the test half."""
    systems: dict[str, Rank] = {
        "recommend": rank_ours(LISTED),
        "recommend, balance 0.5": rank_ours(replace(LISTED, balance=0.5)),
        "recommend, balance 1": rank_ours(replace(LISTED, balance=1.0)),
        "recommend, diversity 0.3": rank_ours(replace(LISTED, diversity=0.3)),
        "nearest own paper": rank_by(score_nearest),
        "mean of the five nearest own papers": rank_by(score_five_nearest),
        "mean vector": rank_by(score_mean_vector),
        "BM25": rank_by(score_bm25),
        "most cited by others until today": rank_by(score_citations),
        "random": rank_by(lambda graph, case: np.zeros(len(case.candidates))),
    }
    test = [case for case in cases if case.part == "test"]
    skipped = ["most cited by others until today"] if data == "users" else []
    scores = {name: measure(graph, test, rank) for name, rank in systems.items() if name not in skipped}
    found: dict[str, Any] = {
        "cases": len(test),
        "library_median": float(np.median([len(case.library) for case in test])),
        "hidden_median": float(np.median([len(case.hidden) for case in test])),
        "candidates_median": float(np.median([len(case.candidates) for case in test])),
        "systems": {name: summarize(each, scores["recommend"]) for name, each in scores.items()},
    }
    for name, each in found["systems"].items():
        print("test", data, name, {key: value["value"] for key, value in each.items()}, flush=True)
    return found


def load_cases(data: str, folder: Path, encoder: CachedEncoder) -> tuple[Graph, list[Case]]:
    """Return the graph and the cases of a data set."""
    graph = load_graph(folder, "users" if data == "users" else "vis", encoder)
    return graph, build_user_cases(graph, folder) if data == "users" else build_vis_cases(graph)


def main() -> None:
    parser = build_parser(__doc__, data=True)
    parser.add_argument("sets", nargs="+", choices=["users", "vis-new"])
    args = parser.parse_args()
    model = Encoder.load()
    encoder = CachedEncoder(model)
    settings = {name: getattr(LISTED, name) for name in RecommendSettings.__slots__}
    facts = {"model": model.name, "fingerprint": model.fingerprint, "seed": "hashes of ids", "settings": settings}
    for data in args.sets:
        result = {"test": compare_on_test(data, *load_cases(data, args.data, encoder))}
        write_result(args.output, provenance(["sciprism", "numpy", "torch", "bm25s"], **facts) | result, data)


if __name__ == "__main__":
    main()
