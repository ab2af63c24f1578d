"""`control-codes`: a token in front of the text says what the vector is for (SciRepEval, section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from sciprism.encoders.methods.per_format import PerFormat
from sciprism.encoders.methods.registry import methods
from sciprism.encoders.packing import PackedBatch
from sciprism.encoders.starts import table
from sciprism.encoders.transformer import Transformer
from sciprism.errors import InputError
from sciprism.formats import FORMATS, Format

Start = Literal["random", "cls", "noise"]
STARTS: tuple[Start, ...] = ("random", "cls", "noise")


class Codes(nn.Module):
    """The word embedding of each route's code, put where the texts keep a place for it: behind their CLS."""

    def __init__(self, ways: Sequence[str], hidden: int) -> None:
        super().__init__()
        self.ways = {way: number for number, way in enumerate(ways)}
        self.rows = table(len(ways), hidden)

    def forward(self, words: Tensor, batch: PackedBatch) -> Tensor:
        """Map word embeddings (T, hidden) to the same with the codes in their places."""
        codes = torch.tensor([self.ways[route] for route in batch.routes], device=words.device)
        return words.index_copy(0, batch.starts + 1, self.rows(codes).to(words.dtype))


@methods.register("control-codes")
class ControlCodes(PerFormat):
    """The vector is the state at the code, [CLS] [CODE] title [SEP] ...; all of the network is trained.

    start: what the codes' embeddings begin as: random, that of CLS, or that with noise of the usual size.
    """

    places = 1
    pooling = "code"

    def __init__(self, *, start: Start = "random", formats: Sequence[Format] = FORMATS) -> None:
        super().__init__(formats=formats)
        if start not in STARTS:
            raise InputError(f"start is {start!r}; known: {', '.join(STARTS)}")
        self.start = start

    def fill(self, model: Transformer) -> None:
        """Give each route a row of its own in front of the text."""
        model.embeddings.front = Codes(self.ways, model.config.hidden)

    def begin(self, model: Transformer, first: int) -> None:
        """Start the codes from the embedding of CLS where that is asked for."""
        front = model.embeddings.front
        if self.start == "random" or not isinstance(front, Codes):
            return
        rows = front.rows.weight  # random so far: the noise
        with torch.no_grad():
            rows.mul_(self.start == "noise").add_(model.embeddings.word.weight[first])

    def own(self, name: str) -> bool:
        """Return whether the parameter is a code's embedding."""
        return name.startswith("embeddings.front.")
