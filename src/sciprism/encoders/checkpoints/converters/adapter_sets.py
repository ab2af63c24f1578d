"""Find the folders of adapters that a model is built from, one for each route, and their base.

A folder holds one adapter; or `adapters/` with one folder per adapter, as SciRepEval's training and SPECTER2's archive
have it; or also fusions, `[CLF]_fusion/` and so on. The base is the folder itself, a folder `base/` next to it, or the
model that the adapters name.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from sciprism.encoders.checkpoints.converters import adapterhub, lora
from sciprism.encoders.checkpoints.folder import convert_once, describe_files
from sciprism.encoders.checkpoints.released_models import (
    ADAPTER_CONFIG,
    CODES,
    RELEASED_MODELS,
    RENAMED,
    AdapterSet,
    LocateModel,
    ModelFiles,
    format_in_name,
)
from sciprism.errors import InputError
from sciprism.formats import FORMATS, Format
from sciprism.text.tokenizer import read_json


@dataclass(frozen=True, slots=True)
class Description:
    """What a folder states of its adapter or fusion. name, base: "" for none."""

    library: str
    name: str
    base: str


WRITE = {"adapters": adapterhub.write, "peft": lora.write}
"""Library -> what builds a model of its adapters."""


def convert(files: ModelFiles, locate: LocateModel) -> Path | None:
    """Return the folder of the converted model; None for files without adapters."""
    source: AdapterSet | None
    if files.adapters:
        member = RELEASED_MODELS[files.name]
        base = member.family.base, files.path
        source = AdapterSet(files.name, files.name, base, member.formats, files.adapters)
    else:
        source = _find_set(files, locate)
    if source is None:
        return None
    modules = [*source.adapters.values(), *source.fusions.values()]
    routes = (source.formats, tuple(source.adapters), tuple(source.fusions))
    facts = (source.base[0], describe_files(source.base[1], *(path for _, path in modules)), routes)
    return convert_once(source.title, facts, lambda draft: WRITE[source.library](draft, source))


def _find_set(files: ModelFiles, locate: LocateModel) -> AdapterSet | None:
    """Return the base, adapters and fusions of a folder; None without adapters."""
    folder = files.path
    if (folder / ADAPTER_CONFIG).exists():
        adapters = {_route_of(folder, ADAPTER_CONFIG, files.title): (files.title, folder)}
    else:
        adapters = _find_modules(folder / "adapters", ADAPTER_CONFIG)
    described = [_describe(path, ADAPTER_CONFIG) for _, path in adapters.values()]
    if len(libraries := {description.library for description in described}) > 1:
        raise InputError(f"{folder}: its adapters are of the libraries {' and '.join(sorted(libraries))}; keep one's")
    fusions = _find_modules(folder, adapterhub.FUSION.config)
    _check_complete(folder, adapters, fusions)
    if not adapters:
        return None
    if fusions:
        adapters = {route: adapters[route] for route in fusions}
    formats = tuple(format for format in FORMATS if format in adapters)
    base = _find_base(folder, described, locate)
    return AdapterSet(files.title, str(folder), base, formats, adapters, fusions, libraries.pop())


def _find_modules(folder: Path, config: str) -> dict[Format, tuple[str, Path]]:
    """Return the folders inside a folder that have this file of settings, by route."""
    if not folder.is_dir():
        return {}
    modules: dict[Format, tuple[str, Path]] = {}
    for path in sorted(path for path in folder.iterdir() if (path / config).exists()):
        route = _route_of(path, config, path.resolve().name)
        if route in modules:
            raise InputError(f"{path}: {modules[route][0]} serves {route} too; remove one of them")
        modules[route] = path.name, path
    return modules


def _route_of(path: Path, config: str, name: str) -> Format:
    """Return the route that a folder serves, from its name or its (first) module's name."""
    module = _describe(path, config).name.partition(",")[0]
    routes = {format_in_name(name.removesuffix("_fusion")), format_in_name(module)} - {None}
    if len(routes) == 1:
        return cast(Format, routes.pop())
    labels = ", ".join(f"{code} or {route}" for route, code in CODES.items())
    called = f"{name}, its module {module}; name both" if module else f"{name}; name it"
    raise InputError(f"{path}: the folder is called {called} by what it serves: {labels}")


def _check_complete(folder: Path, adapters: Collection[Format], fusions: Collection[Format]) -> None:
    """Refuse fusions without their adapters, and a query adapter without one for papers."""
    if lacking := [CODES[route] for route in fusions if route not in adapters]:
        raise InputError(
            f"{folder}: has fusions, but lacks adapters that they fuse; add: "
            + ", ".join(f"adapters/{code}" for code in lacking)
        )
    routes = fusions or adapters
    if "search" in routes and "proximity" not in routes:
        raise InputError(
            f"{folder}: has the adapter of search, for queries, but not that of proximity, for papers; "
            f"put both into one folder: adapters/{CODES['search']}, adapters/{CODES['proximity']}"
        )


def _find_base(folder: Path, adapters: Sequence[Description], locate: LocateModel) -> tuple[str, Path]:
    """Return the name and folder of the model that the adapters were trained on."""
    for base in (folder, folder / "base", folder.parent / "base", folder.parent.parent / "base"):
        if (base / "config.json").exists():
            return base.resolve().name, base
    names = {adapter.base for adapter in adapters}
    if names == {""} or len(names) > 1:
        naming = f"name {', '.join(sorted(names))}" if len(names) > 1 else "name none"
        raise InputError(f"{folder}: which base model? its adapters {naming}; put it into {folder / 'base'}")
    name = names.pop()
    try:
        return locate(RENAMED.get(name, name))
    except InputError as error:
        raise InputError(f"{folder}: no base model; put it into {folder / 'base'}: {error}") from error


def _describe(folder: Path, config: str) -> Description:
    """Return what the file of settings states; one of another library is an InputError."""
    row = read_json(folder / config)
    if "peft_type" in row:
        return Description("peft", "", str(row.get("base_model_name_or_path") or ""))
    if isinstance(row.get("config"), dict) and isinstance(row.get("name"), str):
        return Description("adapters", row["name"], str(row.get("model_name") or ""))
    raise InputError(f"{folder / config}: of another library; only files of the libraries adapters and peft are read")
