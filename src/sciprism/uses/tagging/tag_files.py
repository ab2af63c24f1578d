"""Files of tags: tables of paper and tag, Annif's corpora, verdicts; suggestions as CSV, JSON lines or Annif's."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sciprism.errors import InputError
from sciprism.files import write_lines
from sciprism.papers.input_file import InputFile
from sciprism.papers.records import Paper
from sciprism.papers.rows import cell_getter, detect_layout, guess_columns, read_rows
from sciprism.uses.tagging.suggestions import PaperTags
from sciprism.uses.tagging.vocabulary import Vocabulary

_HEADERS = {
    "paper": "paper paperid document documentid docid id",
    "tag": "uri tag label subject concept notation term",
    "verdict": "verdict judgement judgment accepted decision",
}
_YES = frozenset(["yes", "y", "true", "1", "+", "accept", "accepted", "right", "ok", "x"])
_NO = frozenset(["no", "n", "false", "0", "-", "reject", "rejected", "wrong"])
_ANNIF = re.compile(r"[^\t\n]+\t\s*<[^>\n]+>")
_URI = re.compile(r"<([^>]+)>")


@dataclass(slots=True)
class TagReport:
    """Counts of the tags that were read.

    unknown: tags that no label has, or several, and how often. untagged: papers without a known tag. unused: papers
    of a table that are not among the papers.
    """

    tags: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    untagged: int = 0
    unused: int = 0


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a person said of one tag of one paper."""

    paper: str
    tag: str
    accepted: bool


def resolve_tags(
    papers: Sequence[Paper], named: Iterable[Iterable[str]], vocabulary: Vocabulary
) -> tuple[list[list[int]], TagReport]:
    """Return the rows of each paper's tags, given by id, notation or name, and what could not be found."""
    report, resolved = TagReport(), list[list[int]]()
    for names in named:
        rows = list[int]()
        for name in names:
            if (row := vocabulary.find(name)) is None:
                report.unknown[name] += 1
            else:
                rows.append(row)
        resolved.append(rows)
        report.tags += len(rows)
        report.untagged += not rows
    assert len(resolved) == len(papers)
    return resolved, report


def read_tag_table(path: Path) -> dict[str, list[str]]:
    """Return paper -> tags of a table with columns paper and uri, tag or label: one tag a row.

    Rows that a person rejected are left out, so reviewed suggestions can be read.
    """
    tags: defaultdict[str, list[str]] = defaultdict(list)
    for row in _read_table(path, judged=False):
        if row.accepted:
            tags[row.paper].append(row.tag)
    return dict(tags)


def read_judgements(path: Path) -> list[Judgement]:
    """Return the judged rows of a table with columns paper, uri and verdict; rows without a verdict are left out.

    Raises InputError for a verdict that is neither yes nor no, or a table without any.
    """
    judgements = list(_read_table(path, judged=True))
    if not judgements:
        raise InputError(f"{path} has no verdict; write yes or no into the column verdict of some rows")
    return judgements


def count_verdicts(path: Path) -> int:
    """Return how many rows of a table have a verdict, whatever it says; 0 for a file that is no such table."""
    file = InputFile(path)
    layout = detect_layout(file.head(), _guess_columns)
    columns = _guess_columns(layout.headers)
    return sum(bool(cell_getter(cells, columns)("verdict")) for cells, _ in read_rows(file, layout))


def is_annif_corpus(path: Path) -> bool:
    """Tell whether a file is Annif's short-text corpus: text, a tab, URIs in angle brackets."""
    return path.is_file() and _ANNIF.match(InputFile(path).head()) is not None


def read_annif_corpus(path: Path) -> tuple[list[Paper], list[list[str]]]:
    """Return the texts of Annif's short-text corpus as papers, and the URIs of each."""
    papers, tags = list[Paper](), list[list[str]]()
    for number, (line, text) in enumerate(InputFile(path).lines(), 1):
        words, tab, subjects = text.rstrip("\n").partition("\t")
        if not words.strip():
            continue
        if not tab:
            raise InputError(f"{path}, line {line}: no tab between the text and its subjects")
        papers.append(Paper(id=str(number), title=words.strip()))
        tags.append(_URI.findall(subjects))
    return papers, tags


def _read_table(path: Path, *, judged: bool) -> Iterator[Judgement]:
    file = InputFile(path)
    layout = detect_layout(file.head(), _guess_columns)
    columns = _guess_columns(layout.headers)
    for name, shown in {"paper": "paper", "tag": "uri", **({"verdict": "verdict"} if judged else {})}.items():
        if name not in columns:
            listed = ", ".join(filter(None, layout.headers))
            raise InputError(f"{path} has no column {shown!r}; its columns: {listed}; its first line must name it")
    for number, (cells, fault) in enumerate(read_rows(file, layout), 1):
        if fault:
            raise InputError(f"{path}, row {number}: {fault}")
        text = cell_getter(cells, columns)
        verdict = text("verdict").strip().casefold()
        if verdict not in _YES | _NO | {""}:
            raise InputError(f"{path}, row {number}: the verdict {text('verdict')!r} is neither yes nor no")
        if text("paper") and text("tag") and (verdict or not judged):
            yield Judgement(text("paper"), text("tag").strip("<>"), verdict not in _NO)


def _guess_columns(headers: Sequence[str]) -> dict[str, int]:
    return guess_columns(headers, _HEADERS)


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


def write_tags(output: Path, format: str, tagged: Iterable[tuple[Paper, PaperTags]]) -> list[int]:
    """Write papers' tags, whole or not at all, and return how many each paper has; one paper at a time is in memory."""
    counts: list[int] = []

    def count() -> Iterator[tuple[Paper, PaperTags]]:
        for paper, tags in tagged:
            counts.append(len(tags.tags))
            yield paper, tags

    write_lines(output, _format_lines(format, count()), errors="replace")
    return counts


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
        for _, suggested in tagged:
            for tag in suggested.tags:
                facts = (tag.rank, tag.uri, tag.notation, tag.label, f"{tag.probability:.4f}", tag.why)
                yield _csv_line([suggested.id, suggested.title, *facts, ""])
    elif format == "jsonl":
        for _, suggested in tagged:
            yield json.dumps(suggested.to_json(), ensure_ascii=False)
    elif format == "annif-json":
        yield "["
        separator = ""
        for _, suggested in tagged:
            yield separator + json.dumps(to_annif_results(suggested), ensure_ascii=False)
            separator = ","
        yield "]"
    else:  # Annif's short-text corpus: the text, a tab, the subjects
        for paper, suggested in tagged:
            text = " ".join(f"{paper.title} {paper.abstract}".split())
            yield f"{text}\t" + " ".join(f"<{tag.uri}>" for tag in suggested.tags)


def _csv_line(cells: Sequence[object]) -> str:
    """Return a row of CSV; line ends in a cell become spaces."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow([" ".join(str(cell).split()) for cell in cells])
    return line.getvalue()
