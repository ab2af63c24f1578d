"""Tasks of one's own: a TOML file of `[[task]]` tables becomes a suite (docs/own-tasks.md)."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from pydantic import TypeAdapter, ValidationError

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.layouts.custom import OwnCorpus, OwnLabels, OwnMentions, OwnPools, OwnReviewers
from sciprism.datasets.layouts.custom_language import OwnQuestions, OwnTexts, OwnWords
from sciprism.datasets.layouts.labelled import LabelledTable
from sciprism.errors import InputError
from sciprism.evaluation.protocols.registry import protocols
from sciprism.evaluation.stored_results import packed_files
from sciprism.evaluation.task import Data, Suite, Task, TaskProtocol
from sciprism.files import sha256
from sciprism.formats import FORMATS
from sciprism.text.template import FIELDS, PAPER_FIELDS

LAYOUTS: Mapping[str, type[Data]] = {
    "probe": LabelledTable,
    "rerank": OwnPools,
    "retrieve": OwnCorpus,
    "label": OwnLabels,
    "nearest-label": OwnLabels,
    "match": OwnReviewers,
    "cluster": OwnMentions,
    "tag": OwnWords,
    "pair": OwnTexts,
    "span": OwnQuestions,
}
"""Protocol -> the layout of the data that it is given."""
NEEDED = ("name", "protocol", "format", "metric")
METRIC = ("metric", "metrics")
TASK_KEYS = (*NEEDED, "fields", "group", "reference")
PATHS = ("data", "papers", "queries", "qrels", "labels", "reviewers", "ratings", "signatures")
"""Keys that name files or folders, relative to the TOML file."""
T = TypeVar("T")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._=+-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedData:
    """Data with the SHA-256 of each of their files: a result holds for these contents and no others.

    told: the settings as they stand in the TOML file. Where the files lie on a machine decides nothing.
    """

    data: Data = field(compare=False)
    told: str
    files: tuple[tuple[str, str], ...]

    def read(self, home: DataRoot) -> Any:
        """Return what the data give."""
        return self.data.read(home)


def read_tasks(path: str | Path) -> Suite:
    """Return the tasks of a TOML file as a suite of the file's name.

    Each `[[task]]` has name, protocol, format, metric (one or a list), data (a folder or file, relative to
    the TOML file), then whatever its layout and its protocol can be told. Raises InputError naming file,
    task and key.
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
    _known(document, ("task",), str(path))
    return Suite(name=path.stem, tasks=tuple(_task(path, number, row) for number, row in enumerate(rows, 1)))


def _task(path: Path, number: int, row: Mapping[str, Any]) -> Task:
    where = f"{path}, task {row.get('name', number)!r}"
    for key in NEEDED:
        if key not in row:
            raise InputError(f"{where}: no {key}; a task has at least {', '.join(NEEDED)} and its data")
    if not isinstance(row["name"], str) or not _NAME.fullmatch(row["name"]):
        raise InputError(f"{where}: the name also names files; use letters, digits and . _ = + -")
    _choice(row["format"], FORMATS, "format", where)
    _choice(row["protocol"], LAYOUTS, "protocol", where)
    layout, protocol = LAYOUTS[row["protocol"]], _protocol(row["protocol"])
    of_layout, of_protocol = _names(layout), _names(protocol)
    _known(row, (*TASK_KEYS, *of_layout, *(name for name in of_protocol if name not in METRIC)), where)
    metrics = row["metric"] if isinstance(row["metric"], list) else [row["metric"]]
    settings = _implied(row["protocol"], metrics) | dict(row)
    told = {key: value for key, value in settings.items() if key in of_layout}
    scored = {key: value for key, value in settings.items() if key in of_protocol and key not in METRIC}
    found, files = _resolved(told, path.parent, where)
    return Task(
        name=row["name"],
        format=row["format"],
        protocol=_built(protocol, scored | _metric(of_protocol, metrics, where), where),
        data=PinnedData(
            data=_built(layout, found, where), told=json.dumps(told, sort_keys=True), files=files
        ),
        fields=_fields(row, where),
        group=str(row.get("group", "")),
        reference=str(row.get("reference", "")),
    )


def _protocol(name: str) -> type[TaskProtocol]:
    import_module(f"sciprism.evaluation.protocols.{name.replace('-', '_')}")  # which registers it
    return protocols[name]


def _implied(protocol: str, metrics: Sequence[Any]) -> dict[str, Any]:
    """Return the settings that follow from the metric: a number is predicted by another loss than a class."""
    from sciprism.evaluation.protocols.probe import OF_NUMBERS

    if protocol == "probe" and metrics and metrics[0] in OF_NUMBERS:
        return {"target": "number", "loss": "epsilon_insensitive"}
    if protocol == "pair" and metrics and metrics[0] in OF_NUMBERS:
        return {"target": "number"}
    return {}


def _metric(of_protocol: Collection[str], metrics: Sequence[Any], where: str) -> dict[str, Any]:
    if "metrics" in of_protocol:
        return {"metrics": list(metrics)}
    if len(metrics) != 1:
        raise InputError(
            f"{where}: {len(metrics)} metrics, but this protocol takes one; make a task for each"
        )
    return {"metric": metrics[0]}


def _resolved(
    told: Mapping[str, Any], home: Path, where: str
) -> tuple[dict[str, Any], tuple[tuple[str, str], ...]]:
    """Return what a layout is told, its paths made absolute, and each file they lead to with its SHA-256."""
    found = dict(told)
    files: dict[str, str] = {}
    for key in [key for key in PATHS if told.get(key)]:
        names = told[key] if isinstance(told[key], list) else [told[key]]
        paths = [home.absolute() / str(name) for name in names]
        for name, path in zip(names, paths, strict=True):
            if not path.exists():
                raise InputError(f"{where}: {key} is {name!r}, but there is no {path}")
            for file in _below(path):
                files[str(Path(str(name)) / file.relative_to(path))] = sha256(file)
        found[key] = [str(path) for path in paths] if isinstance(told[key], list) else str(paths[0])
    return found, tuple(sorted(files.items()))


def _below(path: Path) -> list[Path]:
    """Return the file, or all files of the folder but for hidden ones and results that were put there."""
    if path.is_file():
        return [path]
    written = {item.parent.parent for item in path.rglob("items/*.npz")} | packed_files(path)
    found = [item for item in path.rglob("*") if item.is_file() and not written & {item, *item.parents}]
    return [item for item in found if not any(part[0] == "." for part in item.relative_to(path).parts)]


def _fields(row: Mapping[str, Any], where: str) -> tuple[str, ...]:
    names = row.get("fields", FIELDS)
    if isinstance(names, str) or not names:
        raise InputError(f"{where}: fields is {names!r}, not a list of what is read of a paper")
    for name in names:
        _choice(name, PAPER_FIELDS, "field", where)
    return tuple(names)


def _built(kind: type[T], settings: Mapping[str, Any], where: str) -> T:
    """Return the declaration with these settings. Raises InputError naming the setting that is wrong."""
    types = get_type_hints(kind)
    for name in _required(kind):
        if name not in settings:
            raise InputError(f"{where}: no {name}")
    values = {key: _converted(value, types[key], key, where) for key, value in settings.items()}
    try:
        return kind(**values)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _converted(value: Any, kind: Any, key: str, where: str) -> Any:
    """Return a value of the declared type: a list becomes a tuple, and one text too where several may be."""
    if kind == tuple[str, ...] and isinstance(value, str):
        value = [value]
    try:
        return TypeAdapter(kind).validate_json(json.dumps(value), strict=True)
    except (ValidationError, TypeError) as error:
        reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        raise InputError(f"{where}: {key} is {value!r}: {reason}") from None


def _names(kind: type) -> tuple[str, ...]:
    return tuple(item.name for item in fields(kind))


def _required(kind: type) -> tuple[str, ...]:
    return tuple(i.name for i in fields(kind) if i.default is MISSING and i.default_factory is MISSING)


def _known(row: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for key in row:
        if key not in known:
            raise InputError(f"{where}: unknown key {key!r}{_closest(key, known)}; known: {', '.join(known)}")


def _choice(value: Any, known: Collection[str], what: str, where: str) -> None:
    if value not in known:
        raise InputError(
            f"{where}: unknown {what} {value!r}{_closest(value, known)}; known: {', '.join(known)}"
        )


def _closest(value: Any, known: Collection[str]) -> str:
    found = get_close_matches(str(value), known, n=1)
    return f", is {found[0]!r} meant?" if found else ""
