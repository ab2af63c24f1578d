"""Measure `sciprism dedupe` on four reviews with hand-labelled duplicates, against other rules.

Each review is measured as it is, and as a list without volume, issue, pages, ids and abstracts, as those of DBLP and of
reference managers are. The shipped weights were estimated on all of these records, so those estimated on the
other three reviews are measured too. bib-dedupe is measured where it is installed (`pip install bib-dedupe==0.11.0`).

    SCIPRISM_DATA=... python benchmarks/dedupe.py -o results/dedupe.json
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas
from numpy.typing import NDArray
from rapidfuzz.fuzz import token_sort_ratio
from rapidfuzz.process import cdist
from scipy.optimize import minimize

from measurement import build_parser, provenance, read_json_lines, write_result
from sciprism import Paper, read_papers
from sciprism.papers.comparison import WEIGHTS, compare
from sciprism.papers.duplicates import DuplicateFinder
from sciprism.papers.identity import normalize_words
from sciprism.uses.deduplication import dedupe

FOLDER = "dedup_sr_libraries"
POSITIVE = {"equal", "equal, short", "spelling", "like", "abbreviated", "first equal", "part", "more words", "0.9"}
POSITIVE |= {"first and most"}
NEGATIVE = {"differs", "none", "far", "2 apart", "0.5", "0.7", "0.8", "generic"}
FREE = {("title", "0.9"), ("title", "more words"), ("abstract", "0.7"), ("journal", "part")}
PENALTY, SHARE = 1.0, 0.7  # of the distance from this share of the log likelihood ratios
SHARED_ID = 6.0  # at least; supplements of conferences share a DOI, so that a title that differs still decides


def load(data: Path) -> tuple[list[Paper], list[str], list[str]]:
    """Return the records, and of each its collection and the cluster of its paper."""
    path = data / FOLDER / "records.jsonl.gz"
    rows = read_json_lines(path)
    return (
        list(read_papers(str(path))),
        [row["collection"] for row in rows],
        [row["cluster"] or row["id"] for row in rows],
    )


def sample_pairs(
    papers: Sequence[Paper], collections: Sequence[str], clusters: Sequence[str]
) -> tuple[list[dict[str, str]], NDArray[np.bool_], NDArray[np.str_]]:
    """Return the levels of all candidate pairs, whether each is a duplicate, and its collection."""
    levels, same, where = [], [], []
    for name in sorted(set(collections)):
        rows = [row for row, collection in enumerate(collections) if collection == name]
        finder = DuplicateFinder()
        for row in rows:
            finder.add(papers[row])
        for one, other in finder.list_candidates():
            levels.append(compare(finder[one], finder[other]))
            same.append(clusters[rows[one]] == clusters[rows[other]])
            where.append(name)
    return levels, np.array(same), np.array(where)


def fit(levels: Sequence[Mapping[str, str]], same: NDArray[np.bool_]) -> dict[str, dict[str, float]]:
    """Return weights: log likelihood ratios of the levels, adjusted by a penalized logistic regression.

    Fields are not independent given the class, so the ratios alone count one fact several times.
    """
    names = sorted({item for row in levels for item in row.items()})
    features = np.array([[float(row.get(field) == level) for field, level in names] for row in levels])
    weight_of = {True: features[same].sum(0) + 0.5, False: features[~same].sum(0) + 0.5}
    start = np.zeros(len(names))
    for field in {field for field, _ in names}:
        rows = [row for row, name in enumerate(names) if name[0] == field]
        totals = {c: weight_of[c][rows].sum() if len(rows) > 1 else (same == c).sum() for c in (True, False)}
        start[rows] = np.log(weight_of[True][rows] / totals[True]) - np.log(weight_of[False][rows] / totals[False])
    bounds = [
        (SHARED_ID, None) if name == ("ids", "equal") else (None, None) if name in FREE
        else (0, None) if name[1] in POSITIVE else (None, 0) if name[1] in NEGATIVE else (None, None)
        for name in names
    ]  # fmt: skip
    start = np.clip(
        SHARE * start, *(np.array([b[n] if b[n] is not None else s * 20 for b in bounds]) for n, s in ((0, -1), (1, 1)))
    )

    def loss(values: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        odds = features @ values[:-1] + values[-1]
        error = 1 / (1 + np.exp(-odds)) - same
        likelihood = np.where(same, np.logaddexp(0, -odds), np.logaddexp(0, odds)).sum()
        distance = values[:-1] - start
        gradient = np.append(features.T @ error + PENALTY * distance, error.sum())
        return likelihood + PENALTY / 2 * (distance**2).sum(), gradient

    found = minimize(loss, np.append(start, -3.0), jac=True, bounds=[*bounds, (None, 0)], method="L-BFGS-B").x
    weights: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for (field, level), value in zip(names, found, strict=False):
        weights[field][level] = round(float(value), 1)
    weights["prior"][""] = round(float(found[-1]), 1)
    return weights


def score(groups: Iterable[Sequence[int]], clusters: Sequence[str]) -> dict[str, Any]:
    """Return counts of pairs and records of one library.

    wrongly_removed: records merged with one of another paper, of each group all but the largest cluster's papers: such
    a paper is lost, as a reader of the merged file sees one record for both.
    """
    groups = [sorted(group) for group in groups if len(group) > 1]
    pairs, rows = {pair for group in groups for pair in combinations(group, 2)}, defaultdict(list)
    for row, cluster in enumerate(clusters):
        rows[cluster].append(row)
    true = {pair for group in rows.values() for pair in combinations(group, 2)}
    right = len(pairs & true)
    return {
        "records": len(clusters),
        "duplicate_pairs": len(true),
        "found_pairs": len(pairs),
        "f1": round(2 * right / max(1, len(pairs) + len(true)), 4),
        "precision": round(right / max(1, len(pairs)), 4),
        "recall": round(right / max(1, len(true)), 4),
        "recall_interval": bootstrap_clusters(rows.values(), pairs),
        "removed": sum(len(group) - 1 for group in groups),
        "duplicates": len(clusters) - len(rows),
        "wrongly_removed": sum(len({clusters[row] for row in group}) - 1 for group in groups),
    }


def bootstrap_clusters(clusters: Iterable[Sequence[int]], pairs: set[tuple[int, int]]) -> list[float]:
    """Return the 95 % interval of the recall over clusters that are drawn again."""
    counts = [
        (sum(pair in pairs for pair in combinations(rows, 2)), len(rows) * (len(rows) - 1) // 2)
        for rows in clusters
        if len(rows) > 1
    ]
    table = np.array(counts)
    drawn = np.random.default_rng(0).integers(0, len(table), (1000, len(table)))
    recalls = table[drawn, 0].sum(1) / table[drawn, 1].sum(1)
    return np.quantile(recalls, (0.025, 0.975)).round(4).tolist()


# ---- other rules ----


def squeeze(text: str) -> str:
    """Return the letters and digits of a text, in lower case."""
    return "".join(normalize_words(text))


def group_by(keys: Sequence[str]) -> list[list[int]]:
    """Group positions by key; an empty key is of no group."""
    groups = defaultdict(list)
    for row, key in enumerate(keys):
        groups[key].append(row)
    return [rows for key, rows in groups.items() if key]


def group_like_asreview(papers: Sequence[Paper]) -> list[list[int]]:
    """Drop as asreview-datatools does: records of an earlier DOI, then those of an earlier title with abstract."""
    first_doi, first_text, groups = dict[str, int](), dict[str, int](), defaultdict(list)
    for row, paper in enumerate(papers):
        text = squeeze(f"{paper.title} {paper.abstract}")
        doi = paper.ids.get("doi", "")
        first = first_doi.setdefault(doi, row) if doi else row
        first = first if first != row else first_text.setdefault(text, row) if text else row
        groups[first].append(row)
    return list(groups.values())


def group_like_titles(papers: Sequence[Paper], least: int = 95) -> list[list[int]]:
    """Join records whose titles have this token_sort_ratio of rapidfuzz at least, all with all."""
    titles = [" ".join(normalize_words(paper.title)) for paper in papers]
    similar = cdist(titles, titles, scorer=token_sort_ratio, score_cutoff=least, dtype=np.uint8)
    roots = list(range(len(papers)))
    for one, other in zip(*np.nonzero(similar), strict=True):
        if roots[one] != roots[other]:
            low, high = sorted((roots[one], roots[other]))
            roots = [low if root == high else root for root in roots]
    return group_by([f"r{root}" for root in roots])


def group_like_bib_dedupe(papers: Sequence[Paper]) -> list[list[int]]:
    """Join records as bib-dedupe does, in one process; pairs that it leaves for a person are apart."""
    from bib_dedupe.bib_dedupe import block, cluster, match, prep

    rows = [
        {"ID": str(row), "ENTRYTYPE": "article", "title": paper.title, "author": " and ".join(paper.authors)}
        | {"year": str(paper.year or ""), "journal": paper.venue, "volume": paper.volume, "number": paper.issue}
        | {"pages": paper.pages, "abstract": paper.abstract, "doi": paper.ids.get("doi", "")}
        for row, paper in enumerate(papers)
    ]
    matched = match(block(prep(pandas.DataFrame(rows), cpu=1), cpu=1), cpu=1)
    return [[int(id) for id in group] for group in cluster(matched)]


def strip(paper: Paper) -> Paper:
    """Return a record as lists of publications have it."""
    return replace(paper, volume="", issue="", pages="", abstract="", ids={})


RULES: dict[str, Callable[[Sequence[Paper]], list[list[int]]]] = {
    "equal titles": lambda papers: group_by([squeeze(paper.title) for paper in papers]),
    "equal titles and years": lambda papers: group_by([f"{squeeze(paper.title)} {paper.year}" for paper in papers]),
    "asreview-datatools' rule (DOI, or title with abstract)": group_like_asreview,
    "rapidfuzz token_sort_ratio of titles >= 95": group_like_titles,
    **({"bib-dedupe": group_like_bib_dedupe} if find_spec("bib_dedupe") else {}),
    "sciprism dedupe": lambda papers: dedupe(papers).groups,
}


def main() -> None:
    """Measure all rules on all libraries, and write the result."""
    parser = build_parser(__doc__)
    parser.add_argument("--fit", action="store_true", help="Print the weights as estimated on all libraries.")
    arguments = parser.parse_args()
    papers, collections, clusters = load(Path(os.environ["SCIPRISM_DATA"]))
    versions = {"": papers, ", without print data": [*map(strip, papers)]}
    parts = [sample_pairs(version, collections, clusters) for version in versions.values()]
    levels = [row for part in parts for row in part[0]]
    same, where = (np.concatenate([part[place] for part in parts]) for place in (1, 2))
    if arguments.fit:
        print(json.dumps(fit(levels, same), indent=1))
    results: dict[str, dict[str, Any]] = {}
    for name in sorted(set(collections)):
        rows = [row for row, collection in enumerate(collections) if collection == name]
        truth, others = [clusters[row] for row in rows], np.flatnonzero(where != name)
        fitted = fit([levels[n] for n in others], same[others])
        weights = {field: WEIGHTS[field] | row for field, row in fitted.items()}
        for version, records in versions.items():
            library = [records[row] for row in rows]
            found, held_out = dedupe(library), dedupe(library, weights=WEIGHTS | weights)
            of_library = {rule: score(group(library), truth) for rule, group in RULES.items()}
            of_library["sciprism dedupe, weights of the other libraries"] = score(held_out.groups, truth)
            results[name + version] = of_library | {"uncertain_pairs": len(found.uncertain)}
    write_result(arguments.output, provenance(["sciprism", "rapidfuzz", "scipy", "numpy"], libraries=results))


if __name__ == "__main__":
    main()
