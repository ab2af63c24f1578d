"""`linear-adapter`: a linear map of a frozen backbone's vector, added to it; of each format its own.

The simplest change of an encoder (LlamaIndex's adapters change queries alone; these, queries and papers alike). The
backbone's vector of a text never changes in training, so each text is read once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from sciprism.encoders.layers import Linear, PackedBatch
from sciprism.encoders.methods.registry import PerFormat, Pool, methods
from sciprism.encoders.transformer import Transformer

MAX_TEXTS = 500_000
"""Texts whose vectors are remembered in training, 2 GB of 384 dimensions; further ones are read each time."""


@methods.register("linear-adapter")
class LinearAdapter(PerFormat):
    """Each format adds a linear map of the text's vector to it, zero at first; the backbone is frozen."""

    one_pass = True
    keeps_text_states = True
    own_parameters = (".beside.",)
    freezes_backbone = True

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self._remembered: dict[tuple[bool, bytes], Tensor] | None = None

    def fill(self, model: Transformer) -> None:
        """Put one map per format into the side slot."""
        hidden = model.config.hidden
        model.beside = nn.ModuleDict({route: Linear(hidden, hidden) for route in self.routes})
        for parameter in model.beside.parameters():
            nn.init.zeros_(parameter)
        model.frozen_text = True

    def remember_texts(self) -> None:
        """Read each text once from now on: the backbone does not change."""
        self._remembered = {}

    def vectors(self, model: Transformer, batch: PackedBatch, pool: Pool) -> Tensor:
        """Return each text's vector with the change of its route, (B, hidden)."""
        texts = self._read(model, batch, pool)
        groups = torch.split(texts, [len(part.lengths) for _, _, part in batch.by_route])
        routes = [route for route, _, _ in batch.by_route]
        return torch.cat([_change(model, route, rows) for route, rows in zip(routes, groups, strict=True)])

    def vectors_by_route(self, model: Transformer, batch: PackedBatch, routes: Sequence[str], pool: Pool) -> Tensor:
        """Return each text's vector with the change of every route, (B, R, hidden)."""
        texts = self._read(model, batch, pool)
        return torch.stack([_change(model, route, texts) for route in routes], dim=1)

    def _read(self, model: Transformer, batch: PackedBatch, pool: Pool) -> Tensor:
        """Return the backbone's vectors, (B, hidden).

        Remembered ones are read one by one, so that they do not depend on the batch in which a text comes first,
        and a resumed training has the same. Packed weights, which training has not, may differ in the last digits.
        """
        with torch.no_grad():
            if self._remembered is None:
                return pool(model(batch), batch)
            rows = []
            for start, length in zip(batch.bounds, batch.lengths, strict=False):
                ids = batch.ids[start : start + length]
                key = (model.training, ids.cpu().numpy().tobytes())
                row = self._remembered.get(key)
                if row is None:
                    text = PackedBatch(ids, (length,), ("all",))
                    row = pool(model(text), text).float().clone()
                    if len(self._remembered) < MAX_TEXTS:
                        self._remembered[key] = row
                rows.append(row)
            return torch.cat(rows)


def _change(model: Transformer, route: str, texts: Tensor) -> Tensor:
    assert isinstance(model.beside, nn.ModuleDict)
    changed: Tensor = texts + model.beside[route](texts)
    return changed
