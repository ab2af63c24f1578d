"""Measure maps: our neighbours against UMAP's own, how near papers stay, what topics agree with.

Times are of a machine that others use too, so processor time is given beside the clock. Compiling is not counted.

    python benchmarks/mapping.py conf=vecs/conf arxiv=vecs/arxiv -o results/mapping.json
"""

from __future__ import annotations

import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from measurement import build_parser, provenance, read_memory, run_apart, write_result
from sciprism.index.exact import topk
from sciprism.store import StoredCollection
from sciprism.store.shard_files import Matrix
from sciprism.uses.mapping import NEIGHBOURS, draw_map, find_topics, write_page, write_parquet
from sciprism.uses.search import choose_paper_space

SAMPLED = 5000  # papers of which the neighbours on the map are compared with those in the vectors


class Clock:
    """Seconds by the clock and of the processor, of each stage."""

    def __init__(self) -> None:
        self.stages: dict[str, dict[str, float]] = {}

    def run(self, stage: str, work: Callable[[], Any]) -> Any:
        began, used = time.perf_counter(), time.process_time()
        result = work()
        spent = time.perf_counter() - began, time.process_time() - used
        self.stages[stage] = {"clock": round(spent[0], 1), "processor": round(spent[1], 1)}
        return result


def compile_umap() -> None:
    """Let numba compile what is used, so that no time counts it."""
    from umap import UMAP

    vectors = np.random.default_rng(0).normal(size=(5000, 8)).astype(np.float32)
    find_topics(UMAP(n_epochs=5, random_state=0, metric="cosine").fit_transform(vectors))


def read_vectors(stored: StoredCollection, space: str) -> NDArray[np.float32]:
    return stored.read_rows(space, stored.live).take(slice(None))


def draw_ours(folder: str, space: str, papers: int, seed: int) -> dict[str, Any]:
    """Draw a map as the command does, from the collection to the page, and time its stages."""
    compile_umap()
    stored, clock = open_papers(folder, papers), Clock()
    drawn = clock.run("all", lambda: draw_map(stored, seed=seed))
    memory = read_memory("VmHWM")
    with tempfile.TemporaryDirectory() as place:
        clock.run("write Parquet", lambda: write_parquet(drawn, stored, Path(place) / "map.parquet"))
        page = Path(place) / "map.html"
        clock.run("write page", lambda: write_page(drawn, stored, page))
        size = round(page.stat().st_size / 1e6, 2)
    read = stored.papers(drawn.rows)
    labels = {"venues": [paper.venue for paper in read], "fields": [(*paper.fields, "")[0] for paper in read]}
    facts = {"seconds": clock.stages, "memory_mb": memory, "page_mb": size, "counts": drawn.counts}
    topics = {name: compare_topics(drawn.codes, values) for name, values in labels.items() if len(set(values)) > 2}
    return {"positions": drawn.positions, "rows": drawn.rows, "facts": facts, "topics": topics}


def open_papers(folder: str, papers: int) -> StoredCollection:
    """Open a collection, of which the first papers count alone."""
    stored = StoredCollection.open(folder)
    if papers:
        vars(stored)["live"] = stored.live[:papers]
    return stored


def draw_theirs(folder: str, space: str, papers: int, seed: int) -> dict[str, Any]:
    """Lay out all papers as UMAP does alone."""
    from umap import UMAP

    compile_umap()
    clock, vectors = Clock(), read_vectors(open_papers(folder, papers), space)
    umap = UMAP(n_neighbors=NEIGHBOURS + 1, min_dist=0.05, metric="cosine", random_state=seed)
    positions = clock.run("all", lambda: umap.fit_transform(vectors))
    return {"positions": positions, "facts": {"seconds": clock.stages, "memory_mb": read_memory("VmHWM")}}


def compare_places(
    vectors: NDArray[np.float32], positions: NDArray[np.float32], rows: NDArray[np.int64]
) -> dict[str, float]:
    """Return how well a map retains neighbours: of rows among all papers, and trustworthiness among the rows."""
    from sklearn.manifold import trustworthiness

    near = topk(vectors[rows], [Matrix(vectors)], NEIGHBOURS + 1)[1]
    there = topk(positions[rows], [Matrix(positions)], NEIGHBOURS + 1, distance="euclidean")[1]
    shared = [len((set(one) & set(other)) - {row}) for one, other, row in zip(near, there, rows, strict=True)]
    trusted = trustworthiness(vectors[rows], positions[rows], n_neighbors=NEIGHBOURS, metric="cosine")
    return {"neighbours_retained": round(float(np.mean(shared)) / NEIGHBOURS, 4), "trustworthiness": round(trusted, 4)}


def compare_topics(codes: Sequence[NDArray[np.int32]], labels: Sequence[str]) -> list[dict[str, float]]:
    """Return how far topics agree with labels: purity, that of shuffled labels, adjusted mutual information."""
    from sklearn.metrics import adjusted_mutual_info_score

    names = np.array(labels)
    shuffled = np.random.default_rng(0).permutation(names)
    rows = []
    for level in codes:
        inside = level >= 0
        purity, chance = (measure_purity(level[inside], values[inside]) for values in (names, shuffled))
        agreed = adjusted_mutual_info_score(names[inside], level[inside])
        row = {"topics": int(level.max()) + 1, "papers_in_topics": inside.mean(), "purity": purity, "by_chance": chance}
        rows.append({name: round(float(value), 4) for name, value in (row | {"ami": agreed}).items()})
    return rows


def measure_purity(codes: NDArray[np.int32], labels: NDArray[np.str_]) -> float:
    most = sum(Counter(labels[codes == code].tolist()).most_common(1)[0][1] for code in np.unique(codes))
    return most / len(codes)


def measure(folder: Path, papers: int, seed: int, show: Callable[[dict[str, Any]], None]) -> None:
    """Measure one collection, each contender in a process of its own; show what is known after each."""
    space = choose_paper_space(StoredCollection.open(folder))
    ours = run_apart(draw_ours, str(folder), space, papers, seed)
    result = {"papers": len(ours["rows"]), "topics": ours["topics"]}
    vectors = StoredCollection.open(folder).read_rows(space, ours["rows"]).take(slice(None))
    rows = np.sort(np.random.default_rng(seed).choice(len(vectors), min(SAMPLED, len(vectors)), replace=False))
    result["sciprism map"] = ours["facts"] | compare_places(vectors, ours["positions"], rows)
    show(result)
    theirs = run_apart(draw_theirs, str(folder), space, papers, seed)
    whole = read_vectors(open_papers(str(folder), papers), space)
    rows = np.sort(np.random.default_rng(seed).choice(len(whole), min(SAMPLED, len(whole)), replace=False))
    result["umap alone"] = theirs["facts"] | compare_places(whole, theirs["positions"], rows)
    show(result)


def main() -> None:
    """Measure the named collections."""
    parser = build_parser(__doc__)
    parser.add_argument("collections", nargs="+", help="NAME=FOLDER")
    parser.add_argument("--papers", type=int, default=0, help="the first papers alone")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    packages = ["numpy", "torch", "umap-learn", "pynndescent", "fast_hdbscan", "numba"]
    for name, folder in (text.split("=", 1) for text in arguments.collections):

        def show(result: dict[str, Any], name: str = name) -> None:
            load = [round(value, 1) for value in os.getloadavg()]
            facts = provenance(packages, seed=arguments.seed, load=load, **result)
            write_result(arguments.output, facts, run=f"{name} {result['papers']:,}")

        measure(Path(folder), arguments.papers, arguments.seed, show)


if __name__ == "__main__":
    main()
