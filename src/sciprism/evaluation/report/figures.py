"""Figures of a report for a paper, each as SVG (also for dark pages), PDF, LaTeX and CSV, drawn by matplotlib.

The same report gives the same bytes. Text stays text: SVG names its fonts, PDF embeds them.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from textwrap import fill
from typing import Annotated, Any, NamedTuple

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from sciprism.errors import InputError, import_extra
from sciprism.evaluation.report.build import TextTable, cell_text, first_names, latex_table, score_text
from sciprism.evaluation.report.model import Report, ReportCell, ReportRow, Score
from sciprism.files import join_cells, write_atomically

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
    panels[0].set_yticks(range(len(shown)), [fill(report.systems[i], NAME_WIDTH) for i in shown])
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


class TradeoffPoint(NamedTuple):
    """A system's price (papers per second, or cost) and its average."""

    system: str
    label: str
    price: float
    score: Score


def draw_tradeoff(theme: Theme, points: Sequence[TradeoffPoint], front: set[str], names: tuple[str, str]) -> Any:
    """Draw price against average with intervals, and a line through the front. names: of both axes."""
    from matplotlib.figure import Figure

    labels = list(dict.fromkeys(point.label for point in points))
    figure = Figure(figsize=(5.6, max(2.8, 0.8 + 0.19 * len(labels))), layout="constrained")
    axes = figure.add_subplot(xlabel=names[0], ylabel=f"{names[1]}, times 100")
    edge = [(point.price, 100 * point.score.value) for point in points if point.system in front]
    axes.step(*zip(*edge, strict=True), "--", color=theme.muted, lw=0.9, zorder=1)
    for point in points:
        style, score = _mark_style(theme, labels.index(point.label)), point.score
        if score.low is not None and score.high is not None:
            limits = [100 * score.low, 100 * score.high]
            axes.plot([point.price] * 2, limits, color=style["markeredgecolor"], linewidth=0.9, zorder=2)
        axes.plot(point.price, 100 * score.value, zorder=3, **style)
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


Price = Annotated[float, Field(gt=0, allow_inf_nan=False)]


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodingCost:
    """What encoding costs with a system; systems with one label, such as seeds, share a mark.

    papers_per_second: None where not measured. cost: the time of a paper, times that of one plain pass.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    system: str
    label: str = ""
    papers_per_second: Price | None = None
    cost: Price | None = None


@dataclass(frozen=True, slots=True)
class PaperFigure:
    """A figure before it is drawn: name of its files, its numbers as a table and as rows of CSV, and how to draw it."""

    name: str
    table: TextTable
    records: tuple[tuple[object, ...], ...]
    draw: Callable[[Theme], Any]


TRADEOFFS = {
    "papers_per_second": ("papers per second", "speed-quality", "more"),
    "cost": ("time of a paper, times one plain pass", "cost-quality", "less"),
}
"""What encoding costs -> its unit, the name of its figure, and whether more or less is better."""


def read_costs(path: Path) -> list[EncodingCost]:
    """Read a CSV table with the columns system, label (optional), and papers_per_second or cost or both.

    Of several rows of a system the last counts. Raises InputError for other columns, and for a number that is none or
    not above 0.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [{key: cell for key, cell in row.items() if cell} for row in csv.DictReader(file)]
        return TypeAdapter(list[EncodingCost]).validate_python(rows)
    except ValidationError as error:
        wrong = error.errors()[0]
        line, column = (*wrong["loc"], "")[:2]
        raise InputError(f"{path}, line {int(line) + 2}: {column}: {wrong['msg']}") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: cannot be read as a CSV table ({error})") from error


def write_figures(report: Report, folder: Path, costs: Sequence[EncodingCost] = ()) -> tuple[list[Path], list[str]]:
    """Write every figure that the report has numbers for; return the files, and what was left out and why.

    Raises InputError where no figure can be drawn, MissingExtraError without matplotlib.
    """
    with import_extra("bench", "a figure"):
        import matplotlib  # noqa: F401
    figures: list[PaperFigure] = []
    left_out: list[str] = []
    for suite in report.suites:
        built = (_tradeoff(report, suite, costs, measure) for measure in TRADEOFFS)
        for figure in (draw_task_types(report, suite), *built):
            if isinstance(figure, PaperFigure):
                figures.append(figure)
            else:
                left_out.append(f"{suite}: {figure}")
    if not figures:
        raise InputError(f"no figure can be drawn: {'; '.join(left_out)}")
    files = [path for figure in figures for path in _write_figure(figure, folder)]
    return files, [*left_out, *_notes(report, costs)]


def _notes(report: Report, costs: Sequence[EncodingCost]) -> Iterator[str]:
    """Yield what figures lack: intervals, costs of systems, results of systems whose cost is named."""
    scores = [cell.score for row in report.rows if row.kind != "part" for cell in row.cells if cell.score]
    bare = sum(score.low is None for score in scores)
    if bare:
        yield f"{bare} of {len(scores)} numbers have no interval, as their items are not on file; drawn without one"
    names = [each.system for each in costs]
    for missing, what in (
        ([name for name in names if name not in report.systems], "named in the table of costs, without results here"),
        ([name for name in report.systems if name not in names] if names else [], "not in the table of costs"),
    ):
        if missing:
            yield f"{first_names(missing)}: {what}"


def _write_figure(figure: PaperFigure, folder: Path) -> Iterator[Path]:
    contents = {
        ".csv": "".join(join_cells(row) + "\n" for row in figure.records).encode(),
        ".tex": f"% needs \\usepackage{{booktabs}}\n\n{latex_table(figure.table)}\n".encode(),
    }
    for ending, theme in {".svg": LIGHT, "-dark.svg": DARK, ".pdf": LIGHT}.items():
        contents[ending] = render(figure.draw, theme, ending.rpartition(".")[2])
    for ending, content in contents.items():
        path = folder / f"{figure.name}{ending}"
        write_atomically(path, lambda file, content=content: file.write(content))  # type: ignore[misc]
        yield path


def render(draw: Callable[[Theme], Any], theme: Theme, form: str) -> bytes:
    """Return a drawing as an SVG or a PDF file; the same drawing gives the same bytes."""
    from matplotlib import rc_context

    # colours, sizes, and the same bytes for the same figure
    settings: dict[str, Any] = {"svg.hashsalt": "sciprism", "svg.fonttype": "none", "pdf.fonttype": 42}
    settings |= {"text.parse_math": False, "font.size": 8}  # names may hold dollars
    settings |= {"axes.linewidth": 0.6, "axes.spines.top": False, "axes.spines.right": False}
    inks = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color", "hatch.color")
    settings |= {"hatch.linewidth": 0.6, **dict.fromkeys(inks, theme.ink)}
    dates = {"Date": None} if form == "svg" else {"CreationDate": None, "Creator": None, "Producer": None}
    with rc_context(settings):  # type: ignore[arg-type]
        drawn, file = draw(theme), BytesIO()
        drawn.savefig(file, format=form, metadata=dates, bbox_inches="tight", transparent=form == "svg")
    return file.getvalue()


def draw_task_types(report: Report, suite: str) -> PaperFigure | str:
    """Bars of each system, a panel per task type."""
    rows = dict(_averages_by_type(report, suite))
    if not rows:
        return "no task type has an average, so there are no bars"
    heads = ("", *(f"{name} ({len(row.tasks)})" for name, row in rows.items()))
    lines = [
        (system, *(cell_text(row.cells[i]) for row in rows.values()))
        for i, system in enumerate(report.systems)
        if any(row.cells[i].score for row in rows.values())
    ]
    columns = ("system", "task type", "tasks", "status", "score", "low", "high", "items", "seeds", "difference")
    records: list[tuple[object, ...]] = [(*columns, "difference low", "difference high", "p")]
    for i, system in enumerate(report.systems):
        for name, row in rows.items():
            cell = row.cells[i]
            s, d = cell.score, cell.difference
            numbers = (s.value, s.low, s.high, s.n, s.seeds) if s else (None,) * 5
            tested = (d.value, d.low, d.high, d.p) if d else (None,) * 4
            records.append((system, name, len(row.tasks), cell.status, *numbers, *tested))
    table = TextTable(f"{suite}: average of each task type (tasks), times 100, 95% interval", heads, tuple(lines))
    name = _file_name(suite, "task-types")
    return PaperFigure(name, table, tuple(records), lambda theme: draw_bars(theme, report, rows))


def _averages_by_type(report: Report, suite: str) -> Iterator[tuple[str, ReportRow]]:
    """Yield each format with the average over all of its tasks."""
    rows = [row for row in report.rows if row.suite == suite]
    averages = [row for row in rows if row.kind == "average" and any(cell.score for cell in row.cells)]
    for name in dict.fromkeys(row.format for row in rows if row.kind != "average" and row.format):
        members = {row.task for row in rows if row.format == name}
        named = [row for row in averages if row.name == f"format {name}"]
        same = [row for row in averages if set(row.tasks) == members]
        yield from ((name, row) for row in (named or same)[:1])


def _tradeoff(report: Report, suite: str, costs: Sequence[EncodingCost], measure: str) -> PaperFigure | str:
    """Return a figure of the average against papers per second, or the time of a paper times one plain pass."""
    unit, kind, better = TRADEOFFS[measure]
    measured = {each.system: (each.label or each.system, price) for each in costs if (price := getattr(each, measure))}
    if not measured:
        return f"{kind} is not drawn: no {measure} is known; --costs FILE gives it"
    averages = [row for row in report.rows if row.suite == suite and row.kind == "average"]
    named = {row.name.casefold(): row for row in averages}  # the suite's own average, else the one over all tasks
    row = named.get("average") or named.get("all") or (averages[-1] if averages else None)
    if row is None:
        return f"no average over its tasks, so {unit} has nothing to stand against"
    points = [
        TradeoffPoint(system, *measured[system], cell.score)
        for system, cell in zip(report.systems, row.cells, strict=True)
        if system in measured and cell.score
    ]
    if len(points) < 2:
        return f"{unit} and {row.title} are both known of {len(points)} system(s); a comparison needs two"
    sign = 1 if better == "more" else -1
    points.sort(key=lambda point: (sign * -point.price, -point.score.value))
    front: set[str] = set()  # the systems that none beats in both: the best price first, of equal ones the best average
    best = float("-inf")
    for point in points:
        if point.score.value > best:
            best = point.score.value
            front.add(point.system)
    records: list[tuple[object, ...]] = [("system", "label", unit, "score", "low", "high", "on the front")]
    lines = []
    for point in points:
        s, on_front = point.score, point.system in front
        records.append((point.system, point.label, point.price, s.value, s.low, s.high, on_front))
        lines.append((point.system, f"{point.price:.4g}", score_text(s), "yes" if on_front else ""))
    average = f"{row.title}, {len(row.tasks)} tasks"
    title = f"{suite}: {unit} against {average}, times 100, 95% interval"
    table = TextTable(title, ("", unit, row.title, "on the front"), tuple(lines))
    names = f"{unit} ({better} is better)", f"{suite}: {average}"
    return PaperFigure(
        _file_name(suite, kind), table, tuple(records), lambda theme: draw_tradeoff(theme, points, front, names)
    )


def _file_name(suite: str, kind: str) -> str:
    return f"{re.sub(r'[^A-Za-z0-9_.-]+', '-', suite)}-{kind}"
