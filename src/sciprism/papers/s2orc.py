"""S2ORC's shards as papers: `metadata/metadata_I.jsonl`, `pdf_parses/pdf_parses_I.jsonl`, also gzipped."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.cleaning import clean_abstract, clean_paper
from sciprism.papers.json_records import Row, first, names, year_in
from sciprism.papers.json_values import json_values
from sciprism.papers.records import Paper
from sciprism.papers.source import Source

PARTS = ("metadata", "pdf_parses")

NOT_READ = "record that cannot be read"
NO_FIELD = "no field of study"
NO_PARSE = "no PDF parse"
NO_ABSTRACT = "no parsed abstract"
AGAIN = "paper that stands in its shard before"
NO_PARTNER = "shard without metadata or without PDF parses"

_SYSTEMS = {"doi": "doi", "arxiv": "arxiv_id", "pmid": "pubmed_id", "pmcid": "pmc_id"}


def is_s2orc(folder: Path) -> bool:
    """Tell whether a folder holds metadata and PDF parses, a folder each."""
    return all((folder / part).is_dir() for part in PARTS)


def read_s2orc(folder: Path, *, shards: Sequence[int] | None = None, tally: DropReport) -> Iterator[Paper]:
    """Yield the safe papers of some shards, or of all, in the order of their PDF parses.

    Safe are papers with a field of study, a PDF parse and a parsed abstract (Multi2SPE's code); those that
    are not are counted by reason, and so are records that cannot be read. The abstract is the first parsed
    paragraph, all else is of the metadata. One shard's safe metadata are held while its parses pass by.
    Raises InputError where a shard that was asked for is not whole, or none is.
    """
    for shard in shards_in(folder, tally) if shards is None else shards:
        metadata, parses = (_file(folder, part, shard) for part in PARTS)
        if metadata is None or parses is None:
            lost = PARTS[metadata is not None]
            raise InputError(f"{folder}: no {lost}/{lost}_{shard}.jsonl, perhaps with .gz; fetch it")
        yield from _joined(metadata, parses, tally)


def shards_in(folder: Path, tally: DropReport) -> list[int]:
    """Return the numbers of the whole shards, ascending; count the others. Raises InputError for none."""
    found = [_numbers(folder, part) for part in PARTS]
    whole = sorted(found[0] & found[1])
    if not whole:
        raise InputError(
            f"{folder}: no shard of S2ORC; it would be metadata/metadata_0.jsonl and "
            "pdf_parses/pdf_parses_0.jsonl, perhaps with .gz"
        )
    for shard in sorted(found[0] ^ found[1]):
        tally.add(NO_PARTNER, str(shard))
    return whole


def check_shards(files: Sequence[Path], shards: Sequence[int]) -> None:
    """Raise InputError where shards are named and a file is no folder of S2ORC."""
    if shards and not all(map(is_s2orc, files)):
        raise InputError("shards are a matter of S2ORC; name folders with metadata/ and pdf_parses/ alone")


def _joined(metadata: Path, parses: Path, tally: DropReport) -> Iterator[Paper]:
    held = _safe(metadata, tally)
    for _, row in _objects(parses, tally):
        paper = held.pop(str(row.get("paper_id")), None)
        if paper is None:  # not safe by its metadata, and counted there
            continue
        abstract = clean_abstract(_opening(row.get("abstract")))
        if abstract:
            yield replace(paper, abstract=abstract)
        else:
            tally.add(NO_ABSTRACT, paper.id)
    for name in held:
        tally.add(NO_PARSE, name)


def _safe(path: Path, tally: DropReport) -> dict[str, Paper]:
    """Return id -> paper, without abstract, of those that are safe as far as metadata tell."""
    held: dict[str, Paper] = {}
    for place, row in _objects(path, tally):
        try:
            paper = clean_paper(_paper(row))
        except ValueError as error:
            tally.add(NOT_READ, f"{place}: {error}")
            continue
        if reason := _unsafe(row, paper):
            tally.add(reason, paper.id)
        elif held.setdefault(str(row["paper_id"]), paper) is not paper:
            tally.add(AGAIN, paper.id)
    return held


def _unsafe(row: Row, paper: Paper) -> str:
    if not paper.fields:
        return NO_FIELD
    if not row.get("has_pdf_parse", True):
        return NO_PARSE
    return "" if row.get("has_pdf_parsed_abstract", True) else NO_ABSTRACT


def _paper(row: Row) -> Paper:
    listed = row.get("authors")
    return Paper.from_json(
        {
            "id": row.get("paper_id"),
            "title": row.get("title"),
            "authors": tuple(filter(None, map(_author, listed if isinstance(listed, list) else ()))),
            "venue": first(row, "venue", "journal"),
            "year": year_in(row.get("year")),
            "fields": names(row.get("mag_field_of_study")),
            "references": names(row.get("outbound_citations")),
            "ids": {ours: row[theirs] for ours, theirs in _SYSTEMS.items() if row.get(theirs)},
        }
    )


def _author(value: Any) -> str:
    """Return the name of `{"first", "middle": [..], "last", "suffix"}`."""
    if not isinstance(value, dict):
        return str(value or "")
    middle = value.get("middle")
    parts = (value.get("first"), *(middle if isinstance(middle, list) else ()), value.get("last"))
    return " ".join(str(part) for part in (*parts, value.get("suffix")) if part)


def _opening(paragraphs: Any) -> str:
    """Return the first paragraph of `[{"text": ..}, ..]`."""
    opening = paragraphs[0] if isinstance(paragraphs, list) and paragraphs else None
    text = opening.get("text") if isinstance(opening, dict) else None
    return text if isinstance(text, str) else ""


def _objects(path: Path, tally: DropReport) -> Iterator[tuple[str, Row]]:
    """Yield (place, object) of each line; what is no object is counted."""
    for number, line, value, reason in json_values(Source(path)):
        place = f"{path.name}, line {line or number}"
        if isinstance(value, dict):
            yield place, value
        else:
            tally.add(NOT_READ, f"{place}: {reason or 'not an object'}")


def _file(folder: Path, part: str, shard: int) -> Path | None:
    paths = (folder / part / f"{part}_{shard}.jsonl{packed}" for packed in ("", ".gz"))
    return next((path for path in paths if path.is_file()), None)


def _numbers(folder: Path, part: str) -> set[int]:
    name = re.compile(rf"{part}_(0|[1-9]\d*)\.jsonl(?:\.gz)?")
    inside = (folder / part).iterdir() if (folder / part).is_dir() else ()
    return {int(found[1]) for path in inside if (found := name.fullmatch(path.name))}
