"""The data of Multi2SPE's study out of the open data: triplets to train on, benchmarks to test on.

Computer science: visualization, computational linguistics and CACM with their citations. A paper is a test
paper by hash of its id (benchmarks/held-out); a second benchmark has papers of the latest years as queries
(benchmarks/later); no triplet names a paper of either.

Fields: the 17 fields of arXiv, whose papers have no citations here. To train, papers of one category replace
cited ones, and papers of the same field and another category those that cited papers cite; the number of
queries is the same for 1, 4 and 17 fields. To test (benchmarks/fields), the later of two test papers of a
field "cites" the earlier one if they share a category or an author; every field has as many queries, each
among papers of its own field.

    python benchmarks/multi2spe_data.py DATA OUT
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.open_data import SplitEntry, read_entries
from sciprism.seeding import random_fraction
from study import run_command

COMPUTING = {"citegraph_vis": "Visualisation", "citegraph_acl": "Linguistics", "ir_cacm": "Computing at large"}
ARXIV = "arxiv_multidomain"
FIRST = "Computer Science"
FIELDS = {"one": 1, "few": 4, "all": 17}
TEST, LATER = 0.25, {"citegraph_vis": 2021, "citegraph_acl": 2008}
DEV = 0.25
"""Share of queries of computer science that are dev ones: rates differ by a few hundredths of a reciprocal rank."""
LINKS, QUERIES, CLASSES = 5, 2500, 120
POOLED, ASKED, NEGATIVES = 120, 40, 60
"""Of each field: papers of its benchmark, queries among them, and a query's negatives at most."""
SEED = 0


def write_papers(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def build_row(entry: SplitEntry, field: str, references: Iterable[str] = ()) -> dict[str, Any]:
    paper = entry.paper
    row = {"id": paper.id, "title": paper.title, "abstract": paper.abstract, "fields": [field]}
    return row | {"references": list(references)}


def read_links(path: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        one, other = line.split("\t")[:2]
        found[one].append(other)
    return found


def write_computer_science(data_root: DataRoot, data: Path, out: Path) -> None:
    """Write papers of computer science in three parts: triplets of one, a benchmark of each of the others."""
    parts: dict[str, list[dict[str, Any]]] = {"train": [], "held-out": [], "later": []}
    linked = read_links(data / "ir_cacm" / "citation_links.tsv")
    for name, field in COMPUTING.items():
        for entry in read_entries(data_root, name):
            references = linked[entry.paper.id] if name == "ir_cacm" else entry.row["references"]
            late = (entry.paper.year or 0) >= LATER.get(name, 10_000)
            held_out = random_fraction(SEED, "held out", entry.paper.id) < TEST
            part = "later" if late else "held-out" if held_out else "train"
            parts[part].append(build_row(entry, field, references))
    files = {part: write_papers(out / "papers" / f"{part}.jsonl", rows) for part, rows in parts.items()}
    run_command(
        "prepare",
        "citations",
        files["train"],
        "-o",
        out / "triplets" / "cs",
        "--seed",
        SEED,
        "--require-abstract",
        "--dev",
        DEV,
        "--hold-out",
        "queries",
    )
    for part in ("held-out", "later"):
        write_benchmark(out, part, files[part], "--max-queries", 400)


def write_classes(data_root: DataRoot, out: Path) -> None:
    """Write test papers of each field of arXiv, to be classified."""
    chosen = select_by_hash(read_arxiv(data_root, "test"), "class", CLASSES)
    rows = (build_row(entry, field) for field, found in chosen.items() for entry in found)
    made = write_papers(out / "papers" / "classes.jsonl", rows)
    run_command("prepare", "multi-scidocs", made, "-o", out / "classes", "--val", 0.1, "--test", 0.6)


def write_benchmark(out: Path, name: str, papers: Path, *words: object) -> None:
    """Write a benchmark with all of some papers as queries, and the classes."""
    bench = out / "benchmarks" / name
    run_command("prepare", "multi-scidocs", papers, "-o", bench, "--val", 0, "--test", 1, *words)
    made, copied = out / "classes" / "multi-scidocs", bench / "multi-scidocs"
    shutil.rmtree(copied / "mag", ignore_errors=True)
    shutil.copytree(made / "mag", copied / "mag")
    shutil.copy(made / "paper_metadata_mag_mesh.json", copied)


def category(entry: SplitEntry) -> str:
    return str(entry.row["primary_category"])


def read_arxiv(data_root: DataRoot, part: str) -> dict[str, list[SplitEntry]]:
    """Return field -> papers of a part, fields in alphabetical order."""
    by_field: dict[str, list[SplitEntry]] = defaultdict(list)
    for entry in read_entries(data_root, ARXIV):
        if entry.part == part:
            by_field[str(entry.row["field"])].append(entry)
    return dict(sorted(by_field.items()))


def select_by_hash(by_field: dict[str, list[SplitEntry]], purpose: str, count: int) -> dict[str, list[SplitEntry]]:
    """Return as many papers of each field, by hash."""
    return {
        field: sorted(found, key=lambda entry: random_fraction(SEED, purpose, entry.paper.id))[:count]
        for field, found in by_field.items()
    }


def write_fields_benchmark(data_root: DataRoot, out: Path) -> None:
    """Write the benchmark of all fields of arXiv."""
    chosen = select_by_hash(read_arxiv(data_root, "test"), "pool", POOLED)
    rows = (build_row(entry, field) for field, found in chosen.items() for entry in found)
    papers = write_papers(out / "papers" / "fields-test.jsonl", rows)
    pairs = (pair for found in chosen.values() for pair in find_similar_pairs(found))
    edges = write_papers(
        out / "papers" / "fields-test-edges.jsonl", ({"citing": one, "cited": other} for one, other in pairs)
    )
    pools = ("--negatives", NEGATIVES, "--within-fields", "--max-queries", ASKED)
    write_benchmark(out, "fields", papers, "--edges", edges, *pools)


def find_similar_pairs(papers: list[SplitEntry]) -> Iterator[tuple[str, str]]:
    """Yield (later, earlier) of the papers that have a primary category or an author in common."""

    def marks(entry: SplitEntry) -> set[str]:
        return {category(entry), *map(str.casefold, entry.paper.authors)}

    marked = sorted((entry.paper.year or 0, entry.paper.id, marks(entry)) for entry in papers)
    for number, (_, later, own) in enumerate(marked):
        yield from ((later, earlier) for _, earlier, theirs in marked[:number] if own & theirs)


def write_field_triplets(data_root: DataRoot, out: Path) -> None:
    """Write triplets of 1, 4 and 17 fields of arXiv, the same number of queries each.

    Fields of one category, which have no hard negatives, are among the 17 alone.
    """
    by_field = read_arxiv(data_root, "train")
    lone = {name for name, found in by_field.items() if len({*map(category, found)}) == 1}
    names = sorted(by_field, key=lambda name: (name != FIRST, name in lone, random_fraction(SEED, "field", name)))
    for key, count in FIELDS.items():
        chosen = names[:count]
        papers = out / "papers" / f"fields-{key}.jsonl"
        write_papers(papers, (build_row(e, name) for name in chosen for e in by_field[name]))
        strengths = dict(pair for name in chosen for pair in sample_link_strengths(by_field[name], QUERIES // count))
        (out / "papers" / f"ties-{key}.json").write_text(json.dumps(strengths), encoding="utf-8")
        where = ("--link-strengths", out / "papers" / f"ties-{key}.json", "-o", out / "triplets" / key)
        run_command("prepare", "citations", papers, *where, "--seed", SEED, "--require-abstract", "--dev", 0.1)


def sample_link_strengths(papers: list[SplitEntry], queries: int) -> Iterator[tuple[str, dict[str, dict[str, int]]]]:
    """Yield papers with some of their category and some of their field's other categories."""
    by_category: dict[str, list[str]] = defaultdict(list)
    for entry in papers:
        by_category[category(entry)].append(entry.paper.id)
    queried = sorted(papers, key=lambda entry: random_fraction(SEED, "query", entry.paper.id))
    for entry in queried[:queries]:
        own = category(entry)
        others = [name for category, names in sorted(by_category.items()) if category != own for name in names]
        near = [name for name in by_category[own] if name != entry.paper.id]
        strengths = {name: {"count": 5} for name in sample_names(near, entry.paper.id)}
        strengths |= {name: {"count": 1} for name in sample_names(others, entry.paper.id)}
        if near:
            yield entry.paper.id, strengths


def sample_names(names: list[str], query: str) -> list[str]:
    return sorted(names, key=lambda name: random_fraction(SEED, query, name))[:LINKS]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder of the open data")
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    data_root = DataRoot(args.data)
    write_classes(data_root, args.out)
    write_computer_science(data_root, args.data, args.out)
    write_field_triplets(data_root, args.out)
    write_fields_benchmark(data_root, args.out)


if __name__ == "__main__":
    main()
