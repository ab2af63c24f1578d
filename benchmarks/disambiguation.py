"""Measure `sciprism disambiguate` on held-out blocks of author names, against rules on names.

    SCIPRISM_DATA=... python benchmarks/disambiguation.py --fit -o results/disambiguation.json

--fit trains the pair model that ships, on train blocks, chooses its cut on dev blocks, and stores it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage

from measurement import build_parser, provenance, write_result
from sciprism import Paper, read_papers
from sciprism.datasets.data_root import DataRoot
from sciprism.metrics.predictions import b_cubed, b_cubed_f1
from sciprism.papers.bibliographic_fields import Name, parse_name
from sciprism.uses.disambiguation.authors import DEFAULT, PairModel, disambiguate, list_signatures
from sciprism.uses.disambiguation.clustering import (
    MentionPairs,
    build_dendrograms,
    choose_cut,
    group_by_block,
    sample_pairs,
)
from sciprism.uses.disambiguation.features import FEATURES, PairFeatures, find_columns

FOLDER = "author_disambiguation_robotics"
GROUPS = ("name", "coauthors", "venue", "year", "title", "advanced")  # that any export of papers has
TRAIN_PAIRS = 150_000
BLANKED = 0.1  # of the pairs have a group of features taken away: exports lack years, venues or coauthors
TREES, LEAVES, RATE = 40, 8, 0.25
DRAWS = 1000


def store_trees(dump: dict[str, Any], columns: list[int]) -> list[list[list[Any]]]:
    """Return the nodes of the trees that LightGBM's `dump_model` describes. columns: of its features."""

    def add(node: dict[str, Any], rows: list[list[Any]]) -> int:
        place = len(rows)
        if "leaf_value" in node:
            rows.append([float(f"{node['leaf_value']:.4g}")])
            return place
        rows.append([])
        name, threshold = FEATURES[columns[node["split_feature"]]].name, float(f"{node['threshold']:.4g}")
        left, right = add(node["left_child"], rows), add(node["right_child"], rows)
        rows[place] = [name, threshold, left, right, int(node["default_left"])]
        return place

    trees: list[list[list[Any]]] = []
    for tree in dump["tree_info"]:
        trees.append([])
        add(tree["tree_structure"], trees[-1])
    return trees


def load(data: DataRoot) -> tuple[list[Paper], dict[tuple[str, int], dict[str, Any]]]:
    """Return the papers as any user reads them, and the labelled signatures by paper and position from 1."""
    rows = list(data.records(data.folder / FOLDER / "signatures.jsonl.gz"))
    labels = {(row["paper_id"], row["position"] + 1): row for row in rows}
    wanted = {paper for paper, _ in labels}
    files = sorted((data.folder / "conference_papers").glob("papers-*"))
    return [paper for file in files for paper in read_papers(str(file)) if paper.id in wanted], labels


def fit(papers: Sequence[Paper], labels: Mapping[tuple[str, int], Mapping[str, Any]], path: Path) -> dict[str, Any]:
    """Train the model, choose the cut, and store both. Only train and dev blocks are looked at."""
    import lightgbm

    listed = [
        (signature, labels[place])
        for signature in list_signatures(papers)
        if (place := (papers[signature.paper].id, signature.position + 1)) in labels
        and labels[place]["split"] != "test"
    ]
    signatures = [signature for signature, _ in listed]
    persons = np.unique([label["author_id"] for _, label in listed], return_inverse=True)[1]
    blocks = {
        split: group_by_block(signatures, frozenset(s.block for s, label in listed if label["split"] == split))
        for split in ("train", "dev")
    }
    features, columns = PairFeatures(papers, signatures), find_columns(GROUPS)
    left, right = sample_pairs(blocks["train"], TRAIN_PAIRS, np.random.default_rng(0))
    pairs = MentionPairs(features.table(left, right), persons[left] == persons[right])
    draw = np.random.default_rng(1)
    for group in GROUPS[1:5]:
        pairs.table[np.ix_(draw.random(len(left)) < BLANKED, find_columns([group]))] = np.nan
    settings = {"objective": "binary", "num_leaves": LEAVES, "learning_rate": RATE, "min_data_in_leaf": 200}
    settings |= {"monotone_constraints": [FEATURES[column].monotone for column in columns], "seed": 0}
    settings |= {"deterministic": True, "num_threads": 1, "verbose": -1}
    data = lightgbm.Dataset(pairs.table[:, columns], pairs.same.astype(np.int8))
    booster = lightgbm.train(settings, data, num_boost_round=TREES)
    trees = store_trees(booster.dump_model(), columns.tolist())
    path.write_text(json.dumps({"cut": 0.5, "trees": trees}, separators=(",", ":")) + "\n")
    [dendrograms] = build_dendrograms(blocks["dev"], features.table, [PairModel.load(path).distances])
    cut, score = choose_cut([dendrograms], persons)
    path.write_text(json.dumps({"cut": round(cut, 2), "trees": trees}, separators=(",", ":")) + "\n")
    facts = {"train_pairs": len(left), "cut": round(cut, 2), "dev_b3": round(score, 4), "bytes": path.stat().st_size}
    return facts | {"dev_blocks": len(blocks["dev"]), "train_blocks": len(blocks["train"])}


def group_by_rules(names: Sequence[Name]) -> NDArray[np.int64]:
    """Return clusters by S2AND's rules on names, without its table of nicknames: what they do not forbid is merged.

    First names must begin alike (Chris, Christopher), middle initials and names must not contradict each other.
    """
    if len(names) == 1:
        return np.ones(1, np.int64)
    distances = [
        0.0 if _may_be_one(one, other) else 1.0 for place, one in enumerate(names) for other in names[place + 1 :]
    ]
    return fcluster(linkage(np.array(distances), "average"), 0.5, "distance").astype(np.int64)


def _may_be_one(one: Name, other: Name) -> bool:
    if not (one.first.startswith(other.first) or other.first.startswith(one.first)):
        return False
    initials = [{middle[0] for middle in name.middles} for name in (one, other)]
    words = [{middle for middle in name.middles if len(middle) > 1} for name in (one, other)]
    return not any(a and b and not a & b for a, b in (initials, words))


def score(
    clusters: NDArray[Any], persons: NDArray[Any], blocks: NDArray[Any], draws: NDArray[np.int64]
) -> dict[str, Any]:
    """Return B3 and pairwise precision, recall and F1, with 95 % intervals over blocks that are drawn again."""
    precision, recall = b_cubed(persons, clusters)
    sums = np.zeros((blocks.max() + 1, 6))
    np.add.at(sums, blocks, np.stack([np.ones(len(blocks)), precision, recall, *[np.zeros(len(blocks))] * 3], axis=1))
    for block in range(len(sums)):
        rows = np.flatnonzero(blocks == block)
        one, other = np.triu_indices(len(rows), 1)
        same, merged = persons[rows][one] == persons[rows][other], clusters[rows][one] == clusters[rows][other]
        sums[block, 3:] = (same & merged).sum(), merged.sum(), same.sum()
    drawn = sums[draws].sum(1)

    def rates(total: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
        signatures, p, r, both, merged, same = total.T
        pair = both / np.maximum(merged, 1), both / np.maximum(same, 1)
        values = {"b3_precision": p / signatures, "b3_recall": r / signatures}
        values |= {"pair_precision": pair[0], "pair_recall": pair[1]}
        return values | {
            "b3": 2 * p * r / (p + r) / signatures, "pair_f1": 2 * pair[0] * pair[1] / np.maximum(sum(pair), 1e-9)
        }  # fmt: skip

    assert abs(rates(sums.sum(0)[None])["b3"][0] - b_cubed_f1(precision, recall)) < 1e-9
    table = {name: round(float(value[0]), 4) for name, value in rates(sums.sum(0)[None]).items()}
    intervals = {name: np.quantile(value, (0.025, 0.975)).round(4).tolist() for name, value in rates(drawn).items()}
    return table | {"intervals": {name: intervals[name] for name in ("b3", "pair_f1")}, "draws": rates(drawn)}


def measure(papers: Sequence[Paper], labels: Mapping[tuple[str, int], Mapping[str, Any]]) -> dict[str, Any]:
    """Return the scores of the command and of rules on the signatures of test blocks."""
    test = {place: label for place, label in labels.items() if label["split"] == "test"}
    wanted = {paper for paper, _ in test}
    rows = disambiguate(paper for paper in papers if paper.id in wanted).rows
    ours = {(row.paper_id, row.position): row.author_id for row in rows}
    missing = [place for place in test if place not in ours]
    places = [place for place in test if place in ours]
    persons, blocks = (
        np.unique([test[place][name] for place in places], return_inverse=True)[1] for name in ("author_id", "block")
    )
    names = [parse_name(test[place]["name"]) for place in places]
    by_rules, by_name = np.zeros(len(places), np.int64), np.zeros(len(places), np.int64)
    for block in range(blocks.max() + 1):
        members = np.flatnonzero(blocks == block)
        by_rules[members] = block * 1000 + group_by_rules([names[row] for row in members])
        whole = [names[row].whole for row in members]
        by_name[members] = block * 1000 + np.unique(whole, return_inverse=True)[1]
    clusterings = {
        "initials and surname": blocks,
        "equal names": by_name,
        "S2AND's rules on names": by_rules,
        "sciprism disambiguate": np.unique([ours[place] for place in places], return_inverse=True)[1],
    }
    draws = np.random.default_rng(0).integers(0, blocks.max() + 1, (DRAWS, blocks.max() + 1))
    scores = {name: score(clusters, persons, blocks, draws) for name, clusters in clusterings.items()}
    drawn = {name: row.pop("draws") for name, row in scores.items()}
    for name, row in scores.items():
        ahead = {key: drawn["sciprism disambiguate"][key] - drawn[name][key] for key in ("b3", "pair_f1")}
        row["ours_minus_this"] = {key: np.quantile(v, (0.025, 0.975)).round(4).tolist() for key, v in ahead.items()}
    facts = {"papers": len(wanted), "signatures": len(places), "without_signature": len(missing)}
    return facts | {"blocks": int(blocks.max() + 1), "persons": int(persons.max() + 1), "systems": scores}


def main() -> None:
    """Train if asked to, measure, and write the result."""
    parser = build_parser(__doc__)
    parser.add_argument("--fit", action="store_true", help=f"Train and store {DEFAULT.name} first.")
    arguments = parser.parse_args()
    papers, labels = load(DataRoot(Path(os.environ["SCIPRISM_DATA"])))
    facts: dict[str, Any] = {}
    if arguments.fit:
        facts["fit"] = fit(papers, labels, DEFAULT)
        print(facts)
    facts["test"] = measure(papers, labels)
    packages = ["sciprism", "lightgbm", "scipy", "numpy"]
    write_result(arguments.output, provenance(packages, seed=0, **facts))


if __name__ == "__main__":
    main()
