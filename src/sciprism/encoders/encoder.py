"""The public API of every model: load it by name, encode texts, and say which vectors are comparable."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias, TypedDict, TypeVar, Unpack, cast, overload

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional as F

from sciprism.arrays import Floats
from sciprism.encoders import settings as precisions
from sciprism.encoders import streaming
from sciprism.encoders.checkpoints import folder as folders
from sciprism.encoders.checkpoints.families.family import families, find_family
from sciprism.encoders.checkpoints.names import resolve
from sciprism.encoders.layers import PackedBatch, WeightsSnapshot, poolings
from sciprism.encoders.methods.registry import Method, build_method
from sciprism.encoders.settings import EncoderSettings, compute_fingerprint
from sciprism.encoders.streaming import EncodingPass, Inputs
from sciprism.encoders.transformer import Transformer
from sciprism.errors import InputError
from sciprism.files import write_checksums
from sciprism.formats import ROLES, Format, Role
from sciprism.parallel import DEVICE
from sciprism.text.template import FIELDS, Template
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


Signature = TypeVar("Signature", bound=Callable[..., Any])


def typed_as(model: Signature) -> Callable[[Callable[..., Any]], Signature]:  # noqa: ARG001
    """Declare for type checkers that a function has the signatures of another one."""
    return lambda function: cast(Signature, function)


class Encoder:
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
    its one format; a missing adapter is an error. pooling, max_length, truncate_dim (how many
    numbers of a vector are kept): replace the folder's, or state them where it does not.
    precision: float32 (exact), bfloat16 or float16; auto is the fastest that the device has
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

    **Training.** Call `model.train()` of its transformer, then `vectors` on packed batches that state the `route` of
    each text; afterwards call `prepare()` before anything else. on_batch: called with the number of texts of each
    batch that is encoded, from several threads. around_batches: gets the function that computes a batch in
    `encode_all`, and returns what is called instead. transform_format: that of `transform`, which a grid search of
    scikit-learn may vary.
    """

    on_batch: streaming.OnBatch | None = None
    around_batches: Callable[[Compute], Compute] | None = None
    transform_format: Format = "proximity"
    _hashed: tuple[WeightsSnapshot, str] | None = None

    def __init__(
        self,
        name: str | Path | None = None,
        *,
        pooling: str | None = None,
        max_length: int | None = None,
        truncate_dim: int | None = None,
        precision: str = "float32",
        device: str | None = None,
    ) -> None:
        overrides = {"pooling": pooling, "max_length": max_length, "truncate_dim": truncate_dim}
        folder = self._open(name, overrides, "float32" if precision == precisions.AUTO else precision, device)
        self.options |= {key: value for key, value in overrides.items() if value is not None}
        if precision == precisions.AUTO:
            self._use_fastest_precision()
        if self.precision != "float32":
            self.options["precision"] = self.precision
        if pooling is None and max_length is None and truncate_dim is None:
            computed = precisions.effective_precision(self.precision, self.device)
            folders.verify_selfcheck(folder, self.encode_all, self.tokenize, computed)

    @classmethod
    def load(
        cls,
        name: str | Path | None = None,
        *,
        pooling: str | None = None,
        max_length: int | None = None,
        truncate_dim: int | None = None,
        precision: str = "float32",
        device: str | None = None,
    ) -> Self:
        """Load a model by name: the same as `Encoder(name)`."""
        changes: dict[str, Any] = {"pooling": pooling, "max_length": max_length, "truncate_dim": truncate_dim}
        return cls(name, **changes, precision=precision, device=device)

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
        encoder._become(model, tokenizer, settings, name, precision, device)
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

    def _become(
        self,
        model: Transformer,
        tokenizer: Tokenizer,
        settings: EncoderSettings,
        name: str,
        precision: str,
        device: str | None,
    ) -> None:
        self.name, self.settings, self.precision, self.tokenizer = name, settings, precision, tokenizer
        self.method = build_method(settings.method, settings.options)
        self.ignored: tuple[str, ...] = ()
        self.provenance: dict[str, Any] = {}
        self.folder: Path | None = None  # the one it was loaded from
        self.options: dict[str, Any] = {}
        self.model = model
        self.truncate_to(settings.max_length)
        for format, role in product(self.formats, ROLES):
            self.route(format, role)  # tokenizes the instructions
        for parameter_name, parameter in model.named_parameters():
            if not self.method.trainable(parameter_name):
                parameter.requires_grad_(False)
        model.eval()
        self.to(device)

    def _open(self, name: str | Path | None, changes: Mapping[str, Any], precision: str, device: str | None) -> Path:
        """Become the model of a name, with changed settings; return its folder."""
        full_name, folder = resolve(str(name) if name is not None else None)
        parts = folders.ModelFolder(folder, changes, full_name)
        self._become(parts.model, parts.tokenizer, parts.settings, full_name, precision, device)
        self.ignored, self.provenance, self.folder = parts.ignored, parts.provenance, folder
        return folder

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
        inputs = streaming.read_inputs(items, fields)
        (vectors,) = self._run_passes(inputs, [step], role, fields, batch_size, show_progress_bar)
        if normalize_embeddings:
            vectors = _normalize(vectors)
        if convert_to_tensor or not convert_to_numpy:
            tensor = torch.from_numpy(vectors).to(self.device)
            return tensor[0] if inputs.single else tensor if convert_to_tensor else list(tensor)
        return vectors[0] if inputs.single else vectors

    @typed_as(encode)
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

    @typed_as(encode)
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
        family = families[find_family(config)].title
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
            "precision": precisions.effective_precision(self.precision, self.device),
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
            with folders.atomic_folder(Path(folder)) as draft, self.at_length():
                self.prepare()
                folders.write_folder(draft, self.model, self.tokenizer, self.settings, provenance, compact=compact)
                written = Encoder.load(draft, device=str(self.device))  # checked as it will be loaded
                folders.write_selfcheck(draft, written.encode_all, written.tokenize)
                write_checksums(draft)
        finally:
            self.model.train(training)

    def _use_fastest_precision(self) -> None:
        """Compute in the device's fastest precision, if the vectors agree with those of float32."""
        fastest = precisions.fastest_precision(self.device)
        if fastest == self.precision:
            return
        exact = self.encode_all(list(folders.SELFCHECK_TEXTS))
        self.precision = fastest
        self.prepare()
        try:
            quick = self.encode_all(list(folders.SELFCHECK_TEXTS))
            pairs = [(torch.from_numpy(rows), torch.from_numpy(quick[format])) for format, rows in exact.items()]
            agree = all(bool((F.cosine_similarity(*each) >= precisions.MIN_COSINE).all()) for each in pairs)
        except InputError:  # numbers that are not finite
            agree = False
        if not agree:
            self.precision = "float32"
            self.prepare()

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
        inputs = streaming.read_inputs(items, fields)
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
        inputs: streaming.EncoderInputs,
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
        texts = streaming.read_windows(inputs.items, self.settings.template, role, fields, self.device)
        windows = streaming.tokenize_windows(self.tokenize, texts, self.device, inputs.count)
        total = None if inputs.count is None else inputs.count * len(passes)
        try:
            with streaming.show_progress(total, show_progress_bar, self.on_batch) as on_batch:
                return streaming.encode_windows(
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
        return min(self.settings.truncate_dim or self.model.config.hidden, self.model.config.hidden)

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
        return [self.settings.template.text(item, role, fields) for item in streaming.read_inputs(items, fields).items]

    def prepare(self) -> None:
        """Compute with packed weights from now on, until the next training; they follow changes of the weights."""
        self._hashed = None
        self.model.prepare(precisions.PRECISIONS[self.precision])

    def to(self, device: str | torch.device | None) -> Self:
        """Move the model to a device, such as "cuda" or "cpu", and return it; InputError where there is none."""
        name = str(device or DEVICE.get() or ("cuda" if torch.cuda.is_available() else "cpu"))
        try:
            self.device = torch.device(name)
            torch.empty(0, device=self.device)
        except (RuntimeError, AssertionError) as error:
            raise InputError(f"the device {name} cannot be used: {str(error).splitlines()[0]}") from error
        precisions.check_precision(self.precision, self.device)
        self.model.to(self.device)
        if not self.model.training:
            self.prepare()
        return self

    def truncate_to(self, length: int) -> None:
        """Truncate texts to `length` tokens from now on, reserved positions included."""
        self.tokenizer.enable_truncation(length - self.method.reserved_positions)

    def set_prompts(self, prompts: Mapping[str, str]) -> None:
        """Begin the texts of these roles with these prompts from now on; InputError for a role that is unknown."""
        if unknown := sorted({*prompts} - {*ROLES}):
            raise InputError(f"prompt of {unknown[0]!r}: unknown role; known: {', '.join(ROLES)}")
        template = replace(self.settings.template, prompts={**self.settings.template.prompts, **prompts})
        self.settings, self._hashed = replace(self.settings, template=template), None

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
        return self.method.facet_vectors(self.model, batch, self._pool)[..., : self.dim]

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
        return (F.normalize(vectors, dim=-1) if self.settings.normalize else vectors)[..., : self.dim]

    def _method_for(self, format: str, role: str, instruction: str | None) -> Method:
        if format not in self.formats:
            raise InputError(f"{self.name} has no format {format!r}; it has {', '.join(self.formats)}")
        if role not in ROLES:
            raise InputError(f"unknown role {role!r}; known: {', '.join(ROLES)}")
        return self.method if instruction is None else self.method.with_instruction(instruction)

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


def _normalize(rows: Floats) -> Floats:
    """Scale vectors to length 1, in place; a vector of zeros stays."""
    rows /= np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-12)
    return rows
