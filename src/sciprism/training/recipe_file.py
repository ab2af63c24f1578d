"""Read a recipe from TOML, and the recipe that a run has used."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from sciprism.errors import InputError
from sciprism.files import describe_wrong_path
from sciprism.training.recipe import Recipe
from sciprism.training.recipe_folder import describe_unknown_recipe, find_recipe
from sciprism.training.recipe_keys import apply_changes, describe_unknown_key


def read_recipe(path: Path, changes: Sequence[str] = (), *, sources: Path | None = None) -> Recipe:
    """Return the recipe of a TOML file with `key=value` changes.

    sources: the folder of the files that the recipe names, and of models in it (backbone, copy_from,
    teacher); default: the recipe's folder. The table `defaults` holds what stages share. A key is a path,
    `seed` or `stages.0.optimizer.lr`, in which stages and sources may have their names. A value is TOML, or
    else text. Raises InputError with a line for each error.
    """
    path = path if path.exists() else find_recipe(path)
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(describe_unknown_recipe(path)) from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path}: {describe_wrong_path(path) or error}") from error
    raw = apply_changes(raw, changes)
    try:
        recipe = Recipe.model_validate(raw)
    except ValidationError as error:
        raise InputError(_format_errors(path, error)) from error
    return recipe.resolve_paths(path.parent if sources is None else sources)


def _format_errors(path: Path, error: ValidationError) -> str:
    """Return one line for each error: where it is, what is wrong, what was found."""
    lines = []
    places = [each["loc"] for each in error.errors()]
    for each in error.errors():
        place = each["loc"]
        if any(other[: len(place)] == place and other != place for other in places):
            continue  # the cause is an error inside this table
        where = ".".join(map(str, place)) or "recipe"
        if each["type"] == "extra_forbidden":
            wrong = describe_unknown_key(place)
        else:
            found = "" if isinstance(each["input"], dict) else f", got {each['input']!r:.60}"
            wrong = f"{each['msg'].removeprefix('Value error, ')}{found}"
        lines.append(f"{path}: {where}: {wrong}")
    return "\n".join(lines)
