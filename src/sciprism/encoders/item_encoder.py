"""How items become vectors: `encode` and `encode_all`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal, TypedDict, Unpack, overload

import numpy as np
import torch
from torch import Tensor

from sciprism.arrays import Floats
from sciprism.encoders.inference import OnBatch
from sciprism.encoders.inputs import Inputs, read_inputs
from sciprism.encoders.model import Model
from sciprism.encoders.packing import PackedBatch
from sciprism.encoders.streaming import EncodingPass, StreamOptions, encode_stream
from sciprism.formats import Format, Role
from sciprism.text.template import FIELDS

Compute = Callable[[PackedBatch], Tensor]
"""Computes the vectors of a batch."""


class EncodeOptions(TypedDict, total=False):
    """Options of `encode` that leave the type of its result, without format and role."""

    fields: Sequence[str]
    instruction: str | None
    facets: bool
    batch_size: int | None
    show_progress_bar: bool | None
    normalize_embeddings: bool


class FormatOptions(EncodeOptions, total=False):
    """Options of `encode` that leave the type of its result."""

    format: Format
    role: Role


class ItemEncoder(Model):
    """A model that encodes items; `Encoder` says what items are.

    on_batch: called with the number of texts of each batch that is encoded, from several threads.
    around_batches: gets the function that computes a batch in `encode_all`, and returns what is called instead.
    """

    on_batch: OnBatch | None = None
    around_batches: Callable[[Compute], Compute] | None = None

    @overload
    def encode(
        self,
        items: Inputs,
        *,
        convert_to_tensor: Literal[False] = ...,
        convert_to_numpy: Literal[True] = ...,
        **options: Unpack[FormatOptions],
    ) -> Floats: ...
    @overload
    def encode(
        self,
        items: Inputs,
        *,
        convert_to_tensor: Literal[True],
        convert_to_numpy: bool = ...,
        **options: Unpack[FormatOptions],
    ) -> Tensor: ...
    @overload
    def encode(
        self,
        items: Inputs,
        *,
        convert_to_tensor: bool = ...,
        convert_to_numpy: bool = ...,
        **options: Unpack[FormatOptions],
    ) -> Floats | Tensor | list[Tensor]: ...
    def encode(
        self,
        items: Inputs,
        *,
        format: Format = "proximity",
        role: Role = "paper",
        fields: Sequence[str] = FIELDS,
        instruction: str | None = None,
        facets: bool = False,
        batch_size: int | None = None,
        show_progress_bar: bool | None = None,
        normalize_embeddings: bool = False,
        convert_to_tensor: bool = False,
        convert_to_numpy: bool = True,
    ) -> Floats | Tensor | list[Tensor]:
        """Return one float32 vector per item, (n, dim), in the order given; of a single item, (dim,).

        >>> from sciprism import Encoder
        >>> Encoder().encode(["How cells divide", "Dark matter"]).shape
        (2, 384)

        format: what the vectors are for: classification, regression, proximity, search. role: what the items
        are: paper, query, label. fields: those of a paper that are encoded. instruction: replaces the format's;
        the vectors are in a space of their own. facets: return (n, K, dim), whose sum is the vector before
        scaling. batch_size: the most texts in a batch, to save memory; by default, as many as are fast.
        show_progress_bar: None shows it where logging is at INFO. normalize_embeddings: scale to length 1.
        convert_to_tensor: return a tensor on the encoder's device. convert_to_numpy: False returns a list of them.
        """
        route = self.route(format, role, instruction=instruction)
        shape = (self.method.facets, self.dim) if facets else (self.dim,)
        step = EncodingPass(self.facets if facets else self.vectors, route, shape)
        options = StreamOptions(role=role, fields=fields, batch_size=batch_size, show_progress_bar=show_progress_bar)
        inputs = read_inputs(items, fields)
        (vectors,) = encode_stream(self, inputs, [step], options, self.on_batch)
        if normalize_embeddings:
            vectors = _normalize(vectors)
        if convert_to_tensor or not convert_to_numpy:
            tensor = torch.from_numpy(vectors).to(self.device)
            return tensor[0] if inputs.single else tensor if convert_to_tensor else list(tensor)
        return vectors[0] if inputs.single else vectors

    def encode_all(
        self,
        items: Inputs,
        *,
        role: Role = "paper",
        formats: Sequence[Format] | None = None,
        fields: Sequence[str] = FIELDS,
        batch_size: int | None = None,
        show_progress_bar: bool | None = None,
        normalize_embeddings: bool = False,
    ) -> dict[Format, Floats]:
        """Return the vectors of each format, (n, dim), or (dim,) of a single item.

        >>> from sciprism import Encoder
        >>> {format: vectors.shape for format, vectors in Encoder().encode_all(["Dark matter"]).items()}
        {'classification': (1, 384), 'regression': (1, 384), 'proximity': (1, 384), 'search': (1, 384)}

        formats: None for all. Items are read and tokenized once. A `prism` model computes all formats in one
        pass, others need one pass per encoding path; formats of one path share an array. Further options are
        those of `encode`.
        """
        route_of = {format: self.route(format, role) for format in (self.formats if formats is None else formats)}
        routes = list(dict.fromkeys(route_of.values()))
        if self.method.one_pass and routes:
            steps = [EncodingPass(partial(self.vectors_by_route, routes=routes), "all", (len(routes), self.dim))]
        else:
            steps = [EncodingPass(self.vectors, route, (self.dim,)) for route in routes]
        if self.around_batches is not None:
            steps = [replace(step, compute=self.around_batches(step.compute)) for step in steps]
        options = StreamOptions(role=role, fields=fields, batch_size=batch_size, show_progress_bar=show_progress_bar)
        inputs = read_inputs(items, fields)
        arrays = encode_stream(self, inputs, steps, options, self.on_batch)
        if self.method.one_pass and routes:
            arrays = [np.ascontiguousarray(arrays[0][:, number]) for number in range(len(routes))]
        if normalize_embeddings:
            arrays = [_normalize(rows) for rows in arrays]
        found = dict(zip(routes, arrays, strict=True))
        return {format: found[route][0] if inputs.single else found[route] for format, route in route_of.items()}


def _normalize(rows: Floats) -> Floats:
    """Scale vectors to length 1, in place; a vector of zeros stays."""
    rows /= np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-12)
    return rows
