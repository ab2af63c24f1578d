"""Draw the figures of docs/results.md from results/, and write the table of costs that they need.

    python benchmarks/figures.py            # `make figures`

`sciprism compare --figures` draws them, into out/figures with their PDF, LaTeX and CSV. Those that the page shows go
to docs/pictures, with the colours of both themes in one file, of which the reader's is shown.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from evidence.figures import read_costs
from sciprism.evaluation.report.figures import DARK, LIGHT
from sciprism.evaluation.results import read_pack
from sciprism.files import join_cells, write_lines
from sciprism.reproduce.estimates import read_models

ROOT = Path(__file__).parent.parent
RESULTS, PICTURES = ROOT / "results", ROOT / "docs" / "pictures"
SHOWN = {"encoders": ("open-task-types",), "methods": ("open-cost-quality",)}
"""Folder of out/figures -> its figures that docs/results.md shows."""
METHODS = {
    "backbone": ("untouched", "single"),
    "single": ("one vector", "single"),
    "control-codes": ("control codes", "control-codes"),
    "adapters": ("adapters", "adapters"),
    "pals": ("PALs", "pals"),
    "prefix": ("prefixes", "prefix"),
    "attention-experts": ("attention experts", "attention-experts"),
    "facets": ("three facets", "facets"),
    "adapter-fusion": ("adapter fusion", "adapter-fusion"),
    "prism": ("prism", "prism"),
}
"""Model of results/prism/models.json -> its label, and the method whose time results/formats.json has."""


def write_speeds(path: Path) -> None:
    """Write papers per second of the encoders of results/small, one format each, in the latest run."""
    speeds = json.loads((RESULTS / "small" / "speed.json").read_text("utf-8"))["runs"]["latest"]["papers_per_second"]
    rows = [("all-MiniLM-L6-v2", speeds["all-MiniLM-L6-v2, one format"]), ("sciprism-small", speeds["one format"])]
    write_lines(path, map(join_cells, [("system", "papers_per_second"), *rows]))


def write_costs(path: Path, systems: Iterable[str]) -> None:
    """Write the cost of a paper in all formats for each run of each method; systems: names as in results."""
    models, names = read_models(RESULTS / "prism"), {name.partition(" (")[0]: name for name in systems}
    costs = read_costs(RESULTS / "formats.json", [method for _, method in METHODS.values()])
    rows = []
    for model, (label, method) in METHODS.items():
        for folder in models[model]:
            run = folder.removesuffix("-precision-bfloat16")
            rows.append((names[run], label, costs[method]))
    write_lines(path, map(join_cells, [("system", "label", "cost"), *rows]))


def list_systems(pack: Path) -> list[str]:
    """Return the names of the systems of packed results."""
    return list(dict.fromkeys(result.system["name"] for result in read_pack(pack).results.values()))


def draw(folder: Path, sources: Sequence[Path], baseline: str) -> None:
    """Pack results of several folders into one, so that each system is there once, and draw their figures."""
    command = [sys.executable, "-m", "sciprism"]
    for source in sources:
        subprocess.run([*command, "results", "pack", source, "-o", folder / "results"], check=True)
    options = ["--baseline", baseline, "--figures", folder, "--costs", folder / "costs.csv"]
    subprocess.run([*command, "compare", folder / "results", *options], check=True)


def draw_encoders(folder: Path) -> None:
    """Draw what results/benchmarks and results/small hold: encoders, with their speed."""
    write_speeds(folder / "costs.csv")
    draw(folder, [RESULTS / "benchmarks", RESULTS / "small"], "all-MiniLM-L6-v2")


def draw_methods(folder: Path) -> None:
    """Draw what results/prism holds: runs of each method from one encoder, with their cost."""
    systems = list_systems(RESULTS / "prism" / "open.results.jsonl.gz")
    write_costs(folder / "costs.csv", systems)
    backbone = next(name for name in systems if name.startswith("all-MiniLM-L6-v2"))
    draw(folder, [RESULTS / "prism"], backbone)


def join_themes(drawing: str) -> str:
    """Return a light SVG whose colours are those of the dark theme where the reader prefers that."""
    pairs = {getattr(LIGHT, name): getattr(DARK, name) for name in ("ink", "paper", "muted", "middle", "strong")}
    rules = []
    for number, (light, dark) in enumerate(pairs.items()):
        drawing = drawing.replace(light, f"var(--c{number})")
        rules.append((f"--c{number}:{light}", f"--c{number}:{dark}"))
    plain, preferred = (";".join(some) for some in zip(*rules, strict=True))
    style = f"<style>svg{{{plain}}}@media (prefers-color-scheme:dark){{svg{{{preferred}}}}}</style>"
    return drawing.replace("<defs>", f"{style}<defs>", 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=ROOT / "out" / "figures", help="all figures")
    options = parser.parse_args()
    for name, build in {"encoders": draw_encoders, "methods": draw_methods}.items():
        shutil.rmtree(options.folder / name, ignore_errors=True)
        build(options.folder / name)
        for shown in SHOWN[name]:
            drawing = (options.folder / name / f"{shown}.svg").read_text("utf-8")
            (PICTURES / f"{shown}.svg").write_text(join_themes(drawing), encoding="utf-8")


if __name__ == "__main__":
    main()
