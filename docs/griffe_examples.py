"""Examples of docstrings as blocks of code: an extension of griffe for the page of the Python API."""

from __future__ import annotations

from typing import Any

import griffe


class Examples(griffe.Extension):
    """Puts each example of a docstring, from `>>>` to the next empty line, into a block of Python."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of an object that was read."""
        if obj.docstring:
            obj.docstring.value = mark_examples(obj.docstring.value)


def mark_examples(text: str) -> str:
    """Return a docstring as Markdown; examples that follow each other are one block."""
    parts: list[str] = []
    for block in text.split("\n\n"):
        is_example = block.startswith(">>>")
        if is_example and parts and parts[-1].endswith("\n```"):
            parts[-1] = f"{parts[-1].removesuffix('```')}{block}\n```"
        else:
            parts.append(f"```pycon\n{block}\n```" if is_example else block)
    return "\n\n".join(parts)
