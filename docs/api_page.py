"""The page of the Python API, docs/api.md, from the docstrings of the public names (`sciprism.__all__`)."""

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import sciprism

PAGE = Path(__file__).parent / "api.md"
HEAD = """# Python API

Generated from the docstrings of `from sciprism import ...` by `make reference`; do not edit.
Every example runs in the tests. Commands: [reference](reference.md).
Systems and tasks of your own: [custom tasks](custom-tasks.md).
"""
GROUPS = {
    "Encode": ["Encoder"],
    "Search": ["Collection", "Hit", "EmbedReport", "DeleteReport"],
    "Tag": ["tag", "TagChoice"],
    "Match": ["match", "MatchSettings", "MatchFiles"],
    "Recommend": ["recommend", "RecommendSettings"],
    "Read": ["read_papers", "read_labels", "Paper", "Label"],
    "Evaluate": ["evaluate", "Results"],
    "Train": ["read_recipe", "plan_training", "train"],
    "Errors": ["InputError"],
}
"""Headings of the page, in order, with the names below them."""
INNER = {"Encoder": ("path", "route", "texts", "prepare", "at_max_length", "vectors", "vectors_by_route", "facets")}
"""Class -> methods that training code calls: the page names them, and leaves their description to the source."""


class _Plain(str):
    """A text that `inspect` prints as it is, without quotation marks."""

    __slots__ = ()
    __repr__ = str.__str__


def build_api_page() -> str:
    """Return the page as Markdown; a public name without a group, and one without a docstring, is an error."""
    grouped = [name for names in GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(set(sciprism.__all__) - {"__version__"}), "docs/api_page.py: GROUPS"
    index = "".join(f"- {title}: {', '.join(map(_link, names))}\n" for title, names in GROUPS.items())
    parts = [HEAD, index]
    for title, names in GROUPS.items():
        parts.append(f"## {title}\n")
        for name in names:
            parts += _describe(name, getattr(sciprism, name))
    return "\n".join(parts)


def _link(name: str) -> str:
    return f"[`{name}`](#{name.lower()})"


def _describe(name: str, value: Any) -> Iterator[str]:
    """Yield the heading, the call, the text and, for a class, the members of a public name."""
    yield f"### {name}\n"
    if not isinstance(value, type) or not issubclass(value, Exception):
        yield format_call(name, value)
    yield format_docstring(value.__doc__)
    if isinstance(value, type):
        yield from _describe_members(name, value)


def _describe_members(owner: str, value: type) -> Iterator[str]:
    properties, methods = [], []
    inner = INNER.get(owner, ())
    for name, member in _list_members(value):
        if name in inner:
            continue
        if isinstance(member, property | cached_property):
            text = inspect.getdoc(member) or ""
            properties.append(f"| `{name}` | {text.partition(chr(10) * 2)[0].replace(chr(10), ' ')} |\n")
        else:
            methods.append((name, member))
    if properties:
        yield "| property | meaning |\n| --- | --- |\n" + "".join(properties)
    for name, member in methods:
        yield f"#### {owner}.{name}\n"
        yield format_call(f"{owner}.{name}", member.__func__ if isinstance(member, classmethod) else member)
        yield format_docstring(inspect.getdoc(member))
    if inner:
        yield f"Training code also calls {', '.join(f'`{name}`' for name in inner)}: see their docstrings.\n"


def _list_members(value: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties of a class and our bases, in their order; each name once."""
    seen = set()
    fields = {field.name for field in dataclasses.fields(value)} if dataclasses.is_dataclass(value) else set()
    for owner in value.__mro__:
        if owner.__module__.startswith("sciprism."):
            for name, member in vars(owner).items():
                kinds = property | cached_property | classmethod | staticmethod | Callable
                documented = not name.startswith("_") and isinstance(member, kinds) and name not in fields
                if documented and name not in seen and inspect.getdoc(member):
                    seen.add(name)
                    yield name, member


def format_call(name: str, function: Any) -> str:
    """Return how a function or class is called, one parameter a line where they are many."""
    signature = inspect.signature(function)
    parameters = [_format_default(each) for each in signature.parameters.values() if each.name not in ("self", "cls")]
    returned = signature.return_annotation
    if isinstance(function, type):
        returned = signature.empty
    elif isinstance(returned, str):
        returned = _Plain(returned)
    text = f"{name}{inspect.Signature(parameters, return_annotation=returned)}"
    if len(text) > 100:
        lines = ",\n    ".join(map(str, _split(parameters)))
        arrow = "" if returned is signature.empty else f" -> {inspect.formatannotation(returned)}"
        text = f"{name}(\n    {lines},\n){arrow}"
    return f"```text\n{text}\n```\n"


def _split(parameters: list[inspect.Parameter]) -> Iterator[str]:
    """Yield the parameters as texts, with the star before those by keyword only."""
    starred = False
    for each in parameters:
        if each.kind is each.KEYWORD_ONLY and not starred:
            starred = True
            yield "*"
        yield str(each)


def _format_default(parameter: inspect.Parameter) -> inspect.Parameter:
    """Return a parameter whose annotation is printed as it is written, and whose default is short."""
    annotation, default = parameter.annotation, parameter.default
    if isinstance(annotation, str):
        annotation = _Plain(annotation)
    if default is not parameter.empty and re.search(r"<|\(.*=", repr(default)):
        default = _Plain("...")
    return parameter.replace(annotation=annotation, default=default)


def format_docstring(text: str | None) -> str:
    """Return a docstring as Markdown: its examples are blocks of Python."""
    assert text, "a public name without a docstring"
    parts: list[str] = []
    for block in inspect.cleandoc(text).split("\n\n"):
        is_example = block.startswith(">>>")
        if is_example and parts and parts[-1].endswith("\n```"):
            parts[-1] = f"{parts[-1].removesuffix('```')}{block}\n```"
        else:
            parts.append(f"```python\n{block}\n```" if is_example else block)
    return "\n\n".join(parts) + "\n"
