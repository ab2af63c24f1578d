"""The public API of every model: load it by name, encode texts, and say which vectors are comparable."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, TypeVar, cast

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional as F

from sciprism.arrays import Floats
from sciprism.checksums import write_checksums
from sciprism.encoders.checkpoints.folder import (
    SELFCHECK_TEXTS,
    ModelFolder,
    atomic_folder,
    verify_selfcheck,
    write_folder,
    write_selfcheck,
)
from sciprism.encoders.checkpoints.names import resolve
from sciprism.encoders.model import Model
from sciprism.encoders.settings import AUTO, MIN_COSINE, EncoderSettings, effective_precision, fastest_precision
from sciprism.encoders.streaming import Inputs
from sciprism.encoders.transformer import Transformer
from sciprism.errors import InputError
from sciprism.formats import ROLES, Format
from sciprism.text.template import Template


class ToolMethods(Model):
    """A model as scikit-learn and LangChain know models: its one parameter there is the format of `transform`."""

    transform_format: Format = "proximity"

    def fit(self, items: object = None, labels: object = None) -> Self:  # noqa: ARG002
        """Return the encoder as it is: it transforms without fitting."""
        return self

    def transform(self, items: Inputs) -> Floats:
        """Return one vector per item, (n, dim), as a step of scikit-learn's pipelines.

        >>> from sciprism import Encoder
        >>> Encoder().set_params(format="classification").transform(["How cells divide", "Dark matter"]).shape
        (2, 384)
        """
        return self.encode(items, format=self.transform_format)

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """Return the parameters that a grid search may vary: format, that of `transform`."""
        return {"format": self.transform_format}

    def set_params(self, *, format: Format | None = None) -> Self:
        """Set the format of `transform`, and return the encoder; InputError for a format that the model lacks."""
        if format is not None:
            self.route(format)
            self.transform_format = format
        return self

    def __sklearn_clone__(self) -> Self:
        """Return an encoder of the same weights in memory."""
        return copy(self)

    def __sklearn_tags__(self) -> Any:
        """Describe a transformer of texts that needs no fitting."""
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        tags = {
            "transformer_tags": TransformerTags(["float32"]),
            "input_tags": InputTags(two_d_array=False, string=True),
        }
        return Tags("transformer", TargetTags(required=False), requires_fit=False, **tags)

    def embed_documents(self, texts: Inputs) -> list[list[float]]:
        """Return the vectors of `encode_document` as lists, as LangChain's vector stores want them."""
        return self.encode(texts, format=self.search_format).tolist()  # type: ignore[no-any-return]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of `encode_query` as a list, as LangChain's vector stores want it."""
        return self.encode(text, format=self.search_format, role="query").tolist()  # type: ignore[no-any-return]


Signature = TypeVar("Signature", bound=Callable[..., Any])


def typed_as(model: Signature) -> Callable[[Callable[..., Any]], Signature]:  # noqa: ARG001
    """Declare for type checkers that a function has the signatures of another one."""
    return lambda function: cast(Signature, function)


class Encoder(ToolMethods):
    """A model of any method, loaded by name; its calls have the names of sentence-transformers.

    >>> from sciprism import Encoder
    >>> encoder = Encoder()
    >>> encoder
    Encoder('sciprism-small', method='prism', dim=384, max_seq_length=256, distance='cosine', device='cpu')
    >>> papers = [{"title": "Dark matter", "abstract": "Galaxies turn too fast."}, {"title": "How cells divide"}]
    >>> vectors = encoder.encode(papers)
    >>> encoder.similarity(vectors, vectors).shape
    torch.Size([2, 2])

    **Names.** A folder, a packaged model, a hub id; None is the packaged default. `allenai/specter2` and other
    names of an adapter family give all formats, the name of one adapter, such as `allenai/specter2_regression`,
    its one format; a missing adapter is an error. pooling, max_length: replace the folder's, or state them where
    it does not. precision: float32 (exact), bfloat16 or float16; auto is the fastest that the device has
    instructions for and whose vectors agree with those of float32. device: by default cuda where there is one,
    else cpu. Raises InputError, which says what to do.

    **Items** that it encodes: a text, a `Paper`, a `Label`, a dict with title and abstract; or many of them: a
    list, a tuple, a generator, a column of pandas, Polars or Arrow, an array of numpy, a table with columns title
    and abstract (a frame, or a dict of columns). A generator is read while it is encoded: at most 16,384 texts are
    in memory. A single item gives one vector, (dim,). A missing title or abstract (None, NaN) is left out; a missing
    item is refused, with its number. An item without text, such as "" or a paper without title and abstract, gets
    the vector of an empty text, which says nothing, and a warning counts such items; `sciprism embed` refuses them.

    **Comparison.** Vectors of two encoders are comparable only if fingerprint and space are equal. `similarity`
    uses the model's stated distance; a dot product equals a cosine only for vectors of length 1
    (`normalize_embeddings=True`).
    """

    def __init__(
        self,
        name: str | Path | None = None,
        *,
        pooling: str | None = None,
        max_length: int | None = None,
        precision: str = "float32",
        device: str | None = None,
    ) -> None:
        overrides = {"pooling": pooling, "max_length": max_length}
        folder = self._open(name, overrides, "float32" if precision == AUTO else precision, device)
        self.options = {key: value for key, value in overrides.items() if value is not None}
        if precision == AUTO:
            _use_fastest_precision(self)
        if self.precision != "float32":
            self.options["precision"] = self.precision
        if pooling is None and max_length is None:
            verify_selfcheck(folder, self.encode_all, self.tokenize, effective_precision(self.precision, self.device))

    @classmethod
    def load(
        cls,
        name: str | Path | None = None,
        *,
        pooling: str | None = None,
        max_length: int | None = None,
        precision: str = "float32",
        device: str | None = None,
    ) -> Self:
        """Load a model by name: the same as `Encoder(name)`."""
        return cls(name, pooling=pooling, max_length=max_length, precision=precision, device=device)

    @classmethod
    def from_parts(
        cls,
        model: Transformer,
        tokenizer: Tokenizer,
        settings: EncoderSettings,
        *,
        name: str = "unnamed",
        precision: str = "float32",
        device: str | None = None,
    ) -> Self:
        """Build an encoder of a transformer, a tokenizer and settings that are in memory."""
        encoder = cls.__new__(cls)
        Model.__init__(encoder, model, tokenizer, settings, name=name, precision=precision, device=device)
        return encoder

    @classmethod
    def start(
        cls,
        backbone: str | Path | None = None,
        *,
        method: str | None = None,
        options: Mapping[str, Any] | None = None,
        pooling: str | None = None,
        max_length: int | None = None,
        distance: str | None = None,
        normalize: bool | None = None,
        template: Template | Mapping[str, Any] | None = None,
        seed: int = 0,
        precision: str = "float32",
        device: str | None = None,
    ) -> Self:
        """Build an encoder of a method from a backbone or a `single` model, or continue one of the method.

        None, and options that are not stated, keep the folder's values. template: a whole one, or the fields
        that differ from the folder's. The method's modules start as copies of the backbone's, or random,
        seeded by `seed`. InputError where the method cannot start from the folder's model, or the options do
        not fit it.
        """
        changes: dict[str, Any] = {"method": method, "options": options, "pooling": pooling, "max_length": max_length}
        changes |= {"distance": distance, "normalize": normalize, "template": template}
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            encoder = cls.__new__(cls)
            encoder._open(backbone, changes, precision, device)
        return encoder

    def _open(self, name: str | Path | None, changes: Mapping[str, Any], precision: str, device: str | None) -> Path:
        """Become the model of a name, with changed settings; return its folder."""
        full_name, folder = resolve(str(name) if name is not None else None)
        parts = ModelFolder(folder, changes, full_name)
        built = parts.model, parts.tokenizer, parts.settings
        Model.__init__(self, *built, name=full_name, precision=precision, device=device)
        self.ignored, self.provenance, self.folder = parts.ignored, parts.provenance, folder
        return folder

    @typed_as(Model.encode)
    def encode_query(self, items: Inputs, *, format: Format | None = None, **options: Any) -> Any:
        """Return the vectors of queries, to compare with those of `encode_document`.

        >>> from sciprism import Encoder
        >>> encoder = Encoder()
        >>> papers = encoder.encode_document(["Mitosis in yeast", "The rotation of galaxies"])
        >>> query = encoder.encode_query("how cells divide")
        >>> encoder.similarity(query, papers).argmax().item()
        0

        It is `encode` with the role query and, unless one is stated, the format search (of a model without it,
        proximity). Further options are those of `encode`.
        """
        return self.encode(items, format=format or self.search_format, role="query", **options)

    @typed_as(Model.encode)
    def encode_document(self, items: Inputs, *, format: Format | None = None, **options: Any) -> Any:
        """Return the vectors of papers that queries are compared with.

        >>> from sciprism import Encoder
        >>> papers = [{"title": "Mitosis in yeast"}, {"title": "Galaxies", "abstract": "They rotate."}]
        >>> Encoder().encode_document(papers, normalize_embeddings=True).shape
        (2, 384)

        It is `encode` with the role paper and the format of `encode_query`; for many models, proximity vectors
        of papers are the same. Further options are those of `encode`.
        """
        return self.encode(items, format=format or self.search_format, role="paper", **options)

    @property
    def similarity_fn_name(self) -> str:
        """Return the distance that `similarity` uses: cosine, dot or euclidean."""
        return self.distance

    def similarity(self, embeddings1: Vectors, embeddings2: Vectors) -> Tensor:
        """Return the similarity of each vector with each other one, (n, m), by the model's stated distance.

        >>> from sciprism import Encoder
        >>> encoder = Encoder()
        >>> vectors = encoder.encode(["dark matter in galaxies", "galaxies and dark matter", "yeast cells"])
        >>> scores = encoder.similarity(vectors, vectors)
        >>> bool(scores[0, 1] > scores[0, 2])
        True

        cosine; dot: the dot product; euclidean: the negative distance. Larger is more similar. Vectors need not
        have length 1; one vector, (dim,), counts as one row.
        """
        return compute_similarity(embeddings1, embeddings2, self.distance)

    def similarity_pairwise(self, embeddings1: Vectors, embeddings2: Vectors) -> Tensor:
        """Return the similarity of each vector with the one in the same row, (n,).

        >>> from sciprism import Encoder
        >>> encoder = Encoder()
        >>> vectors = encoder.encode(["dark matter", "yeast cells"])
        >>> encoder.similarity_pairwise(vectors, vectors).shape
        torch.Size([2])
        """
        return compute_pairwise_similarity(embeddings1, embeddings2, self.distance)

    def get_embedding_dimension(self) -> int:
        """Return the width of the vectors; `get_sentence_embedding_dimension` is the same, by its older name."""
        return self.dim

    get_sentence_embedding_dimension = get_embedding_dimension

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
        self._hashed = None

    def __repr__(self) -> str:
        facts = {
            "method": self.settings.method,
            "dim": self.dim,
            "max_seq_length": self.max_seq_length,
            "distance": self.distance,
            "device": str(self.device),
        } | ({"precision": self.precision} if self.precision != "float32" else {})
        return f"Encoder({self.name!r}, {', '.join(f'{key}={value!r}' for key, value in facts.items())})"

    def describe(self) -> dict[str, Any]:
        """Return what is loaded, as JSON values."""
        config, settings = self.model.config, self.settings
        family = "MPNet" if config.relative_buckets else "RoBERTa" if config.first_position else "BERT"
        return {
            "name": self.name,
            "backbone": f"{family}, {config.layers} layers, {config.hidden} wide, {config.heads} heads",
            "parameters": sum(p.numel() for p in self.model.parameters()),
            "method": settings.method,
            "options": dict(settings.options),
            "formats": list(self.formats),
            "spaces": {f: {r: self.space(f, r) for r in ROLES} for f in self.formats},
            "routes": {f: {r: self.route(f, r) for r in ROLES} for f in self.formats},
            "pooling": settings.pooling,
            "normalize": settings.normalize,
            "template": settings.template.to_json(),
            "max_length": settings.max_length,
            "distance": self.distance,
            "dim": self.dim,
            **({"lexical directions": config.lexical} if config.lexical else {}),
            "precision": effective_precision(self.precision, self.device),
            "device": str(self.device),
            "fingerprint": self.fingerprint,
            "ignored_weights": [*self.ignored, *self.provenance.get("ignored", ())],
            "provenance": {k: v for k, v in self.provenance.items() if k != "ignored"},
        }

    def save(self, folder: str | Path, *, compact: bool = False, **provenance: Any) -> None:
        """Write a model folder; a model in training mode stays in it.

        A new folder is written atomically; in an existing one, files are replaced one by one. Loading compares
        all files with `checksums.json`. The folder of a `single` model opens in sentence-transformers and
        transformers too. compact: int8 weights, a quarter of the size, which only sciprism opens; vectors differ
        slightly.
        """
        training = self.model.training
        try:
            with atomic_folder(Path(folder)) as draft, self.at_length():
                self.prepare()
                write_folder(
                    draft,
                    model=self.model,
                    tokenizer=self.tokenizer,
                    settings=self.settings,
                    provenance=provenance,
                    compact=compact,
                )
                written = Encoder.load(draft, device=str(self.device))  # checked as it will be loaded
                write_selfcheck(draft, written.encode_all, written.tokenize)
                write_checksums(draft)
        finally:
            self.model.train(training)


def _use_fastest_precision(encoder: Encoder) -> None:
    """Let an encoder compute in its device's fastest precision, if its vectors agree with those of float32."""
    fastest = fastest_precision(encoder.device)
    if fastest == encoder.precision:
        return
    exact = encoder.encode_all(list(SELFCHECK_TEXTS))
    encoder.precision = fastest
    encoder.prepare()
    try:
        quick = encoder.encode_all(list(SELFCHECK_TEXTS))
        agree = all(smallest_cosine(quick[format], exact[format]) >= MIN_COSINE for format in exact)
    except InputError:  # numbers that are not finite
        agree = False
    if not agree:
        encoder.precision = "float32"
        encoder.prepare()


def smallest_cosine(one: Floats, other: Floats) -> float:
    """Return the smallest cosine of corresponding rows of (n, d) and (n, d); NaN where a row is zero."""
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    with np.errstate(invalid="ignore"):
        return float(((one * other).sum(axis=1) / lengths).min())


Vectors = Floats | Tensor | Sequence[Floats] | Sequence[Tensor]  # (n, dim), (dim,), or a list of n vectors


def compute_similarity(one: Vectors, other: Vectors, distance: str) -> Tensor:
    """Return the similarity of each vector of `one` with each of `other`, (n, m), as sentence-transformers does."""
    a, b = _to_matrices(one, other)
    if distance == "euclidean":
        return -torch.cdist(a, b)
    return F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).T if distance == "cosine" else a @ b.T


def compute_pairwise_similarity(one: Vectors, other: Vectors, distance: str) -> Tensor:
    """Return the similarity of each vector of `one` with that of `other` in the same row, (n,)."""
    a, b = _to_matrices(one, other)
    if distance == "euclidean":
        return -(a - b).norm(dim=-1)  # type: ignore[no-any-return]
    if distance == "cosine":
        a, b = F.normalize(a, dim=-1), F.normalize(b, dim=-1)
    products: Tensor = a * b
    return products.sum(dim=-1)


def _to_matrices(one: Vectors, other: Vectors) -> tuple[Tensor, Tensor]:
    """Return both on one device, an accelerator where one of them is there."""
    a, b = _to_matrix(one), _to_matrix(other)
    device = b.device if a.device.type == "cpu" else a.device
    return a.to(device), b.to(device)


def _to_matrix(vectors: Vectors) -> Tensor:
    if isinstance(vectors, Sequence):
        vectors = torch.stack([torch.as_tensor(vector) for vector in vectors])
    matrix = torch.as_tensor(vectors).float()
    return matrix[None] if matrix.ndim == 1 else matrix
