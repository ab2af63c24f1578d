"""Baselines of any architecture: models that run in their own libraries, behind the encoder API."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sciprism.encoders.checkpoints.names import resolve
from sciprism.encoders.checkpoints.sentence_transformers import DISTANCES, PROMPTS
from sciprism.errors import InputError, MissingExtraError
from sciprism.evaluation.systems import TemplateEncoder
from sciprism.formats import ROLES, Format, Role
from sciprism.hub import first_line
from sciprism.text.template import FIELDS, Item, Template
from sciprism.text.tokenizer import describe_tokenizer

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

POOLINGS = {"cls": "cls", "mean": "mean", "last": "lasttoken", "max": "max"}  # our name of a pooling -> the library's
LIBRARIES = ("sentence-transformers", "transformers")
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
        prompts: Mapping[str, str] | None = None,
        device: str | None = None,
    ) -> None:
        """Load a model by folder or hub id.

        pooling: cls, mean, last or max, instead of the folder's. max_length: tokens per text. prompts: role
        (paper, query, label) -> prefix, instead of the folder's. Raises InputError, and MissingExtraError
        without the libraries.
        """
        _check(library, pooling, prompts)
        self.name, folder = resolve(str(name))
        load = _load_sentence_transformers if library == "sentence-transformers" else _load_transformers
        self.model = load(folder, pooling, device)
        if max_length is not None:
            self.model.max_seq_length = max_length
        sep_token = getattr(self.model.tokenizer, "sep_token", None)
        self.template = Template(
            separator=sep_token or " " if library == "transformers" else " ",
            prompts=_prompts(self.model) if prompts is None else prompts,
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

    def encode(
        self,
        items: Sequence[Item],
        *,
        format: Format = "proximity",
        role: Role = "paper",
        fields: Sequence[str] = FIELDS,
    ) -> NDArray[np.float32]:
        """Return one float32 row per item, (n, dim), in the order given."""
        if not items:
            return np.empty((0, self.dim), np.float32)
        prompt = self.template.prompts.get(role, "")
        texts = [text.removeprefix(prompt) for text in self.texts(items, role, fields)]
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


def _check(library: str, pooling: str | None, prompts: Mapping[str, str] | None) -> None:
    if library not in LIBRARIES:
        raise InputError(f"unknown library {library!r}; known: {', '.join(LIBRARIES)}")
    if pooling is not None and pooling not in POOLINGS:
        raise InputError(f"unknown pooling {pooling!r}; known: {', '.join(POOLINGS)}")
    unknown = sorted(set(prompts or ()) - set(ROLES))
    if unknown:
        raise InputError(f"prompts for unknown roles {', '.join(unknown)}; known: {', '.join(ROLES)}")
    if find_spec("sentence_transformers") is None:
        raise MissingExtraError("peers", "a model of another library")


def _load_sentence_transformers(folder: Path, pooling: str | None, device: str | None) -> SentenceTransformer:
    """Load a folder of sentence-transformers, with another pooling if given."""
    if not (folder / "modules.json").exists():
        raise InputError(
            f"{folder}: no modules.json, so sentence-transformers would guess the pooling; load it as "
            f"transformers:NAME and state the pooling ({', '.join(POOLINGS)})"
        )
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    with _load_errors(folder):
        model: SentenceTransformer = SentenceTransformer(str(folder), device=device, local_files_only=True)
    if pooling is not None:
        positions = [n for n, module in enumerate(model) if isinstance(module, Pooling)]
        if len(positions) != 1:
            raise InputError(f"{folder}: has {len(positions)} pooling modules; leave out pooling {pooling}")
        model[positions[0]] = Pooling(model[positions[0]].embedding_dimension, POOLINGS[pooling])
    return model.eval()


def _load_transformers(folder: Path, pooling: str | None, device: str | None) -> SentenceTransformer:
    """Load a folder of transformers with the given pooling."""
    if pooling is None:
        raise InputError(
            f"{folder}: a plain transformers folder does not state its pooling; pass pooling "
            f"{', '.join(POOLINGS)}, as the model's authors say"
        )
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    with _load_errors(folder):
        backbone = Transformer(str(folder))
    modules: list[Any] = [backbone, Pooling(backbone.get_embedding_dimension(), POOLINGS[pooling])]
    return SentenceTransformer(modules=modules, device=device).eval()


@contextmanager
def _load_errors(folder: Path) -> Iterator[None]:
    """Raise InputError for the errors of libraries that cannot load a folder."""
    try:
        yield
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        raise InputError(f"{folder}: the library cannot load it: {first_line(error)}") from error


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
