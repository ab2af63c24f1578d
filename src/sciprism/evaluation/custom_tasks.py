"""Custom tasks: read a TOML file of `[[task]]` tables as a suite (docs/custom-tasks.md)."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import MISSING, fields
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from pydantic import TypeAdapter, ValidationError

from sciprism.datasets.layouts.custom import (
    CustomCorpus,
    CustomLabels,
    CustomMentions,
    CustomPools,
    CustomReviewers,
)
from sciprism.datasets.layouts.custom_language import CustomQuestions, CustomTexts, CustomWords
from sciprism.datasets.layouts.labelled import LabelledTable
from sciprism.datasets.layouts.pinned import PinnedData
from sciprism.deprecation import current_names
from sciprism.errors import InputError
from sciprism.evaluation.data_files import resolve_paths
from sciprism.evaluation.declared_names import DECLARED_AS
from sciprism.evaluation.protocols.registry import protocols
from sciprism.evaluation.task import DataLayout, Suite, Task
from sciprism.formats import FORMATS
from sciprism.text.template import FIELDS, PAPER_FIELDS

LAYOUTS: Mapping[str, type[DataLayout]] = {
    "probe": LabelledTable,
    "rerank": CustomPools,
    "retrieve": CustomCorpus,
    "label": CustomLabels,
    "nearest-label": CustomLabels,
    "match": CustomReviewers,
    "cluster": CustomMentions,
    "tag": CustomWords,
    "pair": CustomTexts,
    "span": CustomQuestions,
}
"""Protocol -> the layout of its data."""
REQUIRED = ("name", "protocol", "format", "metric")
METRIC_KEYS = ("metric", "metrics")
TASK_KEYS = (*REQUIRED, "fields", "group", "reference", "remark")
T = TypeVar("T")


def read_tasks(path: str | Path) -> Suite:
    """Return the tasks of a TOML file as a suite of the file's name.

    Each `[[task]]` has name, protocol, format, metric (one or a list), data (a folder or file, relative to
    the TOML file), and settings of its layout and its protocol. Raises InputError with file, task and key.
    """
    path = Path(path)
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be opened: {error.strerror}") from error
    except ValueError as error:  # not TOML, or not UTF-8
        raise InputError(f"{path}: not TOML: {error}") from error
    rows = document.get("task")
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise InputError(f"{path}: no tasks; each begins with a line [[task]]")
    _check_keys(document, ("task",), str(path))
    return Suite(name=path.stem, tasks=tuple(_build_task(path, i, row) for i, row in enumerate(rows, 1)))


def _build_task(path: Path, number: int, row: Mapping[str, Any]) -> Task:
    where = f"{path}, task {row.get('name', number)!r}"
    for key in REQUIRED:
        if key not in row:
            raise InputError(f"{where}: no {key}; a task has at least {', '.join(REQUIRED)} and its data")
    if not isinstance(row["name"], str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._=+-]*", row["name"]):
        raise InputError(f"{where}: the name also names files; use letters, digits and . _ = + -")
    _check_choice(row["format"], FORMATS, "format", where)
    _check_choice(row["protocol"], LAYOUTS, "protocol", where)
    import_module(f"sciprism.evaluation.protocols.{row['protocol'].replace('-', '_')}")  # registers it
    layout, protocol = LAYOUTS[row["protocol"]], protocols[row["protocol"]]
    row = current_names(row, _former_keys(layout) | _former_keys(protocol), f"{where}: key")
    layout_keys, protocol_keys = _field_names(layout), _field_names(protocol)
    _check_keys(row, (*TASK_KEYS, *layout_keys, *(k for k in protocol_keys if k not in METRIC_KEYS)), where)
    metrics = row["metric"] if isinstance(row["metric"], list) else [row["metric"]]
    settings = _implied_settings(row["protocol"], metrics) | row
    of_layout = {key: value for key, value in settings.items() if key in layout_keys}
    of_protocol = {k: v for k, v in settings.items() if k in protocol_keys and k not in METRIC_KEYS}
    declared = {DECLARED_AS.get(f"{layout.__name__}.{key}", key): value for key, value in of_layout.items()}
    names = _read_fields(row, where)
    built = _build(protocol, of_protocol | _metric_setting(protocol_keys, metrics, where), where)
    resolved, files = resolve_paths(of_layout, path.parent, where)
    data = PinnedData(data=_build(layout, resolved, where), settings=json.dumps(declared, sort_keys=True), files=files)
    return Task(
        name=row["name"],
        format=row["format"],
        protocol=built,
        data=data,
        fields=names,
        group=str(row.get("group", "")),
        reference=str(row.get("reference", "")),
        remark=str(row.get("remark", "")),
    )


def _former_keys(kind: type) -> dict[str, str]:
    """Return the former names of a class's fields -> today's."""
    return {
        former: name.partition(".")[2] for name, former in DECLARED_AS.items() if name.startswith(f"{kind.__name__}.")
    }


def _implied_settings(protocol: str, metrics: Sequence[Any]) -> dict[str, Any]:
    """Return the settings that follow from the metric: numbers have another loss than classes.

    A probe of numbers has an intercept and standardised targets, those of published suites as in the papers.
    """
    from sciprism.evaluation.protocols.probe import OF_NUMBERS

    if protocol not in ("probe", "pair") or not metrics or metrics[0] not in OF_NUMBERS:
        return {}
    probe = {"loss": "epsilon_insensitive", "intercept": True, "standardize_targets": True}
    return {"target": "number"} | (probe if protocol == "probe" else {})


def _metric_setting(keys: Collection[str], metrics: Sequence[Any], where: str) -> dict[str, Any]:
    if "metrics" in keys:
        return {"metrics": list(metrics)}
    if len(metrics) != 1:
        raise InputError(f"{where}: {len(metrics)} metrics, but this protocol takes one; make a task for each")
    return {"metric": metrics[0]}


def _read_fields(row: Mapping[str, Any], where: str) -> tuple[str, ...]:
    names = row.get("fields", FIELDS)
    if isinstance(names, str) or not names:
        raise InputError(f"{where}: fields is {names!r}, not a list of a paper's fields")
    for name in names:
        _check_choice(name, PAPER_FIELDS, "field", where)
    return tuple(names)


def _build(kind: type[T], settings: Mapping[str, Any], where: str) -> T:
    """Return the declaration with these settings. Raises InputError naming the setting that is wrong."""
    types = get_type_hints(kind)
    for item in fields(kind):  # type: ignore[arg-type]
        if item.default is MISSING and item.default_factory is MISSING and item.name not in settings:
            raise InputError(f"{where}: no {item.name}")
    values = {key: _convert(value, types[key], key, where) for key, value in settings.items()}
    try:
        return kind(**values)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _convert(value: Any, kind: Any, key: str, where: str) -> Any:
    """Return a value of the declared type: a list becomes a tuple, and so does one text for several."""
    if kind == tuple[str, ...] and isinstance(value, str):
        value = [value]
    try:
        return TypeAdapter(kind).validate_json(json.dumps(value), strict=True)
    except (ValidationError, TypeError) as error:
        reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        raise InputError(f"{where}: {key} is {value!r}: {reason}") from None


def _field_names(kind: type) -> tuple[str, ...]:
    return tuple(item.name for item in fields(kind))


def _check_keys(row: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for key in row:
        _check_choice(key, known, "key", where)


def _check_choice(value: Any, known: Collection[str], what: str, where: str) -> None:
    if value not in known:
        close = get_close_matches(str(value), known, n=1)
        hint = f" did you mean {close[0]!r}?" if close else ""
        raise InputError(f"{where}: unknown {what} {value!r};{hint} known: {', '.join(known)}")
