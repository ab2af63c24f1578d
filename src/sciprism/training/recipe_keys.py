"""Keys of a recipe by table: what they are, for messages, and changes of one value."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sciprism.errors import InputError
from sciprism.training.model_settings import Architecture, ModelSettings
from sciprism.training.optimization_settings import OptimizerSettings, Schedule
from sciprism.training.recipe import Recipe
from sciprism.training.recipe_tables import RecipeTable
from sciprism.training.source_spec import SourceSpec
from sciprism.training.stage import Evaluation, Stage

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
EXCLUSIVE = {"steps": "epochs", "epochs": "steps"}
"""A stage states one of the two; stating one removes the other from its defaults."""


def apply_changes(recipe: dict[str, Any], changes: Sequence[str]) -> dict[str, Any]:
    """Return a recipe with `key=value` changes, and its defaults in each stage."""
    of_defaults = [change for change in changes if change.startswith("defaults.")]
    for change in of_defaults:
        _set_value(recipe, change)
    defaults = recipe.pop("defaults", {})
    if isinstance(recipe.get("stages"), list):
        recipe["stages"] = [_merge(defaults, stage) for stage in recipe["stages"]]
    for change in changes:
        if change not in of_defaults:
            _set_value(recipe, change)
    return recipe


def _merge(defaults: Any, table: Any) -> Any:
    """Return a stage, or a table in it, with the defaults of what it does not state."""
    if not isinstance(defaults, dict) or not isinstance(table, dict):
        return table
    if "name" in defaults and table.get("name", defaults["name"]) != defaults["name"]:
        return table  # another objective or schedule has other settings
    replaced = {EXCLUSIVE[key] for key in table if key in EXCLUSIVE}
    inherited = {key: value for key, value in defaults.items() if key not in replaced}
    return inherited | {key: _merge(inherited.get(key), value) for key, value in table.items()}


def describe_unknown_key(path: tuple[int | str, ...]) -> str:
    """Return what is wrong with the last key of a path, which its table lacks, and the known keys."""
    table = [TABLES[str(step)] for step in ("recipe", *path[:-1]) if step in TABLES][-1]
    return f"{table.describe_unknown_key(str(path[-1]))}; known: {', '.join(table.model_fields)}"


def list_settings(recipe: Mapping[str, Any]) -> str:
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
        raise InputError(f"--set {change!r}: expected key=value; {list_settings(recipe)}")
    try:
        value = tomllib.loads(f"v = {text}")["v"]
    except tomllib.TOMLDecodeError:
        value = text
    *path, last = key.split(".")
    if (path or [last])[0] not in {*Recipe.model_fields, "defaults"}:
        raise InputError(f"--set {change!r}: the recipe has no key {(path or [last])[0]!r}; {list_settings(recipe)}")
    table: Any = recipe
    for step in path:
        table = table.setdefault(step, {}) if isinstance(table, dict) else _find_item(table, step, change)
    if not isinstance(table, dict):
        raise InputError(f"--set {change!r}: {'.'.join(path)} holds no keys")
    table.pop(EXCLUSIVE.get(last), None)
    table[last] = value


def _find_item(items: Any, step: str, change: str) -> Any:
    """Return a stage or source by its number or name."""
    for number, item in enumerate(items if isinstance(items, list) else ()):
        if isinstance(item, dict) and step in (
            str(number),
            item.get("name") or Path(item.get("file", "")).stem,
        ):
            return item
    names = [str(item.get("name") or Path(item.get("file", "")).stem) for item in items if isinstance(item, dict)]
    known = f"it has {', '.join(names)}, or a number from 0" if names else "that is no list of stages or sources"
    raise InputError(f"--set {change!r}: the recipe has no {step!r}; {known}")
