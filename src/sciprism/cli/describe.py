"""`sciprism describe`: what a model is."""

from __future__ import annotations

from typing import Any

from sciprism.cli.json_documents import print_json
from sciprism.cli.options import AsJson, ModelName, Pooling
from sciprism.cli.printing import print_facts


def describe(model: ModelName = "", pooling: Pooling = "", as_json: AsJson = False) -> None:
    """Print backbone, method, formats, spaces, pooling, template, distance and fingerprint of a model.

    Without a name, the default model's.

    Example: sciprism describe all-MiniLM-L6-v2
    """
    from sciprism.encoders.encoder import Encoder

    facts = Encoder.load(model or None, pooling=pooling or None).describe()
    if as_json:
        print_json("sciprism.describe/1", facts)
        return
    print_facts({key: _readable(key, value) for key, value in facts.items()})


def _readable(key: str, value: Any) -> str:
    if key in ("spaces", "routes"):
        spaces = {space for roles in value.values() for space in roles.values()}
        if len(spaces) == 1:
            return f"{spaces.pop()} (every format and role)"
        return "; ".join(f"{format}: {_by_role(roles)}" for format, roles in value.items())
    if key == "template":
        parts = [f"title {value['separator']!r} abstract"]
        parts += [f"{role} prompt {prompt!r}" for role, prompt in value["prompts"].items()]
        return ", ".join(parts)
    if key == "provenance":
        return "; ".join(f"{what}: {_origin(part)}" for what, part in value.items()) or "unknown"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _by_role(spaces: dict[str, str]) -> str:
    found = set(spaces.values())
    return found.pop() if len(found) == 1 else ", ".join(f"{role}={space}" for role, space in spaces.items())


def _origin(value: Any) -> str:
    if not isinstance(value, dict):
        return str(value)
    if "from" in value:
        return str(value["from"])
    return ", ".join(f"{what} {_origin(part)}" for what, part in value.items())
