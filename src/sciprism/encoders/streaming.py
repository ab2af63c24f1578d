"""Encode a stream of items: what callers pass, windows of texts in memory, batches on all cores or an accelerator."""

from __future__ import annotations

import logging
import warnings
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sciprism.arrays import Floats
from sciprism.encoders.layers import PackedBatch, pack, token_batches
from sciprism.errors import InputError, ShownWarning
from sciprism.formats import Role
from sciprism.papers.cleaning import is_blank
from sciprism.papers.records import Label, Paper
from sciprism.parallel import map_ahead, map_threads
from sciprism.text.template import FIELDS, PAPER_FIELDS, Item, Template

InputItem = Item | Mapping[str, Any]  # a text, a paper, a label, or a dict with title and abstract
Inputs = InputItem | Iterable[InputItem]
"""One item, or many: a list, tuple or generator of them, a column or an array of texts, a table of papers."""
OnBatch = Callable[[int], None]
"""A function of the number of texts in a batch, called when the batch is done, from several threads."""

ARROW_SLICE = 4_096  # values of an Arrow column that are Python objects at a time
MISSING = ("NoneType", "NAType", "NaTType")
EXPECTED = "expected texts, papers, labels or dicts with title and abstract"
WINDOW = 16_384  # texts sorted together
TOKENIZED = 1_024  # texts tokenized at a time
CUDA_WINDOW = 4_096  # few: an accelerator encodes one window while the next is tokenized
CPU_BUDGET = 2_048  # tokens per batch: its states fit in the processor's cache
CUDA_BUDGET = 65_536


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
    if (columns := _columns(inputs)) is not None:
        present = {name: columns[name] for name in fields if name in columns}
        if not present:
            raise InputError(f"no column {' or '.join(map(repr, fields))}; the table has {_list_names(columns)}")
        lengths = {name: len(rows) for name, rows in present.items()}
        if len(set(lengths.values())) > 1:
            raise InputError(f"columns of different lengths: {', '.join(f'{n} {c}' for n, c in lengths.items())}")
        count: int | None = next(iter(lengths.values()))

        def values() -> Iterator[object]:
            return (dict(zip(present, row, strict=True)) for row in zip(*map(_values, present.values()), strict=True))

    elif isinstance(inputs, str | Paper | Label | Mapping):
        return EncoderInputs(iter([_to_item(inputs, fields, "the item")]), 1, True)
    elif isinstance(inputs, bytes | set | frozenset) or not hasattr(inputs, "__iter__"):
        why = "; a set has no order" if isinstance(inputs, set | frozenset) else ""
        raise InputError(f"{EXPECTED}, got {type(inputs).__name__} {inputs!r:.80}{why}")
    else:
        count = len(inputs) if isinstance(inputs, Sized) else None

        def values() -> Iterator[object]:
            return _values(inputs)

    def items() -> Iterator[Item]:
        return (_to_item(value, fields, f"items[{number}]") for number, value in enumerate(values()))

    if count is not None:
        for number, value in enumerate(values()):
            if not (isinstance(value, dict) and all(type(value.get(name)) is str for name in fields)):
                _to_item(value, fields, f"items[{number}]")
    return EncoderInputs(items(), count, False)


def _columns(inputs: Any) -> dict[str, Any] | None:
    """Return the columns of a table by name; None for what is not a table.

    A table is a dict of columns, or a frame of pandas, Polars, Arrow or datasets.
    """
    if isinstance(inputs, Mapping):
        contents = [inputs[name] for name in FIELDS if name in inputs]
        is_table = any(hasattr(each, "__iter__") and not isinstance(each, str | bytes | Mapping) for each in contents)
        return dict(inputs) if is_table else None
    if hasattr(inputs, "collect"):
        raise InputError("got a lazy frame; pass frame.collect()")
    names = getattr(inputs, "column_names", getattr(inputs, "columns", None))
    return None if names is None else {str(name): inputs[name] for name in names}


def _values(column: Any) -> Iterator[object]:
    """Iterate over the Python values of a column; Arrow's are converted a slice at a time."""
    if hasattr(column, "to_pylist"):
        for start in range(0, len(column), ARROW_SLICE):
            yield from column.slice(start, ARROW_SLICE).to_pylist()
    else:
        yield from column


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
    return value != value if isinstance(value, float) else type(value).__name__ in MISSING


def _list_names(names: Iterable[object]) -> str:
    return ", ".join(repr(name) for name in names) or "none"


def read_windows(
    items: Iterator[Item], template: Template, role: Role, fields: Sequence[str], device: torch.device
) -> Iterator[list[str]]:
    """Yield the texts that are tokenized, up to `WINDOW` at a time; warn at the end of those that are empty."""
    prompt = len(template.text("", role))
    empty, first, total = 0, 0, 0
    while window := list(islice(items, WINDOW if device.type == "cpu" else min(WINDOW, CUDA_WINDOW))):
        texts = [template.text(item, role, fields) for item in window]
        for number, text in enumerate(texts, total):
            if is_blank(text[prompt:]):
                first = first if empty else number
                empty += 1
        total += len(texts)
        yield texts
    if empty:
        message = f"{empty} of {total} items have no text, the first is items[{first}]: each has the same vector"
        warnings.warn(ShownWarning(message), stacklevel=5)


def tokenize_windows(
    tokenize: Callable[[list[str]], list[list[int]]],
    windows: Iterable[list[str]],
    device: torch.device,
    count: int | None,
) -> Iterator[list[array[int]]]:
    """Return the token ids of each window's texts; a thread is ahead of an accelerator, which needs no core.

    Few texts are tokenized at a time, since tokens take twenty times the memory of their ids. count: of all texts,
    None if unknown.
    """
    ahead = device.type != "cpu" and (count is None or count > CUDA_WINDOW)
    return (map_ahead if ahead else map)(
        lambda texts: [
            array("q", ids)
            for start in range(0, len(texts), TOKENIZED)
            for ids in tokenize(texts[start : start + TOKENIZED])
        ],
        windows,
    )


@dataclass(frozen=True)
class EncodingPass:
    """A computation of all texts: a packed batch on a route becomes (B, *shape)."""

    compute: Callable[[PackedBatch], Tensor]
    route: str
    shape: tuple[int, ...]


def encode_windows(
    windows: Iterable[Sequence[Sequence[int]]],
    passes: Sequence[EncodingPass],
    *,
    count: int | None,
    device: torch.device,
    on_batch: OnBatch | None = None,
    max_texts: int | None = None,
) -> list[Floats]:
    """Return the rows of each pass, (n, *shape), for the token ids of n texts, which come in windows.

    count: n, None if unknown. max_texts: of a batch. FloatingPointError for vectors that are not finite.
    """
    arrays = [np.empty((count or 0, *step.shape), np.float32) for step in passes]
    late = LateVectors()
    start = end = 0
    for sequences in windows:
        start, end = end, end + len(sequences)
        for step, vectors in zip(passes, arrays, strict=True):
            if end > len(vectors):
                late.write()
                vectors.resize((end, *step.shape), refcheck=False)  # in place: no copy where memory can grow
            rows = vectors[start:end]
            encode_sequences(step, sequences, rows, device=device, on_batch=on_batch, max_texts=max_texts, late=late)
    late.write()
    return [vectors[:end] for vectors in arrays]


class LateVectors:
    """Vectors that an accelerator copies to the host while it computes those of the next batch."""

    def __init__(self) -> None:
        self._waiting = deque[tuple[Tensor, Any, Callable[[Floats], None]]]()

    def add(self, vectors: Tensor, write: Callable[[Floats], None]) -> None:
        """Copy vectors, and write those of the batch before."""
        host = vectors
        copied: Any = None
        if vectors.is_cuda:
            host = torch.empty(vectors.shape, dtype=vectors.dtype, pin_memory=True)
            host.copy_(vectors, non_blocking=True)
            copied = torch.cuda.current_stream(vectors.device).record_event()
        self._waiting.append((host, copied, write))
        self.write(remaining=1)

    def write(self, remaining: int = 0) -> None:
        """Write all vectors but those of the last so many batches."""
        while len(self._waiting) > remaining:
            host, copied, write = self._waiting.popleft()
            if copied is not None:
                copied.synchronize()
            write(host.cpu().numpy())


@contextmanager
def show_progress(total: int | None, show: bool | None, on_batch: OnBatch | None) -> Iterator[OnBatch | None]:
    """Yield the function to call with the number of texts of each encoded batch; it also moves a progress bar."""
    if show is None:
        show = logging.getLogger("sciprism").getEffectiveLevel() in (logging.INFO, logging.DEBUG)
    if not show:
        yield on_batch
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("encoding"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=total)

        def count(texts: int) -> None:
            progress.advance(task, texts)
            if on_batch is not None:
                on_batch(texts)

        yield count


def encode_sequences(
    step: EncodingPass,
    sequences: Sequence[Sequence[int]],
    rows: Floats,
    *,
    device: torch.device,
    on_batch: OnBatch | None = None,
    max_texts: int | None = None,
    late: LateVectors,
) -> None:
    """Write the vector of sequences[i] to rows[i]; FloatingPointError for vectors that are not finite.

    Batches depend on the lengths only; on a CPU each runs on one core, several in parallel. max_texts: of a batch;
    None for no limit but the tokens. late: writes an accelerator's last vectors.
    """
    lengths = [len(sequence) for sequence in sequences]

    def write(batch: list[int], vectors: Floats) -> None:
        if not np.isfinite(vectors).all():
            raise FloatingPointError("a vector is not finite")
        rows[batch] = vectors
        if on_batch is not None:
            on_batch(len(batch))

    def run(batch: list[int]) -> None:
        with torch.inference_mode():
            vectors = step.compute(pack([sequences[i] for i in batch], step.route, device=device))
            if device.type == "cpu":
                write(batch, vectors.cpu().numpy())
            else:
                late.add(vectors, partial(write, batch))

    run_batches(run, lengths, device, max_texts=max_texts)


def run_batches(
    run: Callable[[list[int]], None], lengths: Sequence[int], device: torch.device, *, max_texts: int | None = None
) -> None:
    """Run a function on the batches of texts of these lengths: on a CPU each on one core, several in parallel.

    A batch that is alone, or a text longer than a batch, is computed on all cores, with the same bits; elsewhere than
    on a CPU one batch follows the other. max_texts: of a batch; None for no limit but the tokens.
    """
    batches = list(token_batches(lengths, token_budget(sum(lengths), device), max_texts))
    few = len(batches) if device.type != "cpu" or len(batches) == 1 else sum(n > CPU_BUDGET for n in lengths)
    for batch in batches[:few]:  # the longest texts come first
        run(batch)
    if few < len(batches):
        map_threads(run, batches[few:])


def token_budget(tokens: int, device: torch.device) -> int:
    """Return the tokens per batch for a job of `tokens`; small jobs use several cores too."""
    return max(256, min(CPU_BUDGET, tokens // 8)) if device.type == "cpu" else CUDA_BUDGET
