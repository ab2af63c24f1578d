"""Write merged papers, each with the records that it was merged from: BibTeX, RIS, CSV, JSON Lines."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

from sciprism.errors import InputError
from sciprism.files import join_cells, write_lines
from sciprism.papers.bibliography_entries import find_doi, find_url, format_bibtex, format_ris
from sciprism.papers.records import PRINTED, Paper

SUFFIXES = (".bib", ".ris", ".csv", ".jsonl")
ORIGIN = ("merged_from", "other_version")
LISTS = ("authors", "keywords", *ORIGIN)
COLUMNS = (
    *("id", "title", "authors", "year", "venue", *PRINTED, "doi", "pmid", "pmcid", "arxiv", "url", "keywords"),
    *("abstract", *ORIGIN),
)


def check_output(path: Path) -> None:
    """Raise InputError for a file that is none of those that can be written."""
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"{path}: its name must end with {', '.join(SUFFIXES)}")


def write_papers(papers: Iterable[tuple[Paper, list[str]]], path: Path) -> None:
    """Write papers, each with the ids of its other versions, by the file's suffix: as a whole, or not at all."""
    check_output(path)
    suffix, rows = path.suffix.lower(), ((paper, _to_json(paper, versions)) for paper, versions in papers)
    if suffix in (".bib", ".ris"):
        lines = (format_bibtex if suffix == ".bib" else format_ris)((paper, _note(row)) for paper, row in rows)
    elif suffix == ".jsonl":
        lines = (json.dumps(row, ensure_ascii=False) for _, row in rows)
    else:
        cells = (row | row.get("ids", {}) | {name: "; ".join(row.get(name, ())) for name in LISTS} for _, row in rows)
        lines = chain([join_cells(COLUMNS)], (join_cells(map(row.get, COLUMNS)) for row in cells))
    write_lines(path, lines, errors="replace")


def _to_json(paper: Paper, versions: list[str]) -> dict[str, Any]:
    places = paper.place.list_all() if paper.place and paper.place.others else []
    more = {"doi": find_doi(paper), "url": find_url(paper), "merged_from": places, "other_version": versions}
    more |= {name: getattr(paper, name) for name in PRINTED}
    return paper.to_json() | {name: value for name, value in more.items() if value}


def _note(row: dict[str, Any]) -> str:
    """Return a note such as "merged from: a.ris, record 1; b.csv, record 5"."""
    return ". ".join(f"{name.replace('_', ' ')}: {'; '.join(row[name])}" for name in ORIGIN if name in row)
