"""`control-codes`: a token before the text names the format (SciRepEval, section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from sciprism.encoders.layers import PackedBatch, build_embedding, copy_integers
from sciprism.encoders.methods.registry import FormatOptions, PerFormat, cls_embedding, methods
from sciprism.encoders.transformer import Transformer


class CodeEmbeddings(nn.Module):
    """The word embedding of each route's code, put at the reserved position after each text's CLS."""

    def __init__(self, routes: Sequence[str], hidden: int) -> None:
        super().__init__()
        self.row_of = {route: row for row, route in enumerate(routes)}
        self.rows = build_embedding(len(routes), hidden)

    def forward(self, words: Tensor, batch: PackedBatch) -> Tensor:
        """Return the word embeddings, (T, hidden), with the codes at the reserved positions."""
        codes = copy_integers([self.row_of[route] for route in batch.routes], words.device)
        return words.index_copy(0, batch.starts + 1, self.rows(codes).to(words.dtype))


class ControlCodeOptions(FormatOptions):
    """Options. start: the codes' first embeddings: random, CLS's, or CLS's plus noise of the usual size."""

    start: Literal["random", "cls", "noise"] = "random"


@methods.register("control-codes")
class ControlCodes(PerFormat):
    """The vector is the state at the code, [CLS] [CODE] title [SEP] ...; the whole network is trained."""

    settings = ControlCodeOptions
    reserved_positions = 1
    pooling = "code"
    own_parameters = (".embeddings.front.",)

    def fill(self, model: Transformer) -> None:
        """Give each route a code embedding."""
        model.embeddings.front = CodeEmbeddings(self.routes, model.config.hidden)

    def initialize(self, model: Transformer, tokenizer: Tokenizer) -> None:
        """Start the codes from the embedding of CLS where `start` says so."""
        front, start = model.embeddings.front, self.options.start
        if start != "random" and isinstance(front, CodeEmbeddings):
            with torch.no_grad():  # the random rows are the noise
                front.rows.weight.mul_(start == "noise").add_(cls_embedding(model, tokenizer))
