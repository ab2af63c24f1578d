"""Drawings of a report with matplotlib: bars, price against average, and a matrix of correlations.

Text stays text: SVG names its fonts, PDF embeds them. The same numbers give the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sciprism.arrays import Doubles
from sciprism.evaluation.report.model import Report, ReportCell, ReportRow
from sciprism.evaluation.report.text_tables import break_name

NAME_WIDTH = 26  # characters of a system's name on one line


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours of a figure; they differ in lightness too, so that a grey print tells them apart."""

    ink: str
    paper: str
    muted: str
    strong: str
    middle: str
    palette: tuple[str, ...]


LIGHT = Theme("#1a1a1a", "#ffffff", "#8a8a8a", "#0b3c6f", "#7fb2e5", ("#0b3c6f", "#b3541e", "#3f7f4f", "#8a6fb0"))
DARK = Theme("#e6e6e6", "#16181c", "#8a8a8a", "#dcecff", "#4f83b8", ("#9cc9f5", "#f0a878", "#9fd8ae", "#cbb7ea"))
MARKERS = "osD^v<>PXph*"


def theme_settings(theme: Theme) -> dict[str, Any]:
    """Return matplotlib's settings: colours, sizes, and the same bytes for the same figure."""
    inks = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")
    plain = {"svg.hashsalt": "sciprism", "svg.fonttype": "none", "pdf.fonttype": 42, "hatch.linewidth": 0.6}
    plain["text.parse_math"] = False  # names may hold dollars
    sizes = {"font.size": 8, "axes.linewidth": 0.6, "axes.spines.top": False, "axes.spines.right": False}
    return {**dict.fromkeys(inks, theme.ink), "hatch.color": theme.ink, **plain, **sizes}


BAR_KINDS = {"baseline": "baseline", "apart": "differs from it", "level": "no difference shown", "untested": "no test"}


def _bar_kind(report: Report, system: int, cell: ReportCell) -> str:
    if system == report.baseline:
        return "baseline"
    return "untested" if cell.difference is None else "apart" if cell.difference.marked else "level"


def draw_bars(theme: Theme, report: Report, rows: Mapping[str, ReportRow]) -> Any:
    """Draw a panel for each task type, with a bar and its interval for each system. rows: type -> its average."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    shown = [i for i in range(len(report.systems)) if any(row.cells[i].score for row in rows.values())]
    styles: dict[str, dict[str, Any]] = {
        "baseline": {"facecolor": theme.strong},
        "apart": {"facecolor": theme.middle},
        "level": {"facecolor": "none", "hatch": "////"},
        "untested": {"facecolor": "none"},
    }
    figure = Figure(figsize=(7.2, 0.9 + 0.24 * len(shown)), layout="constrained")
    panels = figure.subplots(1, len(rows), sharey=True, squeeze=False)[0]
    kinds: dict[str, None] = {}
    for axes, (name, row) in zip(panels, rows.items(), strict=True):
        for place, i in enumerate(shown):
            cell = row.cells[i]
            kinds |= {_bar_kind(report, i, cell): None} if cell.score else {}
            _draw_bar(axes, place, cell, styles[_bar_kind(report, i, cell)] | {"edgecolor": theme.ink}, theme)
        base = row.cells[report.baseline].score
        if base:
            axes.axvline(100 * base.value, color=theme.muted, linewidth=0.8, linestyle=(0, (3, 2)), zorder=0)
        axes.set_title(f"{name} ({len(row.tasks)})", fontsize=8)
        axes.margins(x=0.26)
        axes.tick_params(axis="y", length=0)
    panels[0].set_yticks(range(len(shown)), [break_name(report.systems[i], NAME_WIDTH) for i in shown])
    panels[0].set_ylim(len(shown) - 0.45, -0.55)
    figure.supxlabel("average of the tasks (how many), times 100, with its 95% interval", fontsize=8)
    if len(shown) > 1:
        names = BAR_KINDS | {"baseline": report.systems[report.baseline]}
        keys = [Patch(**styles[kind], edgecolor=theme.ink, label=names[kind]) for kind in names if kind in kinds]
        figure.legend(handles=keys, loc="outside upper center", ncols=len(keys), frameon=False)
    return figure


def _draw_bar(axes: Any, place: int, cell: ReportCell, style: Mapping[str, Any], theme: Theme) -> None:
    score = cell.score
    if score is None:
        reason = "no average" if cell.status == "left out" else cell.status
        axes.text(0, place, f" {reason}", va="center", color=theme.muted, fontsize=7)
        return
    axes.barh(place, 100 * score.value, height=0.62, linewidth=0.6, **style)
    end = max(100 * score.value, 0.0)
    if score.low is not None and score.high is not None:
        low, high, end = 100 * score.low, 100 * score.high, max(end, 100 * score.high)
        axes.plot([low, high], [place, place], color=theme.paper, linewidth=2.6, solid_capstyle="butt")
        axes.plot([low, high], [place, place], color=theme.ink, linewidth=1.1, marker="|", markersize=4)
    axes.annotate(f"{100 * score.value:.1f}", (end, place), (3, 0), textcoords="offset points", va="center", fontsize=7)


@dataclass(frozen=True, slots=True)
class TradeoffPoint:
    """A system's price (papers per second, or cost) and its average."""

    system: str
    label: str
    price: float
    cell: ReportCell

    @property
    def value(self) -> float:
        """Return the average times 100."""
        return 100 * self.cell.score.value if self.cell.score else float("nan")


def draw_tradeoff(theme: Theme, points: Sequence[TradeoffPoint], front: set[str], names: tuple[str, str]) -> Any:
    """Draw price against average with intervals, and a line through the front. names: of both axes."""
    from matplotlib.figure import Figure

    labels = list(dict.fromkeys(point.label for point in points))
    figure = Figure(figsize=(5.6, max(2.8, 0.8 + 0.19 * len(labels))), layout="constrained")
    axes = figure.add_subplot(xlabel=names[0], ylabel=f"{names[1]}, times 100")
    edge = [point for point in points if point.system in front]
    axes.step(
        [point.price for point in edge], [point.value for point in edge], "--", color=theme.muted, lw=0.9, zorder=1
    )
    for point in points:
        style, score = _mark_style(theme, labels.index(point.label)), point.cell.score
        if score and score.low is not None and score.high is not None:
            limits = [100 * score.low, 100 * score.high]
            axes.plot([point.price] * 2, limits, color=style["markeredgecolor"], linewidth=0.9, zorder=2)
        axes.plot(point.price, point.value, zorder=3, **style)
    prices = [point.price for point in points]
    if max(prices) > 8 * min(prices):
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
    axes.margins(x=0.12, y=0.1)
    keys = [axes.plot([], [], **_mark_style(theme, place))[0] for place in range(len(labels))]
    figure.legend(keys, labels, loc="outside right upper", frameon=False)
    return figure


def _mark_style(theme: Theme, place: int) -> dict[str, Any]:
    """Return a mark for the nth label: shapes differ first, then whether they are filled."""
    colour, filled = theme.palette[place % len(theme.palette)], place % 2 == 0
    marker = MARKERS[place % len(MARKERS)]
    hollow = theme.paper if filled == (place >= len(MARKERS)) else colour
    return {"marker": marker, "markersize": 5.5, "linestyle": "", "markeredgecolor": colour, "markerfacecolor": hollow}


@dataclass(frozen=True, slots=True)
class TaskMatrix:
    """Rank correlations of tasks, shape (tasks, tasks), with the name and the format of each."""

    values: Doubles
    names: tuple[str, ...]
    formats: tuple[str, ...]
    systems: int


def draw_matrix(theme: Theme, matrix: TaskMatrix) -> Any:
    """Draw the lower half: the area of a square is the correlation, hollow where it is negative."""
    from matplotlib.figure import Figure

    count, formats = len(matrix.names), matrix.formats
    side = max(3.2, 1.6 + 0.145 * count)
    figure = Figure(figsize=(side, side - 0.6), layout="constrained")
    axes = figure.add_subplot(aspect="equal")
    rows, columns = np.tril_indices(count, -1)
    values = matrix.values[rows, columns]
    points = axes.get_window_extent().width * 72 / figure.dpi / count  # of one cell
    for sign, face in ((1, theme.strong), (-1, "none")):
        some = sign * values > 0
        sizes = 0.7 * points**2 * np.abs(values[some])
        axes.scatter(columns[some], rows[some], s=sizes, marker="s", c=face, edgecolors=theme.strong, linewidths=0.5)
    starts = [i for i in range(count) if i == 0 or formats[i] != formats[i - 1]]
    for start in starts[1:]:
        axes.plot([-0.5, start - 0.5, start - 0.5], [start - 0.5, start - 0.5, count - 0.5], color=theme.muted, lw=0.6)
    for start in starts:
        axes.text(start + 0.2, start - 0.6, formats[start], fontsize=8, color=theme.ink)
    key = f"rank correlation over {matrix.systems} systems:\narea of a square; hollow: negative"
    axes.text(0.99, 0.97, key, transform=axes.transAxes, ha="right", va="top")
    axes.set_yticks(range(count), matrix.names, fontsize=6.5)
    axes.set_xticks(range(count), matrix.names, fontsize=6.5, rotation=90)
    axes.set_xlim(-0.5, count - 0.5)
    axes.set_ylim(count - 0.5, -1.5)
    axes.tick_params(length=0)
    return figure
