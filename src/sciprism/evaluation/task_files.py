"""Read a TOML file of tasks as a suite: one of the papers (`suites`), or custom tasks (docs/custom-tasks.md).

A `[[task]]` has a name, format, protocol and metric, settings of its protocol, and `data`: a table with a `layout` and
its settings, or the folder or file of a custom task, whose layout follows from the protocol.

`like = "NAME"` fills in what the task does not state from a `[template.NAME]` of the file, and `like = "SUITE/TASK"`
from a task of another suite's file in the same folder; of `data`, key by key.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import UserDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter, ValidationError

from sciprism.datasets.data_root import PinnedData
from sciprism.errors import InputError
from sciprism.evaluation.protocols import protocols
from sciprism.evaluation.protocols.probe import OF_NUMBERS, ProbeProtocol
from sciprism.evaluation.task import Average, DataLayout, Suite, Task, list_published, parse_tables
from sciprism.files import sha256
from sciprism.formats import FORMATS
from sciprism.text.template import FIELDS, PAPER_FIELDS

_LAYOUTS: dict[str, dict[str, str]] = tomllib.loads(
    Path(__file__).with_name("layouts.toml").read_text(encoding="utf-8")
)
LAYOUTS, CUSTOM_LAYOUTS = _LAYOUTS["named"], _LAYOUTS["custom"]
"""Name of a layout, and protocol of a custom task, -> module and class in `datasets/layouts`."""
REQUIRED = ("name", "protocol", "format", "metric")
METRIC_KEYS = ("metric", "metrics")
STATED = ("group", "in_train", "numbers", "reference", "remark", "method_formats")
"""Keys that are fields of `Task`, with its defaults."""
TASK_KEYS = (*REQUIRED, "data", "fields", "stated_distance", *STATED)
READ_NAMES = frozenset(("corpus", "papers", "queries", "qrels", "labels", "reviewers", "ratings", "signatures"))
READ_NAMES |= {"train", "dev", "devel", "val", "valid", "validation", "test"}
"""Names before the first dot of what layouts look for in the folder `data`; nothing else in it is opened."""
PATHS = ("data", "papers", "queries", "qrels", "labels", "reviewers", "ratings", "signatures")
"""Keys that name files or folders, relative to the TOML file."""
T = TypeVar("T")


def read_suite(path: str | Path) -> Suite:
    """Return the tasks, averages, views and published rows of a TOML file as a suite of the file's name.

    The files that `data` of a custom task leads to are relative to the TOML file, and part of the task's
    declaration with their checksums. Raises InputError with file, task and key.
    """
    path = Path(path)
    document = read_toml(path)
    rows = document.get("task")
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise InputError(f"{path}: no tasks; each begins with a line [[task]]")
    _check_keys(document, ("task", "template", "average", "views", "published", "reference", "remark"), str(path))
    tasks = tuple(_build_task(path, i, _fill_in(path, document, row)) for i, row in enumerate(rows, 1))
    tables = document.get("published", ())  # names of published tables, PAPER/NUMBER, and tables in the file itself
    published = list(list_published(table for table in tables if isinstance(table, str)))
    for printed in parse_tables((table for table in tables if not isinstance(table, str)), str(path)).values():
        published += printed
    return Suite(
        name=path.stem,
        tasks=tasks,
        averages=_read_averages(document.get("average", ()), tasks, str(path)),
        views={name: tuple(names) for name, names in document.get("views", {}).items()},
        published=tuple(published),
        reference=document.get("reference", ""),
        remark=document.get("remark", ""),
    )


def read_toml(path: Path) -> dict[str, Any]:
    """Return the tables of a file. InputError where there is none, or it is not TOML."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be opened: {error.strerror}") from error
    except ValueError as error:  # not TOML, or not UTF-8
        raise InputError(f"{path}: not TOML: {error}") from error


def _fill_in(path: Path, document: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a task's table, completed by the template or task that `like` names; its own keys take precedence."""
    model = row.get("like")
    if model is None:
        return dict(row)
    suite, _, name = str(model).rpartition("/")
    if suite:
        if Path(suite).name != suite:
            raise InputError(f"{path}: like = {model!r} names a file of another folder; copy it next to this one")
        other = path.with_name(f"{suite}.toml")
        document = read_toml(other)
        tasks = {task["name"]: task for task in document.get("task", ())}
        _check_choice(name, tasks, "task to be like", str(other))
        base = _fill_in(other, document, tasks[name])
    else:
        templates = document.get("template", {})
        _check_choice(name, templates, "template", str(path))
        base = templates[name]
    filled = base | {key: value for key, value in row.items() if key != "like"}
    if isinstance(base.get("data"), Mapping) and isinstance(row.get("data"), Mapping):
        filled["data"] = base["data"] | row["data"]
    return filled


def _read_averages(rows: Sequence[Mapping[str, Any]], tasks: Sequence[Task], where: str) -> tuple[Average, ...]:
    """Return the averages: over the `tasks` that one lists, or those of a `group`, `format` or `in_train`.

    among: the average from whose tasks these are selected, instead of all.
    """
    listed = {row["name"]: row["tasks"] for row in rows if "tasks" in row}
    averages = []
    for row in rows:
        _check_keys(row, ("name", "tasks", "among", "group", "format", "in_train", "by_group"), where)
        wanted = {key: row[key] for key in ("group", "format", "in_train") if key in row}
        names = row.get("tasks") or [
            task.name
            for task in tasks
            if task.name in listed.get(row.get("among"), (task.name,))
            and all(getattr(task, key) == value for key, value in wanted.items())
        ]
        averages.append(Average(name=row["name"], tasks=tuple(names), by_group=row.get("by_group", False)))
    return tuple(averages)


def _build_task(path: Path, number: int, row: Mapping[str, Any]) -> Task:
    where = f"{path}, task {row.get('name', number)!r}"
    for key in REQUIRED:
        if key not in row:
            raise InputError(f"{where}: no {key}; a task has at least {', '.join(REQUIRED)} and its data")
    if not isinstance(row["name"], str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._=+-]*", row["name"]):
        raise InputError(f"{where}: the name also names files; use letters, digits and . _ = + -")
    _check_choice(row["format"], FORMATS, "format", where)
    shipped = isinstance(row.get("data"), Mapping)
    _check_choice(row["protocol"], protocols if shipped else CUSTOM_LAYOUTS, "protocol", where)
    protocol = protocols[row["protocol"]]
    if shipped:
        settings, data = _build_data(row, protocol, where)
    else:
        settings, data = _build_custom_data(path.parent, row, protocol, where)
    stated = {key: row[key] for key in STATED if key in row}
    return Task(
        name=row["name"],
        format=row["format"],
        protocol=_build(protocol, settings, where),
        data=data,
        fields=_read_fields(row, where),
        distance=row.get("stated_distance", "encoder"),
        **stated,
    )


def _build_data(row: Mapping[str, Any], protocol: type, where: str) -> tuple[dict[str, Any], DataLayout]:
    """Return the settings of the protocol, and the layout that the table `data` names."""
    keys = _field_names(protocol)
    _check_keys(row, (*TASK_KEYS, *(key for key in keys if key not in METRIC_KEYS)), where)
    settings = {key: row[key] for key in keys if key in row and key not in METRIC_KEYS}
    data = dict(row["data"])
    _check_choice(data.get("layout"), LAYOUTS, "layout", where)
    layout = _import_layout(LAYOUTS[data.pop("layout")])
    _check_keys(data, _field_names(layout), f"{where}, data")
    return settings | _metric_setting(protocol, _list_metrics(row), where), _build(layout, data, where)


def _build_custom_data(
    folder: Path, row: Mapping[str, Any], protocol: type, where: str
) -> tuple[dict[str, Any], DataLayout]:
    """Return the settings of the protocol, and the layout that follows from it with the files that it reads."""
    layout, metrics = _import_layout(CUSTOM_LAYOUTS[row["protocol"]]), _list_metrics(row)
    layout_keys, protocol_keys = _field_names(layout), _field_names(protocol)
    keys = [*TASK_KEYS, *layout_keys, *(key for key in protocol_keys if key not in METRIC_KEYS)]
    _check_keys(row, [key for key in keys if key != "data" or key in layout_keys], where)
    settings = {**_implied_settings(row["protocol"], metrics), **row}
    of_layout = {key: value for key, value in settings.items() if key in layout_keys}
    of_protocol = {k: v for k, v in settings.items() if k in protocol_keys and k not in METRIC_KEYS}
    resolved, files = _resolve_paths(of_layout, folder, where)
    data = PinnedData(data=_build(layout, resolved, where), settings=json.dumps(of_layout, sort_keys=True), files=files)
    return of_protocol | _metric_setting(protocol, metrics, where), data


def _list_metrics(row: Mapping[str, Any]) -> list[Any]:
    return row["metric"] if isinstance(row["metric"], list) else [row["metric"]]


def _import_layout(name: str) -> type[DataLayout]:
    module, _, layout = name.partition(":")
    return getattr(import_module(f"sciprism.datasets.layouts.{module}"), layout)  # type: ignore[no-any-return]


def _implied_settings(protocol: str, metrics: Sequence[Any]) -> dict[str, Any]:
    """Return the settings that follow from the metric: numbers have another loss than classes.

    A probe of numbers has an intercept and standardized targets, those of published suites as in the papers.
    """
    if protocol not in ("probe", "pair") or not metrics or metrics[0] not in OF_NUMBERS:
        return {}
    probe = {"loss": "epsilon_insensitive", "intercept": True, "standardize_targets": True}
    return {"target": "number"} | (probe if protocol == "probe" else {})


def _metric_setting(protocol: type, metrics: Sequence[Any], where: str) -> dict[str, Any]:
    if "metrics" in _field_names(protocol):
        return {"metrics": list(metrics)}
    if len(metrics) == 1:
        return {"metric": metrics[0]}
    if protocol is not ProbeProtocol:
        raise InputError(f"{where}: {len(metrics)} metrics, but this protocol takes one; make a task for each")
    return {"metric": list(metrics)}


def _read_fields(row: Mapping[str, Any], where: str) -> tuple[str, ...]:
    names = row.get("fields", FIELDS)
    if isinstance(names, str) or not names:
        raise InputError(f"{where}: fields is {names!r}, not a list of a paper's fields")
    for name in names:
        _check_choice(name, PAPER_FIELDS, "field", where)
    return tuple(names)


def _build(kind: type[T], settings: Mapping[str, Any], where: str) -> T:
    """Return the declaration with these settings. Raises InputError naming the setting that is wrong."""
    types = get_type_hints(kind, include_extras=True)
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
    for part, inner in _list_nested(value, kind):
        _check_keys(part, _field_names(inner), f"{where}, {key}")
    try:
        return _type_adapter(kind).validate_json(json.dumps(value), strict=True)
    except (ValidationError, TypeError) as error:
        reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        raise InputError(f"{where}: {key} is {value!r}: {reason}") from None


def _list_nested(value: Any, kind: Any) -> list[tuple[Mapping[str, Any], type]]:
    """Return the tables of a value that become dataclasses, with these: itself, or the members of a list."""
    if is_dataclass(kind) and isinstance(kind, type):
        return [(value, kind)] if isinstance(value, Mapping) else []
    if get_origin(kind) is tuple and isinstance(value, list):
        return [pair for part in value for pair in _list_nested(part, get_args(kind)[0])]
    return []


_type_adapter = cache(TypeAdapter)


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


def _resolve_paths(
    settings: Mapping[str, Any], folder: Path, where: str
) -> tuple[dict[str, Any], tuple[tuple[str, str], ...]]:
    """Return a layout's settings with absolute paths, and each file that they lead to with its SHA-256."""
    resolved = dict(settings)
    files: dict[str, str] = {}
    for key in [key for key in PATHS if settings.get(key)]:
        names = settings[key] if isinstance(settings[key], list) else [settings[key]]
        paths = [folder.absolute() / str(name) for name in names]
        for name, path in zip(names, paths, strict=True):
            if not path.exists():
                raise InputError(f"{where}: {key} is {name!r}, but there is no {path}")
            for file in _list_files(path, key):
                files[str(Path(str(name)) / file.relative_to(path))] = sha256(file)
        resolved[key] = [str(path) for path in paths] if isinstance(settings[key], list) else str(paths[0])
    return resolved, tuple(sorted(files.items()))


def _list_files(path: Path, key: str) -> list[Path]:
    """Return the file, or the files of the folder: those that layouts look for in `data`, all others without a dot."""
    if path.is_file():
        return [path]
    if key == "data":
        named = [item for item in path.iterdir() if item.name.partition(".")[0] in READ_NAMES]
        return [item for item in (*named, *(path / "qrels").glob("[!.]*")) if item.is_file()]
    data_files = [item for item in path.rglob("*") if item.is_file()]
    return [item for item in data_files if not any(part[0] == "." for part in item.relative_to(path).parts)]


class FileRegistry(UserDict[str, T]):
    """One kind of thing by name. One with a file is read when it is first asked for, so listing names is cheap."""

    def __init__(self, kind: str, read: Callable[[Path], T], paths: Iterable[Path]) -> None:
        super().__init__()
        self.kind, self.read = kind, read
        for path in paths:
            self[path.stem] = path

    def __getitem__(self, name: str) -> T:
        item: T | Path | None = self.data.get(name)
        if item is None:
            raise InputError(f"unknown {self.kind} {name!r}; known: {', '.join(sorted(self.data))}")
        if isinstance(item, Path):
            item = self.data[name] = self.read(item)
        return item

    def __setitem__(self, name: str, item: T | Path) -> None:
        if name in self.data:
            raise ValueError(f"{self.kind} {name!r} is registered twice")
        self.data[name] = item  # type: ignore[assignment]  # a path until it is read


suites = FileRegistry("suite", read_suite, sorted((Path(__file__).parent / "suites").glob("*.toml")))
"""The suites that commands know by name; `suites[NAME] = Suite(...)` adds one that is declared in code."""
