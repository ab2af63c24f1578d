"""Vectors of a few short texts without torch, whose import takes longer than they do: for `sciprism search`.

In numpy, with the weights of the folder, for models like sciprism-small (`KIND`), with or without lexical features and
scales. Vectors differ from those of `Encoder` in the seventh digit. Every other model is left to `Encoder`.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file

from sciprism.arrays import Floats, Rows
from sciprism.errors import InputError
from sciprism.formats import FORMATS, SPACES, Format, Role
from sciprism.text.template import Template
from sciprism.text.tokenizer import describe_tokenizer, read_json, read_tokenizer, tokenize_texts

KIND = {"method": "prism", "facets": 1, "weights": "whole", "split": True, "plus": True, "pooling": "mean"}
KIND |= {"model_type": "bert", "hidden_act": "gelu"}
SHAPE = {"vocab_size": "vocabulary", "hidden_size": "hidden", "num_hidden_layers": "layers"}
SHAPE |= {"num_attention_heads": "heads", "intermediate_size": "intermediate", "max_position_embeddings": "positions"}
SHAPE |= {"type_vocab_size": "types", "layer_norm_eps": "norm_eps", "hidden_act": "activation"}
SHAPE |= {"pad_token_id": "padding_id", "sciprism_lexical": "lexical"}
"""Key of config.json -> what fingerprints call it."""
MODELS = Path(__file__).parent.parent / "models"
FEW = 64  # texts that numpy encodes sooner than torch is imported
ROWS = 64  # of tokens in an activation at a time: they fit in the processor's cache
HASHED = 1 << 18  # numbers that are hashed at a time
MIN_LENGTH, TINY = 1.0, 1e-12  # of lexical parts, and of other vectors, that are scaled to length 1
ERF = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)  # Abramowitz and Stegun, 7.1.26
TOLERANCE = 1e-4  # of the vector's largest entry


def open_query_encoder(name: str, fingerprint: str) -> QueryEncoder | None:
    """Return the encoder of a folder or of a packaged model; None where it is another, or needs `Encoder`."""
    try:
        folder = path if (path := Path(name).expanduser()).exists() else MODELS / name
        settings, config = read_json(folder / "sciprism.json")["settings"], read_json(folder / "config.json")
        stated = {**settings["options"], **settings, **config}
        if not stated.items() >= KIND.items():
            return None
        encoder = QueryEncoder(name, folder, settings, config)
        known = encoder.fingerprint == fingerprint and encoder.passes_selfcheck()
    except (InputError, LookupError, OSError, RuntimeError, SafetensorError, TypeError, ValueError):
        return None  # `Encoder` says what is wrong
    return encoder if known else None


class QueryEncoder:
    """What a search asks of an encoder: formats, spaces, fingerprint, and vectors of texts."""

    def __init__(self, name: str, folder: Path, settings: Mapping[str, Any], config: Mapping[str, Any]) -> None:
        self.name, self.folder, self._settings, self._config = name, folder, settings, config
        self.formats: tuple[Format, ...] = tuple(settings["options"]["formats"])
        self.tokenizer, _ = read_tokenizer(folder)
        self.tokenizer.enable_truncation(settings["max_length"])
        self._template = Template(**settings["template"])
        compact = folder / "model.int8.safetensors"
        self._tensors = load_file(compact if compact.exists() else folder / "model.safetensors")
        self._float32: dict[str, Floats] = {}
        routes = {*self.formats, *(SPACES[format] for format in self.formats)}
        self._routes = [format for format in FORMATS if format in routes]

    @cached_property
    def fingerprint(self) -> str:
        """Return the same hash of weights, architecture, vocabulary and settings as `Encoder`."""
        shape = {ours: self._config.get(key, 0) for key, ours in SHAPE.items()}
        shape |= {"dropout": 0.0, "attention_dropout": 0.0, "first_position": 0}
        if not shape["lexical"]:
            del shape["lexical"]
        digest = hashlib.sha256(json.dumps([self._settings, shape], sort_keys=True).encode())
        digest.update(json.dumps(describe_tokenizer(self.tokenizer)).encode())
        for name, tensor in sorted(self._tensors.items()):
            if name.removesuffix(".scale") in self._tensors and name.endswith(".scale"):
                continue
            digest.update(f"{name}{tensor.shape}".encode())
            step = max(1, HASHED // max(1, tensor[:1].size))
            for start in range(0, len(tensor), step):
                digest.update(self._rows(name, slice(start, start + step)).data)
        return digest.hexdigest()[:16]

    def passes_selfcheck(self) -> bool:
        """Return whether the vector of a text is that in the folder's `selfcheck.json`."""
        stored = read_json(self.folder / "selfcheck.json", missing={})
        format = self.formats[0]
        if format not in stored.get("vectors", {}):
            return False
        found, expected = self.encode([stored["text"]], format=format, role="paper"), stored["vectors"][format]
        return bool(np.abs(found - expected).max() <= TOLERANCE * np.abs(expected).max())

    def space(self, format: Format, role: Role) -> str:  # noqa: ARG002 - the signature of `Encoder`
        """Name the space of such vectors."""
        return SPACES[format]

    def encode(self, texts: Sequence[str], *, format: Format, role: Role) -> Floats:
        """Return one vector per text, (n, dim); of many texts by `Encoder`, which is worth its import then."""
        if len(texts) > FEW:
            from sciprism.encoders.encoder import Encoder

            return Encoder.load(self.name, device="cpu").encode(texts, format=format, role=role)
        route = format if role == "query" else SPACES[format]
        vectors = np.empty((len(texts), self._config["hidden_size"]), np.float32)
        written = [self._template.text(text, role) for text in texts]
        for row, ids in enumerate(tokenize_texts(self.tokenizer, written)):
            vectors[row] = self._forward(np.array(ids), route)
        return vectors

    def _forward(self, ids: Rows, route: Format) -> Floats:
        """Return the vector of a text's token ids on a route: of the pooled text, changed by the state of its token."""
        words, tables = self._rows("embeddings.word.weight", ids), "embeddings."
        x = words + self._get(f"{tables}position.weight")[: len(ids)] + self._get(f"{tables}segment.weight")[0]
        x, token = self._norm(f"{tables}norm", x), words[:0]
        layers = self._config["num_hidden_layers"]
        first = layers - (self._settings["options"]["depth"] or layers)
        for layer in range(layers):
            block, own = f"blocks.{layer}.", f"beside.layers.{layer}.{route}."
            query, *seen = self._project(block, x)
            if layer == first:
                token = x[:1] + self._get("beside.rows.weight")[self._routes.index(route)]
            if layer >= first:  # the text does not attend to the token
                _, *mine = self._project(block, token)
                both = (np.concatenate(parts) for parts in zip(seen, mine, strict=True))
                mixed = self._attend(self._linear(f"{own}query", token), *both)
                token = self._change(own, f"{own}output", token, mixed)
            x = self._change(block, f"{block}attention.output", x, self._attend(query, *seen))
        pooled = x.mean(axis=0, keepdims=True) + self._linear(f"beside.maps.{route}", token)
        return self._finish(pooled, words, ids, route)

    def _project(self, block: str, x: Floats) -> list[Floats]:
        return [self._linear(f"{block}attention.{part}", x) for part in ("query", "key", "value")]

    def _attend(self, query: Floats, key: Floats, value: Floats) -> Floats:
        """Return the attention of one text's queries, (Q, width), to its keys and values, (L, width)."""
        heads = self._config["num_attention_heads"]
        q, k, v = (t.reshape(len(t), heads, -1).swapaxes(0, 1) for t in (query, key, value))
        scores = q @ k.swapaxes(1, 2) / np.float32(math.sqrt(q.shape[2]))
        scores = np.exp(scores - scores.max(axis=2, keepdims=True))
        mixed: Floats = (scores / scores.sum(axis=2, keepdims=True)) @ v
        return mixed.swapaxes(0, 1).reshape(query.shape)

    def _change(self, block: str, output: str, x: Floats, mixed: Floats) -> Floats:
        """Return a layer's states after the attention: its map, the feed-forward, each with residual and norm."""
        y = self._norm(f"{block}attention_norm", x + self._linear(output, mixed))
        wide = self._linear(f"{block}feed_forward.expand", y)
        for start in range(0, len(wide), ROWS):
            _gelu(wide[start : start + ROWS])
        return self._norm(f"{block}feed_forward_norm", y + self._linear(f"{block}feed_forward.contract", wide))

    def _finish(self, vectors: Floats, words: Floats, ids: Rows, route: str) -> Floats:
        """Add lexical features, then scale and normalize a text's vector, (1, dim), as the model does."""
        if "lexical.words.weight" in self._tensors:
            weighted = (words - self._get("lexical.centre")) * self._get("lexical.weight")[ids, None]
            bag = weighted.sum(axis=0, keepdims=True) @ self._get("lexical.words.weight").T
            dense = _unit(vectors @ self._get("lexical.dense.weight").T)
            vectors = np.concatenate([dense, self._get("lexical.share") * _unit(bag, MIN_LENGTH)], axis=1)
        if (scales := f"beside.scales.{route}") in self._tensors:
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
            vectors = _unit(vectors * self._get(scales)) * lengths
        return _unit(vectors) if self._settings["normalize"] else vectors

    def _linear(self, name: str, x: Floats) -> Floats:
        product: Floats = x @ self._get(f"{name}.weight").T
        product += self._get(f"{name}.bias")
        return product

    def _norm(self, name: str, x: Floats) -> Floats:
        x = x - x.mean(axis=1, keepdims=True)
        x /= np.sqrt(np.mean(x * x, axis=1, keepdims=True) + np.float32(self._config["layer_norm_eps"]))
        x *= self._get(f"{name}.weight")
        x += self._get(f"{name}.bias")
        return x

    def _get(self, name: str) -> Floats:
        if name not in self._float32:
            self._float32[name] = self._rows(name, slice(None))
        return self._float32[name]

    def _rows(self, name: str, rows: slice | Rows) -> Floats:
        """Return rows of a weight in float32; int8 rows are multiplied by their scale."""
        values = self._tensors[name][rows].astype(np.float32)
        if (scale := self._tensors.get(f"{name}.scale")) is not None:
            values *= scale[rows, None]
        return values


def _unit(vectors: Floats, least: float = TINY) -> Floats:
    unit: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.float32(least))
    return unit


def _gelu(x: Floats) -> None:
    """Multiply x in place by the normal distribution's share below it; erf by `ERF`, off by at most 1.5e-7."""
    size = np.abs(x)
    size *= np.float32(math.sqrt(0.5))
    t = np.float32(1) / (np.float32(1) + np.float32(0.3275911) * size)
    beyond = np.full_like(t, ERF[-1])
    for coefficient in reversed(ERF[:-1]):
        beyond *= t
        beyond += np.float32(coefficient)
    size *= -size
    beyond *= np.exp(size, out=size)
    beyond *= t
    beyond *= np.float32(0.5)  # the share beyond |x|
    x *= np.where(x > 0, np.float32(1) - beyond, beyond)
