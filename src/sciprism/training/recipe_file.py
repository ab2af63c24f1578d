"""Read a recipe: its file, `--set` changes, the defaults of its stages, and what is wrong with it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sciprism.errors import InputError
from sciprism.training.optimizers import OptimizerSettings, Schedule
from sciprism.training.recipe import Architecture, Evaluation, ModelSettings, Recipe, SourceSpec, Stage
from sciprism.training.recipe_folder import EXCLUSIVE, find_recipe, merge_tables, name_item, read_tables
from sciprism.training.recipe_tables import RecipeTable

TABLES: dict[str, type[RecipeTable]] = {
    "recipe": Recipe,
    "model": ModelSettings,
    "defaults": Stage,
    "stages": Stage,
    "sources": SourceSpec,
    "architecture": Architecture,
    "optimizer": OptimizerSettings,
    "schedule": Schedule,
    "evaluation": Evaluation,
}
"""Key of a table, or of a list of tables -> what is in it. The recipe itself has the key "recipe"."""
FILE_KEYS, MODEL_KEYS = ("file", "dev", "tokenizer"), ("backbone", "copy_from", "teacher")
"""Keys of files that lie among the sources, and of models that may."""


def read_recipe(path: Path, changes: Sequence[str] = (), *, sources: Path | None = None) -> Recipe:
    """Return the recipe of a TOML file, with what it extends, and with `key=value` changes.

    sources: the folder of the files that the recipe names, and of models in it (backbone, copy_from,
    teacher); default: the recipe's folder. The table `defaults` holds what stages share. A key is a path,
    `seed` or `stages.0.optimizer.lr`, in which stages and sources may have their names. A value is TOML, or
    else text. Raises InputError with a line for each error.
    """
    path = find_recipe(path)
    tables = _apply_changes(read_tables(path), changes)
    try:
        return Recipe.parse(_resolve_paths(tables, path.parent if sources is None else sources))
    except ValidationError as error:
        raise InputError(_format_errors(path, error)) from error


def _apply_changes(recipe: dict[str, Any], changes: Sequence[str]) -> dict[str, Any]:
    """Return a recipe with `key=value` changes, and its defaults in each stage."""
    of_defaults = [change for change in changes if change.startswith("defaults.")]
    for change in of_defaults:
        _set_value(recipe, change)
    defaults = recipe.pop("defaults", {})
    if isinstance(recipe.get("stages"), list):
        recipe["stages"] = [merge_tables(defaults, stage) for stage in recipe["stages"]]
    for change in changes:
        if change not in of_defaults:
            _set_value(recipe, change)
    return recipe


def _resolve_paths(value: Any, folder: Path, key: str = "") -> Any:
    """Return a recipe's value with the paths of its sources, and of models in the folder, below the folder."""
    if isinstance(value, dict):
        return {name: _resolve_paths(inner, folder, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [_resolve_paths(item, folder, key) for item in value]
    is_model = key in MODEL_KEYS and isinstance(value, str) and (folder / value / "config.json").is_file()
    return str(folder / value) if isinstance(value, str) and value and (key in FILE_KEYS or is_model) else value


def _list_settings(recipe: Mapping[str, Any]) -> str:
    """Return what `--set` can change in a recipe: the keys of its tables, as paths."""
    stages = [str(stage.get("name", n)) for n, stage in enumerate(recipe.get("stages", ())) if isinstance(stage, dict)]
    stage = f"stages.{stages[0] if stages else 'STAGE'}"
    places = {
        "": "recipe",
        "model.": "model",
        f"{stage}.": "stages",
        f"{stage}.optimizer.": "optimizer",
        f"{stage}.schedule.": "schedule",
        f"{stage}.evaluation.": "evaluation",
        f"{stage}.sources.SOURCE.": "sources",
    }
    lines = [f"  {prefix}KEY: {', '.join(TABLES[table].model_fields)}" for prefix, table in places.items()]
    others = f" (and {', '.join(stages[1:])})" if stages[1:] else ""
    return f"what can be set{others}:\n" + "\n".join(lines) + "\n  docs/training.md explains them"


def _set_value(recipe: dict[str, Any], change: str) -> None:
    """Change one value in place. change: `key=value`, the key a path such as stages.0.optimizer.lr."""
    key, mark, text = change.partition("=")
    if not mark or not key:
        raise InputError(f"--set {change!r}: expected key=value; {_list_settings(recipe)}")
    try:
        value = tomllib.loads(f"v = {text}")["v"]
    except tomllib.TOMLDecodeError:
        value = text
    *path, last = key.split(".")
    if (path or [last])[0] not in {*Recipe.model_fields, "defaults"}:
        raise InputError(f"--set {change!r}: the recipe has no key {(path or [last])[0]!r}; {_list_settings(recipe)}")
    table: Any = recipe
    for step in path:
        table = table.setdefault(step, {}) if isinstance(table, dict) else _find_item(table, step, change)
    if not isinstance(table, dict):
        raise InputError(f"--set {change!r}: {'.'.join(path)} holds no keys")
    table.pop(EXCLUSIVE.get(last), None)
    table[last] = value


def _find_item(items: Any, step: str, change: str) -> Any:
    for number, item in enumerate(items if isinstance(items, list) else ()):
        if isinstance(item, dict) and step in (str(number), name_item(item)):
            return item
    names = [name_item(item) for item in items if isinstance(item, dict)]
    choices = f"it has {', '.join(names)}, or a number from 0" if names else "that is no list of stages or sources"
    raise InputError(f"--set {change!r}: the recipe has no {step!r}; {choices}")


def _format_errors(path: Path, error: ValidationError) -> str:
    """Return one line for each error: where it is, what is wrong, what was found."""
    lines = []
    places = [details["loc"] for details in error.errors()]
    for details in error.errors():
        place = details["loc"]
        if any(other[: len(place)] == place and other != place for other in places):
            continue  # the cause is an error inside this table
        where = ".".join(map(str, place)) or "recipe"
        if details["type"] == "extra_forbidden":
            table = [TABLES[str(step)] for step in ("recipe", *place[:-1]) if step in TABLES][-1]
            wrong = f"{table.describe_unknown_key(str(place[-1]))}; known: {', '.join(table.model_fields)}"
        else:
            value = "" if isinstance(details["input"], dict) else f", got {details['input']!r:.60}"
            wrong = f"{details['msg'].removeprefix('Value error, ')}{value}"
        lines.append(f"{path}: {where}: {wrong}")
    return "\n".join(lines)
