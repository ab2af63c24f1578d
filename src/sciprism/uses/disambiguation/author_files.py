"""The table of authors: written with a row for each signature, and read back as what is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from sciprism.errors import InputError
from sciprism.files import join_cells, write_lines
from sciprism.papers.input_file import InputFile
from sciprism.papers.rows import detect_layout, read_rows
from sciprism.uses.disambiguation.authors import ORCID, AuthorRow, KnownAuthor, Place

COLUMNS = ("paper_id", "position", "name", "author_id", "orcid", "probability", "reason")


def read_authors(path: Path) -> dict[Place, KnownAuthor]:
    """Read the ids and ORCIDs that are known, by a paper's id and the author's position.

    Columns: paper_id, position (from 1), author_id or orcid, and name, which is compared where it is there. Raises
    InputError with the line for a place without a number, an ORCID that is none, or a place that is there twice.
    """
    file = InputFile(path)
    layout = detect_layout(file.head(), lambda headers: {*headers} & {*COLUMNS})
    if not {"paper_id", "position"} <= {*layout.headers} or not {"author_id", "orcid"} & {*layout.headers}:
        raise InputError(f"{path} has no columns paper_id, position and author_id or orcid")
    known: dict[Place, KnownAuthor] = {}
    for cells, fault in read_rows(file, layout):
        row = dict(zip(layout.headers, map(str.strip, cells), strict=False))
        number, orcid = row.get("position", ""), row.get("orcid", "")
        match = ORCID.search(orcid)
        place = row.get("paper_id", ""), int(number) if number.isdecimal() else 0
        if not fault and not (place[0] and place[1]):
            fault = f"paper_id {place[0]!r} and position {number!r} are no place; positions are counted from 1"
        elif not fault and orcid and not match:
            fault = f"{orcid!r} is no ORCID; one looks like 0000-0002-1825-0097"
        elif not fault and place in known:
            fault = f"author {number} of {place[0]} is there twice; remove one of the rows"
        if fault:
            raise InputError(f"{path}, line {file.record_line}: {fault}")
        known[place] = KnownAuthor(row.get("author_id", ""), match[0].upper() if match else "", row.get("name", ""))
    return known


def write_authors(path: Path, rows: Sequence[AuthorRow], known: Mapping[Place, KnownAuthor]) -> int:
    """Write a row for each signature, then what is known of others; return how many the latter are."""
    written = {(row.paper_id, row.position) for row in rows}
    others = [(place, author) for place, author in known.items() if place not in written]
    lines = [join_cells("" if value is None else value for value in asdict(row).values()) for row in rows]
    lines += [join_cells([*place, author.name, author.author, author.orcid, "", ""]) for place, author in others]
    write_lines(path, [join_cells(COLUMNS), *lines], errors="replace")
    return len(others)
