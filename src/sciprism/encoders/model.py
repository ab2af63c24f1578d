"""A transformer with all that turns texts into vectors: what inference and training share."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional as F

from sciprism.encoders.identity import fingerprint
from sciprism.encoders.instructions import Instructions
from sciprism.encoders.methods.prism import Asked, Prism
from sciprism.encoders.methods.registry import Method, make
from sciprism.encoders.packing import PackedBatch
from sciprism.encoders.pooling import facet_states, poolings
from sciprism.encoders.settings import Settings
from sciprism.encoders.transformer import Transformer
from sciprism.errors import InputError
from sciprism.formats import ROLES, Format, Role
from sciprism.text.template import FIELDS, PAPER_FIELDS, Item

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


class Model:
    """A transformer, its tokenizer and its settings.

    To train it: `model.train()` of its transformer, then `vectors` of packed batches that state the `route`
    of each text; afterwards `prepare()`, before anything else is asked.
    """

    def __init__(
        self,
        model: Transformer,
        tokenizer: Tokenizer,
        settings: Settings,
        *,
        name: str = "unnamed",
        precision: str = "float32",
        device: str | None = None,
    ) -> None:
        if precision not in PRECISIONS:
            raise InputError(f"unknown precision {precision!r}; known: {', '.join(PRECISIONS)}")
        self.name = name
        self.settings = settings
        self.precision = precision
        self.device = _usable_device(device)
        self.tokenizer = tokenizer
        self.method = make(settings.method, settings.options)
        self.model = model.to(self.device)
        self.ignored: tuple[str, ...] = ()
        self.provenance: dict[str, Any] = {}
        self.folder: Path | None = None  # that it was read from
        self.options: dict[str, Any] = {}
        self.cut(settings.max_length)
        for parameter_name, parameter in model.named_parameters():
            if not self.method.trainable(parameter_name):
                parameter.requires_grad_(False)
        for format, role in product(self.formats, ROLES):
            self.route(format, role)  # the model learns the instructions
        self.prepare()

    @property
    def formats(self) -> tuple[Format, ...]:
        """Return the formats this encoder serves."""
        return self.method.formats

    @property
    def dim(self) -> int:
        """Return the width of its vectors."""
        return self.model.config.hidden

    @property
    def distance(self) -> str:
        """Return how its vectors are meant to be compared: cosine, dot or euclidean."""
        return self.settings.distance

    @cached_property
    def fingerprint(self) -> str:
        """Return a hash of all that decides the vectors: weights, shape, vocabulary and settings."""
        return fingerprint(self.model, self.tokenizer, self.settings)

    def space(
        self, format: Format = "proximity", role: Role = "paper", *, instruction: str | None = None
    ) -> str:
        """Name the space of such vectors; only vectors of one space (and fingerprint) compare."""
        return self._method(format, role, instruction).space(format, role)

    def path(
        self, format: Format = "proximity", role: Role = "paper", *, instruction: str | None = None
    ) -> str:
        """Name the way from text to vector; formats and roles of one path get the same vectors."""
        prompt = self.settings.template.prompts.get(role, "")
        return self.route(format, role, instruction=instruction) + (f"|{prompt}" if prompt else "")

    def route(
        self, format: Format = "proximity", role: Role = "paper", *, instruction: str | None = None
    ) -> str:
        """Name the way through the model, which a packed batch states for each text."""
        route = self._method(format, role, instruction).route(format, role)
        context = self.model.context
        if isinstance(context, Instructions) and route not in context.tokens:
            text = self.settings.template.text(route, "instruction")
            context.tokens[route] = _whole(text, self.tokenizer, self.model.config.max_length)
        return route

    def texts(self, items: Sequence[Item], role: Role = "paper", fields: Sequence[str] = FIELDS) -> list[str]:
        """Return the very texts that are tokenized for these items."""
        if isinstance(items, str) or not isinstance(items, Sequence):
            raise InputError(f"expected a list of papers, labels or texts, got one {type(items).__name__}")
        if isinstance(fields, str) or not set(fields) <= set(PAPER_FIELDS):
            raise InputError(f"unknown fields {fields!r}; a paper has {', '.join(PAPER_FIELDS)}")
        return [self.settings.template.text(item, role, fields) for item in items]

    def prepare(self) -> None:
        """Make the model ready for inference with its present weights; call it after they change."""
        self.__dict__.pop("fingerprint", None)
        self.model.prepare(PRECISIONS[self.precision])

    def cut(self, length: int) -> None:
        """Cut texts from now on at so many tokens, those that the method places among them included."""
        self.tokenizer.enable_truncation(length - self.method.places)

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text, special ones included, cut at the maximum length.

        Padding ids behind the first keep the places that the method fills.
        """
        places = [self.model.config.padding_id] * self.method.places
        found = _ids(self.tokenizer, texts)
        return [[*ids[:1], *places, *ids[1:]] for ids in found] if places else found

    def vectors(self, batch: PackedBatch) -> Tensor:
        """Return one vector per text of a packed batch, (B, dim); gradients flow where they are on."""
        if isinstance(prism := self.model.beside, Prism):
            return self._finished(self._own_tokens(prism, batch).mean(dim=1), batch, prism.scale_of(batch))
        return self._finished(self._pooled(self.model(batch), batch), batch)

    def vectors_of_all(self, batch: PackedBatch, ways: Sequence[str], *, text: bool = False) -> Tensor:
        """Return one vector per text and way, (B, ways, dim), of one pass through the text; prism's.

        text: put the text's own behind them, (B, ways + 1, dim); needed where there are no ways.
        """
        prism = self.model.beside
        assert isinstance(prism, Prism), f"{self.method} takes one pass for each format"
        if not ways:
            return self._finished(self._pooled(self.model(batch), batch)[:, None], batch)
        asked = [(tuple(ways), slice(0, len(batch.lengths)))]
        tokens, pooled = self._tokens(prism, batch, asked, text=text)
        vectors = tokens[0].mean(dim=2).transpose(0, 1)
        if text and pooled is not None:
            vectors = torch.cat([vectors, pooled[:, None]], dim=1)
        return self._finished(vectors, batch, prism.scale(ways, text=text))

    def _own_tokens(self, prism: Prism, batch: PackedBatch) -> Tensor:
        """Return the vectors of the tokens of each text's own way, (B, K, dim)."""
        tokens, _ = self._tokens(prism, batch, prism.parts(batch))
        return torch.cat([each[0] for each in tokens])

    def _tokens(
        self, prism: Prism, batch: PackedBatch, asked: Sequence[Asked], *, text: bool = False
    ) -> tuple[list[Tensor], Tensor | None]:
        """Return the vectors of the asked formats' tokens, (W, b, K, dim) each, and the texts', (B, dim).

        text: whether the latter are wanted; the last layer is computed for the text only where they are, or
        where vectors rest on them.
        """
        rays, pooled = prism.rays(self.model, batch, asked), None
        with torch.set_grad_enabled(torch.is_grad_enabled() and not prism.frozen):
            if text or prism.plus:
                pooled = self._pooled(self.model(batch, watch=rays), batch)
            else:
                self.model.show(batch, rays)
        return rays.tokens(pooled if prism.plus else None), pooled

    def _pooled(self, states: Tensor, batch: PackedBatch) -> Tensor:
        return poolings[self.settings.pooling](states, batch, self.method.places)

    def _finished(self, vectors: Tensor, batch: PackedBatch, scale: Tensor | None = None) -> Tensor:
        """Return the vectors of texts, or several of each, with their words and scaled, as the model does."""
        if (lexical := self.model.lexical) is not None:
            vectors = lexical(vectors, self.model.embeddings.word.weight, batch)
        if scale is not None:
            vectors = _stretched(vectors, scale.to(vectors))
        return F.normalize(vectors, dim=-1) if self.settings.normalize else vectors

    def facets(self, batch: PackedBatch) -> Tensor:
        """Return what the vectors of a packed batch are sums of, (B, K, dim), before they are scaled.

        Raises InputError without facets.
        """
        if not self.method.facets or self.model.lexical is not None:
            why = f"are of the pooling {self.settings.pooling}" if not self.method.facets else "are no sums"
            raise InputError(f"{self.name} has no facets; its vectors {why}")
        if isinstance(prism := self.model.beside, Prism):
            return self._own_tokens(prism, batch) / prism.facets
        return facet_states(self.model(batch), batch, self.method.places)

    def _method(self, format: str, role: str, instruction: str | None) -> Method:
        if format not in self.formats:
            raise InputError(f"{self.name} has no format {format!r}; it has {', '.join(self.formats)}")
        if role not in ROLES:
            raise InputError(f"unknown role {role!r}; known: {', '.join(ROLES)}")
        return self.method if instruction is None else self.method.instruct(instruction)


def _stretched(vectors: Tensor, scale: Tensor) -> Tensor:
    """Return vectors whose directions are multiplied, (..., hidden), as long as they were."""
    found: Tensor = F.normalize(vectors * scale, dim=-1) * vectors.norm(dim=-1, keepdim=True)
    return found


def _whole(text: str, tokenizer: Tokenizer, longest: int) -> list[int]:
    """Return the token ids of a text that must not be cut."""
    uncut = Tokenizer.from_str(tokenizer.to_str())
    uncut.no_truncation()
    ids = _ids(uncut, [text])[0]
    if len(ids) > longest:
        raise InputError(f"an instruction of {len(ids)} tokens; the model has positions for {longest}")
    return ids


def _ids(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    try:
        return [encoding.ids for encoding in tokenizer.encode_batch_fast(texts)]
    except TypeError as error:  # what `tokenizers` raises for a lone surrogate
        text = next(text for text in texts if any("\ud800" <= c <= "\udfff" for c in text))
        raise InputError(f"half a character (a lone surrogate) in {text!r:.80}") from error


def _usable_device(name: str | None) -> torch.device:
    try:
        device = torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"the device {name} cannot be used: {str(error).splitlines()[0]}") from error
    return device
