"""Recommendations as files: CSV for people, JSON Lines for programs, BibTeX and RIS for reference managers."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

from sciprism.errors import InputError
from sciprism.files import write_lines
from sciprism.papers.bibliography_entries import format_bibtex, format_ris
from sciprism.uses.recommending.results import Recommendation, Recommendations

COLUMNS = ("rank", "score", "id", "doi", "url", "title", "authors", "year", "venue", "interest", "because")
ALL = (".csv", ".jsonl", ".bib")
"""Files that are written for a name without a suffix."""
SUFFIXES = (*ALL, ".ris")


def list_outputs(path: Path) -> list[Path]:
    """Return the files to write for a name: itself, or one of each kind for a name without a suffix.

    Raises InputError for an unknown suffix, or a folder in the place of a file.
    """
    if path.suffix and path.suffix.lower() not in SUFFIXES:
        raise InputError(f"{path}: its name must end with {', '.join(SUFFIXES)}, or have no suffix, which writes three")
    files = [path] if path.suffix else [path.with_name(path.name + suffix) for suffix in ALL]
    for file in files:
        if file.is_dir():
            raise InputError(f"{file} is a folder; name a file")
    return files


def write_recommendations(found: Recommendations, path: Path) -> list[Path]:
    """Write the list to a file by its suffix, or to three for a name without one; return the files.

    .csv: the columns of `COLUMNS`. .jsonl: an object per paper, with its abstract. .bib, .ris: with the reason as a
    note. Each file is written as a whole, or not at all.
    """
    files = list_outputs(path)
    for file in files:
        write_lines(file, _list_lines(found, file.suffix.lower()), errors="replace")
    return files


def describe_reason(hit: Recommendation) -> str:
    """Return the nearest own papers of a recommendation as a line, "Title (id, 0.81); ..."."""
    return "; ".join(f"{near.title or '(no title)'} ({near.id}, {near.similarity:.2f})" for near in hit.because)


def _list_lines(found: Recommendations, suffix: str) -> Iterator[str]:
    if suffix == ".csv":
        yield from _list_rows(found)
    elif suffix == ".jsonl":
        for hit in found.hits:
            yield json.dumps(hit.to_json() | {"abstract": hit.paper.abstract}, ensure_ascii=False)
    else:
        entries = [(hit.paper, f"rank {hit.rank}, {hit.interest}; near {describe_reason(hit)}") for hit in found.hits]
        yield from (format_bibtex if suffix == ".bib" else format_ris)(entries)


def _list_rows(found: Recommendations) -> Iterator[str]:
    def join(cells: list[object]) -> str:
        text = io.StringIO()
        csv.writer(text, lineterminator="").writerow(cells)
        return text.getvalue()

    yield join(list(COLUMNS))
    for hit in found.hits:
        row = hit.to_json() | {
            "score": f"{hit.score:.4f}",
            "authors": "; ".join(hit.authors),
            "because": describe_reason(hit),
        }
        yield join([row[name] if row[name] is not None else "" for name in COLUMNS])
