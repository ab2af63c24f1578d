"""Read S2ORC shards: `metadata/metadata_N.jsonl` and `pdf_parses/pdf_parses_N.jsonl`, also gzipped."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.cleaning import clean_abstract, clean_paper
from sciprism.papers.input_file import InputFile
from sciprism.papers.records import Paper
from sciprism.papers.rows import NOT_READ, get_first, get_path, list_texts, parse_year, read_named_rows

PARTS = ("metadata", "pdf_parses")

NO_FIELD = "no field of study"
NO_PARSE = "no PDF parse"
NO_ABSTRACT = "no parsed abstract"
DUPLICATE = "duplicate paper in its shard"
INCOMPLETE_SHARD = "shard without metadata or without PDF parses"

_SYSTEMS = {"doi": "doi", "arxiv": "arxiv_id", "pmid": "pubmed_id", "pmcid": "pmc_id"}


def is_s2orc(folder: Path) -> bool:
    """Say whether a folder holds the two folders of S2ORC, metadata and PDF parses."""
    return all((folder / part).is_dir() for part in PARTS)


def read_s2orc(folder: Path, *, dropped: DropReport) -> Iterator[Paper]:
    """Yield the safe papers of all shards. Raises InputError where no shard is complete."""
    for shard in list_shards(folder, dropped):
        yield from read_shard(folder, shard, dropped)


def list_shards(folder: Path, dropped: DropReport) -> list[int]:
    """Return the numbers of the complete shards, ascending; count the others. Raises InputError for none."""
    metadata, parses = (_find_shard_files(folder, part).keys() for part in PARTS)
    whole = sorted(metadata & parses)
    if not whole:
        raise InputError(
            f"{folder}: no shard of S2ORC; expected metadata/metadata_0.jsonl and "
            "pdf_parses/pdf_parses_0.jsonl, perhaps with .gz"
        )
    for shard in sorted(metadata ^ parses):
        dropped.add(INCOMPLETE_SHARD, str(shard))
    return whole


def read_shard(folder: Path, shard: int, dropped: DropReport) -> Iterator[Paper]:
    """Yield the safe papers of a complete shard in the order of their PDF parses.

    Safe papers have a field of study, a PDF parse and a parsed abstract (Multi2SPE's code); others, and
    records that cannot be read, are counted in `dropped`. The abstract is the first parsed paragraph, the
    rest is metadata. The safe metadata are held in memory.
    """
    metadata, parses = (_find_shard_files(folder, part)[shard] for part in PARTS)
    papers = _read_safe_metadata(metadata, dropped)
    for _, row in read_named_rows(InputFile(parses), dropped):
        paper = papers.pop(str(row.get("paper_id")), None)
        if paper is None:  # not safe by its metadata, and counted there
            continue
        paragraphs = row.get("abstract")
        text = get_path(paragraphs[0], "text") if isinstance(paragraphs, list) and paragraphs else None
        abstract = clean_abstract(text) if isinstance(text, str) else ""
        if abstract:
            yield replace(paper, abstract=abstract)
        else:
            dropped.add(NO_ABSTRACT, paper.id)
    for name in papers:
        dropped.add(NO_PARSE, name)


def _read_safe_metadata(path: Path, dropped: DropReport) -> dict[str, Paper]:
    """Return id -> paper, without abstract, of those that are safe by their metadata."""
    papers: dict[str, Paper] = {}
    for place, row in read_named_rows(InputFile(path), dropped):
        try:
            paper = clean_paper(_build_paper(row))
        except ValueError as error:
            dropped.add(NOT_READ, f"{path.name}, {place}: {error}")
            continue
        if not paper.fields:
            dropped.add(NO_FIELD, paper.id)
        elif not row.get("has_pdf_parse", True):
            dropped.add(NO_PARSE, paper.id)
        elif not row.get("has_pdf_parsed_abstract", True):
            dropped.add(NO_ABSTRACT, paper.id)
        elif papers.setdefault(str(row["paper_id"]), paper) is not paper:
            dropped.add(DUPLICATE, paper.id)
    return papers


def _build_paper(row: Mapping[str, Any]) -> Paper:
    listed = row.get("authors")
    return Paper.from_json(
        {
            "id": row.get("paper_id"),
            "title": row.get("title"),
            "authors": tuple(filter(None, map(_join_author, listed if isinstance(listed, list) else ()))),
            "venue": get_first(row, "venue", "journal"),
            "year": parse_year(row.get("year")),
            "fields": list_texts(row.get("mag_field_of_study")),
            "references": list_texts(row.get("outbound_citations")),
            "ids": {ours: row[theirs] for ours, theirs in _SYSTEMS.items() if row.get(theirs)},
        }
    )


def _join_author(value: Any) -> str:
    """Return the name of `{"first", "middle": [..], "last", "suffix"}`."""
    if not isinstance(value, dict):
        return str(value or "")
    middle = value.get("middle")
    parts = (value.get("first"), *(middle if isinstance(middle, list) else ()), value.get("last"))
    return " ".join(str(part) for part in (*parts, value.get("suffix")) if part)


def _find_shard_files(folder: Path, part: str) -> dict[int, Path]:
    """Return number -> file of the shards of a part; where a shard is there twice, the plain file."""
    name = re.compile(rf"{part}_(0|[1-9]\d*)\.jsonl(?:\.gz)?")
    inside = sorted((folder / part).iterdir(), reverse=True) if (folder / part).is_dir() else ()
    return {int(match[1]): path for path in inside if (match := name.fullmatch(path.name))}
