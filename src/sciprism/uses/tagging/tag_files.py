"""Files of tags: tables of paper and tag, verdicts, Annif's corpora; suggestions as CSV, JSON lines or Annif's."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.files import join_cells, write_lines
from sciprism.papers.cleaning import MISSING_VALUES, clean_id, clean_paper
from sciprism.papers.input_file import InputFile
from sciprism.papers.readers.vocabularies import URI, bare_uri, build_annif_paper, is_annif_object
from sciprism.papers.records import Paper
from sciprism.papers.rows import cell_getter, detect_columns, read_rows
from sciprism.uses.tagging.suggestions import PaperTags
from sciprism.uses.tagging.vocabulary import Vocabulary

_HEADERS = {
    "paper": "paper paperid document documentid docid id",
    "tag": "uri tag label subject concept notation term",
    "verdict": "verdict judgement judgment accepted decision",
}
_YES = frozenset(["yes", "y", "true", "1", "+", "accept", "accepted", "right", "ok", "x"])
_NO = frozenset(["no", "n", "false", "0", "-", "reject", "rejected", "wrong"])


@dataclass(slots=True)
class TagReport:
    """Counts of the tags that were read.

    unknown: tags that no label has, and how often. ambiguous: tags that are a name of several labels, and how often;
    homonyms: such a tag -> the ids of these labels. untagged: papers without a known tag. unused: papers of a table
    that are not among the papers. dropped: lines that were not used.
    """

    tags: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    ambiguous: Counter[str] = field(default_factory=Counter)
    homonyms: dict[str, list[str]] = field(default_factory=dict)
    untagged: int = 0
    unused: int = 0
    dropped: DropReport = field(default_factory=DropReport)

    def to_json(self) -> dict[str, Any]:
        """Return the counts as JSON values."""
        values = {name: getattr(self, name) for name in ("tags", "homonyms", "untagged", "unused")}
        counts = {"unknown": dict(self.unknown), "ambiguous": dict(self.ambiguous), "dropped": self.dropped.to_json()}
        return values | counts


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a person said of one tag of one paper."""

    paper: str
    tag: str
    accepted: bool


def resolve_tags(
    named: Iterable[Iterable[str]], vocabulary: Vocabulary, dropped: DropReport | None = None
) -> tuple[list[list[int]], TagReport]:
    """Return the rows of each paper's tags, given by id, notation or name, and what could not be used.

    dropped: what was left out before, for the report.
    """
    report, resolved = TagReport(dropped=dropped or DropReport()), list[list[int]]()
    for names in named:
        rows = list[int]()
        for name in names:
            found = vocabulary.find_all(name)
            if len(found) == 1:
                rows += found
            elif found:
                report.ambiguous[name] += 1
                report.homonyms[name] = [vocabulary.labels[row].id for row in found]
            else:
                report.unknown[name] += 1
        resolved.append(rows)
        report.tags += len(rows)
        report.untagged += not rows
    return resolved, report


def read_tag_table(path: Path, dropped: DropReport | None = None) -> dict[str, list[str]]:
    """Return paper -> tags of a table with columns paper and uri, tag or label: one tag a row.

    Rows that a person rejected are left out, so reviewed suggestions can be read. dropped: counts rows left out.
    """
    dropped = dropped or DropReport()
    tags: defaultdict[str, list[str]] = defaultdict(list)
    for place, row in _read_table(path, dropped, judged=False):
        if row.accepted:
            tags[row.paper].append(row.tag)
        else:
            dropped.add("row that a person rejected", place)
    return dict(tags)


def read_judgements(path: Path, dropped: DropReport | None = None) -> list[Judgement]:
    """Return the judged rows of a table with columns paper, uri and verdict. dropped: counts rows without a verdict.

    Raises InputError for a verdict that is neither yes nor no, or a table without any.
    """
    judgements = [row for _, row in _read_table(path, dropped or DropReport(), judged=True)]
    if not judgements:
        raise InputError(f"{path} has no verdict; write yes or no into the column verdict of some rows")
    return judgements


def _read_table(path: Path, dropped: DropReport, *, judged: bool) -> Iterator[tuple[str, Judgement]]:
    """Yield the place and the content of each row that has a paper and a tag, if judged also a verdict."""
    file = InputFile(path)
    layout, columns = detect_columns(file.head(), _HEADERS)
    for name, shown in {"paper": "paper", "tag": "uri", **({"verdict": "verdict"} if judged else {})}.items():
        if name not in columns:
            listed = ", ".join(filter(None, layout.headers))
            raise InputError(f"{path} has no column {shown!r}; its columns: {listed}; its first line must name it")
    for cells, fault in read_rows(file, layout):
        place = f"{path}, line {file.record_line}"
        if fault:
            raise InputError(f"{place}: {fault}")
        text = cell_getter(cells, columns)
        paper = clean_id(text("paper"))
        verdict = "" if text("verdict") in MISSING_VALUES else text("verdict").casefold()
        if verdict not in _YES | _NO | {""}:
            raise InputError(f"{place}: the verdict {text('verdict')!r} is neither yes nor no")
        if judged and not verdict:
            dropped.add("row without a verdict", place)
        elif not paper or not text("tag"):
            dropped.add("row without a paper or a tag", place)
        else:
            yield place, Judgement(paper, bare_uri(text("tag")), verdict not in _NO)


COLUMNS = ("paper", "title", "rank", "uri", "notation", "label", "probability", "why", "verdict")
"""Of the CSV; verdict is empty, for yes or no of the person who reviews it."""
SUFFIXES = {".csv": "csv", ".tsv": "annif-tsv", ".jsonl": "jsonl", ".json": "annif-json"}
FORMATS = ("csv", "jsonl", "annif-tsv", "annif-json")
NO_VERDICTS: Mapping[tuple[str, str], str] = {}


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
    if format != "csv" or not output.is_file():
        return
    file = InputFile(output)
    layout, columns = detect_columns(file.head(), _HEADERS)
    if count := sum(bool(cell_getter(cells, columns)("verdict")) for cells, _ in read_rows(file, layout)):
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

    write_lines(output, format_tags(format, count()), errors="replace")
    return counts


def format_tags(
    format: str, tagged: Iterable[tuple[Paper, PaperTags]], verdicts: Mapping[tuple[str, str], str] = NO_VERDICTS
) -> Iterator[str]:
    """Yield the lines of a file of tags. verdicts: of the CSV, by paper and uri."""
    if format == "csv":
        yield _csv_line(COLUMNS)
        for _, suggested in tagged:
            for tag in suggested.tags:
                facts = (tag.rank, tag.uri, tag.notation, tag.label, f"{tag.probability:.4f}", tag.why)
                yield _csv_line([suggested.id, suggested.title, *facts, verdicts.get((suggested.id, tag.uri), "")])
    elif format == "jsonl":
        for _, suggested in tagged:
            yield json.dumps(suggested.to_json(), ensure_ascii=False)
    elif format == "annif-json":  # as Annif's REST method `suggest-batch`
        yield "["
        separator = ""
        for _, suggested in tagged:
            results = [
                {"uri": tag.uri, "label": tag.label, "notation": tag.notation or None, "score": tag.probability}
                for tag in suggested.tags
            ]
            yield separator + json.dumps({"document_id": suggested.id, "results": results}, ensure_ascii=False)
            separator = ","
        yield "]"
    else:  # Annif's short-text corpus: the text, a tab, the subjects
        for paper, suggested in tagged:
            text = " ".join(f"{paper.title} {paper.abstract}".split())
            yield f"{text}\t" + " ".join(f"<{tag.uri}>" for tag in suggested.tags)


def _csv_line(cells: Sequence[object]) -> str:
    """Return a row of CSV; line ends in a cell become spaces."""
    return join_cells(" ".join(str(cell).split()) for cell in cells)


_SUBJECT_SUFFIXES = (".tsv", ".key")  # where a text has both, Annif reads the first


def is_annif_folder(path: Path) -> bool:
    """Tell whether a folder is a corpus of Annif."""
    documents = (InputFile(file).head().lstrip() for file in sorted(path.glob("*.json"))[:1])
    return any(map(_find_subjects, path.glob("*.txt"))) or any(map(is_annif_object, documents))


def read_annif_folder(path: Path, *, dropped: DropReport | None = None, skip_bad: bool = False) -> list[Paper]:
    """Return the texts of a folder as papers with their subjects, URIs or labels, as keywords.

    The first line of a text is its title. dropped: counts what cannot be used. Raises InputError for such a file
    unless `skip_bad`.
    """
    dropped, papers = dropped or DropReport(), list[Paper]()
    for file, document in _read_documents(path):
        paper = document if isinstance(document, str) else clean_paper(document)
        fault = paper if isinstance(paper, str) else "" if paper.title or paper.abstract else "no text"
        if fault and not skip_bad:
            raise InputError(f"{file}: {fault}; fix it or pass --skip-bad")
        if isinstance(paper, str) or fault:
            dropped.add(fault, str(file))
        else:
            papers.append(paper)
    return papers


def _read_documents(path: Path) -> Iterator[tuple[Path, Paper | str]]:
    """Yield the paper of each document, or what is wrong with it."""
    texts = sorted(path.glob("*.txt"))
    for text in texts:
        first, _, rest = "".join(InputFile(text).chunks()).strip().partition("\n")
        source = _find_subjects(text)
        rows = [row for _, row in InputFile(source).lines() if row.strip()] if source else []
        cells = [[cell.strip() for cell in row.split("\t") if cell.strip()] for row in rows]
        uris = [next((cell for cell in line if re.fullmatch(URI, cell)), line[0]) for line in cells]  # else labels
        yield text, Paper(id=text.stem, title=first, abstract=rest, keywords=tuple(filter(None, map(bare_uri, uris))))
    for document in sorted(path.glob("*.json")):
        try:
            paper = build_annif_paper(json.loads("".join(InputFile(document).chunks())))
            yield document, replace(paper, id=paper.id or document.stem)
        except (ValueError, AttributeError) as error:
            yield document, f"not a document in Annif's JSON: {error}"
    for file in sorted(file for suffix in _SUBJECT_SUFFIXES for file in path.glob(f"*{suffix}")):
        if file.with_suffix(".txt") not in texts:
            yield file, "subjects without a text"


def _find_subjects(text: Path) -> Path | None:
    return next((file for s in _SUBJECT_SUFFIXES if (file := text.with_suffix(s)).is_file()), None)
