"""A transformer with its tokenizer and settings: the part of an encoder that inference and training share."""

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

from sciprism.encoders.fingerprint import compute_fingerprint
from sciprism.encoders.instructions import InstructionContext
from sciprism.encoders.methods.prism import FormatRequest, FormatTokens, Prism
from sciprism.encoders.methods.registry import Method, build_method
from sciprism.encoders.packing import PackedBatch
from sciprism.encoders.pooling import facet_states, poolings
from sciprism.encoders.settings import EncoderSettings
from sciprism.encoders.transformer import Transformer
from sciprism.errors import InputError
from sciprism.formats import ROLES, Format, Role
from sciprism.text.template import FIELDS, PAPER_FIELDS, Item

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


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
        if precision not in PRECISIONS:
            raise InputError(f"unknown precision {precision!r}; known: {', '.join(PRECISIONS)}")
        self.name = name
        self.settings = settings
        self.precision = precision
        self.device = _open_device(device)
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
        context = self.model.context
        if isinstance(context, InstructionContext) and route not in context.tokens:
            untruncated = Tokenizer.from_str(self.tokenizer.to_str())
            untruncated.no_truncation()
            ids = _token_ids(untruncated, [self.settings.template.text(route, "instruction")])[0]
            most = self.model.config.max_length
            if len(ids) > most:
                raise InputError(f"an instruction of {len(ids)} tokens; the model has positions for {most}")
            context.tokens[route] = ids
        return route

    def texts(self, items: Sequence[Item], role: Role = "paper", fields: Sequence[str] = FIELDS) -> list[str]:
        """Return the texts that are tokenized for these items."""
        if isinstance(items, str) or not isinstance(items, Sequence):
            raise InputError(f"expected a list of papers, labels or texts, got one {type(items).__name__}")
        if isinstance(fields, str) or not set(fields) <= set(PAPER_FIELDS):
            raise InputError(f"unknown fields {fields!r}; a paper has {', '.join(PAPER_FIELDS)}")
        return [self.settings.template.text(item, role, fields) for item in items]

    def prepare(self) -> None:
        """Pack the present weights for inference; call it again after they change."""
        self.__dict__.pop("fingerprint", None)
        self.model.prepare(PRECISIONS[self.precision])

    def truncate_to(self, length: int) -> None:
        """Truncate texts to `length` tokens from now on, reserved positions included."""
        self.tokenizer.enable_truncation(length - self.method.reserved_positions)

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text, special ones included, truncated to the maximum length.

        Padding ids after the first token stand at the positions reserved for the method.
        """
        reserved = [self.model.config.padding_id] * self.method.reserved_positions
        found = _token_ids(self.tokenizer, texts)
        return [[*ids[:1], *reserved, *ids[1:]] for ids in found] if reserved else found

    def vectors(self, batch: PackedBatch) -> Tensor:
        """Return one vector per text of a packed batch, (B, dim); gradients flow where they are on."""
        if isinstance(prism := self.model.beside, Prism):
            vectors = self._format_token_vectors(prism, batch).mean(dim=1)
            return self._finish(vectors, batch, prism.scales_of_texts(batch))
        return self._finish(self._pool(self.model(batch), batch), batch)

    def vectors_by_route(self, batch: PackedBatch, routes: Sequence[str], *, text: bool = False) -> Tensor:
        """Return one vector per text and route, (B, R, dim), from one pass of the text; for prism only.

        text: append the text's own vector, (B, R + 1, dim); required without routes.
        """
        prism = self.model.beside
        assert isinstance(prism, Prism), f"{self.method} needs one pass per format"
        if not routes:
            return self._finish(self._pool(self.model(batch), batch)[:, None], batch)
        requests = [(tuple(routes), slice(0, len(batch.lengths)))]
        tokens, pooled = self._run_prism(prism, batch, requests, text=text)
        vectors = tokens[0].mean(dim=2).transpose(0, 1)
        if text and pooled is not None:
            vectors = torch.cat([vectors, pooled[:, None]], dim=1)
        return self._finish(vectors, batch, prism.scales_of_routes(routes, text=text))

    def _format_token_vectors(self, prism: Prism, batch: PackedBatch) -> Tensor:
        """Return the vectors of the K tokens on each text's route, (B, K, dim)."""
        tokens, _ = self._run_prism(prism, batch, prism.requests(batch))
        return torch.cat([each[0] for each in tokens])

    def _run_prism(
        self, prism: Prism, batch: PackedBatch, requests: Sequence[FormatRequest], *, text: bool = False
    ) -> tuple[list[Tensor], Tensor | None]:
        """Return the vectors of the format tokens, (R, b, K, dim) per request, and of the texts, (B, dim).

        text: whether the texts' vectors are needed; otherwise the text's last layer is computed only where
        the tokens' vectors depend on it.
        """
        tokens, pooled = FormatTokens(prism, self.model, batch, requests), None
        with torch.set_grad_enabled(torch.is_grad_enabled() and not prism.frozen):
            if text or prism.plus:
                pooled = self._pool(self.model(batch, hook=tokens), batch)
            else:
                self.model.run_hook(batch, tokens)
        return tokens.vectors(pooled if prism.plus else None), pooled

    def _pool(self, states: Tensor, batch: PackedBatch) -> Tensor:
        return poolings[self.settings.pooling](states, batch, self.method.reserved_positions)

    def _finish(self, vectors: Tensor, batch: PackedBatch, scale: Tensor | None = None) -> Tensor:
        """Add lexical features to vectors of texts, (B, dim) or (B, R, dim), scale and normalise them."""
        if (lexical := self.model.lexical) is not None:
            vectors = lexical(vectors, self.model.embeddings.word.weight, batch)
        if scale is not None:
            scaled = F.normalize(vectors * scale.to(vectors), dim=-1)
            vectors = scaled * vectors.norm(dim=-1, keepdim=True)  # lengths stay
        return F.normalize(vectors, dim=-1) if self.settings.normalize else vectors

    def facets(self, batch: PackedBatch) -> Tensor:
        """Return the facets whose sum is the vector of each text, (B, K, dim), before scaling.

        Raises InputError for a model without facets.
        """
        if not self.method.facets or self.model.lexical is not None:
            why = "has lexical features" if self.method.facets else f"pools by {self.settings.pooling}"
            raise InputError(f"{self.name} has no facets: it {why}")
        if isinstance(prism := self.model.beside, Prism):
            return self._format_token_vectors(prism, batch) / prism.facets
        return facet_states(self.model(batch), batch, self.method.reserved_positions)

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
