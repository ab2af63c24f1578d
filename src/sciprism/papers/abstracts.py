"""Abstracts of other files for papers that lack one, and what becomes of papers that stay without."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeVar

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.identity import find_containers, hash_text, identify, list_names
from sciprism.papers.input_file import ReadOptions
from sciprism.papers.input_paths import Paths
from sciprism.papers.read import FileReport, ReadReport, read_papers
from sciprism.papers.records import Deletion, Paper

Record = TypeVar("Record", Paper, Paper | Deletion)

MISSING_ABSTRACT = ("title", "skip", "fail")
"""What becomes of a paper without abstract: its title alone is used, it is skipped, it is an error."""
MAX_YEARS_APART = 2  # years between the versions of one paper, such as a preprint and the article
_BATCH = 10_000
_MAX_CANDIDATES = 100
_TABLES = """
CREATE TABLE abstracts (row INTEGER PRIMARY KEY, abstract TEXT, record TEXT);
CREATE TABLE keys (key INTEGER, row INTEGER);
"""
_FIND = f"SELECT abstract, record FROM keys JOIN abstracts USING (row) WHERE key = ? LIMIT {_MAX_CANDIDATES}"


@dataclass(slots=True)
class AbstractReport:
    """Counts of one pass over papers.

    joined: by what abstracts were joined (`doi`, `id`, `title` ...). missing: papers that stay without abstract, by
    reason. skipped: those of them that were not used.
    """

    joined: Counter[str] = field(default_factory=Counter)
    missing: DropReport = field(default_factory=DropReport)
    skipped: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return all counts as JSON values."""
        return {"joined": dict(self.joined), "missing": self.missing.to_json(), "skipped": self.skipped}


class AbstractIndex:
    """The abstracts of files by identifier, id and title, in a temporary database: memory stays constant."""

    def __init__(self, paths: Paths) -> None:
        report = ReadReport()
        self._database = sqlite3.connect("")  # of SQLite, in its temporary folder, until it is closed
        self._database.executescript(f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; {_TABLES}")
        options = ReadOptions(required_column="abstract")
        self.files: list[FileReport] = report.files
        try:
            count = self._fill(read_papers(paths, options=options, skip_bad=True, report=report))
        except sqlite3.OperationalError as error:
            advice = "the abstracts need as much room as their files; set TMPDIR to another folder"
            raise OSError(f"cannot write the temporary database of abstracts: {error}; {advice}") from error
        if not count:
            raise InputError(f"no abstract in {', '.join(file.path for file in self.files)}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def find(self, paper: Paper) -> tuple[str, str]:
        """Return the abstract of a paper and by what it was found; else "" and why there is none.

        An id counts only where the titles agree, as ids of different files may be equal by chance; a title only
        where the years are near and it has one abstract; both only where no identifier tells the papers apart. An
        identifier counts unless it is of several papers (`find_containers`).
        """
        reason, identity = "not in the file of abstracts", identify(paper)
        for by, key in _list_keys(paper):
            found = self._database.execute(_FIND, [key]).fetchall()
            others = [identify(Paper.from_json(json.loads(row[1]))) for row in found]
            pairs = zip(found, others, strict=True)
            rows = [(*row, other) for row, other in pairs if row[0] and not identity.apart(other)]
            if by not in ("id", "title"):
                if find_containers([identity, *others]):
                    rows, reason = [], "its identifier is of several papers"
            elif not rows:
                reason = "an identifier tells it apart from the paper there" if any(row[0] for row in found) else reason
            elif by == "id":
                rows = [row for row in rows if 0 in (identity.title, row[2].title) or identity.title == row[2].title]
                reason = reason if rows else "its id has another title there"
            else:
                year = identity.year
                near = [row for row in rows if not (year and row[2].year) or abs(row[2].year - year) <= MAX_YEARS_APART]
                rows = [row for row in rows if row[2].year == year] or near
                reason = "its title has several abstracts there" if rows else "its title is of another year there"
                rows = rows if len({row[0] for row in rows}) == 1 else []
            if rows:
                return rows[0][0], by
        return "", reason

    def _fill(self, papers: Iterable[Paper]) -> int:
        count = 0
        for row, paper in enumerate(papers):  # also those without abstract: they may share an identifier
            record = json.dumps(replace(paper, abstract="", references=()).to_json() | {"pages": paper.pages})
            self._database.execute("INSERT INTO abstracts VALUES (?, ?, ?)", (row, paper.abstract, record))
            self._database.executemany("INSERT INTO keys VALUES (?, ?)", [(key, row) for _, key in _list_keys(paper)])
            count += bool(paper.abstract)
            if row % _BATCH == 0:
                self._database.commit()
        self._database.execute("CREATE INDEX by_key ON keys (key, row)")
        self._database.commit()
        return count


class AbstractCompletion:
    """Join abstracts to papers that lack one, and treat those that stay without as `missing` says.

    index: None joins nothing. report: counts of the latest pass. fails: whether a paper without abstract is an error.
    joins: whether there is a file of abstracts.
    """

    def __init__(self, index: AbstractIndex | None = None, *, missing: str = "title") -> None:
        if missing not in MISSING_ABSTRACT:
            raise InputError(f"--missing-abstract {missing!r} must be one of {', '.join(MISSING_ABSTRACT)}")
        self.report = AbstractReport()
        self.fails, self.joins = missing == "fail", index is not None
        self._index, self._missing = index, missing

    def complete(self, papers: Iterable[Record]) -> Iterator[Record]:
        """Yield the papers, and deletions, in their order; a pass begins with new counts."""
        self.report = AbstractReport()
        for paper in papers:
            if isinstance(paper, Deletion) or paper.abstract:
                yield paper
                continue
            abstract, by = self._index.find(paper) if self._index else ("", "no abstract")
            if abstract:
                self.report.joined[by] += 1
                yield replace(paper, abstract=abstract)
                continue
            self.report.missing.add(by, paper.id)
            if self.fails:
                advice = "add it, give --abstracts FILE, or take the title alone with --missing-abstract title"
                raise InputError(f"{paper.place or 'input'}: paper {paper.id!r} has no abstract; {advice}")
            if self._missing == "title":
                yield paper
            else:
                self.report.skipped += 1


@contextmanager
def open_abstracts(
    files: Sequence[str], missing: str = "title", on_read: Callable[[list[FileReport]], object] = lambda _files: None
) -> Iterator[AbstractCompletion]:
    """Read files of abstracts, and yield what joins them to papers. on_read: is given what became of each file."""
    completion = AbstractCompletion(missing=missing)  # refuses an unknown choice before files are read
    if not files:
        yield completion
        return
    with AbstractIndex(list(files)) as index:
        on_read(index.files)
        yield AbstractCompletion(index, missing=missing)


def _list_keys(paper: Paper) -> list[tuple[str, int]]:
    """Return by what a paper can be found, and the key: SQLite's integers have a sign."""
    return [(by, hash_text(f"{by}:{name}") - 2**63) for by, name in list_names(paper)]
