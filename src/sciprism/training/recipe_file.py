"""Read a recipe from TOML, and the recipe that a run has used."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sciprism.deprecation import warn_renamed
from sciprism.errors import InputError
from sciprism.training.recipe import Recipe, SourceSpec, Stage
from sciprism.training.recipe_keys import EXCLUSIVE, known_keys, set_value, use_current_keys


def read_recipe(path: Path, changes: Sequence[str] = (), *, sources: Path | None = None) -> Recipe:
    """Return the recipe of a TOML file with `key=value` changes.

    sources: the folder of the files that the recipe names, and of models in it (backbone, copy_from,
    teacher); default: the recipe's folder. The table `defaults` holds what stages share. A key is a path,
    `seed` or `stages.0.optimizer.lr`, in which stages and sources may have their names. A value is TOML, or
    else text. Keys of version 0.1 are read with one RenamedWarning each. Raises InputError with a line for
    each error.
    """
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path}: {error}") from error
    warn = cache(warn_renamed)  # once per key
    raw = use_current_keys(raw, what=f"{path}: ", warn=warn)
    of_defaults = [change for change in changes if change.startswith("defaults.")]
    for change in of_defaults:
        set_value(raw, change, warn)
    defaults = raw.pop("defaults", {})
    if isinstance(raw.get("stages"), list):
        raw["stages"] = [_merge(defaults, stage) for stage in raw["stages"]]
    for change in changes:
        if change not in of_defaults:
            set_value(raw, change, warn)
    try:
        recipe = Recipe.model_validate(raw)
    except ValidationError as error:
        raise InputError(_format_errors(path, error)) from error
    return _resolve_paths(recipe, path.parent if sources is None else sources)


def current_recipe(raw: dict[str, Any]) -> dict[str, Any]:
    """Return the recipe of a run's folder with today's keys, and the defaults of keys that are new."""
    raw = use_current_keys(raw)
    try:
        return Recipe.model_validate(raw).model_dump(mode="json")
    except ValidationError:  # written by a version with other keys
        return raw


def _merge(defaults: Any, table: Any) -> Any:
    """Return a stage, or a table in it, with the defaults of what it does not state."""
    if not isinstance(defaults, dict) or not isinstance(table, dict):
        return table
    if "name" in defaults and table.get("name", defaults["name"]) != defaults["name"]:
        return table  # another objective or schedule has other settings
    replaced = {EXCLUSIVE[key] for key in table if key in EXCLUSIVE}
    inherited = {key: value for key, value in defaults.items() if key not in replaced}
    return inherited | {key: _merge(inherited.get(key), value) for key, value in table.items()}


def _format_errors(path: Path, error: ValidationError) -> str:
    """Return one line for each error: where it is, what is wrong, what was found."""
    lines = []
    places = [each["loc"] for each in error.errors()]
    for each in error.errors():
        place = each["loc"]
        if any(other[: len(place)] == place and other != place for other in places):
            continue  # the cause is an error inside this table
        where = ".".join(map(str, place)) or "recipe"
        found = "" if isinstance(each["input"], dict) else f", got {each['input']!r:.60}"
        known = f"; {known_keys(place)}" if each["type"] == "extra_forbidden" else ""
        lines.append(f"{path}: {where}: {each['msg'].removeprefix('Value error, ')}{found}{known}")
    return "\n".join(lines)


def _resolve_paths(recipe: Recipe, folder: Path) -> Recipe:
    """Return the recipe with the paths of its sources, and of models among them, below a folder."""

    def model_path(name: str | None) -> str | None:
        return str(folder / name) if name and (folder / name / "config.json").is_file() else name

    def with_teacher(objective: Mapping[str, Any]) -> dict[str, Any]:
        return {key: model_path(value) if key == "teacher" else value for key, value in objective.items()}

    def resolve_source(source: SourceSpec) -> SourceSpec:
        dev = None if source.dev is None else folder / source.dev
        objective = None if source.objective is None else with_teacher(source.objective)
        return source.model_copy(update={"file": folder / source.file, "dev": dev, "objective": objective})

    def resolve_stage(stage: Stage) -> Stage:
        new = stage.architecture
        copied = new and new.model_copy(update={"copy_from": model_path(new.copy_from)})
        sources = tuple(map(resolve_source, stage.sources))
        objective = with_teacher(stage.objective)
        return stage.model_copy(update={"architecture": copied, "sources": sources, "objective": objective})

    tokenizer = recipe.model.tokenizer and folder / recipe.model.tokenizer
    backbone = model_path(recipe.model.backbone)
    model = recipe.model.model_copy(update={"backbone": backbone, "tokenizer": tokenizer})
    return recipe.model_copy(update={"model": model, "stages": tuple(map(resolve_stage, recipe.stages))})
