"""Read a recipe: its file, `--set` changes, the defaults of its stages, and what is wrong with it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sciprism.encoders.methods.registry import SettingsTable
from sciprism.errors import InputError
from sciprism.files import describe_wrong_path
from sciprism.registry import most_similar
from sciprism.training.optimizers import OptimizerSettings, Schedule
from sciprism.training.recipe import Architecture, Evaluation, ModelSettings, Recipe, SourceSpec, Stage

TABLES: dict[str, type[SettingsTable]] = {
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
    tables = apply_changes(read_tables(path), changes)
    try:
        return Recipe.parse(_resolve_paths(tables, path.parent if sources is None else sources))
    except ValidationError as error:
        raise InputError(_format_errors(path, error)) from error


def apply_changes(recipe: dict[str, Any], changes: Sequence[str]) -> dict[str, Any]:
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


def parse_value(text: str) -> Any:
    """Return the TOML value of a text, or else the text."""
    try:
        return tomllib.loads(f"v = {text}")["v"]
    except tomllib.TOMLDecodeError:
        return text


def _set_value(recipe: dict[str, Any], change: str) -> None:
    """Change one value in place. change: `key=value`, the key a path such as stages.0.optimizer.lr."""
    where, (key, mark, text) = f"--set {change!r}", change.partition("=")
    if not mark or not key:
        raise InputError(f"{where}: expected key=value; {_list_settings(recipe)}")
    *path, last = key.split(".")
    if (path or [last])[0] not in {*Recipe.model_fields, "defaults"}:
        raise InputError(f"{where}: the recipe has no key {(path or [last])[0]!r}; {_list_settings(recipe)}")
    table: Any = recipe
    for step in path:
        table = table.setdefault(step, {}) if isinstance(table, dict) else table[_find_key(table, step, where)]
    if not isinstance(table, dict):
        raise InputError(f"{where}: {'.'.join(path)} holds no keys")
    table.pop(EXCLUSIVE.get(last), None)
    table[last] = parse_value(text)


def _find_key(table: Any, step: str, where: str) -> str | int:
    """Return the key of a table, or the number in a list of tables, that a step of a path names."""
    names = list(table) if isinstance(table, dict) else []
    if _is_list_of_tables(table):
        names = [name_item(item) for item in table]
        if step in names or step in map(str, range(len(names))):
            return names.index(step) if step in names else int(step)
    elif step in names:
        return step
    raise InputError(f"{where}: the recipe has no {step!r} there; it has {', '.join(names) or 'no keys'}")


def _format_errors(path: Path, error: ValidationError) -> str:
    """Return one line for each error: where it is, what is wrong, what was found."""
    lines = []
    places = [details["loc"] for details in error.errors()]
    for details in error.errors():
        place = details["loc"]
        if any(other[: len(place)] == place and other != place for other in places):
            continue  # the cause is an error inside this table
        where = ".".join(map(str, place)) or "recipe"
        table = [TABLES[str(step)] for step in ("recipe", *place[:-1]) if step in TABLES][-1]
        wrong = table.describe(details)
        if details["type"] == "extra_forbidden":
            wrong += f"; known: {', '.join(table.model_fields)}"
        lines.append(f"{path}: {where}: {wrong}")
    return "\n".join(lines)


PACKAGE = Path(__file__).parents[1]
SUFFIX = ".toml"
EXCLUSIVE = {"steps": "epochs", "epochs": "steps"}
"""A stage states one of the two; stating one removes the other that it would inherit."""


@dataclass(frozen=True, slots=True)
class RecipeSummary:
    """A recipe's file, its name and reference, and the first line of its comment."""

    path: str
    name: str
    reference: str
    comment: str


def recipes_folder() -> Path | None:
    """Return the folder of the recipes: of an installed package, else of the clone; None without any."""
    places = (PACKAGE / "recipes", PACKAGE.parents[1] / "recipes")
    return next((place for place in places if place.is_dir()), None)


def find_recipe(path: Path) -> Path:
    """Return an existing file as it is, else the recipe of that name that comes with sciprism, else the path."""
    return path if path.is_absolute() or path.exists() else _find_shipped(path) or path


def _find_shipped(name: Path) -> Path | None:
    """Return the recipe of a name that comes with sciprism, None where there is none."""
    path = (recipes_folder() or PACKAGE) / f"{_name(name)}{SUFFIX}"
    return path if path.is_file() else None


def list_recipes(folders: Iterable[Path]) -> list[RecipeSummary]:
    """Return the recipes below some folders; files that cannot be read or have no stages are none."""
    summaries = []
    for path in (path for folder in folders for path in sorted(folder.rglob(f"*{SUFFIX}"))):
        try:
            tables = read_tables(path)
        except InputError:
            continue
        if "stages" in tables:
            first = path.read_text(encoding="utf-8").partition("\n")[0]
            comment = first.removeprefix("#").strip() if first.startswith("#") else ""
            name, reference = (str(tables.get(key, "")) for key in ("name", "reference"))
            summaries.append(RecipeSummary(str(path), name, reference, comment))
    return summaries


def read_tables(path: Path, extended_by: Sequence[Path] = ()) -> dict[str, Any]:
    """Return the tables of a recipe's file, merged into those of the recipe that it `extends`.

    The base is a file NAME.toml in the same folder, or else a recipe of that name that comes with sciprism.
    `removes` lists paths of its keys, stages and sources that are left out, before `merge_tables`. extended_by:
    the files that lead to this one. Raises InputError with file and chain for a recipe that is unknown, cannot
    be read, or extends itself.
    """
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(_describe_unknown_recipe(path)) from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path}: {describe_wrong_path(path) or error}") from error
    name, removed = tables.pop("extends", None), tables.pop("removes", [])
    if name is None and not removed:
        return tables
    if not isinstance(name, str) or not isinstance(removed, list):
        raise InputError(f"{path}: extends is the name of a recipe, and removes a list of paths in it")
    chain = [*extended_by, path]
    base_path = path.parent / f"{name.removesuffix(SUFFIX)}{SUFFIX}"
    if not base_path.is_file() or base_path.resolve() == path.resolve():
        base_path = _find_shipped(Path(name)) or base_path
    steps = " -> ".join(map(str, [*chain, base_path]))
    if base_path.resolve() in [file.resolve() for file in chain]:
        raise InputError(f"{path}: extends = {name!r} leads back to itself: {steps}")
    if not base_path.exists():
        raise InputError(f"{path}: extends = {name!r}: {_describe_unknown_recipe(base_path)} (chain: {steps})")
    base = read_tables(base_path, chain)
    for key in map(str, removed):
        *parents, last = key.split(".")
        table: Any = base
        for step in parents:
            table = table[_find_key(table, step, f"{path}: removes {key!r}")]
        del table[_find_key(table, last, f"{path}: removes {key!r}")]
    return base | {key: merge_tables(base.get(key), value) for key, value in tables.items()}


def merge_tables(base: Any, table: Any) -> Any:
    """Return a table with the values of a base that it does not state, and so for the tables in it.

    Lists of tables (stages, sources) are merged by the names of their items, new ones at the end; other values
    replace the base's. A table with another `name` (an objective, a schedule) inherits nothing.
    """
    if _is_list_of_tables(base) and _is_list_of_tables(table):
        merged, names = list(base), [name_item(item) for item in base]
        for item in table:
            if (name := name_item(item)) in names:
                merged[names.index(name)] = merge_tables(merged[names.index(name)], item)
            else:
                merged.append(item)
        return merged
    if not isinstance(base, dict) or not isinstance(table, dict):
        return table
    if "name" in base and table.get("name", base["name"]) != base["name"]:
        return table
    replaced = {EXCLUSIVE[key] for key in table if key in EXCLUSIVE}
    inherited = {key: value for key, value in base.items() if key not in replaced}
    return inherited | {key: merge_tables(inherited.get(key), table[key]) for key in table}


def name_item(item: dict[str, Any]) -> str:
    """Return the name of a stage or source, by default that of its file."""
    return str(item.get("name") or Path(item.get("file", "")).stem)


def _is_list_of_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def _describe_unknown_recipe(path: Path) -> str:
    """Return that there is no such recipe, the nearest to its name, and all that come with sciprism."""
    folder = recipes_folder()
    if folder is None:
        return f"{path}: no such recipe; this installation has none, they are in recipes/ of the repository"
    names = [file.relative_to(folder).with_suffix("").as_posix() for file in sorted(folder.rglob(f"*{SUFFIX}"))]
    near = ", ".join(most_similar(_name(path), names))
    return (
        f"{path}: no such recipe; the nearest: {near}; all: {', '.join(names)}; `sciprism train --list` describes them"
    )


def _name(path: Path) -> str:
    return path.as_posix().removeprefix("recipes/").removesuffix(SUFFIX)
