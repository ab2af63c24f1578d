"""The data of Multi2SPE's study out of the open data: triplets to train on, benchmarks to test on.

Computer science: visualisation, computational linguistics and CACM with their citations. A paper is a test
paper by hash of its id (benchmarks/held-out); a second benchmark asks about the latest years
(benchmarks/later); no triplet names a paper of either.

Fields: the 17 fields of arXiv, whose papers have no citations here. To train, papers of one category stand in
for cited ones, papers of the same field and another category for those that cited papers cite; as many
queries are asked of 1, 4 and 17 fields. To test (benchmarks/fields), the later of two test papers of a field
"cites" the earlier one if they have a category or an author in common; as many queries of every field, each
among papers of its own field.

    python benchmarks/multi2spe_data.py DATA OUT
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.split import Entry, entries
from sciprism.seeding import random_fraction

COMPUTING = {
    "citegraph_vis": "Visualisation",
    "citegraph_acl": "Linguistics",
    "ir_cacm": "Computing at large",
}
ARXIV = "arxiv_multidomain"
FIRST = "Computer Science"
FIELDS = {"one": 1, "few": 4, "all": 17}
TEST, LATER = 0.25, {"citegraph_vis": 2021, "citegraph_acl": 2008}
TIES, QUERIES, CLASSES = 5, 2500, 120
POOLED, ASKED, NEGATIVES = 120, 40, 60
"""Of each field: papers of its benchmark, queries among them, and a query's negatives at most."""
SEED = 0


def sciprism(*words: object) -> None:
    """Run one command of the package."""
    print("+ sciprism", *words, flush=True)
    subprocess.run([sys.executable, "-m", "sciprism", *map(str, words)], check=True)


def write(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def row_of(entry: Entry, field: str, references: Iterable[str] = ()) -> dict[str, Any]:
    paper = entry.paper
    row = {"id": paper.id, "title": paper.title, "abstract": paper.abstract, "fields": [field]}
    return row | {"references": list(references)}


def links(path: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        one, other = line.split("\t")[:2]
        found[one].append(other)
    return found


def computing(home: DataRoot, data: Path, out: Path) -> None:
    """Write papers of computer science in three parts: triplets of one, a benchmark of each of the others."""
    parts: dict[str, list[dict[str, Any]]] = {"train": [], "held-out": [], "later": []}
    linked = links(data / "ir_cacm" / "citation_links.tsv")
    for name, field in COMPUTING.items():
        for entry in entries(home, name):
            references = linked[entry.paper.id] if name == "ir_cacm" else entry.row["references"]
            late = (entry.paper.year or 0) >= LATER.get(name, 10_000)
            held_out = random_fraction(SEED, "held out", entry.paper.id) < TEST
            part = "later" if late else "held-out" if held_out else "train"
            parts[part].append(row_of(entry, field, references))
    files = {part: write(out / "papers" / f"{part}.jsonl", rows) for part, rows in parts.items()}
    sciprism(
        "prepare", "citations", files["train"], "-o", out / "triplets" / "cs", "--seed", SEED, "--abstracts"
    )
    for part in ("held-out", "later"):
        benchmark(out, part, files[part], "--most", 400)


def classes(home: DataRoot, out: Path) -> None:
    """Write test papers of each field of arXiv, to be classified."""
    chosen = lowest(of_arxiv(home, "test"), "class", CLASSES)
    rows = (row_of(entry, field) for field, found in chosen.items() for entry in found)
    made = write(out / "papers" / "classes.jsonl", rows)
    sciprism("prepare", "multi-scidocs", made, "-o", out / "classes", "--val", 0.1, "--test", 0.6)


def benchmark(out: Path, name: str, papers: Path, *words: object) -> None:
    """Write a benchmark that asks about all of some papers, with the classes beside."""
    bench = out / "benchmarks" / name
    sciprism("prepare", "multi-scidocs", papers, "-o", bench, "--val", 0, "--test", 1, *words)
    made, copied = out / "classes" / "multi-scidocs", bench / "multi-scidocs"
    shutil.rmtree(copied / "mag", ignore_errors=True)
    shutil.copytree(made / "mag", copied / "mag")
    shutil.copy(made / "paper_metadata_mag_mesh.json", copied)


def category(entry: Entry) -> str:
    return str(entry.row["primary_category"])


def of_arxiv(home: DataRoot, part: str) -> dict[str, list[Entry]]:
    """Return field -> papers of a part, fields in alphabetical order."""
    by_field: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries(home, ARXIV):
        if entry.part == part:
            by_field[str(entry.row["field"])].append(entry)
    return dict(sorted(by_field.items()))


def lowest(by_field: dict[str, list[Entry]], purpose: str, count: int) -> dict[str, list[Entry]]:
    """Return as many papers of each field, by hash."""
    return {
        field: sorted(found, key=lambda entry: random_fraction(SEED, purpose, entry.paper.id))[:count]
        for field, found in by_field.items()
    }


def across_fields(home: DataRoot, out: Path) -> None:
    """Write the benchmark of all fields of arXiv."""
    chosen = lowest(of_arxiv(home, "test"), "pool", POOLED)
    rows = (row_of(entry, field) for field, found in chosen.items() for entry in found)
    papers = write(out / "papers" / "fields-test.jsonl", rows)
    pairs = (pair for found in chosen.values() for pair in alike(found))
    edges = write(
        out / "papers" / "fields-test-edges.jsonl", ({"citing": one, "cited": other} for one, other in pairs)
    )
    pools = ("--negatives", NEGATIVES, "--within-fields", "--most", ASKED)
    benchmark(out, "fields", papers, "--edges", edges, *pools)


def alike(papers: list[Entry]) -> Iterator[tuple[str, str]]:
    """Yield (later, earlier) of the papers that have a primary category or an author in common."""

    def marks(entry: Entry) -> set[str]:
        return {category(entry), *map(str.casefold, entry.paper.authors)}

    told = sorted((entry.paper.year or 0, entry.paper.id, marks(entry)) for entry in papers)
    for number, (_, later, own) in enumerate(told):
        yield from ((later, earlier) for _, earlier, theirs in told[:number] if own & theirs)


def fields(home: DataRoot, out: Path) -> None:
    """Write triplets of 1, 4 and 17 fields of arXiv, the same number of queries each.

    Fields of one category, which have no hard negatives, are among the 17 alone.
    """
    by_field = of_arxiv(home, "train")
    lone = {name for name, found in by_field.items() if len({*map(category, found)}) == 1}
    names = sorted(
        by_field, key=lambda name: (name != FIRST, name in lone, random_fraction(SEED, "field", name))
    )
    for key, count in FIELDS.items():
        chosen = names[:count]
        papers = out / "papers" / f"fields-{key}.jsonl"
        write(papers, (row_of(e, name) for name in chosen for e in by_field[name]))
        ties = dict(pair for name in chosen for pair in tied(by_field[name], QUERIES // count))
        (out / "papers" / f"ties-{key}.json").write_text(json.dumps(ties), encoding="utf-8")
        where = ("--ties", out / "papers" / f"ties-{key}.json", "-o", out / "triplets" / key)
        sciprism("prepare", "citations", papers, *where, "--seed", SEED, "--abstracts", "--dev", 0.1)


def tied(papers: list[Entry], queries: int) -> Iterator[tuple[str, dict[str, dict[str, int]]]]:
    """Yield papers with some of their category and some of their field's other categories."""
    by_category: dict[str, list[str]] = defaultdict(list)
    for entry in papers:
        by_category[category(entry)].append(entry.paper.id)
    asked = sorted(papers, key=lambda entry: random_fraction(SEED, "query", entry.paper.id))
    for entry in asked[:queries]:
        own = category(entry)
        others = [
            name for category, names in sorted(by_category.items()) if category != own for name in names
        ]
        near = [name for name in by_category[own] if name != entry.paper.id]
        strengths = {name: {"count": 5} for name in some(near, entry.paper.id)}
        strengths |= {name: {"count": 1} for name in some(others, entry.paper.id)}
        if near:
            yield entry.paper.id, strengths


def some(names: list[str], query: str) -> list[str]:
    return sorted(names, key=lambda name: random_fraction(SEED, query, name))[:TIES]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="the folder of the open data")
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    home = DataRoot(args.data)
    classes(home, args.out)
    computing(home, args.data, args.out)
    fields(home, args.out)
    across_fields(home, args.out)


if __name__ == "__main__":
    main()
