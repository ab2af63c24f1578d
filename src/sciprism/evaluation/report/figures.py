"""Plots of intervals as HTML with inline SVG: one strip per row, one lane per system in each strip.

Places along a strip are percentages and nothing is scaled, so letters and marks keep their size on every
screen, and names, being HTML beside the strips, never overlap them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

COLOURS = 8
LANE = 13
"""Height of one system in a strip, in pixels."""
PADDING = 5
TICKS = 6


@dataclass(frozen=True, slots=True)
class Mark:
    """A value and its interval, times 100; hollow where a difference does not stand."""

    value: float
    low: float
    high: float
    hollow: bool = False


@dataclass(frozen=True, slots=True)
class Strip:
    """One row of a figure: its name and the marks of some systems, by position of the system."""

    name: str
    marks: Mapping[int, Mark]


@dataclass(frozen=True, slots=True)
class Scale:
    """From numbers to percent of a strip's width."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def at(self, value: float) -> str:
        """Return the place of a number as SVG writes it; the edges are kept free for half a label."""
        return f"{4 + 92 * (value - self.low) / (self.high - self.low):.2f}%"


def figure(title: str, systems: Sequence[str], strips: Sequence[Strip], *, zero: bool = False) -> str:
    """Return a figure of the strips that hold a mark, or nothing where none does. zero: show where 0 is."""
    strips = [strip for strip in strips if strip.marks]
    if not strips:
        return ""
    used = sorted({i for strip in strips for i in strip.marks})
    numbers = [
        n for strip in strips for mark in strip.marks.values() for n in (mark.low, mark.high, mark.value)
    ]
    scale = scale_of([*numbers, 0.0] if zero else numbers)
    rows = "\n".join(_row(strip, used, systems, scale, zero) for strip in strips)
    keys = "".join(f"<li>{_key(i)}{escape(systems[i])}</li>" for i in used)
    return (
        f'<figure><figcaption><h3>{escape(title)}</h3><ul class="legend">{keys}</ul></figcaption>\n'
        f'<div class="strip axis" aria-hidden="true"><span></span>{_axis(scale)}</div>\n{rows}</figure>'
    )


def scale_of(numbers: Sequence[float]) -> Scale:
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


def _row(strip: Strip, used: Sequence[int], systems: Sequence[str], scale: Scale, zero: bool) -> str:
    height = LANE * len(used) + 2 * PADDING
    lines = [_line(scale.at(tick), height, "zero" if zero and tick == 0 else "tick") for tick in scale.ticks]
    marks, said = [], []
    for lane, i in enumerate(used):
        if i in strip.marks:
            mark = strip.marks[i]
            text = f"{systems[i]} {mark.value:.2f} [{mark.low:.1f}, {mark.high:.1f}]"
            said.append(text)
            marks.append(_mark(mark, lane, i, scale, text))
    spoken = escape(f"{strip.name}: {'; '.join(said)}", quote=True)
    return (
        f'<div class="strip"><span>{escape(strip.name)}</span><svg role="img" aria-label="{spoken}" '
        f'height="{height}" width="100%">{"".join(lines)}{"".join(marks)}</svg></div>'
    )


def _mark(mark: Mark, lane: int, system: int, scale: Scale, text: str) -> str:
    y = PADDING + LANE * lane + LANE / 2
    low, high = scale.at(mark.low), scale.at(mark.high)
    return (
        f'<g class="c{system % COLOURS}{" hollow" if mark.hollow else ""}"><title>{escape(text)}</title>'
        f'<line x1="{low}" x2="{high}" y1="{y}" y2="{y}"/>'
        f'<svg x="{scale.at(mark.value)}" y="{y}" overflow="visible">{_shape(system)}</svg></g>'
    )


def _shape(system: int) -> str:
    """Draw a disc, a square or a diamond, so that colour is not the only difference."""
    shapes = ('<circle r="4"/>', '<path d="M-4-4h8v8h-8z"/>', '<path d="M0-5l5 5-5 5-5-5z"/>')
    return shapes[system % len(shapes)]


def _key(system: int) -> str:
    shape = f'<svg x="7" y="7" overflow="visible">{_shape(system)}</svg>'
    return f'<svg width="16" height="14" aria-hidden="true"><g class="c{system % COLOURS}">{shape}</g></svg>'


def _line(x: str, height: int, kind: str) -> str:
    return f'<line class="{kind}" x1="{x}" x2="{x}" y1="0" y2="{height}"/>'


def _axis(scale: Scale) -> str:
    return f'<svg height="18" width="100%">{"".join(_labels(scale))}</svg>'


def _labels(scale: Scale) -> Iterator[str]:
    for tick in scale.ticks:
        yield f'<text x="{scale.at(tick)}" y="13" text-anchor="middle">{tick:g}</text>'
