"""Draw the figures of docs/concepts: what a method changes in a block or before it, probes, marks: `make reference`.

A figure is boxes and arrows on a grid. What the backbone has is outlined; what the method adds is filled and has a
thick border, so that grey is enough. Colours are those of the page, light and dark alike.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from pathlib import Path

from make_results import read_results, read_spread

PICTURES = Path(__file__).parent / "pictures"
WIDE, HIGH = 184, 44
"""Pixels between the left edges of two columns, and between the middles of two rows."""
BOX = 162
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #222; text-anchor: middle; }
.side { text-anchor: start; font-size: 12px; fill: #555; }
.ground { fill: #fff; }
.box { fill: #fff; stroke: #555; }
.new { fill: #d7dcf5; stroke: #2b3a8f; stroke-width: 2.5; }
.many { fill: #d7dcf5; stroke: #2b3a8f; }
path { fill: none; stroke: #555; stroke-width: 1.5; }
.head { fill: #555; stroke: none; }
@media (prefers-color-scheme: dark) {
  .ground { fill: #14161c; } text { fill: #eee; } .side { fill: #bbb; } .box { fill: #1c1e26; stroke: #aaa; }
  .new { fill: #36407c; stroke: #aab4ff; } .many { fill: #36407c; stroke: #aab4ff; }
  path { stroke: #aaa; } .head { fill: #aaa; }
}
"""


@dataclass
class Figure:
    """Boxes by name and arrows between them; rows are counted from the bottom, where the text comes in."""

    title: str
    parts: list[str] = field(default_factory=list)
    places: dict[str, tuple[float, float]] = field(default_factory=dict)
    right: float = 0.0
    top: float = 0.0

    def box(self, name: str, column: float, row: float, *, new: bool = False, many: bool = False) -> None:
        """Add a box; new: the method adds it; many: there is one per format."""
        x, y = column * WIDE + 10, -row * HIGH
        self.places[name] = (x + BOX / 2, y)
        self.right, self.top = max(self.right, x + BOX + 14), min(self.top, y - 40)
        for shift in (8, 4) if many else ():
            self.parts.append(_rectangle(x + shift, y - 14 - shift, "many"))
        self.parts.append(_rectangle(x, y - 14, "new" if new or many else "box"))
        self.parts.append(f'<text x="{x + BOX / 2:g}" y="{y + 4:g}">{escape(name)}</text>')

    def arrow(self, start: str, end: str) -> None:
        """Add a straight arrow from one box to another."""
        (x1, y1), (x2, y2) = self.places[start], self.places[end]
        if y1 == y2:
            side = BOX / 2 if x1 < x2 else -BOX / 2
            self._draw(f"M{x1 + side:g} {y1:g} H{x2 - side:g}", x2 - side, y2, 0 if side > 0 else 180)
        else:
            self._draw(f"M{x1:g} {y1 - 14:g} L{x2:g} {y2 + 14:g}", x2, y2 + 14, -90)

    def chain(self, *names: str) -> None:
        """Add straight arrows from each box to the next."""
        for start, end in pairwise(names):
            self.arrow(start, end)

    def bypass(self, start: str, end: str) -> None:
        """Add an arrow that leaves one box on the left and enters another of the same column there."""
        (x1, y1), (_, y2) = self.places[start], self.places[end]
        left = x1 - BOX / 2
        self._draw(f"M{left:g} {y1:g} h-18 V{y2:g} H{left:g}", left, y2, 0)

    def elbow(self, start: str, end: str) -> None:
        """Add an arrow to another column: sideways, then up; or, to the left, up, then sideways."""
        (x1, y1), (x2, y2) = self.places[start], self.places[end]
        if x1 < x2:
            self._draw(f"M{x1 + BOX / 2:g} {y1:g} H{x2:g} V{y2 + 14:g}", x2, y2 + 14, -90)
        else:
            self._draw(f"M{x1:g} {y1 - 14:g} V{y2:g} H{x2 + BOX / 2:g}", x2 + BOX / 2, y2, 180)

    def rise(self, start: str, end: str) -> None:
        """Add an arrow up, then to the right."""
        (x1, y1), (x2, y2) = self.places[start], self.places[end]
        self._draw(f"M{x1:g} {y1 - 14:g} V{y2:g} H{x2 - BOX / 2:g}", x2 - BOX / 2, y2, 0)

    def _draw(self, line: str, x: float, y: float, angle: int) -> None:
        self.parts.append(f'<path d="{line}"/>')
        self.parts.append(f'<path class="head" transform="translate({x:g} {y:g}) rotate({angle})" d="M0 0l-8-4v8z"/>')

    def note(self, text: str, column: float, row: float) -> None:
        """Add a line of text."""
        x = column * WIDE + 10
        self.right = max(self.right, x + 6.6 * len(text))
        self.parts.append(f'<text class="side" x="{x:g}" y="{-row * HIGH + 4:g}">{escape(text)}</text>')

    def interval(self, low: float, value: float, high: float, column: float, row: float) -> None:
        """Add a difference with its interval, 16 pixels a point, on an axis whose 0 is at the column."""
        x, y = column * WIDE + 10, -row * HIGH
        box = f'x="{x + 16 * low:g}" y="{y - 5:g}" width="{16 * (high - low):g}" height="10" rx="5"'
        self.parts.append(f'<rect class="many" {box}/><circle class="head" cx="{x + 16 * value:g}" cy="{y:g}" r="4"/>')
        self.top = min(self.top, y - 30)

    def build(self) -> str:
        """Return the figure as SVG."""
        wide, high = self.right + 24, 24 - self.top
        view = f"-14 {self.top:g} {wide:g} {high:g}"
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{view}" width="{wide:g}" height="{high:g}" role="img">'
        )
        title = f"<title>{escape(self.title)}</title><style>{STYLE}</style>"
        ground = f'<rect class="ground" x="-14" y="{self.top:g}" width="{wide:g}" height="{high:g}"/>'
        return "\n".join([head, title, ground, *self.parts, "</svg>\n"])


def _rectangle(x: float, y: float, kind: str) -> str:
    return f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{BOX}" height="28" rx="5"/>'


def _block(figure: Figure, *, attention: bool = False, feed_forward: bool = False) -> None:
    """Draw a block from its input to its output; attention, feed_forward: one per format."""
    figure.box("block's input x", 0, 0)
    figure.box("attention", 0, 1.3, many=attention)
    figure.box("add, norm: y", 0, 2.4)
    figure.box("feed-forward: f", 0, 3.7, many=feed_forward)
    figure.box("add, norm", 0, 5.4)
    figure.chain("block's input x", "attention", "add, norm: y", "feed-forward: f", "add, norm")
    figure.bypass("block's input x", "add, norm: y")
    figure.bypass("add, norm: y", "add, norm")


def draw_codes() -> Figure:
    """Return the figure of control codes."""
    figure = Figure("Control codes: a token after CLS names the format; its last state is the vector")
    figure.box("CLS", 0, 0)
    figure.box("code", 1, 0, many=True)
    figure.box("title, abstract", 2, 0)
    figure.box("all blocks", 1, 1.3)
    figure.box("vector", 1, 2.5)
    for name in ("CLS", "code", "title, abstract"):
        figure.arrow(name, "all blocks")
    figure.arrow("all blocks", "vector")
    figure.note("the state at the code", 2, 2.5)
    return figure


def draw_adapters() -> Figure:
    """Return the figure of adapters."""
    figure = Figure("Adapters: a bottleneck per format reads norm(y + f) and adds to the feed-forward's output")
    _block(figure)
    figure.box("adapter", 1, 4.5, many=True)
    figure.elbow("feed-forward: f", "adapter")
    figure.elbow("adapter", "add, norm")
    figure.note("down, ReLU, up", 2, 4.5)
    return figure


def draw_lora() -> Figure:
    """Return the figure of LoRA."""
    figure = Figure("LoRA: per format, low-rank updates of the maps that give queries and values")
    _block(figure)
    figure.box("updates", 1, 1.3, many=True)
    figure.elbow("block's input x", "updates")
    figure.arrow("updates", "attention")
    figure.note("A, then B: added to queries and values", 2, 1.3)
    return figure


def draw_fusion() -> Figure:
    """Return the figure of adapter fusion."""
    figure = Figure("Adapter fusion: per format, a weighted sum of the adapters of all formats")
    _block(figure)
    figure.box("adapter of each", 1, 4.4)
    figure.box("fusion", 1, 5.4, many=True)
    figure.elbow("feed-forward: f", "adapter of each")
    figure.chain("adapter of each", "fusion", "add, norm")
    figure.note("frozen", 2, 4.4)
    return figure


def draw_pals() -> Figure:
    """Return the figure of PALs."""
    figure = Figure("PALs: per format, a small attention parallel to the block")
    _block(figure)
    figure.box("small attention", 1, 2.7, many=True)
    figure.elbow("block's input x", "small attention")
    figure.elbow("small attention", "add, norm")
    figure.note("down, attention, up, GELU", 2, 2.7)
    return figure


def draw_experts() -> Figure:
    """Return the figure of experts."""
    figure = Figure("Experts: every second block has an attention, or a feed-forward, per format")
    _block(figure, attention=True)
    figure.note("one per format, copies at first", 1, 1.3)
    figure.note("(or this one)", 1, 3.7)
    return figure


def draw_prefix() -> Figure:
    """Return the figure of instruction and prefix."""
    figure = Figure("Instruction and prefix: the states of a sentence are further keys and values of every layer")
    for row, name in ((0, "instruction"), (1.3, "layer n"), (2.6, "layer n + 1")):
        figure.box(name, 0, row, many=not row)
    for row, name in ((0, "text"), (1.3, "layer n of the text"), (2.6, "layer n + 1 of the text"), (3.8, "vector")):
        figure.box(name, 1.5, row)
    figure.chain("instruction", "layer n", "layer n + 1")
    figure.chain("text", "layer n of the text", "layer n + 1 of the text", "vector")
    figure.arrow("layer n", "layer n of the text")
    figure.arrow("layer n + 1", "layer n + 1 of the text")
    figure.note("keys, values", 0.93, 1.62)
    return figure


def draw_facets() -> Figure:
    """Return the figure of facets."""
    figure = Figure("Facets: several CLS tokens, each with its own maps between blocks; the vector is their sum")
    for column, name in enumerate(("CLS", "CLS 2", "CLS 3")):
        figure.box(name, column, 0, new=column > 0)
    figure.box("title, abstract", 3, 0)
    figure.box("blocks", 1, 1.3)
    for column, name in enumerate(("map 1", "map 2", "map 3")):
        figure.box(name, column, 2.6, new=True)
    figure.box("blocks, maps again", 1, 3.9)
    figure.box("sum: the vector", 1, 5.1)
    for name in ("CLS", "CLS 2", "CLS 3", "title, abstract"):
        figure.arrow(name, "blocks")
    for name in ("map 1", "map 2", "map 3"):
        figure.chain("blocks", name, "blocks, maps again")
    figure.arrow("blocks, maps again", "sum: the vector")
    return figure


def draw_prism() -> Figure:
    """Return the figure of prism."""
    figure = Figure("prism: format tokens attend to the text, the text does not attend to them; one pass, all vectors")
    figure.box("title, abstract", 0, 0)
    figure.box("layer", 0, 1.4)
    figure.box("layers above", 0, 2.8)
    figure.box("mean of the tokens", 0, 4.2)
    figure.box("format token", 1.6, 0, many=True)
    figure.box("maps of the format", 1.6, 1.4, many=True)
    figure.box("maps above", 1.6, 2.8, many=True)
    figure.box("A s + b, 0 at first", 1.6, 4.2, many=True)
    figure.box("vector of the format", 1.6, 5.6, many=True)
    figure.chain("title, abstract", "layer", "layers above", "mean of the tokens")
    figure.chain("format token", "maps of the format", "maps above", "A s + b, 0 at first", "vector of the format")
    figure.arrow("layer", "maps of the format")
    figure.arrow("layers above", "maps above")
    figure.rise("mean of the tokens", "vector of the format")
    figure.note("keys, values", 1, 1.72)
    return figure


def draw_probe() -> Figure:
    """Return the figure of a probe."""
    figure = Figure(
        "A probe: a linear model is fitted to a frozen encoder's vectors, and scored on vectors of test papers"
    )
    figure.box("training papers", 0, 0)
    figure.box("encoder, frozen", 0, 1.3)
    figure.box("vectors x, targets y", 0, 2.6)
    figure.box("w for each C, 3 folds", 0, 3.9, new=True)
    figure.box("w of the best C", 0, 5.2, new=True)
    figure.box("test papers", 1.6, 0)
    figure.box("the same encoder", 1.6, 1.3)
    figure.box("vectors of the test", 1.6, 2.6)
    figure.box("predictions w · x", 1.6, 5.2, new=True)
    figure.box("score", 1.6, 6.4)
    figure.chain(
        "training papers", "encoder, frozen", "vectors x, targets y", "w for each C, 3 folds", "w of the best C"
    )
    figure.chain("test papers", "the same encoder", "vectors of the test", "predictions w · x", "score")
    figure.arrow("w of the best C", "predictions w · x")
    return figure


MARKED = {
    "coarse": "**  excludes 0, after Holm's correction too",
    "arxiv-field f1\\_macro": "*  excludes 0, not after the correction",
    "cranfield ndcg@10": "no mark: includes 0, the order is open",
    "ohsumed f1\\_macro": "*  excludes 0: sciprism-small is worse",
}
"""Rows of results/small/open.md, an example of each mark."""


def draw_marks() -> Figure:
    """Return the figure of the marks of differences, by four that were measured."""
    figure = Figure("Differences of two systems with 95% intervals, and the marks that follow from them")
    rows = [row for row in read_results("small/open.md") if row.get("sciprism-small", "")[:1] in "+-"]
    found = {next(iter(row.values())): row["sciprism-small"].replace("\\", "") for row in rows}
    figure.parts.append(f'<path stroke-dasharray="4 3" d="M{1.3 * WIDE + 10:g} 20V{-4 * HIGH + 10:g}"/>')
    for place, (name, meaning) in enumerate(reversed(MARKED.items()), start=1):
        value, low, high = read_spread(found[name])
        figure.note(name.replace("\\", ""), 0, place - 0.5)
        figure.interval(low, value, high, 1.3, place - 0.5)
        figure.note(meaning, 2.1, place - 0.5)
    figure.note("0 points", 1.35, -0.3)
    return figure


FIGURES = {
    "method-control-codes": draw_codes,
    "method-adapters": draw_adapters,
    "method-lora": draw_lora,
    "method-adapter-fusion": draw_fusion,
    "method-pals": draw_pals,
    "method-experts": draw_experts,
    "method-instruction": draw_prefix,
    "method-facets": draw_facets,
    "method-prism": draw_prism,
    "concept-probe": draw_probe,
    "concept-marks": draw_marks,
}


def build_figures() -> dict[Path, str]:
    """Return each figure by its file."""
    return {PICTURES / f"{name}.svg": draw().build() for name, draw in FIGURES.items()}


if __name__ == "__main__":
    for path, text in build_figures().items():
        path.write_text(text, encoding="utf-8")
