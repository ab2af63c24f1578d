"""What data a layout needs, for people."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

REPOSITORIES = ("repo", "texts_repo", "labels_repo")
LOCAL = ("folder", "folders", "data", "path", "signatures", "name")


def describe_needed_data(layout: Any) -> tuple[str, str]:
    """Return the hub ids or the folder that a layout reads, "hub BeIR/scifact", and how to obtain them, if known."""
    values = {name: value for name, value in _walk(layout) if value}
    hub = [values[name] for name in REPOSITORIES if name in values]
    if "owner" in values:
        hub.append(f"{values['owner']}/{values['name']}")
    local = [values[name] for name in LOCAL if name in values][:1]
    names = [local[0]] if local and isinstance(local[0], str) else list(local[0]) if local else []
    where = ", ".join(f"hub {each}" for each in dict.fromkeys(hub)) or " or ".join(names)
    return where, values.get("obtain", "")


def _walk(layout: Any) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for field in fields(layout):
        value = getattr(layout, field.name)
        if is_dataclass(value):
            found = [*_walk(value), *found]
        elif isinstance(value, str | tuple):
            found.append((field.name, value))
    return found
