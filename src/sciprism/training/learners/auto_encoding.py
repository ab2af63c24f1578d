"""Masked auto-encoding: a weak decoder rebuilds a text from its vector (RetroMAE, section 3; INDUS, 3.4)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor, nn

from sciprism.encoders.encoder import Encoder
from sciprism.encoders.masked_lm import MaskedLM, read_head
from sciprism.encoders.packing import PackedBatch, pack
from sciprism.encoders.pooling import poolings
from sciprism.errors import InputError
from sciprism.training.batch import Ids
from sciprism.training.decoder import Decoder
from sciprism.training.learners.learner import Tools
from sciprism.training.learners.masked_lm import MaskedBlock, MaskedLanguage
from sciprism.training.learners.registry import learners
from sciprism.training.masking import chosen, masked, rows_hidden
from sciprism.training.tables import Table


class AutoEncodingSettings(Table):
    """share: of the tokens hidden from the encoder; decoder_share: from each of the decoder's rows.

    head: an earlier stage or a folder whose masked-LM head it begins with, where the model has none itself.
    """

    name: Literal["auto-encoding"]
    head: str = ""
    share: float = Field(0.3, gt=0, lt=1)
    decoder_share: float = Field(0.5, gt=0, lt=1)


@dataclass(frozen=True, slots=True)
class TwiceMasked(MaskedBlock):
    """whole: the block before anything was hidden. hidden: (n, n), what each row may not see."""

    whole: Ids
    hidden: NDArray[np.bool_]


@learners.register("auto-encoding")
class AutoEncoding(MaskedLanguage):
    """Masked language modelling, and the text again from the vector that the masked one got."""

    settings = AutoEncodingSettings
    parts = 2

    def __init__(self, objective: Any, tools: Tools) -> None:
        super().__init__(objective, tools)
        self.decoder = Decoder(tools.encoder.model).to(tools.encoder.device)
        self.modules = nn.ModuleDict({"head": self.head, "decoder": self.decoder})

    def kept_head(self) -> MaskedLM | None:
        """Return the head beside the model, or that of the stage or folder which is named."""
        found, named = super().kept_head(), self.objective.head
        if found is not None or not named:
            return found
        other = self.tools.open(named)
        folder = other.folder if isinstance(other, Encoder) else None
        found = read_head(folder, self.tools.encoder.model.config)
        if found is None:
            raise InputError(f"auto-encoding: head = {named} has no masked-LM head beside it")
        return found

    def prepared(self, ids: Ids, draw: np.random.Generator) -> TwiceMasked:
        """Return a block with whole words hidden, and what each of the decoder's rows may not see."""
        settings = self.objective
        places = chosen(ids, self.words, settings.share, draw, whole=True)
        hidden = rows_hidden(ids, self.words, settings.decoder_share, draw)
        weights = (float(len(places)), float(max(1, len(ids) - 2)))
        return TwiceMasked(masked(ids, places, self.words, draw), weights, places, ids[places], ids, hidden)

    def sums(self, blocks: Sequence[Any]) -> Tensor:
        """Return the sums over tokens hidden from the encoder, and over all but the first and last, (2,)."""
        encoder = self.tools.encoder
        batch = self.packed(blocks)
        states = encoder.model(batch)
        vectors = poolings[encoder.settings.pooling](states, batch, encoder.method.places)
        rebuilt = self._rebuilt(vectors, blocks)
        inner = np.concatenate([np.arange(len(b.ids)) % (len(b.ids) - 1) > 0 for b in blocks])
        targets = np.concatenate([block.whole[1:-1] for block in blocks])
        again = self.of_tokens(rebuilt[torch.from_numpy(inner).to(rebuilt.device)], targets)
        return torch.stack([self.of_states(states, blocks), again])

    def told(self, score: float) -> str:
        """Say it as the loss, a sum of two."""
        return f"loss {-math.log(score):.3f}"

    def _rebuilt(self, vectors: Tensor, blocks: Sequence[TwiceMasked]) -> Tensor:
        """Return the decoder's states, (T, hidden), from vectors (B, hidden) and what each row may see."""
        encoder = self.tools.encoder
        whole: PackedBatch = pack([b.whole.tolist() for b in blocks], encoder.route(), device=encoder.device)
        embeddings = encoder.model.embeddings
        of_text = torch.repeat_interleave(vectors, torch.tensor(whole.lengths, device=vectors.device), dim=0)
        queries = embeddings.position(whole.positions + embeddings.first_position) + of_text
        first = (whole.positions == 0)[:, None]
        keys = torch.where(first, of_text, embeddings(whole))
        visible = [torch.from_numpy(~block.hidden).to(vectors.device) for block in blocks]
        return self.decoder(queries, keys, whole, visible)  # type: ignore[no-any-return]
