"""Compare the measured numbers that documents state with the result files, or write them anew: `make numbers`.

`docs/numbers.toml` lists the places of each page: a piece of its text with `{}` for each number, and where each value
is. A number has as many decimals as the page shows, so that a new result changes digits and no sentence:

    [["docs/scale.md"]]
    text = "killed at {}% of its part"
    at = "scale.json#/resume"
    values = ["share * 100"]

`at` is a file in results/ and a JSON pointer (RFC 6901); a value's pointer continues it, or names a file itself. In a
list of records, `threads=2&queries=1` is the record with these values; a list of numbers stands for its median. The
tables of a Markdown file are a list of records too, `name/column/1` is the second number of a cell. A value
may be computed from left to right: `A * 100`, `A / B`, `A - B`, `A + B`. `times/{median,min,max}` are three values.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
PLACES = ROOT / "docs" / "numbers.toml"
NUMBER = r"([+-]?\d[\d,]*(?:\.\d+)?|[+-]?\.\d+)"
OPERATORS = {"*": lambda a, b: a * b, "/": lambda a, b: a / b, "-": lambda a, b: a - b, "+": lambda a, b: a + b}


class Place(NamedTuple):
    """A piece of a page's text, and where the value of each of its `{}` is."""

    page: str
    text: str
    values: list[str]
    at: str = ""

    def find(self, page: str) -> re.Match[str]:
        """Return where a page has this text, whatever its numbers and line breaks are."""
        pieces = [r"\s+".join(map(re.escape, re.split(r"\s+", piece))) for piece in self.text.split("{}")]
        found = list(re.finditer(NUMBER.join(pieces), page))
        if len(found) != 1 or len(pieces) != len(self.values) + 1:
            raise SystemExit(
                f"{self.page} has {len(found)} times, not once, the text that docs/numbers.toml gives with "
                f"{len(self.values)} values: {self.text!r}; change it there as in the page"
            )
        return found[0]

    def compute(self, value: str) -> float:
        """Return a value, computed from left to right."""
        first, *others = re.split(r" ([*/+-]) ", value)
        result = self._read(first)
        for operator, operand in zip(others[::2], others[1::2], strict=True):
            number = re.fullmatch(r"-?\d+(\.\d+)?(e\d+)?", operand)
            result = OPERATORS[operator](result, float(operand) if number else self._read(operand))
        return result

    def _read(self, operand: str) -> float:
        file, _, pointer = (operand if "#" in operand else f"{self.at}/{operand}").partition("#")
        found = read_results(file)
        for key in pointer.strip("/").split("/"):
            try:
                found = look_up(found, key.replace("~1", "/").replace("~0", "~"))
            except (LookupError, ValueError, TypeError, StopIteration):
                raise SystemExit(f"results/{file} has no {key!r} of {pointer}, which {self.page} states") from None
        return float(median(found) if isinstance(found, list) else found)


def look_up(found: Any, key: str) -> Any:
    """Return the value of a key, the item of a number, or the first record with the values of `name=value&...`."""
    if isinstance(found, str):
        return re.findall(NUMBER, found.replace("\\", ""))[int(key)].replace(",", "")
    if not isinstance(found, list):
        return found[key]
    if key.isdecimal():
        return found[int(key)]
    wanted = [part.rpartition("=") for part in key.split("&")]  # without a name: the first value
    firsts = ({**each, "": next(iter(each.values()))} for each in found)
    return next(each for each in firsts if all(str(each.get(name)) == value for name, _, value in wanted))


@cache
def read_results(name: str) -> Any:
    """Return what a file in results/ holds: of JSON the document, of Markdown the rows of its tables."""
    text = (ROOT / "results" / name).read_text(encoding="utf-8")
    return json.loads(text) if name.endswith(".json") else list(read_rows(text))


def read_rows(text: str) -> Iterator[dict[str, str]]:
    """Yield the rows of the tables in a Markdown file, column -> cell."""
    heads: list[str] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip()[1:-1].split("|")] if line.startswith("|") else []
        if heads and cells and set(line) - set("|:- "):
            yield dict(zip(heads, cells, strict=True))
        heads = heads or cells if cells else []


def write_like(shown: str, value: float) -> str:
    """Return a value as a shown number is written: with its decimals and sign, with or without a leading 0."""
    last = Decimal(1).scaleb(-len(shown.partition(".")[2]))
    rounded = Decimal(f"{value:.12g}").quantize(last, ROUND_HALF_UP)
    text = f"{abs(rounded) if not rounded and shown[0] not in '+-' else rounded:{'+' if shown[0] == '+' else ''},f}"
    return re.sub(r"^([+-]?)0\.", r"\1.", text) if re.match(r"[+-]?\.", shown) else text


def read_places() -> Iterator[Place]:
    for page, places in tomllib.loads(PLACES.read_text(encoding="utf-8")).items():
        for place in places:
            values = [value for pattern in place["values"] for value in expand(pattern)]
            yield Place(page, place["text"], values, place.get("at", ""))


def expand(pattern: str) -> Iterator[str]:
    """Yield a value for each choice of `{a,b}` in a pattern."""
    before, mark, rest = pattern.partition("{")
    choices, _, after = rest.partition("}")
    for choice in choices.split(",") if mark else [""]:
        yield from expand(f"{before}{choice}{after}") if mark else [pattern]


def fill_page(page: str, places: list[Place]) -> tuple[str, list[str]]:
    """Return a page with the numbers of its places, and what changed."""
    changes = []
    for place in places:
        found = place.find(page)
        for number, value in reversed(list(enumerate(place.values, start=1))):
            shown, start = found[number], found.start(number)
            new = write_like(shown, place.compute(value))
            if new != shown:
                changes.append(f"{place.page}: {shown} -> {new} in {place.text!r}")
            page = f"{page[:start]}{new}{page[found.end(number) :]}"
    return page, changes


def fill_pages() -> tuple[dict[Path, str], list[str]]:
    """Return all pages with the numbers of results/, and what changed."""
    places = list(read_places())
    pages, changes = {}, []
    for name in dict.fromkeys(place.page for place in places):
        text = (ROOT / name).read_text(encoding="utf-8")
        pages[ROOT / name], new = fill_page(text, [place for place in places if place.page == name])
        changes += new
    return pages, changes


def main() -> None:
    pages, changes = fill_pages()
    for path, text in pages.items():
        path.write_text(text, encoding="utf-8")
    print("\n".join(changes) or "all numbers are those of results/", file=sys.stderr)


if __name__ == "__main__":
    main()
