"""Pages of a finished assignment, without external resources: an index, one of each submission and reviewer."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from operator import methodcaller
from pathlib import Path
from typing import Any

from sciprism.errors import InputError
from sciprism.files import write_atomically
from sciprism.pages import fill_file
from sciprism.uses.matching.result import FinishedAssignment, describe_unchecked, list_companions

MAX_NAME = 80  # bytes of a file's name


def write_pages(finished: FinishedAssignment, folder: Path) -> None:
    """Write the pages into a folder; InputError for one that holds something.

    `index.html` and the pages in `submissions` are for chairs. A page in `reviewers` names the reviewer's submissions,
    and nothing of their authors, conflicts and other reviewers: it can be sent to the reviewer.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} exists and is not an empty folder; name a new one")
    files = {"submissions": _name_files(finished.submissions), "reviewers": _name_files(finished.reviewers)}
    for name in files:
        (folder / name).mkdir(parents=True, exist_ok=True)

    def write(path: Path, kind: str, **values: Any) -> None:
        page = fill_file("assignment.html", "tables.js", kind=kind, finished=finished, files=files, **values)
        write_atomically(path, methodcaller("write", page))

    means = []
    for row, name in enumerate(files["submissions"]):
        explained = finished.explain(row)
        means.append(explained.mean)
        write(folder / "submissions" / name, "submission", explained=explained)
    for number, name in enumerate(files["reviewers"]):
        pairs = [(row, finished.explain_pair(row, number)) for row in finished.loads[number]]
        write(folder / "reviewers" / name, "reviewer", person=finished.people[number], pairs=pairs)
    audit: dict[str, Any] = {}
    with suppress(OSError, ValueError):  # the audit may be filed elsewhere
        audit = json.loads(list_companions(finished.path)[2].read_text(encoding="utf-8"))
    said = {"unchecked": describe_unchecked(audit), "conflicts": audit.get("conflicts", {})}
    write(folder / "index.html", "index", means=means, **said)


def _name_files(ids: Sequence[str]) -> list[str]:
    """Return a file's name for each id, distinct also where case does not matter."""
    names: dict[str, str] = {}
    for id in ids:
        stem = re.sub(r"[^\w.-]+", "_", id).encode()[:MAX_NAME].decode(errors="ignore").strip("._") or "page"
        name, number = stem, 1
        while name.casefold() in names:
            number += 1
            name = f"{stem}-{number}"
        names[name.casefold()] = f"{name}.html"
    return list(names.values())
