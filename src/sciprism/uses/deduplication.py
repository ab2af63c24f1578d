"""Merge the records of one paper: let a person decide uncertain pairs, fill gaps, write the papers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from sciprism.errors import InputError
from sciprism.files import join_cells, write_lines
from sciprism.papers.bibliography_entries import find_doi, find_url, format_bibtex, format_ris
from sciprism.papers.comparison import WEIGHTS, Weights
from sciprism.papers.duplicates import ComparedPair, DuplicateFinder, Duplicates, Pair
from sciprism.papers.identity import join_groups, merge_records, normalize_words
from sciprism.papers.input_file import InputFile
from sciprism.papers.records import PRINTED, Paper
from sciprism.papers.rows import detect_layout, read_rows
from sciprism.parallel import Progress, show_nothing

FIELDS = ("title", "authors", "year", "venue", *PRINTED, "doi", "record")
COLUMNS = ("decision", "probability", "agreement", *(f"{name}_{side}" for name in FIELDS for side in (1, 2)))
REQUIRED = ("decision", "record_1", "record_2", "title_1", "title_2")
DECISIONS = {"duplicate": True, "yes": True, "y": True, "1": True} | dict.fromkeys(("different", "no", "n", "0"), False)


@dataclass(slots=True)
class Review:
    """A person's decisions by the positions of two records, and the rows of the file, also undecided ones, by pair.

    columns: of the file; those that a person added stay.
    """

    decisions: dict[Pair, bool] = field(default_factory=dict)
    columns: Sequence[str] = COLUMNS
    rows: dict[Pair, list[str]] = field(default_factory=dict)


def read_review(path: Path, papers: Sequence[Paper]) -> Review:
    """Read the decisions of an earlier review; none where there is no such file.

    Raises InputError with the line for a decision that is none, of records that the input does not have (any more), or
    that contradicts others. The file is not changed.
    """
    if not path.exists():
        return Review()
    file = InputFile(path)
    layout = detect_layout(file.head(), lambda headers: {*headers} & {*COLUMNS})
    if missing := [name for name in REQUIRED if name not in layout.headers]:
        raise InputError(f"{path} is not a review file, as it has no column {', '.join(missing)}; name another one")
    review, lines = Review(columns=layout.headers), dict[Pair, int]()
    records = {name_record(paper): position for position, paper in enumerate(papers)}
    for cells, fault in read_rows(file, layout):
        row = dict(zip(layout.headers, map(str.strip, cells), strict=False))
        word = row.get("decision", "").lower()
        if word and word not in DECISIONS:
            fault = fault or f"decision {word!r} is unknown; write duplicate or different, or nothing"
        pair = _find_pair(row, papers, records)
        if isinstance(pair, str):
            fault = fault or (word and f"{pair}; if the input has changed, clear the row's decision")
        elif word and not fault and review.decisions.setdefault(pair, DECISIONS[word]) != DECISIONS[word]:
            fault = f"another decision than in line {lines[pair]} for the same records; change one of them"
        if fault:
            raise InputError(f"{path}, line {file.record_line}: {fault}")
        if not isinstance(pair, str) and (word or pair not in lines):
            review.rows[pair] = cells
            lines |= {pair: file.record_line or 0} if word else {}
    _check_contradictions(path, review.decisions, lines)
    return review


def write_review(path: Path, review: Review, uncertain: Sequence[ComparedPair], papers: Sequence[Paper]) -> None:
    """Write the decided rows as they were, then the uncertain pairs."""
    rows = [review.rows[pair] for pair in review.decisions]
    for pair in uncertain:
        row = {"probability": f"{pair.probability:.2f}"}
        row["agreement"] = "; ".join(f"{field}: {level}" for field, level in pair.levels.items())
        for side, paper in enumerate((papers[position] for position in pair.positions), 1):
            texts = {name: str(getattr(paper, name, "") or "") for name in FIELDS}
            texts |= {"authors": "; ".join(paper.authors), "doi": find_doi(paper), "record": name_record(paper)}
            row |= {f"{name}_{side}": text for name, text in texts.items()}
        rows.append(review.rows.get(pair.positions) or [row.get(name, "") for name in review.columns])
    write_lines(path, map(join_cells, [review.columns, *rows]), errors="replace")


def name_record(paper: Paper) -> str:
    """Return where a record was read."""
    return str(paper.place or paper.id)


def _find_pair(row: Mapping[str, str], papers: Sequence[Paper], records: Mapping[str, int]) -> Pair | str:
    """Return the positions of a row's records, or what is wrong with them."""
    names = [row.get("record_1", ""), row.get("record_2", "")]
    if names[0] == names[1]:
        return f"{names[0]!r} is named twice"
    for name, title in zip(names, (row.get("title_1", ""), row.get("title_2", "")), strict=True):
        if name not in records:
            return f"no record {name!r} is read"
        if normalize_words(papers[records[name]].title) != normalize_words(title):
            return f"{name} is {papers[records[name]].title[:60]!r} now, not {title[:60]!r}"
    first, last = sorted(records[name] for name in names)
    return first, last


def _check_contradictions(path: Path, decisions: Mapping[Pair, bool], lines: Mapping[Pair, int]) -> None:
    """Raise InputError where records are called different that other rows make duplicates."""
    groups: dict[int, list[int]] = {}
    for pair in (pair for pair, same in decisions.items() if same):
        join_groups(groups, *pair)
    for (one, other), same in decisions.items():
        if not same and other in groups.get(one, ()):
            by = sorted(line for pair, line in lines.items() if decisions[pair] and pair[0] in groups[one])
            raise InputError(
                f"{path}, line {lines[one, other]}: different, but the duplicates of lines {', '.join(map(str, by))} "
                "make these records one paper; change one of the decisions"
            )


SUFFIXES = (".bib", ".ris", ".csv", ".jsonl")
ORIGIN = ("merged_from", "other_version")
LISTS = ("authors", "keywords", *ORIGIN)
PAPER_COLUMNS = (
    *("id", "title", "authors", "year", "venue", *PRINTED, "doi", "pmid", "pmcid", "arxiv", "url", "keywords"),
    *("abstract", *ORIGIN),
)


def check_output(path: Path) -> None:
    """Raise InputError for a file that cannot be written."""
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"{path}: its name must end with {', '.join(SUFFIXES)}")


def write_papers(papers: Iterable[tuple[Paper, list[str]]], path: Path) -> None:
    """Write papers, each with the ids of its other versions, by the file's suffix: as a whole, or not at all."""
    suffix, rows = path.suffix.lower(), ((paper, _to_json(paper, versions)) for paper, versions in papers)
    if suffix in (".bib", ".ris"):
        lines = (format_bibtex if suffix == ".bib" else format_ris)((paper, _note(row)) for paper, row in rows)
    elif suffix == ".jsonl":
        lines = (json.dumps(row, ensure_ascii=False) for _, row in rows)
    else:
        cells = (row | row.get("ids", {}) | {name: "; ".join(row.get(name, ())) for name in LISTS} for _, row in rows)
        lines = chain([join_cells(PAPER_COLUMNS)], (join_cells(map(row.get, PAPER_COLUMNS)) for row in cells))
    write_lines(path, lines, errors="replace")


def _to_json(paper: Paper, versions: list[str]) -> dict[str, Any]:
    places = paper.place.list_all() if paper.place and paper.place.others else []
    more = {"doi": find_doi(paper), "url": find_url(paper), "merged_from": places, "other_version": versions}
    more |= {name: getattr(paper, name) for name in PRINTED}
    return paper.to_json() | {name: value for name, value in more.items() if value}


def _note(row: dict[str, Any]) -> str:
    """Return a note such as "merged from: a.ris, record 1; b.csv, record 5"."""
    return ". ".join(f"{name.replace('_', ' ')}: {'; '.join(row[name])}" for name in ORIGIN if name in row)


@dataclass(frozen=True)
class Deduplication(Duplicates):
    """Records as read, their duplicates, and how many pairs a person had decided on."""

    records: Sequence[Paper]
    decided: int

    def count_sources(self) -> list[dict[str, Any]]:
        """Count of each file the records, and those removed as duplicates: the first of a group is retained."""
        files = [paper.place.file if paper.place else "" for paper in self.records]
        removed = Counter(files[position] for group in self.groups for position in group[1:])
        return [{"file": file, "records": n, "removed": removed[file]} for file, n in Counter(files).items()]

    def papers(self) -> Iterator[tuple[Paper, list[str]]]:
        """Yield each paper, merged from its records, with the ids of its preprints or its articles."""
        papers = self.list_papers()
        first = {position: group[0] for group in papers for position in group}
        versions: dict[int, dict[str, None]] = {}
        for one, other in ((first[one], first[other]) for one, other in self.versions):
            if one != other:
                versions.setdefault(one, {})[self.records[other].id] = None
                versions.setdefault(other, {})[self.records[one].id] = None
        for group in papers:
            yield _merge([self.records[member] for member in group]), list(versions.get(group[0], ()))

    def to_json(self) -> dict[str, Any]:
        """Return counts, groups and pairs as JSON values; a record is named by its file and number."""

        def name(*positions: int) -> list[str]:
            return [name_record(self.records[position]) for position in positions]

        return {
            "counts": self.count_all() | {"decided": self.decided},
            "sources": self.count_sources(),
            "groups": [name(*group) for group in self.groups],
            "columns": [name(*group) for group in self.columns],
            "preprints": [name(*pair) for pair in self.versions],
            "uncertain": [[*name(*pair.positions), round(pair.probability, 3)] for pair in self.uncertain],
        }


def dedupe(
    papers: Iterable[Paper],
    *,
    review: Path | None = None,
    merge_preprints: bool = False,
    weights: Weights = WEIGHTS,
    progress: Progress = show_nothing,
) -> Deduplication:
    """Group the records of one paper; all are held in memory. `Deduplication.papers` merges them.

    review: a file of uncertain pairs; decisions in it count, and it is written again with the pairs that remain.
    Raises InputError for decisions that cannot be followed; the file stays.

    >>> one, other = Paper(id="1", title="On the frogs of Ohio", year=1990), Paper(id="2", title="Toads")
    >>> dedupe([one, other]).removed
    0
    """
    records, finder = list(papers), DuplicateFinder()
    reviewed = read_review(review, records) if review else Review()
    for number, paper in enumerate(records, 1):
        finder.add(paper)
        progress("indexing", "records", number, len(records))
    decisions = reviewed.decisions
    found = finder.find(decisions=decisions, merge_preprints=merge_preprints, weights=weights, progress=progress)
    if review:
        write_review(review, reviewed, found.uncertain, records)
    return Deduplication(**vars(found), records=records, decided=len(decisions))


def _merge(records: Sequence[Paper]) -> Paper:
    """Return the merged record; volume, issue, pages and year are those of one record, which has most of them."""
    if not records[1:]:
        return records[0]
    merged = merge_records(records)
    printed = max(records, key=lambda paper: (bool(paper.volume), bool(paper.pages), bool(paper.issue)))
    year = printed.year if printed.volume and printed.year else merged.year
    return replace(merged, year=year, volume=printed.volume, issue=printed.issue, pages=printed.pages)
