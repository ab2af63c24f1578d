"""Load systems by their names on the command line: encoders, the random baseline, models of other libraries.

Models that run in their own libraries are behind the encoder API. Static models, of model2vec and
sentence-transformers, have a vector per token, whose mean is a text's vector.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from sciprism.arrays import Floats
from sciprism.encoders.checkpoints.backbone import read_weights
from sciprism.encoders.checkpoints.names import resolve
from sciprism.encoders.checkpoints.sentence_transformers import DISTANCES, PROMPTS, read_static_settings
from sciprism.encoders.encoder import Encoder
from sciprism.encoders.ensemble import Ensemble, joins
from sciprism.encoders.protocols import EncoderProtocol
from sciprism.errors import InputError, MissingExtraError, StaticModelError
from sciprism.evaluation.systems import (
    BM25System,
    DenseSystem,
    HybridSystem,
    NestedSystem,
    StatedRanks,
    System,
    TemplateEncoder,
    VectorSystem,
    display_name,
)
from sciprism.evaluation.systems.aspire import AspireSystem
from sciprism.hub import first_line
from sciprism.parallel import Progress, show_nothing
from sciprism.text.template import Template
from sciprism.text.tokenizer import describe_tokenizer, open_tokenizer, read_json

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


POOLINGS = {"cls": "cls", "mean": "mean", "last": "lasttoken", "max": "max"}  # our name of a pooling -> the library's
_VOLATILE_KEYS = ("_name_or_path", "transformers_version", "torch_dtype", "dtype", "_attn_implementation_autoset")


class BridgeEncoder(TemplateEncoder):
    """A model of sentence-transformers or transformers, run by that library; its own code is not executed.

    library: a folder of "sentence-transformers" states its pooling, prompts, length and distance, which are
    used; texts are title, space, abstract. A folder of "transformers" states no pooling, so pass it; texts
    are title, separator token, abstract, and the distance is cosine, as with `Encoder`.
    """

    def __init__(
        self,
        name: str | Path,
        *,
        library: str,
        pooling: str | None = None,
        max_length: int | None = None,
    ) -> None:
        """Load a model by folder or hub id.

        pooling: cls, mean, last or max, instead of the folder's. max_length: tokens per text. Raises InputError,
        and MissingExtraError without the libraries.
        """
        if pooling is not None and pooling not in POOLINGS:
            raise InputError(f"unknown pooling {pooling!r}; known: {', '.join(POOLINGS)}")
        if find_spec("sentence_transformers") is None:
            raise MissingExtraError("peers", "a model of another library")
        self.name, folder = resolve(str(name))
        self.model = _load_model(folder, library, pooling)
        if max_length is not None:
            self.model.max_seq_length = max_length
        sep_token = getattr(self.model.tokenizer, "sep_token", None)
        self.template = Template(
            separator=sep_token or " " if library == "transformers" else " ",
            prompts=_prompts(self.model),
        )
        similarity = str(self.model.similarity_fn_name)
        if similarity not in DISTANCES:
            raise InputError(f"{folder}: similarity {similarity!r} is not supported; known: {', '.join(DISTANCES)}")
        self.distance = DISTANCES[similarity]

    @property
    def dim(self) -> int:
        """Return the width of its vectors."""
        return int(self.model.get_embedding_dimension() or 0)

    @cached_property
    def fingerprint(self) -> str:
        """Return a hash of all that determines its vectors: weights, config, pooling, vocabulary, prompts."""
        digest = hashlib.sha256(json.dumps(self._settings(), sort_keys=True, default=str).encode())
        digest.update(json.dumps(_vocabulary(self.model.tokenizer), default=str).encode())
        for key, tensor in sorted(self.model.state_dict().items()):
            digest.update(f"{key}{tuple(tensor.shape)}".encode())
            digest.update(tensor.float().cpu().contiguous().numpy().data)
        return digest.hexdigest()[:16]

    def describe(self) -> dict[str, Any]:
        """Return what is loaded and active, as JSON values."""
        poolings = [getattr(module, "pooling_mode", None) for module in self.model]
        return {
            "name": self.name,
            "bridge": "sentence-transformers",
            "parameters": sum(p.numel() for p in self.model.parameters()),
            "modules": [type(module).__name__ for module in self.model],
            "pooling": [mode if isinstance(mode, str) else "+".join(mode) for mode in poolings if mode],
            "template": self.template.to_json(),
            "max_length": self.model.max_seq_length,
            "distance": self.distance,
            "dim": self.dim,
            "device": str(self.model.device),
            "fingerprint": self.fingerprint,
        }

    def encode_texts(self, texts: Sequence[str], prompt: str) -> Floats:
        """Return one float32 row per text, (n, dim), in the order given."""
        if not texts:
            return np.empty((0, self.dim), np.float32)
        texts = [text.removeprefix(prompt) for text in texts]
        # The library adds the prompt: some poolings skip its tokens.
        vectors = np.asarray(
            self.model.encode(texts, prompt=prompt, show_progress_bar=False, convert_to_numpy=True), np.float32
        )
        if not np.isfinite(vectors).all():
            raise InputError(f"{self.name} gives vectors that are not finite")
        return vectors

    def _settings(self) -> list[Any]:
        config = getattr(getattr(self.model[0], "auto_model", None), "config", None)
        row = {} if config is None else config.to_dict()
        shape = {key: value for key, value in row.items() if key not in _VOLATILE_KEYS}
        modules: list[Any] = [
            [type(module).__name__, getattr(module, "get_config_dict", dict)()] for module in self.model
        ]
        return [shape, modules[1:], self.template.to_json(), self.model.max_seq_length, self.distance]


def _load_model(folder: Path, library: str, pooling: str | None) -> SentenceTransformer:
    """Load a folder of sentence-transformers, with another pooling if given, or of transformers with the given one."""
    is_plain = library == "transformers"
    if is_plain and pooling is None:
        raise InputError(
            f"{folder}: a plain transformers folder does not state its pooling; pass pooling "
            f"{', '.join(POOLINGS)}, as the model's authors say"
        )
    if not is_plain and not (folder / "modules.json").exists():
        raise InputError(
            f"{folder}: no modules.json, so sentence-transformers would guess the pooling; load it as "
            f"transformers:NAME and state the pooling ({', '.join(POOLINGS)})"
        )
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    try:
        if is_plain:
            backbone = Transformer(str(folder))
            modules: list[Any] = [backbone, Pooling(backbone.get_embedding_dimension(), POOLINGS[str(pooling)])]
            return SentenceTransformer(modules=modules).eval()
        model: SentenceTransformer = SentenceTransformer(str(folder), local_files_only=True)
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        raise InputError(f"{folder}: the library cannot load it: {first_line(error)}") from error
    if pooling is not None:
        positions = [n for n, module in enumerate(model) if isinstance(module, Pooling)]
        if len(positions) != 1:
            raise InputError(f"{folder}: has {len(positions)} pooling modules; leave out pooling {pooling}")
        model[positions[0]] = Pooling(model[positions[0]].embedding_dimension, POOLINGS[pooling])
    return model.eval()


def _prompts(model: SentenceTransformer) -> dict[str, str]:
    """Return the folder's prompt of each role, or the default prompt where a role has none."""
    given = {name: str(prompt) for name, prompt in (model.prompts or {}).items() if prompt}
    default = given.get(model.default_prompt_name or "", "")
    prompts = {role: next((given[n] for n in names if given.get(n)), default) for role, names in PROMPTS.items()}
    return {role: prompt for role, prompt in prompts.items() if prompt}


def _vocabulary(tokenizer: Any) -> Any:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None:
        return describe_tokenizer(backend)
    return sorted(tokenizer.get_vocab().items()) if hasattr(tokenizer, "get_vocab") else type(tokenizer).__name__


DEFAULT_LENGTH = 512  # tokens of a text in model2vec, where the folder states no number


class StaticEncoder(TemplateEncoder):
    """A static model with the vectors of the library that wrote it; an `EncoderProtocol`, for `evaluate`.

    name: a folder or a hub id. model2vec truncates texts to characters, the tokens' median length times the
    maximum length, then to tokens, and leaves out the unknown token. StaticEmbedding of sentence-transformers does
    neither. A text without tokens has the vector zero. InputError for a folder with other tensors.
    """

    _length: int | None = None
    _unknown: int | None = None
    _characters: int | None = None

    def __init__(self, name: str | Path) -> None:
        self.name, folder = resolve(str(name))
        inner, normalize, prompts, self.distance, self._kept = read_static_settings(folder)
        config = read_json(inner / "config.json", missing={})
        self.template = Template(separator=" ", prompts=prompts)
        self.tokenizer = open_tokenizer(inner / "tokenizer.json")
        self.tokenizer.no_padding()
        weights = read_weights(inner)
        table = weights.get("embeddings", weights.get("embedding.weight"))
        if table is None or table.dim() != 2:
            raise InputError(f"{inner}: expected a matrix embeddings or embedding.weight, found {', '.join(weights)}")
        self._table: NDArray[Any] = (table.float() if table.dtype == torch.bfloat16 else table).numpy()
        self._rows, self._factors = (weights[key].numpy() if key in weights else None for key in ("mapping", "weights"))
        tokens = 1 + max(self.tokenizer.get_vocab().values(), default=-1)
        rows = [len(x) for x in (self._rows, self._factors) if x is not None] or [len(self._table)]
        if min(rows) < tokens or (self._rows is not None and self._rows.max() >= len(self._table)):
            raise InputError(f"{inner}: the tokenizer knows {tokens} tokens, the weights {min(rows)}")
        self._is_model2vec, self._normalize = "embeddings" in weights, normalize
        if self._is_model2vec:
            self._normalize = bool(config.get("normalize"))
            self._length = config.get("max_length", DEFAULT_LENGTH)
            model = json.loads(self.tokenizer.to_str())["model"]
            unknown, named = model.get("unk_id"), model.get("unk_token")
            self._unknown = self.tokenizer.token_to_id(named) if unknown is None and named is not None else unknown
            self.tokenizer.no_truncation()
            if self._length is not None:
                self.tokenizer.enable_truncation(self._length)
                self._characters = self._length * int(np.median([*map(len, self.tokenizer.get_vocab())]))

    @property
    def dim(self) -> int:
        """Return the width of the vectors."""
        return int(min(self._kept or self._table.shape[1], self._table.shape[1]))

    @cached_property
    def fingerprint(self) -> str:
        """Return a hash of table, vocabulary and settings."""
        facts: list[Any] = [self._is_model2vec, self._normalize, self._length, self.template.to_json(), self.distance]
        facts += filter(None, [self._kept])
        digest = hashlib.sha256(json.dumps([*facts, describe_tokenizer(self.tokenizer)]).encode())
        for array in (self._table, self._rows, self._factors):
            digest.update(b"none" if array is None else np.ascontiguousarray(array).data)
        return digest.hexdigest()[:16]

    def describe(self) -> dict[str, Any]:
        """Return what is loaded, as JSON values."""
        library = "model2vec" if self._is_model2vec else "StaticEmbedding"
        facts = {"name": self.name, "method": "static", "library": library, "normalize": self._normalize}
        facts |= {"max_length": self._length, "template": self.template.to_json(), "distance": self.distance}
        return facts | {"dim": self.dim, "fingerprint": self.fingerprint}

    def encode_texts(self, texts: Sequence[str], prompt: str) -> Floats:
        """Return one float32 row per text, (n, dim), in the order given."""
        texts = [text[: self._characters] for text in texts]
        dtype = np.dtype(np.float32) if self._table.dtype == np.int8 else self._table.dtype
        vectors = np.zeros((len(texts), self._table.shape[1]), dtype)
        encodings = self.tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        for vector, encoding in zip(vectors, encodings, strict=True):
            ids = [token for token in encoding.ids if token != self._unknown]
            if ids:
                tokens = self._table[ids if self._rows is None else self._rows[ids]]
                vector[:] = (tokens if self._factors is None else tokens * self._factors[ids, None]).mean(axis=0)
        rows = vectors.astype(np.float32)
        if self._normalize:  # rounded again, as model2vec does
            rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        return rows.astype(dtype).astype(np.float32)[:, : self._kept]


class RandomEncoder(TemplateEncoder):
    """Encode each text as a random direction, the same for the same text and seed; an `EncoderProtocol`.

    Directions are uniform on the sphere (normalized Gaussian). Equal texts have equal vectors, as with any
    encoder, so duplicates are found here too.
    """

    template = Template(separator=" ")
    distance = "cosine"
    dim = 384

    def __init__(self, *, seed: int = 0) -> None:
        self.seed = seed
        self.name = f"random-{seed}" if seed else "random"

    @property
    def fingerprint(self) -> str:
        """Return a hash of seed and width."""
        return hashlib.sha256(f"random {self.seed} {self.dim}".encode()).hexdigest()[:16]

    def describe(self) -> dict[str, Any]:
        """Return what determines its vectors."""
        settings = {"method": "random", "seed": self.seed, "dim": self.dim, "distance": self.distance}
        return {"name": self.name, **settings, "fingerprint": self.fingerprint}

    def encode_texts(self, texts: Sequence[str], prompt: str) -> Floats:
        """Return one vector of length 1 per text, (n, dim), in the order given."""
        rows = np.empty((len(texts), self.dim), np.float32)
        for row, text in zip(rows, texts, strict=True):
            content = f"{self.seed} {text}".encode("utf-8", "surrogatepass")
            number = int.from_bytes(hashlib.blake2b(content, digest_size=16).digest(), "little")
            # RandomState: NumPy guarantees that its samples stay the same in later releases.
            vector = np.random.RandomState(np.random.PCG64(number)).standard_normal(self.dim)
            row[:] = vector / np.linalg.norm(vector)
        return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemOptions:
    """How models are loaded; None: as the model's folder states.

    dimensions: widths at which each model of vectors is scored too, by its first numbers.
    """

    pooling: str | None = None
    max_length: int | None = None
    precision: str = "float32"
    seed: int = 0
    device: str | None = None
    dimensions: tuple[int, ...] = ()


SystemName = str | Path | System | EncoderProtocol  # a name as `load_system` reads it, a system, or an encoder


def load_systems(
    systems: SystemName | Sequence[SystemName],
    options: SystemOptions,
    cache: Path,
    progress: Progress = show_nothing,
) -> list[tuple[System, dict[str, Any]]]:
    """Return one or several systems, each model once, with what results record of them.

    An encoder becomes a system; "mine=runs/one" is the model of a folder, named mine in tables. cache: of vectors.
    """
    named = [systems] if isinstance(systems, str) or not isinstance(systems, Sequence) else systems
    loaded = (load_system(str(name), options, cache) if isinstance(name, str | Path) else name for name in named)
    opened = (model if isinstance(model, System) else DenseSystem(model, cache) for model in loaded)
    once = {system.fingerprint: system for system in opened}
    dense = [system for system in once.values() if type(system) is DenseSystem]
    nested = [NestedSystem(system, width, cache) for system in dense for width in options.dimensions]
    once |= {system.fingerprint: system for system in nested}
    for system in once.values():
        encoding = system.meaning if isinstance(system, HybridSystem) else system
        if isinstance(encoding, DenseSystem):
            encoding.watch(progress)
    described = []
    for fingerprint, system in once.items():
        facts = {"name": system.name, "fingerprint": fingerprint}
        if isinstance(system, VectorSystem):
            facts["distance"] = system.distance
        described.append((system, dict(system.describe()) | facts))
    return described


def load_system(name: str, options: SystemOptions, cache: Path | None = None) -> System:
    """Return the system of a name: bm25, random, kanakia, a model, a model in another library, or an ensemble.

    `sentence-transformers:NAME` and `transformers:NAME` use that library, for architectures that sciprism
    lacks; `aspire:NAME` compares sentence vectors by the best match, `aspire-ot:NAME` by optimal transport;
    `hybrid:NAME` ranks by vectors and BM25 together; `mean:NAME+NAME` and `concat:NAME+NAME` are ensembles of two
    or more encoders; `TITLE=NAME` has a title for tables. cache: folder of vectors.
    """
    title, equals, rest = name.partition("=")
    if title and equals and not Path(name).exists():
        system = load_system(rest, options, cache)
        system.name = title
        return system
    if name in (BM25System.name, StatedRanks.name):
        return BM25System() if name == BM25System.name else StatedRanks()
    kind, _, rest = name.partition(":")
    if rest and kind in ("aspire", "aspire-ot"):
        return AspireSystem(_load_own(rest, options), match="ot" if kind == "aspire-ot" else "ts")
    if rest and kind == "hybrid":
        return HybridSystem(DenseSystem(load_encoder(rest, options), cache))
    encoder: EncoderProtocol
    if rest and kind in joins:
        members = [load_encoder(member.strip(), options) for member in rest.split("+")]
        encoder = Ensemble(members, join=kind, name=f"{kind}:{'+'.join(map(display_name, members))}")
    else:
        encoder = load_encoder(name, options)
    return DenseSystem(encoder, cache)


def load_encoder(name: str, options: SystemOptions) -> RandomEncoder | BridgeEncoder | StaticEncoder | Encoder:
    """Load one encoder, of sciprism or of the library whose name is in front."""
    kind, _, rest = name.partition(":")
    if name == "random":
        return RandomEncoder(seed=options.seed)
    if rest and kind in ("sentence-transformers", "transformers"):
        return BridgeEncoder(rest, library=kind, pooling=options.pooling, max_length=options.max_length)
    try:
        return _load_own(name, options)
    except StaticModelError:
        if options.pooling or options.max_length:
            raise InputError(f"{name} is a static model: it has no other pooling or length than its folder's") from None
        return StaticEncoder(name)


def _load_own(name: str, options: SystemOptions) -> Encoder:
    return Encoder.load(
        name, pooling=options.pooling, max_length=options.max_length, precision=options.precision, device=options.device
    )
