"""What `encode` takes: one item or many, as texts, dicts, papers, labels, columns or tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sciprism.errors import InputError
from sciprism.papers.records import Label, Paper
from sciprism.text.template import FIELDS, PAPER_FIELDS, Item

InputItem = Item | Mapping[str, Any]
"""A text, a paper, a label, or a dict with title and abstract."""
Inputs = InputItem | Iterable[InputItem]
"""One item, or many: a list, tuple or generator of them, a column or an array of texts, a table of papers."""

ARROW_SLICE = 4_096  # values of an Arrow column that are Python objects at a time
EXPECTED = "expected texts, papers, labels or dicts with title and abstract"


@dataclass(frozen=True, slots=True)
class EncoderInputs:
    """The items of one call, in order. single: one item was passed, not a list of one. count: None if unknown."""

    items: Iterator[Item]
    count: int | None
    single: bool


def read_inputs(inputs: Inputs, fields: Sequence[str] = FIELDS) -> EncoderInputs:
    """Return the items of what was passed to an encoder; InputError says which item is wrong and why.

    All but a generator is checked before the first item is returned; a generator is read as the items are.
    """
    if isinstance(fields, str) or not set(fields) <= set(PAPER_FIELDS):
        raise InputError(f"unknown fields {fields!r}; a paper has {', '.join(PAPER_FIELDS)}")
    if isinstance(inputs, np.ndarray) and inputs.ndim != 1:
        if inputs.ndim:
            raise InputError(f"got an array of shape {inputs.shape}; expected a text or one dimension of texts")
        inputs = inputs.item()
    columns = _columns(inputs)
    if columns is None and isinstance(inputs, str | Paper | Label | Mapping):
        return EncoderInputs(iter([_to_item(inputs, fields, "the item")]), 1, True)
    values: Callable[[], Iterator[object]]
    count: int | None
    if columns is not None:
        values, count = _rows(columns, fields)
    elif isinstance(inputs, bytes | set | frozenset) or not hasattr(inputs, "__iter__"):
        why = "; a set has no order" if isinstance(inputs, set | frozenset) else ""
        raise InputError(f"{EXPECTED}, got {type(inputs).__name__} {inputs!r:.80}{why}")
    else:
        column: Any = inputs
        values, count = lambda: _values(column), len(column) if hasattr(column, "__len__") else None
    if count is not None:
        for _ in _to_items(values(), fields):
            pass
    return EncoderInputs(_to_items(values(), fields), count, False)


def _columns(inputs: object) -> dict[str, Any] | None:
    """Return the columns of a table by name; None for what is no table.

    A table is a dict of columns, or a frame of pandas, Polars, Arrow or datasets.
    """
    if isinstance(inputs, Mapping):
        held = [inputs[name] for name in FIELDS if name in inputs]
        is_table = any(hasattr(value, "__iter__") and not isinstance(value, str | bytes | Mapping) for value in held)
        return dict(inputs) if is_table else None
    table: Any = inputs
    if hasattr(table, "collect"):
        raise InputError("got a lazy frame; pass frame.collect()")
    names = getattr(table, "column_names", None)
    if names is None:
        names = getattr(table, "columns", None)
    return None if names is None else {str(name): table[name] for name in names}


def _rows(columns: Mapping[str, Any], fields: Sequence[str]) -> tuple[Callable[[], Iterator[object]], int]:
    """Return how to iterate over the rows of a table, as dicts of the fields, and their number."""
    found = {name: columns[name] for name in fields if name in columns}
    if not found:
        raise InputError(f"no column {' or '.join(map(repr, fields))}; the table has {_list_names(columns)}")
    lengths = {name: len(column) for name, column in found.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(f"columns of different lengths: {', '.join(f'{n} {c}' for n, c in lengths.items())}")
    names = tuple(found)

    def values() -> Iterator[object]:
        for row in zip(*map(_values, found.values()), strict=True):
            yield dict(zip(names, row, strict=True))

    return values, next(iter(lengths.values()))


def _values(column: Any) -> Iterator[object]:
    """Iterate over the Python values of a column; Arrow's are converted a slice at a time."""
    if hasattr(column, "to_pylist"):
        for start in range(0, len(column), ARROW_SLICE):
            yield from column.slice(start, ARROW_SLICE).to_pylist()
    else:
        yield from column


def _to_items(values: Iterator[object], fields: Sequence[str]) -> Iterator[Item]:
    for number, value in enumerate(values):
        yield _to_item(value, fields, f"items[{number}]")


def _to_item(value: object, fields: Sequence[str], where: str) -> Item:
    if isinstance(value, str):
        return str(value)  # of numpy too
    if isinstance(value, Paper | Label):
        return value
    if _is_missing(value):
        raise InputError(f"{where} is missing ({value!r}); leave it out, or fill it with a text")
    if not isinstance(value, Mapping):
        raise InputError(f"{where} is {value!r:.80}; {EXPECTED}")
    row = {name: value[name] for name in fields if name in value}
    if not row:
        raise InputError(f"{where} has no {' or '.join(map(repr, fields))}; its keys are {_list_names(value)}")
    present = {name: content for name, content in row.items() if not _is_missing(content)}
    try:
        return Paper.from_json({"id": "unnamed"} | present)
    except ValueError as error:
        raise InputError(f"{where}: {error}") from error


def _is_missing(value: object) -> bool:
    """Return whether a value is None, NaN or the NA of pandas."""
    return (
        value is None or (isinstance(value, float) and value != value) or type(value).__name__ in ("NAType", "NaTType")
    )


def _list_names(names: Iterable[object]) -> str:
    return ", ".join(repr(name) for name in names) or "none"
