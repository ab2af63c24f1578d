"""Read results wherever they are: in the folders that `sciprism evaluate` writes, or packed.

A result is named by a place, ROOT/<system>/<suite>, and a task. In that folder are its files (`results.py`);
or there is no such folder, and ROOT/<suite>.json holds it (`result_packs.py`). Where both hold it, the folder
counts: it was written later.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sciprism.errors import InputError
from sciprism.evaluation import item_scores as evidences
from sciprism.evaluation import results
from sciprism.evaluation.item_scores import Evidence
from sciprism.evaluation.result_packs import Pack, Packable, is_pack, read_pack, scores_path, write_pack
from sciprism.evaluation.results import TaskResult


@dataclass(frozen=True, slots=True)
class PackedSuite:
    """What `pack` wrote: the JSON of a pack, its number of results and systems, the bytes of both files.

    source: the folder that held the systems' folders.
    """

    path: Path
    source: Path
    results: int
    systems: int
    size: int


def find(home: Path, task: str) -> TaskResult | None:
    """Return the result of a task at ROOT/<system>/<suite>, None where there is none."""
    path = home / f"{task}.json"
    if path.exists():
        return results.read(path)
    pack = _pack_of(home)
    return pack.results.get((home.parent.name, task)) if pack else None


def find_any(home: Path) -> TaskResult | None:
    """Return some result of the system whose results are at ROOT/<system>, None where there is none."""
    for path in sorted(home.rglob("*.json"))[:1]:
        return results.read(path)
    for pack in map(read_pack, filter(is_pack, sorted(home.parent.glob("*.json")))):
        for (system, _), result in pack.results.items():
            if system == home.name:
                return result
    return None


def read_items(home: Path, task: str, metric: str) -> Evidence | None:
    """Return the items behind a metric of a result, None where they are missing."""
    path = results.items_path(home, task, metric)
    if path.exists():
        return evidences.read(path)
    pack, key = _pack_of(home), (home.parent.name, task)
    if (home / f"{task}.json").exists() or pack is None or key not in pack.results:
        return None
    return pack.evidence(key, metric)


def read_all(root: Path) -> Iterator[tuple[Path, TaskResult]]:
    """Yield every result below a folder, or of one packed suite, with its place, in order of name.

    Raises InputError where there is none.
    """
    found: dict[Path, TaskResult | None] = {}
    for path in [root] if root.is_file() else root.rglob("*.json"):
        if (path.parent / "items").is_dir():
            found[path] = None
        elif is_pack(path):
            for (system, task), result in read_pack(path).results.items():
                found.setdefault(path.parent / system / path.stem / f"{task}.json", result)
    if not found:
        raise InputError(
            f"{root} holds no results; make them with: sciprism evaluate MODEL --suite open -o {root}"
        )
    for path, packed in sorted(found.items(), key=lambda each: each[0]):
        yield path.parent, packed if packed and not path.exists() else results.read(path)


def packed_files(root: Path) -> set[Path]:
    """Return the files of all packs below a folder."""
    found = [path for path in root.rglob("*.json") if is_pack(path)]
    return {*found, *map(scores_path, found)}


def pack(source: Path, target: Path) -> list[PackedSuite]:
    """Pack all results below a folder: for every folder of systems, one pack per suite at the same place.

    Results that a pack at the target has already stay, but for those of the same system and task. The same
    results give the same bytes. Raises InputError where a result is not where `sciprism evaluate` puts it.
    """
    entries: dict[tuple[Path, str], dict[tuple[str, str], Packable]] = {}
    for home, result in read_all(source):
        home = home.absolute()
        if home.name != result.suite:
            raise InputError(
                f"{home / result.task}.json is a result of the suite {result.suite!r}; pack a folder as "
                "`sciprism evaluate -o` writes it: SYSTEM/SUITE/TASK.json"
            )
        items = {metric: read_items(home, result.task, metric) for metric in result.metrics}
        there = {metric: evidence for metric, evidence in items.items() if evidence is not None}
        place = home.parent.parent, home.name
        entries.setdefault(place, {})[home.parent.name, result.task] = result, there
    return [_pack(base, suite, some, source, target) for (base, suite), some in entries.items()]


def _pack(
    base: Path, suite: str, entries: dict[tuple[str, str], Packable], source: Path, target: Path
) -> PackedSuite:
    inside = base.relative_to(source.absolute()) if base.is_relative_to(source.absolute()) else Path()
    path = target / inside / f"{suite}.json"
    if path.exists() and not is_pack(path):
        raise InputError(f"{path} is no packed results; choose another folder with -o")
    whole = (_unpack(read_pack(path)) if path.exists() else {}) | entries
    write_pack(path, whole)
    size = sum(part.stat().st_size for part in (path, scores_path(path)))
    return PackedSuite(path, base, len(whole), len({system for system, _ in whole}), size)


def _unpack(pack: Pack) -> dict[tuple[str, str], Packable]:
    found: dict[tuple[str, str], Packable] = {}
    for key, result in pack.results.items():
        items = {metric: pack.evidence(key, metric) for metric in pack.layouts[key]}
        found[key] = result, {metric: evidence for metric, evidence in items.items() if evidence is not None}
    return found


def _pack_of(home: Path) -> Pack | None:
    place = home.absolute()
    path = place.parent.parent / f"{place.name}.json"
    return read_pack(path) if is_pack(path) else None
