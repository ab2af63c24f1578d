"""Lists and objects that programs print into the cells of a table, or flatten to columns such as `journal.name`."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from typing import Any

# Without their last mark too, up to the end: to look for it again and again would take quadratic time.
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*+'?|\"(?:[^\"\\]|\\.)*+\"?", re.DOTALL)
_PRINTED = re.compile(r"[\[({].*[\])}]|(?:c|list|set|array|Index|Series)\(.*\)|character\(0\)", re.DOTALL)
# Quoted texts, and what is around them:
_ONLY_QUOTED = re.compile(r"(?:[\w.]{1,32}\(|\0|[\s,\[\](){}]|nan\b|None\b|NA\b|\w{1,32}=\w{1,32}|\.\.\.|0)*+")
_ARRAY_TYPE = re.compile(r",\s*(?:dtype|length|name)=[^\[]*\)$")
_NAMES = "display_name name full_name fullname literal author raw_author_name keyword term"
_NAME_KEYS = tuple(_NAMES.split())
_PERSON_KEYS = (("family", "last", "sur"), ("given", "first", "fore"))  # without "name"
_OTHER_KEYS = ("title", "text", "value", "collective_name", "descriptor_name", "id")
_PLAIN = ("title", "abstract", "text", "display_name")  # columns whose texts never hold JSON, though they may begin so
_NAN = re.compile(r"(?<=[\s\[{:,])nan(?=[\s\]},])")


def parse_printed_list(text: str) -> list[str] | None:
    """Return the items of a list that a program printed into one text; None where the text is no such list.

    Python, pandas and NumPy print `['a', "b's"]`, `('a',)`, `array(['a' 'b'])`, R `c("a", "b")`, others JSON; of an
    object in it, its name is the item.
    """
    text = _ARRAY_TYPE.sub(")", text.strip())
    if not _PRINTED.fullmatch(text):
        return None
    bare = _QUOTED.sub("\0", text)
    # Python would join neighbouring texts into one.
    values = None if re.search("\0\\s*\0", bare) else _parse_literal(text)
    if isinstance(values, str | int | float):
        return None  # it was in brackets
    if values is None:
        values = list(map(_parse_literal, _QUOTED.findall(text)))
        if None in values or not _ONLY_QUOTED.fullmatch(bare):
            return None
    items = [values] if isinstance(values, Mapping) else values
    try:
        return list(dict.fromkeys(filter(None, map(name_item, items))))
    except RecursionError:
        return None


def name_item(item: Any) -> str:
    """Return an item of a list as text: of an object its name, of a person `Family, Given`."""
    if isinstance(item, Mapping):
        return name_item(name_object(item))
    if isinstance(item, Iterable) and not isinstance(item, str):
        return ", ".join(filter(None, map(name_item, item)))
    return "" if item is None or item != item else str(item).strip()


def name_object(item: Mapping[Any, Any]) -> Any:
    """Return what an object is called: the value of its name, else family and given name of a person; None if nothing.

    Keys of persons are read in any case, with and without `_`.
    """
    named = next((item[key] for key in _NAME_KEYS if item.get(key)), None)
    if named is not None:
        return named
    parts = {str(key).casefold().replace("_", "").removesuffix("name"): value for key, value in item.items()}
    person = [next((parts[key] for key in keys if parts.get(key)), None) for keys in _PERSON_KEYS]
    return person if any(person) else next((item[key] for key in _OTHER_KEYS if item.get(key)), None)


def parse_cell(text: str) -> Any:
    """Return the list or object that a cell holds, in JSON or as Python prints it, else its text; None if empty."""
    if text[:1] in ("[", "{"):
        value = _parse_literal(text)
        return (_parse_literal(_NAN.sub("None", text)) or text) if value is None else value
    return text or None


def parse_texts(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a row with the lists and objects that its texts hold."""
    return {
        name: (value.strip() or None if name in _PLAIN else parse_cell(value.strip()))
        if isinstance(value, str)
        else value
        for name, value in row.items()
    }


def _parse_literal(text: str) -> Any:
    """Return the value that a text has in JSON or in Python; None if it has none."""
    for parse in (json.loads, ast.literal_eval):
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            return parse(text)
    return None


def nest_columns(row: Mapping[str, Any], lists: Collection[str] = (), maps: Collection[str] = ()) -> Mapping[str, Any]:
    """Return the object whose members are columns such as `journal.name`, as `pandas.json_normalize` writes them.

    lists: members whose items openalex.org joins by bars in each column. maps: members whose keys may have dots.
    """
    if not any("." in key for key in row):
        return row
    nested: dict[str, Any] = {key: value for key, value in row.items() if "." not in key and value is not None}
    for path, value in row.items():
        root, _, rest = path.partition(".")
        if not rest or value is None:
            continue
        keys = [rest] if root in maps else rest.split(".")
        if root not in lists or not isinstance(value, str):
            _set_member(nested, [root, *keys], value)
            continue
        texts = value.split("|")
        items = nested.setdefault(root, [])
        items += [{} for _ in texts[len(items) :]]
        for item, text in zip(items, texts, strict=False):
            _set_member(item, keys, None if text == "None" else text)
    return nested


def _set_member(target: Any, keys: list[str], value: Any) -> None:
    for key in keys[:-1]:
        target = target.setdefault(key, {}) if isinstance(target, dict) else None
    if isinstance(target, dict):
        target[keys[-1]] = value
