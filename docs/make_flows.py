"""Write the two flows of docs/architecture.md from traced runs: `make reference`."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from module_trace import ModuleTrace

import sciprism
from sciprism.cli.main import main

PAGE = Path(__file__).parent / "architecture.md"
PACKAGES = {path.name for path in Path(sciprism.__file__).parent.iterdir() if path.is_dir()}
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


def build_flows() -> dict[str, str]:
    """Return each flow as a Mermaid figure by its name."""
    os.environ.pop("SCIPRISM_DATA", None)  # else sources are checked for papers of tests
    with TemporaryDirectory() as name, contextlib.chdir(name):
        _write_files(Path(name))
        flows = {
            "search": (
                ("embed", "landmarks.jsonl", "-o", "papers"),
                ("index", "papers", "--lexical"),
                ("search", "papers", "how the continents moved apart", "--mode", "hybrid"),
            ),
            "report": (
                ("train", "recipe.toml", "-o", "run", "--device", "cpu"),
                ("evaluate", "run/contrast/model", "--tasks", "tasks.toml", "-o", "results"),
                ("compare", "results", "-o", "report.html"),
            ),
        }
        return {name: _draw(_trace(commands)) for name, commands in flows.items()}


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


def _draw(trace: ModuleTrace) -> str:
    """Return a figure whose nodes are packages, with the modules that are called on the arrows."""
    arrows: dict[tuple[str, str], list[str]] = {}
    for caller, module in trace.calls:
        one, (other, _, inner) = caller.partition(".")[0], module.removesuffix(".__init__").partition(".")
        called_back = other == "cli" or (other, one) in arrows
        if (
            {one, other} <= PACKAGES
            and one != other
            and not called_back
            and (inner or other) not in arrows.setdefault((one, other), [])
        ):
            arrows[one, other].append(inner or other)
    lines = [f'    {one} -- "{"<br>".join(names)}" --> {other}' for (one, other), names in arrows.items()]
    return "\n".join(["```mermaid", "flowchart LR", *lines, "```"])


def build_page() -> str:
    """Return the page with new figures."""
    page = PAGE.read_text(encoding="utf-8")
    for name, figure in build_flows().items():
        start, end = f"<!-- flow: {name} -->", "<!-- end -->"
        before, _, after = page.partition(start)
        page = f"{before}{start}\n{figure}\n{end}{after.partition(end)[2]}"
    return page


if __name__ == "__main__":
    PAGE.write_text(build_page(), encoding="utf-8")
