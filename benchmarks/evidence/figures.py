"""The picture of docs/evidence.md: cost against quality of methods."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams |= {"svg.hashsalt": "sciprism", "svg.fonttype": "none", "font.size": 8}

from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.lines import Line2D  # noqa: E402

COSTS = {"adapter-fusion": "bert-base"}
"""Method -> the run of results/formats.json that measured it, where it is not the first that has it."""
COLOR = "#2166ac"


def draw_cost(quality: Mapping[str, tuple[float, float, float]], costs: Mapping[str, float], path: Path) -> None:
    """Draw a row for each method: its difference to the untouched encoder, and the cost of a paper in all formats.

    quality: method -> difference and its interval, in points; in brackets if it is not tested. costs: method -> times
    one plain pass.
    """
    drawn = sorted((method for method in quality if method in costs), key=lambda method: (costs[method], method))
    sides = {"sharey": True, "width_ratios": (3, 2), "figsize": (7, 0.8 + 0.24 * len(drawn))}
    figure, (left, right) = plt.subplots(1, 2, layout="constrained", **sides)
    for row, method in enumerate(drawn):
        value, low, high = quality[method]
        face = "white" if method.startswith("(") else COLOR
        left.plot([low, high], [row, row], color=COLOR, linewidth=1.5, zorder=1)
        left.plot(value, row, "o", color=COLOR, markerfacecolor=face, markersize=5)
        right.barh(row, costs[method], color="#bdbdbd", height=0.6)
        right.annotate(f"{costs[method]:.1f}", (costs[method], row), (3, 0), textcoords="offset points", va="center")
    left.axvline(0, color="black", linewidth=0.5)
    left.set_yticks(range(len(drawn)), drawn)
    left.set_ylim(len(drawn) - 0.5, -0.5)  # the cheapest on top
    left.set_xlabel("points above the untouched encoder, all tasks")
    right.set_xlabel("cost of a paper with all four formats,\ntimes one plain pass")
    right.margins(x=0.15)
    names = {
        "tested, with 95% interval": COLOR,
        "(in brackets) not tested: no dev score above the start": "white",
    }
    handles = [
        Line2D([], [], color=COLOR, marker="o", markerfacecolor=face, markersize=5, label=name)
        for name, face in names.items()
        if face != "white" or any(method.startswith("(") for method in drawn)
    ]
    figure.legend(handles=handles, loc="outside upper left", frameon=False, ncols=2)
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)


def read_costs(path: Path, methods: Iterable[str], what: str = "all formats") -> dict[str, float]:
    """Return method -> its median cost against one plain pass, from the file of benchmarks/formats.py."""
    runs = json.loads(path.read_text("utf-8"))["runs"]
    found = {}
    for method in methods:
        named = [COSTS[method]] if method in COSTS else list(runs)
        rows = [runs[name]["costs"].get(what, {}).get(method) for name in named]
        costs = [row["cost"]["median"] for row in rows if row]
        if costs:
            found[method] = costs[0]
    return found
