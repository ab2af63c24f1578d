"""A map as one page: a file without any address that is loaded; its data are compressed inside."""

from __future__ import annotations

import base64
import gzip
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from markupsafe import Markup

from sciprism.arrays import Doubles, Rows
from sciprism.errors import InputError
from sciprism.files import write_atomically
from sciprism.pages import fill_file, fill_page
from sciprism.papers.bibliography_entries import find_url
from sciprism.store import StoredCollection
from sciprism.uses.mapping.paper_map import PaperMap, Topic

PAGE_PAPERS = 200_000
"""Papers on a page at most, of more a random sample; `sciprism serve` shows all."""
PAGE_BYTES = 60_000_000
NEAR = 5  # nearest papers that a card names
PART = 4096  # papers that are read at once
MAX_TITLE, MAX_AUTHORS = 240, 6
ABSTRACTS = (400, 200, 100, 0)  # characters of an abstract: the first with which the page is small enough
GRID = 65535  # of places, each way
NO_CODE, NO_YEAR = 65535, -9999


@dataclass(frozen=True, slots=True)
class PageReport:
    """How many papers a page shows, and its size in bytes."""

    shown: int
    size: int


def write_page(
    drawn: PaperMap, stored: StoredCollection, path: Path, *, title: str = "", address: str = ""
) -> PageReport:
    """Write a map as a page of HTML of at most 60 MB; of more than 200,000 papers it shows a random sample.

    title: of the page; the collection's name by default. address: of the collection in a service, which has pages of
    the papers, the script and the style. Raises InputError where the texts are too long for a page.
    """
    title = title or stored.folder.resolve().name
    shown = np.random.default_rng(drawn.origin.seed).permutation(len(drawn.rows))[:PAGE_PAPERS]  # order of drawing
    *texts_of, years, venues, fields = zip(*_read_rows(stored, drawn.rows[shown], address), strict=True)
    numbers = _pack_numbers(drawn, shown, np.array(years), venues, fields)
    for length in ABSTRACTS:
        texts_of[-1] = tuple(_cut(text, length) for text in texts_of[-1])
        texts = _compress("\0".join(map("\n".join, texts_of)).encode("utf-8", "replace"))  # columns of lines
        if len(numbers) + len(texts) < PAGE_BYTES - 1_000_000:
            break
    else:
        raise InputError(f"{path}: {len(shown):,} papers with their titles are more than 60 MB; map fewer papers")
    data = {"title": title, "counts": _describe(drawn, len(shown)), "address": address}
    packed = {"numbers": Markup(numbers), "texts": Markup(texts)}
    page = fill_page("map.html", **data, **packed) if address else fill_file("map.html", "map.js", **data, **packed)
    write_atomically(path, lambda file: file.write(page))
    return PageReport(len(shown), len(page))


def _describe(drawn: PaperMap, shown: int) -> str:
    count = len(drawn.rows)
    papers = f"{count:,} papers" if shown == count else f"a random {shown:,} of {count:,} papers"
    counts = {"duplicate": drawn.counts["duplicates"], "topic": sum(map(len, drawn.levels))}
    return ", ".join([papers, *(f"{n:,} {what}{'s' * (n > 1)}" for what, n in counts.items() if n)])


def _read_rows(stored: StoredCollection, rows: Rows, address: str) -> Iterator[tuple[Any, ...]]:
    """Yield title, authors, link, abstract, year, venue and field of each paper."""
    for start in range(0, len(rows), PART):
        for paper in stored.papers(rows[start : start + PART]):
            more = f" and {len(paper.authors) - MAX_AUTHORS} more" if len(paper.authors) > MAX_AUTHORS else ""
            url = f"{address}/papers/{quote(paper.id, safe='')}" if address else find_url(paper)
            yield (
                _cut(paper.title, MAX_TITLE),
                _cut(", ".join(paper.authors[:MAX_AUTHORS]) + more, MAX_TITLE),
                "".join(url.split()),
                _cut(paper.abstract, ABSTRACTS[0]),
                paper.year if paper.year and abs(paper.year) < -NO_YEAR else NO_YEAR,
                paper.venue,
                paper.fields[0] if paper.fields else "",
            )


def _pack_numbers(drawn: PaperMap, shown: Rows, years: Rows, venues: Sequence[str], fields: Sequence[str]) -> str:
    """Pack positions, years, codes and neighbours: a head in JSON, then arrays, each at a multiple of four bytes."""
    low, high = drawn.positions.min(axis=0), drawn.positions.max(axis=0)
    scale = GRID / max(float((high - low).max()), 1e-9)

    def find_place(points: Any) -> Doubles:
        """Return places on the page's grid, which goes down."""
        places: Doubles = (np.asarray(points, np.float64) - (low + high) / 2) * (scale, -scale) + GRID / 2
        return places.round()

    number_of = np.full(len(drawn.rows) + 1, -1, np.int32)  # the last one: no neighbour
    number_of[shown] = np.arange(len(shown))
    near = number_of[drawn.nearest.numbers[shown][:, :NEAR]]
    (venues, venue), (fields, field) = _number(venues), _number(fields)
    x, y = find_place(drawn.positions[shown]).T
    arrays = {"x": x, "y": y, "venue": venue, "field": field}
    arrays |= {f"topic{level}": np.where(codes < 0, NO_CODE, codes)[shown] for level, codes in enumerate(drawn.codes)}
    contents = [(name, "u2", 1, np.asarray(values).astype("<u2")) for name, values in arrays.items()]
    contents += [("year", "i2", 1, years.astype("<i2")), ("near", "i4", near.shape[1], near.astype("<i4"))]
    dated = years[years != NO_YEAR]
    head: dict[str, Any] = {
        "papers": len(shown),
        "width": near.shape[1],
        "years": [int(dated.min()), int(dated.max())] if len(dated) else None,
        "venues": venues,
        "fields": fields,
        "levels": [[_place_topic(topic, find_place, scale) for topic in topics] for topics in drawn.levels],
        "arrays": [(name, kind, width) for name, kind, width, _ in contents],
    }
    text = json.dumps(head, ensure_ascii=False).encode("utf-8", "replace")
    parts = [np.uint32(len(text)).astype("<u4").tobytes() + text, *(values.tobytes() for *_, values in contents)]
    return _compress(b"".join(part + bytes(-len(part) % 4) for part in parts))


def _place_topic(topic: Topic, find_place: Callable[[Any], Doubles], scale: float) -> dict[str, Any]:
    x, y = find_place((topic.x, topic.y)).tolist()
    return {"name": topic.name, "x": x, "y": y, "radius": round(topic.radius * scale), "papers": topic.papers}


def _number(values: Sequence[str]) -> tuple[list[str], Rows]:
    """Return the names, the most frequent first, and of each value the number of its name, `NO_CODE` for none."""
    names = [name for name, _ in Counter(filter(None, values)).most_common(NO_CODE)]
    numbers = {name: number for number, name in enumerate(names)}
    return names, np.array([numbers.get(value, NO_CODE) for value in values], np.int64)


def _cut(text: str, length: int) -> str:
    """Return a text in one line, without what follows the last whole word that fits."""
    text = " ".join(text[: 2 * length + 100].replace("\0", " ").split())
    return text if len(text) <= length else f"{text[:length].rpartition(' ')[0]} …" * (length > 0)


def _compress(content: bytes) -> str:
    return base64.b64encode(gzip.compress(content, 6, mtime=0)).decode("ascii")
