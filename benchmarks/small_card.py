"""Write what sciprism-small saw in training, and its scores with and without that: card, README, docs/results.md.

From results/small (scores of items, overlap.json), the recipe and small_sources.toml; nothing is scored or trained.
The blocks between marks in the pages are replaced: `make small-card`.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sciprism.evaluation.report.build import build_report, difference_text
from sciprism.evaluation.report.model import Difference, Score, group_by_system, read_stored_results
from sciprism.evaluation.suites import suites
from sciprism.evaluation.task import Average
from sciprism.prepare.open import TRAINING_SETS

OPEN = suites["open"]
BASELINE, MODEL = "all-MiniLM-L6-v2", "sciprism-small"
ALL, EITHER, LABELS, SOURCE, NEITHER = "all", "labels or source", "labels", "source alone", "neither"
PARTS: dict[str, tuple[str, ...]] = {
    ALL: ("labels", "source", "neither"),
    EITHER: ("labels", "source"),
    LABELS: ("labels",),
    SOURCE: ("source",),
    NEITHER: ("neither",),
}
"""Part of an average -> what training saw of its tasks, as in overlap.json."""
REPLACED = ("in-train", "out-of-train")
"""Averages of the suite that are such parts themselves."""


@dataclass(frozen=True, slots=True)
class PartOfAverage:
    """An average over some of its tasks: how many, the scores of both models, and the paired difference."""

    tasks: int
    baseline: Score
    model: Score
    difference: Difference


def split_averages(
    results: Sequence[Path], seen: Mapping[str, str], model: str = MODEL, *, partial: bool = False
) -> dict[str, dict[str, PartOfAverage]]:
    """Return average -> part -> its numbers, without parts that have no task.

    seen: what training saw of each task. partial: over the tasks that the model has numbers of; else it has all.
    """
    runs = [run for run in read_stored_results(results) if run.result.suite == OPEN.name]
    systems = {system.name: system for system in group_by_system(runs)}
    had = {each.task for each in systems[model].results if each.status == "done"} if partial else set(seen)
    names = {
        f"{average.name}: {part}": Average(
            name=f"{average.name}: {part}",
            tasks=tuple(task for task in average.tasks if seen[task] in kinds and task in had),
        )
        for average in OPEN.averages
        if average.name not in REPLACED
        for part, kinds in PARTS.items()
    }
    suite = replace(OPEN, averages=tuple(each for each in names.values() if each.tasks))
    report = build_report([systems[BASELINE], systems[model]], {OPEN.name: suite})
    found: dict[str, dict[str, PartOfAverage]] = {}
    for row in report.rows:
        if row.kind == "average" and row.name in names:
            average, _, part = row.name.rpartition(": ")
            (baseline, model), difference = [cell.score for cell in row.cells], row.cells[1].difference
            if row.lacking or baseline is None or model is None or difference is None:
                raise SystemExit(f"{results}: {row.name} lacks results: {', '.join(row.lacking)}")
            found.setdefault(average, {})[part] = PartOfAverage(len(row.tasks), baseline, model, difference)
    return found


ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs"))
from marked_pages import fill_marks  # noqa: E402

COUNTED = suites["open"].tasks_of("all")

RESULTS = ROOT / "results" / "small"
CARD = ROOT / "src" / "sciprism" / "models" / "sciprism-small" / "README.md"
README, RESULTS_PAGE = ROOT / "README.md", ROOT / "docs" / "results.md"
HUB = ("sentence-transformers/",)
"""Origins on the model hub; the others are repositories on GitHub."""
OBJECTIVES = {
    "vectors": "the teacher's vectors",
    "label-ranking": "its labels, ranked among all",
    "contrast": "contrast",
    "regression": "numbers",
}
BASE, BENCHMARKS = (RESULTS, RESULTS.parent / "base"), (RESULTS.parent / "benchmarks",)
OTHERS = {  # further rows of the table of systems: what it is called, and the folders of its results and the baseline's
    "sciprism-base-laptop": ("sciprism-base at laptop size", BASE),
    "sciprism-base-laptop-1": ("sciprism-base at laptop size, another seed", BASE),
    "lexical": (f"{BASELINE} with a lexical part, untrained", BASE),
    "all-mpnet-base-v2": ("all-mpnet-base-v2", BASE),
    "bm25": ("BM25", BENCHMARKS),
    "random": ("random vectors", BENCHMARKS),
}
SHOWN = (ALL, LABELS, SOURCE, NEITHER)
FORMATS = ("format classification", "format regression", "format proximity", "format search", "all")
Averages = Mapping[str, Mapping[str, PartOfAverage]]
Sources = Mapping[str, Mapping[str, Mapping[str, str]]]


def read_overlap() -> dict[str, Any]:
    """Return what results/small/overlap.json says."""
    found: dict[str, Any] = json.loads((RESULTS / "overlap.json").read_text(encoding="utf-8"))
    return found


def read_sources() -> Sources:
    """Return data sets, labels and teachers with their licences."""
    return tomllib.loads((Path(__file__).parent / "small_sources.toml").read_text(encoding="utf-8"))


def build_pages() -> dict[Path, str]:
    """Return each page with its blocks as they are computed now."""
    overlap, sources = read_overlap(), read_sources()
    seen = {task: each["seen"] for task, each in overlap["tasks"].items()}
    averages = split_averages([RESULTS], seen)
    blocks = {
        CARD: {
            "sources": format_data_sets(sources, overlap) + "\n" + format_files(sources, overlap),
            "tests": format_counts(overlap) + "\n" + format_tests(overlap),
            "split": format_split(averages),
        },
        README: {"split": format_differences(averages)},
        RESULTS_PAGE: {"split": format_formats(averages), "systems": format_systems(seen)},
    }
    return {path: fill_marks(path, some, "make small-card") for path, some in blocks.items()}


def format_data_sets(sources: Sources, overlap: Mapping[str, Any]) -> str:
    """Return the table of data sets, labels and teachers: origin, licence, size, training papers."""
    rows = []
    for kind, members in sources.items():
        for name, each in members.items():
            if "same_papers_as" not in each:
                data = overlap["data"].get(name) if kind == "data" else None
                count = f"{data['training']:,} of {data['papers']:,}" if data else ""
                what = f"`{name}`: {each['what']}" if kind == "data" else each["what"]
                rows.append([what, format_origins(each["origin"]), each["licence"], each["size"], count])
    return format_table(["data", "origin", "licence stated there", "size", "papers in training"], rows, words=range(4))


def format_origins(origin: str) -> str:
    """Return repositories as links, other words as they are."""
    hosts = "https://huggingface.co/" if origin.startswith(HUB) else "https://github.com/"
    words = (word.rstrip(",") for word in origin.split())
    links = {word: f"[{word}]({hosts}{word})" for word in words if "/" in word}
    for word, link in links.items():
        origin = origin.replace(word, link)
    return origin


def format_files(sources: Sources, overlap: Mapping[str, Any]) -> str:
    """Return the table of the recipe's files: examples, data sets, and what each stage learns from them."""
    listed = [name for name, each in sources["data"].items() if "same_papers_as" not in each]
    prepared = {f"open/train/{each.name}.jsonl": each.data for each in TRAINING_SETS}
    rows = []
    for file, each in overlap["files"].items():
        data = [prepared[file]] if file in prepared else [name for name in listed if name in each["data"]]
        stages: dict[str, dict[str, None]] = {}
        for use in each["uses"]:
            stages.setdefault(OBJECTIVES[use["objective"]], {})[use["stage"]] = None
        taught = "; ".join(f"{what} ({', '.join(names)})" for what, names in stages.items())
        name = file.removesuffix(".jsonl").replace("/train/", "/")
        rows.append([f"`{name}`", f"{each['examples']:,}", ", ".join(f"`{one}`" for one in data), taught])
    return format_table(["file", "examples", "data", "learned (stages)"], rows, words=(0, 2, 3))


def format_counts(overlap: Mapping[str, Any]) -> str:
    """Return how many training papers are in a test, and what shows it."""
    reasons = sorted({reason for each in overlap["tasks"].values() for reason in each["reasons"]})
    found = "all by their text alone" if reasons == ["text"] else f"by {', '.join(reasons)}"
    papers, sentences = f"{overlap['papers']:,} training papers", f"{overlap['sentences']:,} sentences"
    near = f"near duplicates: Jaccard similarity of word 3-grams from {overlap['near_duplicates']:g}"
    return f"Of {papers} and {sentences}, {overlap['in_tests']:,} are in a test, {found}\n({near}).\n"


def format_tests(overlap: Mapping[str, Any]) -> str:
    """Return the table of the suite's tests: what training saw of their labels, their source, their papers."""
    rows = []
    order = ("labels", "source", "neither")
    for task in sorted(COUNTED, key=lambda task: order.index(overlap["tasks"][task.name]["seen"])):
        each = overlap["tasks"][task.name]
        share = f"{each['labels_in_training']:,} of {each['labels']:,} names" if each["labels"] else ""
        labels = ", ".join(filter(None, [share, *(f"`{name}`" for name in each["files"])]))
        papers = max(overlap["data"][name]["training"] for name in each["data"])
        same = f"{each['papers_in_training']:,} of {each['papers']:,}"
        rows.append([task.name, each["seen"], labels, f"{papers:,}", same])
    heads = ["test", "seen", "its labels in training", "training papers of its data set", "its papers in training"]
    return format_table(heads, rows, words=range(3))


def format_split(averages: Averages) -> str:
    """Return the table of differences of every average, over all its tasks and over each part of them."""
    rows = [
        [name, *(f"{_difference(parts[part])} ({parts[part].tasks})" if part in parts else "" for part in PARTS)]
        for name, parts in averages.items()
    ]
    heads = {ALL: "all", EITHER: "labels or source seen", LABELS: "labels seen", SOURCE: "source alone seen"}
    return format_table(["average", *(heads.get(part, "neither seen") for part in PARTS)], rows)


def _difference(part: PartOfAverage) -> str:
    plain = replace(part.difference, corrected=None, apart=False)  # corrected over another set of differences
    return _escape(difference_text(plain))


def format_formats(averages: Averages) -> str:
    """Return the table of docs/results.md: the formats and all tasks."""
    rows = []
    for name in FORMATS:
        parts = averages[name]
        scores = [f"{100 * score.value:.1f}" for score in (parts[ALL].baseline, parts[ALL].model)]
        differences = [f"{_short(parts[part])} ({parts[part].tasks})" if part in parts else "" for part in SHOWN]
        rows.append([name.removeprefix("format "), *scores, *differences])
    heads = ["", BASELINE, MODEL, "difference", "labels seen", "source alone", "neither"]
    return format_table(heads, rows)


def format_systems(seen: Mapping[str, str]) -> str:
    """Return the table of docs/results.md: differences of other systems to the baseline, over the tasks they have."""
    rows = []
    for model, (what, folders) in OTHERS.items():
        found = split_averages(folders, seen, model, partial=True)["all"]
        rows.append(
            [what, *(f"{_short(found[part])} ({found[part].tasks})" if part in found else "" for part in SHOWN)]
        )
    return format_table(["", "all", "labels seen", "source alone", "neither"], rows)


def _short(part: PartOfAverage) -> str:
    """Return a difference to one decimal, bold where its interval excludes 0."""
    found = part.difference
    value = f"{100 * found.value:+.1f}"
    return f"{f'**{value}**' if found.marked else value} [{_signed(found.low)}, {_signed(found.high)}]"


def _signed(limit: float) -> str:
    """Return a limit with its sign to one decimal, or to as many as show on which side of 0 it is."""
    text = f"{100 * limit:+.1f}"
    return text if float(text) else f"{100 * limit:+.1g}"


def format_differences(averages: Averages) -> str:
    """Return the table of the README: what is gained where labels were seen in training, and elsewhere."""
    card = "src/sciprism/models/sciprism-small/README.md#tests-and-training"
    names = {ALL: "all tests of `open`", LABELS: "labels seen in training, on other papers"}
    names |= {SOURCE: "other papers of the test's source seen", NEITHER: "neither seen"}
    parts = averages["all"]
    rows = [(names[part], str(parts[part].tasks), _short(parts[part])) for part in names]
    heads = (f"sciprism-small against all-MiniLM-L6-v2, at twice its speed ([each test]({card}))", "tests", "points")
    return format_table(heads, rows)


def format_table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, words: Collection[int] = (0,)) -> str:
    """Return a Markdown table; words: the columns that are aligned to the left."""
    lines = [heads, ["---" if i in words else "--:" for i in range(len(heads))], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _escape(text: str) -> str:
    return "".join(f"\\{letter}" if letter in "[]*" else letter for letter in text)


def main() -> None:
    for path, page in build_pages().items():
        path.write_text(page, encoding="utf-8")
        print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
