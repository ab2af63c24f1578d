"""Find recipes, and say in a line what each is."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class RecipeSummary:
    """A recipe's file, its name and reference, and the first line of its comment."""

    path: str
    name: str
    reference: str
    comment: str


def list_recipes(folders: Iterable[Path]) -> list[RecipeSummary]:
    """Return the recipes below some folders; files that are no TOML or have no stages are none."""
    found = []
    for path in (path for folder in folders for path in sorted(folder.rglob("*.toml"))):
        try:
            text = path.read_text(encoding="utf-8")
            raw = tomllib.loads(text)
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
            continue
        if "stages" in raw:
            comment = text.partition("\n")[0].removeprefix("#").strip() if text.startswith("#") else ""
            found.append(RecipeSummary(str(path), str(raw.get("name", "")), str(raw.get("reference", "")), comment))
    return found
