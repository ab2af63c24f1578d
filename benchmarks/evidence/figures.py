"""Pictures of docs/evidence.md: measured differences with their intervals, and cost against quality of methods."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams |= {"svg.hashsalt": "sciprism", "svg.fonttype": "none", "font.size": 8}

from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.lines import Line2D  # noqa: E402
from matplotlib.transforms import Bbox  # noqa: E402

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


def draw_claims(records: Sequence[ClaimRecord], path: Path, stand_ins: Mapping[str, str]) -> bool:
    """Draw the differences that decide some claims, in points or per cent, with the paper's figure as a line.

    stand_ins: the paper's group -> what is tested in its place. Return whether there is one to draw.
    """
    rows = [(record.claim, each) for record in records for each in record.findings if _is_drawn(each)]
    if not rows:
        return False
    figure, axes = plt.subplots(figsize=(7, 0.6 + 0.19 * len(rows)))
    for place, (_, finding) in enumerate(rows):
        color, factor = COLORS[finding.verdict], UNITS[finding.unit]
        axes.plot([factor * finding.low, factor * finding.high], [place, place], color=color, linewidth=1.5)
        axes.plot(factor * finding.value, place, "o", color=color, markersize=4)
        if finding.figure is not None and not finding.no_room:
            axes.plot([factor * finding.figure] * 2, [place - 0.4, place + 0.4], color="#2166ac", linewidth=1.5)
    axes.axvline(0, color="black", linewidth=0.5)
    axes.set_yticks(range(len(rows)), [f"{claim}  {_name_finding(finding.name, stand_ins)}" for claim, finding in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)  # the first on top
    axes.set_xlabel("difference (points, or % where the paper has these), interval that decides; blue: the paper")
    names = dict.fromkeys(finding.verdict for _, finding in rows)
    handles = [Line2D([], [], color=COLORS[name], marker="o", markersize=4, label=name) for name in names]
    axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    _save(figure, path)
    return True


def _name_finding(name: str, stand_ins: Mapping[str, str]) -> str:
    """Return a finding's name with what is tested in place of its group, which is named last."""
    before, comma, group = name.rpartition(", ")
    return f"{before}{comma}{stand_ins.get(group, group)}"


def _is_drawn(finding: ClaimFinding) -> bool:
    return bool(finding.decides and finding.view and finding.unit in UNITS and finding.value == finding.value)


def draw_cost(quality: Mapping[str, tuple[float, float, float]], costs: Mapping[str, float], path: Path) -> None:
    """Draw methods by the cost of a paper in all formats and their difference to the untouched encoder.

    quality: method -> difference and its interval, in points. costs: method -> times one plain pass.
    """
    figure, axes = plt.subplots(figsize=(6, 3.8))
    drawn = {method: found for method, found in quality.items() if method in costs}
    for method, (value, low, high) in drawn.items():
        limits = [[value - low], [high - value]]
        axes.errorbar(costs[method], value, limits, fmt="o", color="#2166ac", markersize=4, elinewidth=0.8, capsize=3)
    axes.axhline(0, color="black", linewidth=0.5)
    axes.set_xlabel("cost of a paper with all four formats, times one plain pass")
    axes.set_ylabel("points above the untouched encoder, all tasks")
    axes.margins(x=0.1, y=0.15)
    figure.draw_without_rendering()  # sets the limits of the axes
    taken = [_find_box(axes, costs[method], low, high) for method, (_, low, high) in drawn.items()]
    for method, (value, *_) in sorted(drawn.items(), key=lambda each: costs[each[0]]):
        taken.append(_label(axes, method, (costs[method], value), taken))
    _save(figure, path)


PLACES = tuple(((5 * sign, up), side) for up in (3, -9, 14, -20) for sign, side in ((1, "left"), (-1, "right")))
"""Of a label from its point, in typographic points, and which of its ends is there."""


def _find_box(axes: Any, place: float, low: float, high: float) -> Bbox:
    """Return the box of an interval at a place of the horizontal axis, with its caps."""
    (left, bottom), (right, top) = axes.transData.transform([(place, low), (place, high)])
    return Bbox([[left - 4, bottom], [right + 4, top]])


def _label(axes: Any, text: str, point: tuple[float, float], taken: Sequence[Bbox]) -> Bbox:
    """Write a label at the first place inside the axes without an interval or a label; return its box."""
    frame = axes.get_window_extent()
    for offset, side in PLACES:
        label = axes.annotate(text, point, xytext=offset, textcoords="offset points", ha=side)
        box: Bbox = label.get_window_extent()
        if frame.x0 < box.x0 and box.x1 < frame.x1 and not any(box.overlaps(other) for other in taken):
            return box
        label.remove()
    last: Bbox = axes.annotate(text, point, xytext=PLACES[0][0], textcoords="offset points").get_window_extent()
    return last


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
