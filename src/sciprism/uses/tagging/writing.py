"""Suggested tags in files: CSV, JSON lines, and the shapes of Annif."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from sciprism.errors import InputError
from sciprism.files import write_lines
from sciprism.papers.records import Paper
from sciprism.uses.tagging.suggestions import PaperTags
from sciprism.uses.tagging.tag_files import count_verdicts

COLUMNS = ("paper", "title", "rank", "uri", "notation", "label", "probability", "why", "verdict")
"""Of the CSV; verdict is empty, for yes or no of the person who reviews it."""
SUFFIXES = {".csv": "csv", ".tsv": "annif-tsv", ".jsonl": "jsonl", ".json": "annif-json"}
FORMATS = ("csv", "jsonl", "annif-tsv", "annif-json")


def choose_format(output: Path, format: str) -> str:
    """Return the format of an output file: as named, else by its suffix; InputError for an unknown one."""
    if format and format not in FORMATS:
        raise InputError(f"format {format!r} is not one of {', '.join(FORMATS)}")
    if not format and output.suffix.lower() not in SUFFIXES:
        raise InputError(
            f"{output}: no format is known for {output.suffix or 'a name without suffix'}; end its name in "
            f"{', '.join(SUFFIXES)}, or name one of {', '.join(FORMATS)} with --format"
        )
    return format or SUFFIXES[output.suffix.lower()]


def check_verdicts(output: Path, format: str) -> None:
    """Raise InputError for a CSV of suggestions that a person has reviewed: writing it again would lose that."""
    if format == "csv" and output.is_file() and (count := count_verdicts(output)):
        raise InputError(
            f"{output} has {count:,} verdicts, which would be lost; `sciprism tag feedback` learns from them; "
            "name another file to write, or delete this one"
        )


def write_tags(output: Path, format: str, tagged: Iterable[tuple[Paper, PaperTags]]) -> None:
    """Write papers' tags, whole or not at all; one paper after the other is in memory."""
    write_lines(output, _format_lines(format, tagged), errors="replace")


def to_annif_results(paper: PaperTags) -> dict[str, Any]:
    """Return tags in the shape of Annif's REST method `suggest-batch`."""
    results = [
        {"uri": tag.uri, "label": tag.label, "notation": tag.notation or None, "score": tag.probability}
        for tag in paper.tags
    ]
    return {"document_id": paper.id, "results": results}


def _format_lines(format: str, tagged: Iterable[tuple[Paper, PaperTags]]) -> Iterator[str]:
    if format == "csv":
        yield _csv_line(COLUMNS)
        for _, each in tagged:
            for tag in each.tags:
                facts = (tag.rank, tag.uri, tag.notation, tag.label, f"{tag.probability:.4f}", tag.why)
                yield _csv_line([each.id, each.title, *facts, ""])
    elif format == "jsonl":
        for _, each in tagged:
            yield json.dumps(each.to_json(), ensure_ascii=False)
    elif format == "annif-json":
        yield "["
        separator = ""
        for _, each in tagged:
            yield separator + json.dumps(to_annif_results(each), ensure_ascii=False)
            separator = ","
        yield "]"
    else:  # Annif's short-text corpus: the text, a tab, the subjects
        for paper, each in tagged:
            text = " ".join(f"{paper.title} {paper.abstract}".split())
            yield f"{text}\t" + " ".join(f"<{tag.uri}>" for tag in each.tags)


def _csv_line(cells: Sequence[object]) -> str:
    """Return a row of CSV; line ends in a cell become spaces."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow([" ".join(str(cell).split()) for cell in cells])
    return line.getvalue()
