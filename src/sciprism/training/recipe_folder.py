"""The recipes that come with sciprism: in the package, or in the repository where it runs from a clone."""

from __future__ import annotations

from pathlib import Path

from sciprism.registry import most_similar

PACKAGE = Path(__file__).parents[1]
SUFFIX = ".toml"


def recipes_folder() -> Path | None:
    """Return the folder of the recipes: of an installed package, else of the clone; None without any."""
    places = (PACKAGE / "recipes", PACKAGE.parents[1] / "recipes")
    return next((place for place in places if place.is_dir()), None)


def find_recipe(path: Path) -> Path:
    """Return an existing file as it is, else the recipe of that name that comes with sciprism, else the path."""
    folder = recipes_folder()
    if folder is None or path.is_absolute() or path.exists():
        return path
    found = folder / f"{_name(path)}{SUFFIX}"
    return found if found.is_file() else path


def describe_unknown_recipe(path: Path) -> str:
    """Return that there is no such recipe, the nearest to its name, and all that come with sciprism."""
    folder = recipes_folder()
    if folder is None:
        return f"{path}: no such recipe; this installation has none, they are in recipes/ of the repository"
    names = [each.relative_to(folder).with_suffix("").as_posix() for each in sorted(folder.rglob(f"*{SUFFIX}"))]
    near = ", ".join(most_similar(_name(path), names))
    return (
        f"{path}: no such recipe; the nearest: {near}; all: {', '.join(names)}; `sciprism train --list` describes them"
    )


def _name(path: Path) -> str:
    return path.as_posix().removeprefix("recipes/").removesuffix(SUFFIX)
