"""Data sets of the Hugging Face hub: select and download the files of a split. Runs no loading script."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from sciprism.errors import InputError

PARQUET_REVISION = "refs/convert/parquet"
"""Revision with the hub's Parquet copies of data sets that were uploaded in another format or as a script."""

_PART = re.compile(r"(.*)-(\d{5})-of-(\d{5})\.parquet")
_ENDINGS = ("parquet", "jsonl", "jsonl.gz", "json", "json.gz", "csv", "csv.gz", "tsv", "tsv.gz")
_SYNONYMS = {"dev": ("validation", "val"), "validation": ("dev", "val")}


def select_files(files: Sequence[str], config: str, split: str) -> list[str]:
    """Return the files of one split of one config, in order; an empty list where there are none.

    files: paths inside the data set, with "/". In order of preference:
    `<config>/<split>-0000i-of-0000n.parquet`, `<config>/<split>/0000.parquet`, one file named after the
    split, and SciRepEval's file names outside the hub (`test_qrel.jsonl`, `reviewer_metadata.jsonl`,
    `meta.jsonl`). The files of an only config may be in `data/` or at the top. `dev` and `validation` are
    synonyms. Raises InputError where parts of a split are missing.
    """
    here = set(files)
    for name in (split, *_SYNONYMS.get(split, ())):
        if found := _select_named(here, config, name):
            return found
    return []


def _select_named(here: set[str], config: str, split: str) -> list[str]:
    folders = [f"{config}/"] if config else []
    folders += ["data/", ""] if config in ("", "default", split) else []
    for folder in folders:
        start = re.escape(f"{folder}{split}")
        if parts := [name for name in here if re.fullmatch(start + r"-\d{5}-of-\d{5}\.parquet", name)]:
            return _check_parts(sorted(parts))
        if parts := [name for name in here if re.fullmatch(start + r"/\d{4}\.parquet", name)]:
            return sorted(parts)
        for name in _single_file_names(folder, config, split):
            if name in here:
                return [name]
    return []


def _single_file_names(folder: str, config: str, split: str) -> Iterator[str]:
    stems = [f"{folder}{split}", f"{folder}{split}_qrel"]
    if split == "metadata":
        stems.append(f"{folder}reviewer_metadata")
    if split == "evaluation":
        stems += [f"{folder}meta", f"{folder}metadata", config]
    for stem in stems:
        yield from (f"{stem}.{ending}" for ending in _ENDINGS)


def _check_parts(parts: list[str]) -> list[str]:
    matches = [match for match in map(_PART.fullmatch, parts) if match]
    wanted = max(int(match[3]) for match in matches)
    same = [match[0] for match in matches if int(match[3]) == wanted]
    if len(same) != wanted:
        raise InputError(f"{len(same)} of {wanted} parts of {matches[0][1]} are here; download the others too")
    return same


def list_files(folder: Path) -> list[str]:
    """Return the paths of all files in a folder, "/" between the names."""
    return [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]


def find_cached_folder(repo: str, revision: str) -> Path | None:
    """Return the folder of a data set in the hub's cache, which may be incomplete, or None."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(repo, repo_type="dataset", revision=revision or None, local_files_only=True))
    except (LocalEntryNotFoundError, HFValidationError):
        return None


def find_cached_split(repo: str, config: str, split: str, revision: str) -> list[Path]:
    """Return the files of a split if all of them are in the hub's cache, else an empty list."""
    for wanted in (revision,) if revision else ("", PARQUET_REVISION):
        folder = find_cached_folder(repo, wanted)
        if folder is None:
            continue
        try:
            names = select_files(list_files(folder), config, split)
        except InputError:  # an earlier download was interrupted
            continue
        # Names such as 0003.parquet state no total; downloads go from last to first, so 0000 completes them.
        if names and (names[0].endswith("/0000.parquet") or not re.search(r"/\d{4}\.parquet$", names[0])):
            return [folder / name for name in names]
    return []


def fetch_split(repo: str, config: str, split: str, revision: str) -> list[Path]:
    """Download the files of a split from the hub and return them. Raises InputError with the reason.

    Without a revision, falls back to the hub's Parquet copy.
    """
    for wanted in (revision,) if revision else ("", PARQUET_REVISION):
        files = _list_repo_files(repo, wanted)
        if names := select_files(files, config, split):
            return sorted(_download(repo, name, wanted) for name in reversed(names))
        if any(name.endswith(".py") for name in files) and revision:
            raise InputError(f"{repo} at {revision} is a loading script, which is not run; omit the revision")
    raise InputError(f"{repo} has no files for config {config!r}, split {split!r}")


def fetch_file(repo: str, path: str, revision: str) -> Path:
    """Return one file of a data set, from the hub's cache or else from the hub. Raises InputError."""
    folder = find_cached_folder(repo, revision)
    if folder is not None and (folder / path).is_file():
        return folder / path
    return _download(repo, path, revision)


def _list_repo_files(repo: str, revision: str) -> list[str]:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import RevisionNotFoundError

    try:
        return HfApi().list_repo_files(repo, repo_type="dataset", revision=revision or None)
    except RevisionNotFoundError:
        if revision == PARQUET_REVISION:
            return []
        raise InputError(f"{repo} has no revision {revision}") from None
    except _client_errors() as error:
        raise InputError(_first_line(error)) from error


def _download(repo: str, path: str, revision: str) -> Path:
    from huggingface_hub import hf_hub_download

    try:
        return Path(hf_hub_download(repo, path, repo_type="dataset", revision=revision or None))
    except _client_errors() as error:
        raise InputError(_first_line(error)) from error


def _client_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that the hub's client raises for a bad request or a network failure."""
    from huggingface_hub import get_session
    from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, HFValidationError

    # The client's HTTP library differs between versions, and its errors are not OSError.
    library = sys.modules[type(get_session()).__module__.partition(".")[0]]
    return (EntryNotFoundError, HfHubHTTPError, HFValidationError, OSError, library.HTTPError)


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
