"""`sciprism verify`: whether files are as they were written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from sciprism.cli.output import join_counts, print_result
from sciprism.errors import InputError, RunFailedError

if TYPE_CHECKING:
    from sciprism.files import FileState

DAMAGED = ("damaged", "missing")
REMEDIES = {
    "collection": "restore these files from a copy, or delete the folder and embed the papers again",
    "index": "build the index again with: sciprism index",
    "model": "restore these files from a copy, or save or download the model again",
    "run": "restore these files from a copy, or delete the stage's folder and train it again",
    "results": "restore these files from a copy, or delete them and evaluate these tasks again",
}
"""What to do about damaged files, by what the folder holds."""


def verify(
    path: Annotated[Path, "A collection or part, a model, a run, or results."],
) -> None:
    """Compare every file with its checksum; exit status 1 if one is damaged or missing.

    A file is ok, damaged, missing, without checksum (another program wrote it), or unknown (not part of the folder).

    Example: sciprism verify vecs/
    """
    from sciprism.files import LOCK_NAME

    kind = _find_kind(path)
    states = [file for file in _list_states(path, kind) if Path(file.name).name != LOCK_NAME]
    damaged = [file for file in states if file.state in DAMAGED]
    counts = join_counts(Counter(file.state for file in states)) or "no files"
    lines = [*(f"{file.state:<16}  {file.name}" for file in states), f"{path} ({kind}): {counts}"]
    document = {"path": str(path), "kind": kind, "files": [asdict(file) for file in states]}
    print_result("sciprism.verify/1", document, "\n".join(lines))
    if damaged:
        others = [file for file in damaged if not file.name.startswith("index/")]
        remedy = REMEDIES[kind] if others or kind != "collection" else f"{REMEDIES['index']} {path}"
        first = f"{damaged[0].name} is {damaged[0].state}"
        raise RunFailedError(f"{path}: {len(damaged)} damaged or missing files ({first}); {remedy}")


def _find_kind(path: Path) -> str:
    """Return what a folder or a file holds. Raises InputError where that is nothing that sciprism writes."""
    from sciprism.evaluation.results import has_results
    from sciprism.store.collection import MANIFEST_NAME
    from sciprism.training.run_folder import METRICS, RECIPE

    if not path.exists():
        raise InputError(f"{path}: no such file or folder; name a collection, a model, a run or results")
    markers = {
        "collection": (MANIFEST_NAME,),
        "run": (RECIPE, METRICS),
        "model": ("checksums.json", "sciprism.json", "config.json", "modules.json"),
    }
    for kind, names in markers.items():
        if any((path / name).exists() for name in names):
            return kind
    if has_results(path):
        return "results"
    raise InputError(f"{path} holds nothing that can be checked; name a collection, a model, a run or results")


def _list_states(path: Path, kind: str) -> Iterator[FileState]:
    from sciprism.evaluation.results import add_item_states
    from sciprism.files import FileState, find_own_state, list_states

    if kind == "collection":
        yield from _list_collection_states(path)
    elif kind == "results":
        states = [FileState(path.name, find_own_state(path))] if path.is_file() else list_states(path)
        yield from add_item_states(path.parent if path.is_file() else path, states)
    else:
        yield from list_states(path)


def _list_collection_states(path: Path) -> Iterator[FileState]:
    from sciprism.files import FileState, find_own_state
    from sciprism.index.build_record import list_index_states
    from sciprism.store import StoredCollection
    from sciprism.store.collection import MANIFEST_NAME, PART_NAME, read_manifest
    from sciprism.store.writing import UNFINISHED_FOLDER

    try:
        manifest = read_manifest(path)
    except InputError:
        yield FileState(MANIFEST_NAME, "damaged")
        return
    collection = StoredCollection(path, manifest)
    seen = {MANIFEST_NAME}
    yield FileState(MANIFEST_NAME, "ok")
    for states in (collection.file_states(), list_index_states(collection)):
        for state in states:
            seen.add(state.name)
            yield state
    for file in [*sorted((path / UNFINISHED_FOLDER).glob("*.npz")), *path.glob(PART_NAME)]:
        name = file.relative_to(path).as_posix()
        seen.add(name)
        yield FileState(name, find_own_state(file))
    names = (file.relative_to(path).as_posix() for file in sorted(path.rglob("*")) if file.is_file())
    yield from (FileState(name, "unknown") for name in names if name not in seen)
