"""A report as an HTML page: sortable tables, and plots of intervals as inline SVG."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files

from sciprism.evaluation.report.model import Report, ReportRow
from sciprism.evaluation.report.text_tables import TextTable, build_tables, row_label


def html(report: Report) -> str:
    """Return the page: plots, and their numbers in sortable tables, for screens of any size."""
    package = files(__package__)
    style, script = ((package / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    parts = ["<h1>Systems side by side</h1>"]
    for suite in report.suites:
        tables = map(_table, build_tables(report, suite))
        parts += [f"<h2>{escape(suite)}</h2>", *_figures(report, suite), *tables]
    notes = "\n".join(f"<li>{escape(note)}</li>" for note in report.notes)
    data = "\n".join(f"<li><b>{escape(name)}</b>: {escape(text)}</li>" for name, text in report.remarks.items())
    data = f"<h2>Data</h2>\n<ul>\n{data}\n</ul>\n" if data else ""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>sciprism: comparison</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{style}</style></head>\n<body>\n{chr(10).join(filter(None, parts))}\n"
        f"<h2>Notes</h2>\n<ul>\n{notes}\n</ul>\n{data}<script>{script}</script>\n</body></html>\n"
    )


def _figures(report: Report, suite: str) -> Iterator[str]:
    rows = [row for row in report.rows if row.suite == suite and row.kind != "part"]
    averages = [row for row in rows if row.kind == "average"]
    tasks = [row for row in rows if row.kind == "task"]
    yield render_figure("Averages", report.systems, [_score_strip(row) for row in averages])
    for group in dict.fromkeys(row.group or row.format for row in tasks):
        members = [row for row in tasks if (row.group or row.format) == group]
        yield render_figure(f"Tasks: {group}", report.systems, [_score_strip(row) for row in members])
    title = f"Above {report.systems[report.baseline]} (hollow: the interval includes 0)"
    yield render_figure(title, report.systems, [_difference_strip(row) for row in [*averages, *tasks]], zero=True)


def _score_strip(row: ReportRow) -> FigureRow:
    marks = {}
    for i, cell in enumerate(row.cells):
        if s := cell.score:
            low, high = (s.value if limit is None else limit for limit in (s.low, s.high))
            marks[i] = IntervalMark(100 * s.value, 100 * low, 100 * high)
    return FigureRow(row_label(row), marks)


def _difference_strip(row: ReportRow) -> FigureRow:
    marks = {
        i: IntervalMark(100 * d.value, 100 * d.low, 100 * d.high, hollow=not d.marked)
        for i, cell in enumerate(row.cells)
        if (d := cell.difference)
    }
    return FigureRow(row_label(row), marks)


def _table(table: TextTable) -> str:
    heads = "".join(f'<th scope="col"><button>{escape(head or "name")}</button></th>' for head in table.heads)
    rows = "\n".join(
        f'<tr><th scope="row">{escape(name)}</th>{"".join(map(_cell, cells))}</tr>' for name, *cells in table.rows
    )
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(table.title, quote=True)}">'
        f"<table><caption>{escape(table.title)}</caption><thead><tr>{heads}</tr></thead>\n"
        f"<tbody>\n{rows}\n</tbody></table></div>"
    )


def _cell(text: str) -> str:
    value, bracket, rest = text.partition(" [")
    if not bracket:
        return f"<td>{escape(text)}</td>"
    interval, _, mark = rest.partition("]")
    return f"<td>{escape(value)}{escape(mark)} <small>[{escape(interval)}]</small></td>"


COLOURS = 8
LANE = 13  # height of one system in a strip, in pixels
PADDING = 5
TICKS = 6


@dataclass(frozen=True, slots=True)
class IntervalMark:
    """A value and its interval, times 100; hollow where a difference is not significant."""

    value: float
    low: float
    high: float
    hollow: bool = False


@dataclass(frozen=True, slots=True)
class FigureRow:
    """One strip of a figure: its name, and position of a system -> its mark."""

    name: str
    marks: Mapping[int, IntervalMark]


@dataclass(frozen=True, slots=True)
class Scale:
    """Map numbers to percentages of a strip's width."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def position(self, value: float) -> str:
        """Return the SVG position of a number; the edges have room for half a label."""
        return f"{4 + 92 * (value - self.low) / (self.high - self.low):.2f}%"


def render_figure(title: str, systems: Sequence[str], strips: Sequence[FigureRow], *, zero: bool = False) -> str:
    """Return a figure of the strips with marks, "" where none has any. zero: draw a line at 0."""
    strips = [strip for strip in strips if strip.marks]
    if not strips:
        return ""
    used = sorted({i for strip in strips for i in strip.marks})
    numbers = [n for strip in strips for mark in strip.marks.values() for n in (mark.low, mark.high, mark.value)]
    scale = build_scale([*numbers, 0.0] if zero else numbers)
    rows = "\n".join(_row(strip, used, systems, scale, zero) for strip in strips)
    labels = "".join(
        f'<text x="{scale.position(tick)}" y="13" text-anchor="middle">{tick:g}</text>' for tick in scale.ticks
    )
    keys = "".join(
        f'<li><svg width="16" height="14" aria-hidden="true"><g class="c{i % COLOURS}">'
        f'<svg x="7" y="7" overflow="visible">{_shape(i)}</svg></g></svg>{escape(systems[i])}</li>'
        for i in used
    )
    return (
        f'<figure><figcaption><h3>{escape(title)}</h3><ul class="legend">{keys}</ul></figcaption>\n'
        f'<div class="strip axis" aria-hidden="true"><span></span>'
        f'<svg height="18" width="100%">{labels}</svg></div>\n{rows}</figure>'
    )


def build_scale(numbers: Sequence[float]) -> Scale:
    """Return a scale with round ticks around some numbers."""
    low, high = min(numbers), max(numbers)
    if high - low < 1e-9:
        low, high = low - 1, high + 1
    rough = (high - low) / (TICKS - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(step for step in (power, 2 * power, 5 * power, 10 * power) if step >= rough - 1e-12)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = tuple(round(i * step, 10) for i in range(first, last + 1))
    return Scale(ticks[0], ticks[-1], ticks)


def _row(strip: FigureRow, used: Sequence[int], systems: Sequence[str], scale: Scale, zero: bool) -> str:
    height = LANE * len(used) + 2 * PADDING
    lines = [
        f'<line class="{"zero" if zero and tick == 0 else "tick"}" x1="{x}" x2="{x}" y1="0" y2="{height}"/>'
        for tick, x in zip(scale.ticks, map(scale.position, scale.ticks), strict=True)
    ]
    texts = {
        i: f"{systems[i]} {mark.value:.2f} [{mark.low:.1f}, {mark.high:.1f}]" for i, mark in sorted(strip.marks.items())
    }
    marks = [_mark(strip.marks[i], used.index(i), i, scale, text) for i, text in texts.items()]
    label = escape(f"{strip.name}: {'; '.join(texts.values())}", quote=True)
    return (
        f'<div class="strip"><span>{escape(strip.name)}</span><svg role="img" aria-label="{label}" '
        f'height="{height}" width="100%">{"".join(lines)}{"".join(marks)}</svg></div>'
    )


def _mark(mark: IntervalMark, lane: int, system: int, scale: Scale, text: str) -> str:
    y = PADDING + LANE * lane + LANE / 2
    low, high = scale.position(mark.low), scale.position(mark.high)
    return (
        f'<g class="c{system % COLOURS}{" hollow" if mark.hollow else ""}"><title>{escape(text)}</title>'
        f'<line x1="{low}" x2="{high}" y1="{y}" y2="{y}"/>'
        f'<svg x="{scale.position(mark.value)}" y="{y}" overflow="visible">{_shape(system)}</svg></g>'
    )


def _shape(system: int) -> str:
    """Draw a disc, a square or a diamond, so that colour is not the only difference."""
    shapes = ('<circle r="4"/>', '<path d="M-4-4h8v8h-8z"/>', '<path d="M0-5l5 5-5 5-5-5z"/>')
    return shapes[system % len(shapes)]
