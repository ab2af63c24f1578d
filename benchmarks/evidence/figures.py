"""Pictures of docs/evidence.md: measured differences with their intervals, and cost against quality of methods."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from textwrap import fill
from typing import Any

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams |= {"svg.hashsalt": "sciprism", "svg.fonttype": "none", "font.size": 8}

from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.lines import Line2D  # noqa: E402

from evidence.records import UNITS, ClaimFinding, ClaimRecord  # noqa: E402

COLORS = {
    "held": "#1b7837",
    "smaller than the paper's": "#5aae61",
    "no difference seen": "#4d4d4d",
    "undecided": "#999999",
    "opposite": "#b2182b",
    "not tested": "#d9d9d9",
}
"""Verdict -> color of its points."""
COSTS = {"adapter-fusion": "bert-base"}
"""Method -> the run of results/formats.json that measured it, where it is not the first that has it."""


PAPER_COLOR = "#2166ac"
HEAD_WIDTH = 84
"""Characters of a line of a claim's statement."""


def draw_claims(
    records: Sequence[ClaimRecord], path: Path, stand_ins: Mapping[str, str], texts: Mapping[str, str]
) -> bool:
    """Draw the differences that decide some claims, in points or per cent, with the paper's figure as a bar.

    stand_ins: the paper's group -> what is tested in its place. texts: claim -> its statement, above its differences.
    Return whether there is one to draw.
    """
    drawn = {record.claim: [each for each in record.findings if _is_drawn(each)] for record in records}
    drawn = {claim: findings for claim, findings in drawn.items() if findings}
    if not drawn:
        return False
    heads = {claim: fill(f"{claim}: {texts[claim]}", HEAD_WIDTH) for claim in drawn}
    count = sum(heads[claim].count("\n") + 1 + len(findings) for claim, findings in drawn.items())
    figure, axes = plt.subplots(figsize=(6.5, 0.8 + 0.19 * count))
    axes.axvline(0, color="black", linewidth=0.5)
    names: dict[int, str] = {}
    place = 0
    for claim, findings in drawn.items():
        height = heads[claim].count("\n") + 1
        axes.axhspan(place - 0.5, place + height - 0.5, color="#eeeeee", zorder=2.4)  # above lines, below the frame
        middle, inside = place + height / 2 - 0.5, axes.get_yaxis_transform()
        axes.text(0.01, middle, heads[claim], transform=inside, va="center", fontsize=7.5, zorder=3)
        for row, finding in enumerate(findings, place + height):
            _draw_finding(axes, row, finding)
            names[row] = _name_finding(finding.name, stand_ins)
        place += height + len(findings)
    axes.set_yticks([*names], [*names.values()])
    axes.set_ylim(count - 0.4, -0.5)  # the first on top
    axes.set_xlabel("difference in points, or in % where the paper has these")
    _add_legend(axes, [*chain.from_iterable(drawn.values())])
    _save(figure, path)
    return True


def _add_legend(axes: Any, findings: Sequence[ClaimFinding]) -> None:
    verdicts = dict.fromkeys(finding.verdict for finding in findings)
    handles = [Line2D([], [], color=COLORS[name], marker="o", markersize=4, label=name) for name in verdicts]
    if any(map(_has_figure, findings)):
        bar = {"color": PAPER_COLOR, "marker": "|", "markersize": 8, "linestyle": ""}
        handles.append(Line2D([], [], **bar, label="the paper's figure"))
    title = "ours, with the interval that decides"
    axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(0.0, 1.0), frameon=False, ncols=3, title=title)


def _draw_finding(axes: Any, row: int, finding: ClaimFinding) -> None:
    color, factor = COLORS[finding.verdict], UNITS[finding.unit]
    axes.plot([factor * finding.low, factor * finding.high], [row, row], color=color, linewidth=1.5)
    axes.plot(factor * finding.value, row, "o", color=color, markersize=4)
    if _has_figure(finding):
        axes.plot([factor * (finding.figure or 0)] * 2, [row - 0.4, row + 0.4], color=PAPER_COLOR, linewidth=1.5)


def _has_figure(finding: ClaimFinding) -> bool:
    return finding.figure is not None and not finding.no_room


def _name_finding(name: str, stand_ins: Mapping[str, str]) -> str:
    """Return a finding's name with what is tested in place of its group, which is named last."""
    before, comma, group = name.rpartition(", ")
    return f"{before}{comma}{stand_ins.get(group, group)}"


def _is_drawn(finding: ClaimFinding) -> bool:
    return bool(finding.decides and finding.view and finding.unit in UNITS and finding.value == finding.value)


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
        face = "white" if method.startswith("(") else PAPER_COLOR
        left.plot([low, high], [row, row], color=PAPER_COLOR, linewidth=1.5, zorder=1)
        left.plot(value, row, "o", color=PAPER_COLOR, markerfacecolor=face, markersize=5)
        right.barh(row, costs[method], color="#bdbdbd", height=0.6)
        right.annotate(f"{costs[method]:.1f}", (costs[method], row), (3, 0), textcoords="offset points", va="center")
    left.axvline(0, color="black", linewidth=0.5)
    left.set_yticks(range(len(drawn)), drawn)
    left.set_ylim(len(drawn) - 0.5, -0.5)  # the cheapest on top
    left.set_xlabel("points above the untouched encoder, all tasks")
    right.set_xlabel("cost of a paper with all four formats,\ntimes one plain pass")
    right.margins(x=0.15)
    names = {
        "tested, with 95% interval": PAPER_COLOR,
        "(in brackets) not tested: no dev score above the start": "white",
    }
    handles = [
        Line2D([], [], color=PAPER_COLOR, marker="o", markerfacecolor=face, markersize=5, label=name)
        for name, face in names.items()
        if face != "white" or any(method.startswith("(") for method in drawn)
    ]
    figure.legend(handles=handles, loc="outside upper left", frameon=False, ncols=2)
    _save(figure, path)


def _save(figure: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
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
