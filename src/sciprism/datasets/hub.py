"""Data sets of the Hugging Face hub: which files hold a split, how they come here. No script is ever run."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from sciprism.errors import InputError

CONVERTED = "refs/convert/parquet"
"""Where the hub keeps Parquet copies of data sets that were uploaded in other forms, or with a script."""

_PART = re.compile(r"(.*)-(\d{5})-of-(\d{5})\.parquet")
_ENDINGS = ("parquet", "jsonl", "jsonl.gz", "json", "json.gz", "csv", "csv.gz", "tsv", "tsv.gz")
_TEXTS = ("meta", "metadata")
_ALSO = {"dev": ("validation", "val"), "validation": ("dev", "val")}


def pick(files: Sequence[str], config: str, split: str) -> list[str]:
    """Return the files that hold one split of one config, in order; an empty list where there are none.

    files: paths inside the data set, with "/". In order of preference:
    `<config>/<split>-0000i-of-0000n.parquet`, `<config>/<split>/0000.parquet`, one file named after the
    split, and the names that SciRepEval's files bear outside of the hub (`test_qrel.jsonl`,
    `reviewer_metadata.jsonl`, `meta.jsonl`). A config that is alone may lie in `data/` or at the top.
    `dev` and `validation` are two names of one split. Raises InputError where parts of a split are missing.
    """
    here = set(files)
    for name in (split, *_ALSO.get(split, ())):
        if found := _named(here, config, name):
            return found
    return []


def _named(here: set[str], config: str, split: str) -> list[str]:
    folders = [f"{config}/"] if config else []
    folders += ["data/", ""] if config in ("", "default", split) else []
    for folder in folders:
        start = re.escape(f"{folder}{split}")
        parts = [name for name in here if re.fullmatch(start + r"-\d{5}-of-\d{5}\.parquet", name)]
        if parts:
            return _whole(sorted(parts))
        parts = sorted(name for name in here if re.fullmatch(start + r"/\d{4}\.parquet", name))
        if parts:
            return parts
        for name in _single(folder, config, split):
            if name in here:
                return [name]
    return []


def _single(folder: str, config: str, split: str) -> Iterator[str]:
    stems = [f"{folder}{split}", f"{folder}{split}_qrel"]
    if split == "metadata":
        stems.append(f"{folder}reviewer_metadata")
    if split == "evaluation":
        stems += [*(f"{folder}{name}" for name in _TEXTS), config]
    for stem in stems:
        yield from (f"{stem}.{ending}" for ending in _ENDINGS)


def _whole(parts: list[str]) -> list[str]:
    matches = [match for match in map(_PART.fullmatch, parts) if match]
    wanted = max(int(match[3]) for match in matches)
    same = [match[0] for match in matches if int(match[3]) == wanted]
    if len(same) != wanted:
        raise InputError(f"{len(same)} of {wanted} parts of {matches[0][1]} are here; fetch the others too")
    return same


def below(folder: Path) -> list[str]:
    """Return the paths of all files in a folder, "/" between the names."""
    return [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]


def cached(repo: str, revision: str) -> Path | None:
    """Return the folder of a data set in the hub's cache, or None. It may hold a part of the files only."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        folder = snapshot_download(
            repo, repo_type="dataset", revision=revision or None, local_files_only=True
        )
    except (LocalEntryNotFoundError, HFValidationError):
        return None
    return Path(folder)


def cached_split(repo: str, config: str, split: str, revision: str) -> list[Path]:
    """Return the files of a split if all of them are in the hub's cache, else an empty list."""
    for wanted in (revision,) if revision else ("", CONVERTED):
        folder = cached(repo, wanted)
        if folder is None:
            continue
        try:
            names = pick(below(folder), config, split)
        except InputError:  # some parts only: an earlier download was stopped
            continue
        # Numbered files do not say how many they are; they are fetched last to first, so 0000 closes the row.
        if names and (names[0].endswith("/0000.parquet") or not re.search(r"/\d{4}\.parquet$", names[0])):
            return [folder / name for name in names]
    return []


def fetch_split(repo: str, config: str, split: str, revision: str) -> list[Path]:
    """Download the files of a split from the hub and return them. Raises InputError with the reason.

    Without a revision the hub's Parquet copy serves where the data set itself has no such files.
    """
    for wanted in (revision,) if revision else ("", CONVERTED):
        files = _listing(repo, wanted)
        names = pick(files, config, split)
        if names:
            return sorted(_download(repo, name, wanted) for name in reversed(names))
        if any(name.endswith(".py") for name in files) and revision:
            raise InputError(
                f"{repo} at {revision} holds a loading script, which is not run; leave the revision out"
            )
    raise InputError(f"{repo} has no files for config {config!r}, split {split!r}")


def fetch_file(repo: str, path: str, revision: str) -> Path:
    """Return one file of a data set, from the hub's cache or else the hub. Raises InputError."""
    folder = cached(repo, revision)
    if folder is not None and (folder / path).is_file():
        return folder / path
    return _download(repo, path, revision)


def _listing(repo: str, revision: str) -> list[str]:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import RevisionNotFoundError

    try:
        return HfApi().list_repo_files(repo, repo_type="dataset", revision=revision or None)
    except RevisionNotFoundError:
        if revision == CONVERTED:
            return []
        raise InputError(f"{repo} has no revision {revision}") from None
    except _failures() as error:
        raise InputError(_reason(error)) from error


def _download(repo: str, path: str, revision: str) -> Path:
    from huggingface_hub import hf_hub_download

    try:
        return Path(hf_hub_download(repo, path, repo_type="dataset", revision=revision or None))
    except _failures() as error:
        raise InputError(_reason(error)) from error


def _failures() -> tuple[type[Exception], ...]:
    """Return what the hub's client raises for a wrong request and for a network that is down."""
    from huggingface_hub import get_session
    from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, HFValidationError

    # The client's own HTTP library has changed its name with its versions, and its errors are no OSError.
    library = sys.modules[type(get_session()).__module__.partition(".")[0]]
    return (EntryNotFoundError, HfHubHTTPError, HFValidationError, OSError, library.HTTPError)


def _reason(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
