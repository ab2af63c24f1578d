"""Abstracts of other files for papers that lack one, and what becomes of papers that stay without."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self, TypeVar

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.identity import GENERIC_TITLES, hash_text, identify, normalize_words
from sciprism.papers.input_file import ReadOptions
from sciprism.papers.input_paths import Paths
from sciprism.papers.read import FileReport, ReadReport, read_papers
from sciprism.papers.records import PAPER_ID_SYSTEMS, Deletion, Paper

_Row = tuple[int, int | None, str, str]  # title's hash, year, abstract, and the paper as JSON
Record = TypeVar("Record", Paper, Paper | Deletion)

MISSING_ABSTRACT = ("title", "skip", "fail")
"""What becomes of a paper without abstract: its title alone is used, it is skipped, it is an error."""
MAX_YEARS_APART = 2  # years between the versions of one paper, such as a preprint and the article
_BATCH = 10_000
_MAX_CANDIDATES = 100
_TABLES = """
CREATE TABLE abstracts (row INTEGER PRIMARY KEY, title INTEGER, year INTEGER, abstract TEXT, record TEXT);
CREATE TABLE keys (key INTEGER, row INTEGER);
"""
_FIND = (
    f"SELECT title, year, abstract, record FROM keys JOIN abstracts USING (row) WHERE key = ? LIMIT {_MAX_CANDIDATES}"
)


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
        self._folder = TemporaryDirectory(prefix="sciprism-")
        self._database = sqlite3.connect(Path(self._folder.name) / "abstracts")
        self._database.executescript(f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; {_TABLES}")
        options = ReadOptions(required_column="abstract")
        self.files: list[FileReport] = report.files
        try:
            if not self._fill(read_papers(paths, options=options, skip_bad=True, report=report)):
                raise InputError(f"no abstract in {', '.join(file.path for file in self.files)}")
        except sqlite3.OperationalError as error:
            self.close()
            advice = "the abstracts need as much room as their files; set TMPDIR to another folder"
            raise OSError(f"cannot write in {self._folder.name}: {error}; {advice}") from error
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the database."""
        self._database.close()
        self._folder.cleanup()

    def find(self, paper: Paper) -> tuple[str, str]:
        """Return the abstract of a paper and by what it was found; else "" and why there is none.

        An id counts only where the titles agree, as ids of different files may be equal by chance; a title only
        where the years are near and it has one abstract; both only where no identifier tells the papers apart.
        """
        reason = "not in the file of abstracts"
        title = _hash_title(paper)
        for by, key in _list_keys(paper):
            rows = self._database.execute(_FIND, [key]).fetchall()
            if by in ("id", "title") and rows:
                identity = identify(paper)
                rows = [row for row in rows if not identity.apart(identify(Paper.from_json(json.loads(row[3]))))]
                reason = reason if rows else "an identifier tells it apart from the paper there"
            if by == "id" and rows:
                rows = [row for row in rows if not (title and row[0]) or row[0] == title]
                reason = reason if rows else "its id has another title there"
            elif by == "title" and rows:
                year = paper.year
                near = [row for row in rows if not (year and row[1]) or abs(row[1] - year) <= MAX_YEARS_APART]
                rows = [row for row in rows if row[1] == year] or near
                reason = "its title has several abstracts there" if rows else "its title is of another year there"
                rows = rows if len({row[2] for row in rows}) == 1 else []
            if rows:
                return rows[0][2], by
        return "", reason

    def _fill(self, papers: Iterable[Paper]) -> int:
        count = 0
        with closing(self._database.cursor()) as cursor:
            for paper in papers:
                if paper.abstract:
                    record = json.dumps(replace(paper, abstract="", references=()).to_json())
                    row = (count, _hash_title(paper), paper.year, paper.abstract, record)
                    cursor.execute("INSERT INTO abstracts VALUES (?, ?, ?, ?, ?)", row)
                    cursor.executemany("INSERT INTO keys VALUES (?, ?)", [(key, count) for _, key in _list_keys(paper)])
                    count += 1
                    if count % _BATCH == 0:
                        self._database.commit()
            cursor.execute("CREATE INDEX by_key ON keys (key, row)")
        self._database.commit()
        return count


class AbstractCompletion:
    """Join abstracts to papers that lack one, and treat those that stay without as `missing` says.

    index: None joins nothing. report: counts of the latest pass. fails: whether a paper without abstract is an error.
    joins: whether there is a file of abstracts.
    """

    def __init__(self, index: AbstractIndex | None = None, *, missing: str = "title") -> None:
        if missing not in MISSING_ABSTRACT:
            raise InputError(f"--missing-abstract {missing!r} is none of {', '.join(MISSING_ABSTRACT)}")
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


def _list_keys(paper: Paper) -> Iterator[tuple[str, int]]:
    """Yield by what a paper can be found, and its key, the most certain first."""
    for system in PAPER_ID_SYSTEMS:
        if number := paper.ids.get(system):
            yield system, _hash(f"{system}:{number.lower()}")
    yield "id", _hash(f"id:{paper.id}")
    if (title := _normalize_title(paper)) and title not in GENERIC_TITLES:
        yield "title", _hash(f"title:{title}")


def _hash_title(paper: Paper) -> int:
    title = _normalize_title(paper)
    return _hash(f"title:{title}") if title else 0


def _normalize_title(paper: Paper) -> str:
    """Return a title without case, accents, spaces and punctuation."""
    return "".join(normalize_words(paper.title))


def _hash(text: str) -> int:
    return hash_text(text) - 2**63  # SQLite's integers have a sign
