"""Find label names in abstracts: the index against plain loops over all names, the same rule in each.

The plain loops have the tokens of the names beforehand. One tries token by token and stops at the first
that is missing, as the published matching does; the other compares whole sets. They still take too long
for all texts: each round times them on a sample spread over the texts, and times are compared per text.
Names: MeSH descriptors, and the Unified Astronomy Thesaurus with its synonyms; texts: PubMed titles and
abstracts. Run from the repository root:

    SCIPRISM_DATA=... python benchmarks/label_names.py -o results/label_names.json
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from measurement import build_parser, format_ratio, interleave, provenance, ratio, write_result
from sciprism.papers.read import read_labels, read_papers
from sciprism.papers.records import Label
from sciprism.uses.label_names import LabelNames, normalize

VOCABULARIES = ("labels_mesh/descriptors.jsonl.gz", "labels_uat/concepts.jsonl.gz")
PAPERS = "xmc_pubmed_mesh/papers.jsonl.gz"
PLAIN, SETS = "plain loop, token by token", "plain loop, whole sets"
BUILD, MATCH, RAW, ONE = "build", "match", "match, normalising too", "match, one text a call"

Names = list[list[tuple[str, set[str], bool]]]  # of each label: its names, their tokens, whether there is one


def split_label_names(labels: Sequence[Label]) -> Names:
    """Return the labels' names as the plain loops take them."""
    names = [[(name, name.split()) for name in (label.name, *label.synonyms)] for label in labels]
    return [[(n, set(tokens), len(tokens) == 1) for n, tokens in label if tokens] for label in names]


def match_token_by_token(names: Names, texts: Sequence[str]) -> list[list[int]]:
    """Return the rows of the labels in each text by trying every token of every name."""
    found = []
    for text in texts:
        present = set(text.split())
        rows = []
        for row, label in enumerate(names):
            for name, tokens, single in label:
                for token in tokens:
                    if token not in present:
                        break
                else:
                    if single or name in text:
                        rows.append(row)
                        break
        found.append(rows)
    return found


def match_token_sets(names: Names, texts: Sequence[str]) -> list[list[int]]:
    """Return the same by comparing each name's set of tokens with the text's."""
    found = []
    for text in texts:
        present = set(text.split())
        rows = []
        for row, label in enumerate(names):
            for name, tokens, single in label:
                if tokens <= present and (single or name in text):
                    rows.append(row)
                    break
        found.append(rows)
    return found


def normalize_label(label: Label) -> Label:
    """Return the label with names as MAPLE has them."""
    return replace(label, name=normalize(label.name), synonyms=tuple(map(normalize, label.synonyms)))


def compare(labels: list[Label], raw: list[str], args: argparse.Namespace) -> dict[str, Any]:
    """Time both on the same names, and compare what was found in the plain loops' texts."""
    texts, normal = [normalize(text) for text in raw], [normalize_label(label) for label in labels]
    names, index, raw_index = split_label_names(normal), LabelNames(normal), LabelNames(labels, raw=True)
    sample = range(0, len(texts), max(len(texts) // args.sample, 1))[: args.sample]
    sampled = [texts[place] for place in sample]
    seconds = interleave(
        {
            PLAIN: lambda: match_token_by_token(names, sampled),
            SETS: lambda: match_token_sets(names, sampled),
            BUILD: lambda: LabelNames(normal),
            MATCH: lambda: index.match(texts),
            RAW: lambda: raw_index.match(raw),
            ONE: lambda: [index.match([text]) for text in sampled],
        },
        args.rounds,
    )
    timed = {name: len(sampled) if name in (PLAIN, SETS, ONE) else len(texts) for name in seconds}
    each = {name: [s / timed[name] for s in times] for name, times in seconds.items()}
    ours = {name: each[name] for name in (MATCH, RAW, ONE)}
    ours["build and match"] = [b + m for b, m in zip(each[BUILD], each[MATCH], strict=True)]
    found, reference = [rows.tolist() for rows in index.match(texts)], match_token_by_token(names, sampled)
    return {
        "labels": len(labels),
        "names": sum(map(len, names)),
        "texts": len(texts),
        "texts_of_plain_loops": len(sampled),
        "microseconds_per_text": {n: [round(1e6 * s, 2) for s in times] for n, times in each.items()},
        "times_faster": {p: {n: ratio(each[p], t) for n, t in ours.items()} for p in (PLAIN, SETS)},
        "identical_texts": sum(found[place] == rows for place, rows in zip(sample, reference, strict=True)),
        "identical_one_by_one": [index.match([text])[0].tolist() for text in sampled] == reference,
        "plain_loops_agree": match_token_sets(names, sampled) == reference,
        "matches_in_texts_of_plain_loops": sum(map(len, reference)),
        "matches_per_text": round(sum(map(len, found)) / len(found), 3),
    }


def print_comparison(facts: dict[str, Any]) -> None:
    """Print one line per contender, and how far the results agree."""
    print(f"{facts['names']} names of {facts['labels']} labels, {facts['texts']} texts")
    for name, times in facts["microseconds_per_text"].items():
        print(f"  {name:<28} {median(times):10.1f} microseconds a text")
    for peer, ours in facts["times_faster"].items():
        print(f"against the {peer}")
        for name, faster in ours.items():
            print(f"  {name:<28} {format_ratio(faster)}")
    print(
        f"same labels in {facts['identical_texts']} of {facts['texts_of_plain_loops']} texts "
        f"({facts['matches_in_texts_of_plain_loops']} matches)"
    )


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("--data", type=Path, help="the folder of the data sets (default: SCIPRISM_DATA)")
    parser.add_argument("--texts", type=int, default=5000)
    parser.add_argument("--sample", type=int, default=50, help="texts of the plain loops")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    data = args.data or Path(os.environ.get("SCIPRISM_DATA", "data"))
    labels = list(read_labels([data / name for name in VOCABULARIES]))
    papers = islice(read_papers(data / PAPERS), args.texts)
    facts = compare(labels, [f"{paper.title} {paper.abstract}" for paper in papers], args)
    print_comparison(facts)
    if args.output:
        load = round(os.getloadavg()[0], 2)  # above 1 a core, others took time from every contender
        settings = {"rounds": args.rounds, "device": "cpu, one core", "load_average": load}
        write_result(args.output, provenance(["numpy"], **settings, measured=facts))


if __name__ == "__main__":
    main()
