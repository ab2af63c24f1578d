"""A transformer with its tokenizer and settings: the part of an encoder that inference and training share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, Self

import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional as F

from sciprism.encoders.fingerprint import compute_fingerprint
from sciprism.encoders.inputs import Inputs, read_inputs
from sciprism.encoders.methods.registry import Method, build_method
from sciprism.encoders.packing import PackedBatch
from sciprism.encoders.pooling import poolings
from sciprism.encoders.precision import PRECISIONS, check_precision
from sciprism.encoders.settings import EncoderSettings
from sciprism.encoders.transformer import Transformer
from sciprism.errors import InputError
from sciprism.formats import ROLES, Format, Role
from sciprism.text.template import FIELDS


class Model:
    """A transformer, its tokenizer and its settings.

    To train it, call `model.train()` of its transformer, then `vectors` on packed batches that state the
    `route` of each text; afterwards call `prepare()` before anything else.
    """

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
        for parameter_name, parameter in model.named_parameters():
            if not self.method.trainable(parameter_name):
                parameter.requires_grad_(False)
        for format, role in product(self.formats, ROLES):
            self.route(format, role)  # tokenizes the instructions
        self.prepare()

    @property
    def formats(self) -> tuple[Format, ...]:
        """Return the formats that this encoder serves."""
        return self.method.formats

    @property
    def dim(self) -> int:
        """Return the width of the vectors."""
        return self.model.config.hidden

    @property
    def distance(self) -> str:
        """Return how vectors are meant to be compared: cosine, dot or euclidean."""
        return self.settings.distance

    @cached_property
    def fingerprint(self) -> str:
        """Return a hash of all that decides the vectors: weights, architecture, vocabulary and settings."""
        return compute_fingerprint(self.model, self.tokenizer, self.settings)

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
        return _token_ids(untruncated, [self.settings.template.text(instruction, "instruction")])[0]

    def texts(self, items: Inputs, role: Role = "paper", fields: Sequence[str] = FIELDS) -> list[str]:
        """Return the texts that are tokenized for these items; a list of one for a single item."""
        return [self.settings.template.text(item, role, fields) for item in read_inputs(items, fields).items]

    def prepare(self) -> None:
        """Pack the present weights for inference; call it again after they change."""
        self.__dict__.pop("fingerprint", None)
        self.model.prepare(PRECISIONS[self.precision])

    def to(self, device: str | torch.device) -> Self:
        """Move the model to a device, such as "cuda" or "cpu", and return it; InputError where there is none."""
        self.device = _open_device(str(device))
        check_precision(self.precision, self.device)
        self.model.to(self.device)
        if not self.model.training:
            self.prepare()
        return self

    @property
    def max_seq_length(self) -> int:
        """Return the number of tokens to which texts are truncated, special ones included; it can be set."""
        return self.settings.max_length

    @max_seq_length.setter
    def max_seq_length(self, length: int) -> None:
        if length > self.model.config.max_length:
            raise InputError(
                f"max length {length}, but the model has positions for {self.model.config.max_length} tokens"
            )
        self.settings = replace(self.settings, max_length=length)
        self.truncate_to(length)
        self.options["max_length"] = length
        self.__dict__.pop("fingerprint", None)

    def truncate_to(self, length: int) -> None:
        """Truncate texts to `length` tokens from now on, reserved positions included."""
        self.tokenizer.enable_truncation(length - self.method.reserved_positions)

    @contextmanager
    def at_max_length(self) -> Iterator[None]:
        """Truncate texts as the saved model does, also in a training that truncates them to fewer tokens."""
        before = self.tokenizer.truncation
        self.truncate_to(self.settings.max_length)
        try:
            yield
        finally:
            self.tokenizer.enable_truncation(**(before or {"max_length": self.settings.max_length}))

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text, special ones included, truncated to the maximum length.

        Padding ids after the first token stand at the positions reserved for the method.
        """
        reserved = [self.model.config.padding_id] * self.method.reserved_positions
        found = _token_ids(self.tokenizer, texts)
        return [[*ids[:1], *reserved, *ids[1:]] for ids in found] if reserved else found

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
        """Add lexical features to vectors, (B, dim) or (B, R, dim), then scale and normalise them.

        routes: one per text, or one per R.
        """
        if (lexical := self.model.lexical) is not None:
            vectors = lexical(vectors, self.model.embeddings.word.weight, batch)
        if scales := self.method.scales(self.model):
            scale = torch.stack([scales[route] for route in routes])
            scaled = F.normalize(vectors * scale.to(vectors), dim=-1)
            vectors = scaled * vectors.norm(dim=-1, keepdim=True)  # lengths stay
        return F.normalize(vectors, dim=-1) if self.settings.normalize else vectors

    def _method_for(self, format: str, role: str, instruction: str | None) -> Method:
        if format not in self.formats:
            raise InputError(f"{self.name} has no format {format!r}; it has {', '.join(self.formats)}")
        if role not in ROLES:
            raise InputError(f"unknown role {role!r}; known: {', '.join(ROLES)}")
        return self.method if instruction is None else self.method.with_instruction(instruction)


def _token_ids(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    try:
        return [encoding.ids for encoding in tokenizer.encode_batch_fast(texts)]
    except TypeError as error:  # `tokenizers` raises it for a lone surrogate
        text = next(text for text in texts if any("\ud800" <= c <= "\udfff" for c in text))
        raise InputError(f"half a character (a lone surrogate) in {text!r:.80}") from error


def _open_device(name: str | None) -> torch.device:
    try:
        device = torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"the device {name} cannot be used: {str(error).splitlines()[0]}") from error
    return device
