"""Files of a map: Parquet, from which the layout is read again, and its neighbours as a graph."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from sciprism.errors import InputError
from sciprism.files import describe_wrong_path, join_cells, write_atomically, write_lines
from sciprism.store import StoredCollection
from sciprism.uses.collection_export import build_table
from sciprism.uses.mapping.paper_map import FormerLayout, MapOrigin, PaperMap

if TYPE_CHECKING:
    import pyarrow as pa

PART = 4096  # papers that are read at once
KEY = b"sciprism.map"
TOPICS = "topic_{}"  # columns, the coarsest level is 1
SHOWN = ("id", "title", "authors", "venue", "year", "fields", "doi")
GRAPHS = (".csv", ".graphml")
_GRAPHML = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="title" for="node" attr.name="title" attr.type="string"/>
<key id="x" for="node" attr.name="x" attr.type="double"/>
<key id="y" for="node" attr.name="y" attr.type="double"/>
<key id="similarity" for="edge" attr.name="similarity" attr.type="double"/>
<graph edgedefault="undirected">"""


def write_parquet(drawn: PaperMap, stored: StoredCollection, path: Path) -> None:
    """Write the papers of a map with x, y, topics and neighbours, as embedding-atlas reads them.

    Neighbours are numbers of the file's rows, from 0, with distances. `read_layout` reads the positions again.
    """
    from pyarrow import parquet

    names = [[topic.name for topic in topics] for topics in drawn.levels]
    facts = {KEY: json.dumps({"origin": asdict(drawn.origin), "names": names}).encode("utf-8", "replace")}

    def write(file: BinaryIO) -> None:
        writer = None
        for start in range(0, len(drawn.rows), PART):
            table = _build_part(drawn, stored, slice(start, start + PART), names)
            writer = writer or parquet.ParquetWriter(file, table.schema.with_metadata(facts), compression="zstd")
            writer.write_table(table.replace_schema_metadata(facts))
        assert writer is not None
        writer.close()

    write_atomically(path, write)


def _build_part(drawn: PaperMap, stored: StoredCollection, part: slice, names: Sequence[Sequence[str]]) -> pa.Table:
    import pyarrow as pa

    table = build_table(stored.papers(drawn.rows[part])).select(SHOWN)
    columns: dict[str, Any] = {"x": pa.array(drawn.positions[part, 0]), "y": pa.array(drawn.positions[part, 1])}
    for number, (level, codes) in enumerate(zip(names, drawn.codes, strict=True), 1):
        values = pa.array(codes[part], pa.int32(), mask=codes[part] < 0)
        columns[TOPICS.format(number)] = pa.DictionaryArray.from_arrays(values, pa.array(level, pa.string()))
    numbers, distances = drawn.nearest.numbers[part], drawn.nearest.distances[part]
    there = numbers >= 0
    ends = pa.array(np.append(0, np.cumsum(there.sum(axis=1))).astype(np.int32))
    lists = [pa.ListArray.from_arrays(ends, pa.array(values[there])) for values in (numbers, distances)]
    columns["neighbors"] = pa.StructArray.from_arrays(lists, ["ids", "distances"])
    columns["laid_out"] = pa.array(drawn.laid_out[part])
    for name, values in columns.items():
        table = table.append_column(name, values)
    return table


def read_layout(path: Path) -> FormerLayout:
    """Read the positions and topics of a map's Parquet file; InputError for another file."""
    from pyarrow import ArrowException, parquet

    try:
        facts = json.loads((parquet.read_schema(path).metadata or {})[KEY])
        names, origin = facts["names"], MapOrigin(**facts["origin"])
        columns = [TOPICS.format(number) for number in range(1, len(names) + 1)]
        table = parquet.read_table(path, columns=["id", "x", "y", "laid_out", *columns])
        codes = []
        for column, level in zip(columns, names, strict=True):
            number_of = {name: number for number, name in enumerate(level)}
            values = (number_of.get(name, -1) for name in table[column].to_pylist())
            codes.append(np.fromiter(values, np.int32, len(table)))
    except (ArrowException, IndexError, KeyError, OSError, TypeError, ValueError) as error:
        what = describe_wrong_path(path, binary=True) or "it holds no layout of sciprism"
        raise InputError(f"{path}: {what}; name a .parquet file that `sciprism map` wrote") from error
    x, y = (table[name].to_numpy().astype(np.float32) for name in ("x", "y"))
    return FormerLayout(
        ids=table["id"].to_pylist(),
        positions=np.stack([x, y], axis=1),
        laid_out=table["laid_out"].to_numpy(),
        codes=codes,
        names=names,
        origin=origin,
    )


def write_neighbours(drawn: PaperMap, stored: StoredCollection, path: Path) -> int:
    """Write the graph of nearest papers, each pair once, as .csv or .graphml; return how many pairs."""
    if path.suffix.lower() not in GRAPHS:
        raise InputError(f"{path}: the name of a graph must end with {' or '.join(GRAPHS)}")
    there = drawn.nearest.numbers >= 0
    pairs = np.sort(np.stack([np.nonzero(there)[0], drawn.nearest.numbers[there]], axis=1), axis=1)
    pairs, first = np.unique(pairs, axis=0, return_index=True)
    distances = drawn.nearest.distances[there][first]
    similarities = 1 - distances if stored.manifest.encoder.distance != "euclidean" else 1 / (1 + distances)
    edges = zip(pairs.tolist(), similarities.tolist(), strict=True)
    named = ((drawn.ids[one], drawn.ids[other], f"{similarity:.6g}") for (one, other), similarity in edges)
    is_table = path.suffix.lower() == ".csv"
    table = map(join_cells, chain([("source", "target", "similarity")], named))
    write_lines(path, table if is_table else _write_graphml(drawn, stored, named), errors="replace")
    return len(pairs)


def _write_graphml(drawn: PaperMap, stored: StoredCollection, edges: Iterator[tuple[str, str, str]]) -> Iterator[str]:
    yield _GRAPHML
    for start in range(0, len(drawn.rows), PART):
        places = zip(stored.papers(drawn.rows[start : start + PART]), drawn.positions[start:].tolist(), strict=False)
        for paper, (x, y) in places:
            data = {"title": paper.title, "x": f"{x:.4f}", "y": f"{y:.4f}"}
            cells = "".join(f'<data key="{key}">{escape(_printable(value))}</data>' for key, value in data.items())
            yield f"<node id={quoteattr(_printable(paper.id))}>{cells}</node>"
    for one, other, similarity in edges:
        ends = f"source={quoteattr(_printable(one))} target={quoteattr(_printable(other))}"
        yield f'<edge {ends}><data key="similarity">{similarity}</data></edge>'
    yield "</graph></graphml>"


def _printable(text: str) -> str:
    """Return a text without the control characters that XML forbids."""
    return "".join(letter if letter.isprintable() or letter == " " else " " for letter in text)
