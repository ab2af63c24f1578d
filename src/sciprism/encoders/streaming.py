"""Encode a stream of items: a window of texts in memory at a time, all vectors at the end."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice

import numpy as np
from torch import Tensor

from sciprism.arrays import Floats
from sciprism.encoders.inference import OnBatch, encode_sequences
from sciprism.encoders.inputs import EncoderInputs
from sciprism.encoders.model import Model
from sciprism.encoders.packing import PackedBatch
from sciprism.errors import EmptyTextWarning, InputError
from sciprism.formats import Role
from sciprism.papers.cleaning import is_blank
from sciprism.text.template import FIELDS

WINDOW = 16_384  # texts tokenized and sorted together


@dataclass(frozen=True)
class EncodingPass:
    """A computation of all texts: a packed batch on a route becomes (B, *shape)."""

    compute: Callable[[PackedBatch], Tensor]
    route: str
    shape: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class StreamOptions:
    """What the items are, and how they are encoded; as in `Encoder.encode`."""

    role: Role = "paper"
    fields: Sequence[str] = FIELDS
    batch_size: int | None = None
    show_progress_bar: bool | None = None

    def __post_init__(self) -> None:
        if self.batch_size is not None and self.batch_size < 1:
            raise InputError(f"batch_size is {self.batch_size}; a batch needs at least one text")


def encode_stream(
    model: Model,
    inputs: EncoderInputs,
    passes: Sequence[EncodingPass],
    options: StreamOptions,
    on_batch: OnBatch | None = None,
) -> list[Floats]:
    """Return the rows of each pass, (n, *shape), in the order of the items."""
    if model.model.training:
        raise InputError(f"{model.name} is in training; call prepare() before it encodes")
    buffers = [_RowBuffer(each.shape, inputs.count) for each in passes]
    total = None if inputs.count is None else inputs.count * len(passes)
    with _progress_bar(total, options.show_progress_bar, on_batch) as count:
        for texts in _read_windows(model, inputs, options):
            ids = model.tokenize(texts)
            for each, buffer in zip(passes, buffers, strict=True):
                rows = buffer.extend(len(ids))
                encode_sequences(
                    each.compute,
                    ids,
                    rows,
                    route=each.route,
                    device=model.device,
                    on_batch=count,
                    max_texts=options.batch_size,
                )
                if not np.isfinite(rows).all():
                    raise InputError(
                        f"{model.name} gives vectors that are not finite in {model.precision}; try float32"
                    )
    return [buffer.rows for buffer in buffers]


def _read_windows(model: Model, inputs: EncoderInputs, options: StreamOptions) -> Iterator[list[str]]:
    """Yield the texts that are tokenized, up to `WINDOW` at a time; warn at the end of those that are empty."""
    template = model.settings.template
    prompt = len(template.text("", options.role))
    empty, first, total = 0, 0, 0
    while window := list(islice(inputs.items, WINDOW)):
        texts = [template.text(item, options.role, options.fields) for item in window]
        for number, text in enumerate(texts, total):
            if is_blank(text[prompt:]):
                first = first if empty else number
                empty += 1
        total += len(texts)
        yield texts
    if empty:
        message = f"{empty} of {total} items have no text, the first is items[{first}]: each has the same vector"
        warnings.warn(EmptyTextWarning(message), stacklevel=4)


class _RowBuffer:
    """Rows of one shape that grow in place, since the number of items of a stream is not known."""

    def __init__(self, shape: tuple[int, ...], count: int | None) -> None:
        self._rows = np.empty((count or 0, *shape), np.float32)
        self._used = 0

    def extend(self, count: int) -> Floats:
        """Return the next rows, to be filled; rows that were returned before are invalid."""
        start, self._used = self._used, self._used + count
        if self._used > len(self._rows):
            self._rows.resize((self._used, *self._rows.shape[1:]), refcheck=False)  # no copy where memory can grow
        return self._rows[start : self._used]

    @property
    def rows(self) -> Floats:
        return self._rows[: self._used]


@contextmanager
def _progress_bar(total: int | None, show: bool | None, on_batch: OnBatch | None) -> Iterator[OnBatch | None]:
    """Yield what counts encoded texts: `on_batch`, and a progress bar on standard error where it is shown."""
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
