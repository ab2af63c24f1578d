"""A transformer with its tokenizer and settings, as inference and training share it: items in, vectors out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias, TypedDict, Unpack, overload

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional as F

from sciprism.arrays import Floats
from sciprism.encoders.layers import WeightsSnapshot
from sciprism.encoders.methods.registry import Method, build_method
from sciprism.encoders.packing import PackedBatch
from sciprism.encoders.pooling import poolings
from sciprism.encoders.settings import PRECISIONS, EncoderSettings, check_precision, compute_fingerprint
from sciprism.encoders.streaming import (
    EncoderInputs,
    EncodingPass,
    Inputs,
    OnBatch,
    encode_windows,
    read_inputs,
    read_windows,
    show_progress,
    tokenize_windows,
)
from sciprism.encoders.transformer import Transformer
from sciprism.errors import InputError
from sciprism.formats import ROLES, Format, Role
from sciprism.parallel import DEVICE
from sciprism.text.template import FIELDS
from sciprism.text.tokenizer import read_tokens, tokenize_texts

Compute = Callable[[PackedBatch], Tensor]  # computes the vectors of a batch
Yes: TypeAlias = Literal[True]
No: TypeAlias = Literal[False]


class EncodeOptions(TypedDict, total=False):
    """Options of `encode` that leave the type of its result."""

    format: Format
    role: Role
    fields: Sequence[str]
    instruction: str | None
    facets: bool
    batch_size: int | None
    show_progress_bar: bool | None
    normalize_embeddings: bool


class Model:
    """A transformer, its tokenizer and its settings.

    To train it, call `model.train()` of its transformer, then `vectors` on packed batches that state the
    `route` of each text; afterwards call `prepare()` before anything else. on_batch: called with the number of
    texts of each batch that is encoded, from several threads. around_batches: gets the function that computes a
    batch in `encode_all`, and returns what is called instead.
    """

    on_batch: OnBatch | None = None
    around_batches: Callable[[Compute], Compute] | None = None
    _hashed: tuple[WeightsSnapshot, str] | None = None

    def __init__(
        self,
        model: Transformer,
        tokenizer: Tokenizer,
        settings: EncoderSettings,
        *,
        name: str = "unnamed",
        precision: str = "float32",
        device: str | None = None,
    ) -> None:
        self.name = name
        self.settings = settings
        self.precision = precision
        self.device = _open_device(device)
        check_precision(precision, self.device)
        self.tokenizer = tokenizer
        self.method = build_method(settings.method, settings.options)
        self.model = model.to(self.device)
        self.ignored: tuple[str, ...] = ()
        self.provenance: dict[str, Any] = {}
        self.folder: Path | None = None  # the one it was loaded from
        self.options: dict[str, Any] = {}
        self.truncate_to(settings.max_length)
        for format, role in product(self.formats, ROLES):
            self.route(format, role)  # tokenizes the instructions
        for parameter_name, parameter in model.named_parameters():
            if not self.method.trainable(parameter_name):
                parameter.requires_grad_(False)
        self.prepare()

    @overload
    def encode(
        self, items: Inputs, *, convert_to_tensor: No = ..., convert_to_numpy: Yes = ..., **rest: Unpack[EncodeOptions]
    ) -> Floats: ...
    @overload
    def encode(
        self, items: Inputs, *, convert_to_tensor: Yes, convert_to_numpy: bool = ..., **rest: Unpack[EncodeOptions]
    ) -> Tensor: ...
    @overload
    def encode(
        self,
        items: Inputs,
        *,
        convert_to_tensor: bool = ...,
        convert_to_numpy: bool = ...,
        **rest: Unpack[EncodeOptions],
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
        inputs = read_inputs(items, fields)
        (vectors,) = self._run_passes(inputs, [step], role, fields, batch_size, show_progress_bar)
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
        inputs = read_inputs(items, fields)
        arrays = self._run_passes(inputs, steps, role, fields, batch_size, show_progress_bar)
        if self.method.one_pass and routes:
            arrays = [np.ascontiguousarray(arrays[0][:, number]) for number in range(len(routes))]
        if normalize_embeddings:
            arrays = [_normalize(rows) for rows in arrays]
        if inputs.single:
            arrays = [rows[0] for rows in arrays]
        vectors = dict(zip(routes, arrays, strict=True))
        return {format: vectors[route] for format, route in route_of.items()}

    def _run_passes(
        self,
        inputs: EncoderInputs,
        passes: Sequence[EncodingPass],
        role: Role,
        fields: Sequence[str],
        batch_size: int | None,
        show_progress_bar: bool | None,
    ) -> list[Floats]:
        """Return the rows of each pass, (n, *shape), in the order of the items."""
        if self.model.training:
            raise InputError(f"{self.name} is in training; call prepare() before it encodes")
        if batch_size is not None and batch_size < 1:
            raise InputError(f"batch_size is {batch_size}; a batch needs at least one text")
        texts = read_windows(inputs.items, self.settings.template, role, fields, self.device)
        windows = tokenize_windows(self.tokenize, texts, self.device, inputs.count)
        total = None if inputs.count is None else inputs.count * len(passes)
        try:
            with show_progress(total, show_progress_bar, self.on_batch) as on_batch:
                return encode_windows(
                    windows, passes, count=inputs.count, device=self.device, on_batch=on_batch, max_texts=batch_size
                )
        except FloatingPointError as error:
            raise InputError(
                f"{self.name} gives vectors that are not finite in {self.precision}; try float32"
            ) from error

    @property
    def formats(self) -> tuple[Format, ...]:
        """Return the formats that this encoder serves."""
        return self.method.formats

    @property
    def search_format(self) -> Format:
        """The format of `encode_query` and `encode_document`: search, or what the model has in its place."""
        return next((format for format in ("search", "proximity") if format in self.formats), self.formats[0])

    @property
    def dim(self) -> int:
        """Return the width of the vectors."""
        return self.model.config.hidden

    @property
    def distance(self) -> str:
        """Return how vectors are meant to be compared: cosine, dot or euclidean."""
        return self.settings.distance

    @property
    def fingerprint(self) -> str:
        """Return a hash of all that decides the vectors: weights, architecture, vocabulary and settings."""
        if self._hashed is None or not self._hashed[0].is_current():
            hashed = compute_fingerprint(self.model, self.tokenizer, self.settings)
            self._hashed = WeightsSnapshot(self.model.modules()), hashed
        return self._hashed[1]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_hashed": None}

    def space(self, format: Format = "proximity", role: Role = "paper", *, instruction: str | None = None) -> str:
        """Name the space of such vectors; only vectors of one space and fingerprint are comparable."""
        return self._method_for(format, role, instruction).space(format, role)

    def path(self, format: Format = "proximity", role: Role = "paper", *, instruction: str | None = None) -> str:
        """Name the encoding path, which is route and prompt; equal paths give equal vectors."""
        prompt = self.settings.template.prompts.get(role, "")
        return self.route(format, role, instruction=instruction) + (f"|{prompt}" if prompt else "")

    def route(self, format: Format = "proximity", role: Role = "paper", *, instruction: str | None = None) -> str:
        """Name the route through the model, which a packed batch states for each text."""
        route = self._method_for(format, role, instruction).route(format, role)
        self.method.add_route(self.model, route, self._instruction_ids)
        return route

    def _instruction_ids(self, instruction: str) -> list[int]:
        untruncated = Tokenizer.from_str(self.tokenizer.to_str())
        untruncated.no_truncation()
        return tokenize_texts(untruncated, [self.settings.template.text(instruction, "instruction")])[0]

    def texts(self, items: Inputs, role: Role = "paper", fields: Sequence[str] = FIELDS) -> list[str]:
        """Return the texts that are tokenized for these items; a list of one for a single item."""
        return [self.settings.template.text(item, role, fields) for item in read_inputs(items, fields).items]

    def prepare(self) -> None:
        """Compute with packed weights from now on, until the next training; they follow changes of the weights."""
        self._hashed = None
        self.model.prepare(PRECISIONS[self.precision])

    def to(self, device: str | torch.device) -> Self:
        """Move the model to a device, such as "cuda" or "cpu", and return it; InputError where there is none."""
        self.device = _open_device(str(device))
        check_precision(self.precision, self.device)
        self.model.to(self.device)
        if not self.model.training:
            self.prepare()
        return self

    def truncate_to(self, length: int) -> None:
        """Truncate texts to `length` tokens from now on, reserved positions included."""
        self.tokenizer.enable_truncation(length - self.method.reserved_positions)

    @contextmanager
    def at_length(self, length: int | None = None) -> Iterator[None]:
        """Truncate texts as the saved model does, or to a length, whatever a training truncates them to."""
        before = self.tokenizer.truncation
        self.truncate_to(length or self.settings.max_length)
        try:
            yield
        finally:
            self.tokenizer.enable_truncation(**(before or {"max_length": self.settings.max_length}))

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text, special ones included, truncated to the maximum length."""
        return [ids for ids, _ in self.read_tokens(texts)]

    def read_tokens(self, texts: Sequence[str]) -> list[tuple[list[int], bool]]:
        """Return these ids, with padding at the positions reserved for the method, and whether a text has more."""
        reserved = [self.model.config.padding_id] * self.method.reserved_positions
        read = read_tokens(self.tokenizer, texts)
        return [([*ids[:1], *reserved, *ids[1:]], longer) for ids, longer in read] if reserved else read

    def vectors(self, batch: PackedBatch) -> Tensor:
        """Return one vector per text of a packed batch, (B, dim); gradients flow where they are on."""
        return self._finish(self.method.vectors(self.model, batch, self._pool), batch, batch.routes)

    def vectors_by_route(self, batch: PackedBatch, routes: Sequence[str]) -> Tensor:
        """Return one vector per text and route, (B, R, dim), from one pass; for methods with `one_pass`."""
        return self._finish(self.method.vectors_by_route(self.model, batch, routes, self._pool), batch, routes)

    def facets(self, batch: PackedBatch) -> Tensor:
        """Return the facets whose sum is the vector of each text, (B, K, dim), before scaling.

        Raises InputError for a model without facets.
        """
        if not self.method.facets or self.model.lexical is not None:
            why = "has lexical features" if self.method.facets else f"pools by {self.settings.pooling}"
            raise InputError(f"{self.name} has no facets: it {why}")
        return self.method.facet_vectors(self.model, batch, self._pool)

    def _pool(self, states: Tensor, batch: PackedBatch) -> Tensor:
        return poolings[self.settings.pooling](states, batch, self.method.reserved_positions)

    def _finish(self, vectors: Tensor, batch: PackedBatch, routes: Sequence[str]) -> Tensor:
        """Add lexical features to vectors, (B, dim) or (B, R, dim), then scale and normalize them.

        routes: one per text, or one per R.
        """
        if (lexical := self.model.lexical) is not None:
            vectors = lexical(vectors, self.model.embeddings.word, batch)
        if scales := self.method.scales(self.model):
            scale = torch.stack([scales[r] for r in routes]) if len(set(routes)) > 1 else scales[routes[0]]
            scaled = F.normalize(vectors * scale.to(vectors), dim=-1)
            vectors = scaled * vectors.norm(dim=-1, keepdim=True)  # lengths stay
        return F.normalize(vectors, dim=-1) if self.settings.normalize else vectors

    def _method_for(self, format: str, role: str, instruction: str | None) -> Method:
        if format not in self.formats:
            raise InputError(f"{self.name} has no format {format!r}; it has {', '.join(self.formats)}")
        if role not in ROLES:
            raise InputError(f"unknown role {role!r}; known: {', '.join(ROLES)}")
        return self.method if instruction is None else self.method.with_instruction(instruction)


def _normalize(rows: Floats) -> Floats:
    """Scale vectors to length 1, in place; a vector of zeros stays."""
    rows /= np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-12)
    return rows


def _open_device(name: str | None) -> torch.device:
    name = name or DEVICE.get()
    try:
        device = torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"the device {name} cannot be used: {str(error).splitlines()[0]}") from error
    return device
