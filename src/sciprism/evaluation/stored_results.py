"""Read results wherever they are: in the folders that `sciprism evaluate` writes, or packed.

A result is identified by a folder, ROOT/<system>/<suite>, and a task. That folder holds its files
(`results.py`), or ROOT/<suite>.json holds it (`result_packs.py`). Where both do, the folder's counts: it was
written later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sciprism.errors import InputError
from sciprism.evaluation.item_scores import ItemScores
from sciprism.evaluation.result_packs import (
    ResultKey,
    ResultPack,
    ScoredResult,
    is_pack,
    read_pack,
    scores_path,
    write_pack,
)
from sciprism.evaluation.results import TaskResult, read_item_scores, read_result
from sciprism.evaluation.systems import System


@dataclass(frozen=True, slots=True)
class PackedSuite:
    """What `pack_results` wrote: the JSON file, the number of results and systems, the bytes of both files.

    source: the folder that held the systems' folders.
    """

    path: Path
    source: Path
    results: int
    systems: int
    size: int


def find_result(folder: Path, task: str) -> TaskResult | None:
    """Return the result of a task at ROOT/<system>/<suite>, None where there is none."""
    path = folder / f"{task}.json"
    if path.exists():
        return read_result(path)
    pack = _find_pack(folder)
    return pack.results.get((folder.parent.name, task)) if pack else None


def read_system(folder: Path) -> Iterator[TaskResult]:
    """Yield the results of one system, ROOT/<system>; where a task is packed too, both."""
    yield from map(read_result, sorted(folder.rglob("*.json")))
    for pack in map(read_pack, filter(is_pack, sorted(folder.parent.glob("*.json")))):
        yield from (result for (name, _), result in pack.results.items() if name == folder.name)


def check_owners(systems: Sequence[tuple[Path, System]]) -> None:
    """Check that each folder, ROOT/<system>, has results of one model alone, stored ones included. InputError."""
    owners: dict[Path, str] = {}
    for folder, system in systems:
        if found := next(read_system(folder), None):
            check_owner(found, system, folder)
        if owners.setdefault(folder, system.fingerprint) != system.fingerprint:
            raise InputError(f"two models are named {system.name}; evaluate them with different -o")


def check_owner(result: TaskResult, system: System, folder: Path) -> None:
    """Raise InputError where a stored result is of another model of the same name."""
    found = result.system.get("fingerprint")
    if found != system.fingerprint:
        raise InputError(
            f"{folder} holds results of another model named {system.name} (fingerprint {found}, now "
            f"{system.fingerprint}); choose another folder with -o, or remove it"
        )


def find_item_scores(folder: Path, task: str, metric: str) -> ItemScores | None:
    """Return the item scores behind a metric of a result, None where they are missing."""
    path = folder / f"{task}.json"
    if path.exists():
        return read_item_scores(path, metric)
    pack, key = _find_pack(folder), (folder.parent.name, task)
    return pack.item_scores(key, metric) if pack and key in pack.results else None


def has_results(root: Path) -> bool:
    """Tell whether a folder, or a JSON file, holds results, damaged ones too."""
    return any(_is_result(path) or is_pack(path) or scores_path(path).exists() for path in _list_json(root))


def read_results(root: Path) -> Iterator[tuple[Path, TaskResult]]:
    """Yield every result below a folder, or of one packed suite, with its folder, in order of path.

    Raises InputError where there is none.
    """
    found: dict[Path, TaskResult | None] = {}
    for path in _list_json(root):
        if _is_result(path):
            found[path] = None
        elif is_pack(path):
            for (system, task), result in read_pack(path).results.items():
                found.setdefault(path.parent / system / path.stem / f"{task}.json", result)
    if not found:
        raise InputError(f"{root} holds no results; make them with: sciprism evaluate MODEL --suite open -o {root}")
    for path, packed in sorted(found.items(), key=lambda each: each[0]):
        yield path.parent, packed if packed and not path.exists() else read_result(path)


def pack_results(source: Path, target: Path) -> list[PackedSuite]:
    """Pack all results below a folder: one pack per suite for every folder of systems, at the same place.

    Results that are packed at the target already stay, except those of the same system and task. The same
    results give the same bytes. Raises InputError where a result is not where `sciprism evaluate` puts it.
    """
    entries: dict[tuple[Path, str], dict[ResultKey, ScoredResult]] = {}
    for folder, result in read_results(source):
        folder = folder.absolute()
        if folder.name != result.suite:
            raise InputError(
                f"{folder / result.task}.json is a result of the suite {result.suite!r}; pack a folder as "
                "`sciprism evaluate -o` writes it: SYSTEM/SUITE/TASK.json"
            )
        found = {metric: find_item_scores(folder, result.task, metric) for metric in result.metrics}
        items = {metric: scores for metric, scores in found.items() if scores is not None}
        systems = entries.setdefault((folder.parent.parent, folder.name), {})
        systems[folder.parent.name, result.task] = result, items
    return [_pack(base, suite, some, source, target) for (base, suite), some in entries.items()]


def _pack(base: Path, suite: str, entries: dict[ResultKey, ScoredResult], source: Path, target: Path) -> PackedSuite:
    inside = base.relative_to(source.absolute()) if base.is_relative_to(source.absolute()) else Path()
    path = target / inside / f"{suite}.json"
    if path.exists() and not is_pack(path):
        raise InputError(f"{path} is no packed results; choose another folder with -o")
    merged = (read_pack(path).entries() if path.exists() else {}) | entries
    write_pack(path, merged)
    size = sum(part.stat().st_size for part in (path, scores_path(path)))
    return PackedSuite(path, base, len(merged), len({system for system, _ in merged}), size)


def _list_json(root: Path) -> Iterable[Path]:
    return [root] if root.is_file() else root.rglob("*.json")


def _is_result(path: Path) -> bool:
    return (path.parent / "items").is_dir()


def _find_pack(folder: Path) -> ResultPack | None:
    folder = folder.absolute()
    path = folder.parent.parent / f"{folder.name}.json"
    return read_pack(path) if is_pack(path) else None
