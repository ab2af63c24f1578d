"""Draw the two flows of docs/architecture.md from traced runs: `make reference`."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import wrap

from make_methods import PICTURES, STYLE
from module_trace import ModuleTrace

import sciprism
from sciprism.cli.main import main

PACKAGES = {path.name for path in Path(sciprism.__file__).parent.iterdir() if path.is_dir()}
WIDTH, LANE, SLOT = 360, 14, 12
"""Pixels: the right edge of the boxes; between two arrows that go down; between two arrows at a box."""
LEFT = "text { text-anchor: start; } .name { font-weight: bold; }"
EXAMPLES = Path(__file__).parents[1] / "examples" / "landmarks"
RECIPE = """
name = "flow"
[model]
backbone = "sciprism-small"
max_length = 16
[[stages]]
name = "contrast"
method = "prism"
batch_size = 8
steps = 2
optimizer = { lr = 1e-4 }
[[stages.sources]]
file = "examples.jsonl"
format = "search"
query = "query"
"""
TASKS = """
[[task]]
name = "landmarks"
protocol = "retrieve"
format = "search"
metric = "ndcg@10"
data = "."
papers = "landmarks.jsonl"
"""


def build_flows() -> dict[Path, str]:
    """Return each flow as SVG by its file."""
    os.environ.pop("SCIPRISM_DATA", None)  # else sources are checked for papers of tests
    with TemporaryDirectory() as name, contextlib.chdir(name):
        _write_files(Path(name))
        flows = {
            "search": (
                ("embed", "landmarks.jsonl", "-o", "papers"),
                ("search", "papers", "how the continents moved apart"),
            ),
            "report": (
                ("train", "recipe.toml", "-o", "run", "--device", "cpu"),
                ("evaluate", "run/contrast/model", "--tasks", "tasks.toml", "-o", "results"),
                ("compare", "results", "-o", "report.html"),
            ),
        }
        return {
            PICTURES / f"flow-{name}.svg": _draw(_trace(commands), ", ".join(words[0] for words in commands))
            for name, commands in flows.items()
        }


def _write_files(folder: Path) -> None:
    """Write papers, queries, training examples, a recipe and a task."""
    landmarks = (EXAMPLES / "landmarks.jsonl").read_text(encoding="utf-8")
    papers = [json.loads(line) for line in landmarks.splitlines()]
    queries = [json.loads(line) for line in (EXAMPLES / "queries.jsonl").read_text(encoding="utf-8").splitlines()]
    examples = [
        {"question": paper["title"], "positive_ctxs": [{"title": paper["title"], "text": paper["abstract"]}]}
        for paper in papers
    ]
    files = {
        "landmarks.jsonl": landmarks,
        "recipe.toml": RECIPE,
        "tasks.toml": TASKS,
        "examples.jsonl": "\n".join(map(json.dumps, examples)),
        "queries.jsonl": "\n".join(json.dumps({"id": f"q{n}", "text": q["query"]}) for n, q in enumerate(queries)),
        "qrels.csv": "\n".join(
            ["query_id,paper_id,grade", *(f"q{n},{q['expected']},1" for n, q in enumerate(queries))]
        ),
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


def _trace(commands: Sequence[Sequence[str]]) -> ModuleTrace:
    """Run some commands and return their trace."""
    trace = ModuleTrace()
    for words in commands:
        sys.argv = ["sciprism", *words]
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            try:
                with trace:
                    main()
            except SystemExit as stop:
                if stop.code:
                    raise RuntimeError(output.getvalue()) from stop
    return trace


def _draw(trace: ModuleTrace, title: str) -> str:
    """Return a figure as SVG: packages below each other, the modules that are called in them, and who calls whom."""
    called: dict[str, list[str]] = {}
    arrows: dict[tuple[str, str], None] = {}
    for caller, module in trace.calls:
        one, (other, _, inner) = caller.partition(".")[0], module.removesuffix(".__init__").partition(".")
        called_back = other == "cli" or (other, one) in arrows
        if {one, other} <= PACKAGES and one != other and not called_back:
            arrows[one, other] = None
            if (inner or other) not in called.setdefault(other, []):
                called[other].append(inner or other)
    boxes = _place(_sort(arrows), arrows, called)
    lanes = _assign_lanes(arrows, list(boxes))
    width, height = WIDTH + 40 + LANE * (max(lanes.values()) + 1), boxes[list(boxes)[-1]].bottom + 10
    parts = [f'<rect class="ground" width="{width}" height="{height}"/>']
    parts += [line for name, box in boxes.items() for line in box.draw(name)]
    slots = {name: iter(range(1, 99)) for name in boxes}
    for one, other in sorted(arrows, key=lambda arrow: lanes[arrow]):
        start, end = (boxes[name].top + SLOT * next(slots[name]) for name in (one, other))
        x = WIDTH + 24 + LANE * lanes[one, other]
        parts.append(f'<path d="M{WIDTH} {start} H{x} V{end} H{WIDTH + 4}"/>')
        parts.append(f'<path class="head" d="M{WIDTH} {end} l8 -4 v8 z"/>')
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
    return "\n".join([head, f"<title>{title}</title><style>{STYLE}{LEFT}</style>", *parts, "</svg>\n"])


@dataclass
class _Box:
    """A package of a figure: from where to where it goes, and its lines of modules."""

    top: int
    lines: list[str]
    arrows: int

    @property
    def bottom(self) -> int:
        return self.top + max(30 + 17 * len(self.lines), SLOT * (self.arrows + 1))

    def draw(self, name: str) -> Iterator[str]:
        yield f'<rect class="box" x="10" y="{self.top}" width="{WIDTH - 10}" height="{self.bottom - self.top}" rx="5"/>'
        yield f'<text class="name" x="22" y="{self.top + 20}">{name}</text>'
        for number, line in enumerate(self.lines):
            yield f'<text class="side" x="22" y="{self.top + 38 + 17 * number}">{line}</text>'


def _sort(arrows: Iterable[tuple[str, str]]) -> list[str]:
    """Return the packages so that callers come first."""
    callers: dict[str, list[str]] = {}
    for one, other in arrows:
        callers.setdefault(one, [])
        callers.setdefault(other, []).append(one)
    return list(TopologicalSorter(callers).static_order())


def _place(
    names: Sequence[str], arrows: Iterable[tuple[str, str]], called: Mapping[str, Sequence[str]]
) -> dict[str, _Box]:
    boxes: dict[str, _Box] = {}
    top = 10
    for name in names:
        lines = wrap(", ".join(called.get(name, ())), 46)
        boxes[name] = _Box(top, lines, sum(name in arrow for arrow in arrows))
        top = boxes[name].bottom + 14
    return boxes


def _assign_lanes(arrows: Iterable[tuple[str, str]], names: Sequence[str]) -> dict[tuple[str, str], int]:
    """Return for each arrow how far to the right it goes: short ones near the boxes, none over another."""
    lanes: dict[tuple[str, str], int] = {}
    spans = {arrow: (names.index(arrow[0]), names.index(arrow[1])) for arrow in arrows}
    for arrow in sorted(arrows, key=lambda arrow: spans[arrow][1] - spans[arrow][0]):
        first, last = spans[arrow]
        taken = {lane for other, lane in lanes.items() if spans[other][0] <= last and first <= spans[other][1]}
        lanes[arrow] = min(set(range(len(lanes) + 1)) - taken)
    return lanes


if __name__ == "__main__":
    for path, figure in build_flows().items():
        path.write_text(figure, encoding="utf-8")
