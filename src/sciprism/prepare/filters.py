"""Filter documents for training by language and licence, and find those of tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.open_data import UNNAMED, SplitTable, list_paper_keys
from sciprism.errors import InputError
from sciprism.evaluation.overlap import SHORT_ID
from sciprism.papers.languages import LANGUAGES, guess_language
from sciprism.papers.records import Paper
from sciprism.prepare.sources.citation_corpus import PaperReader
from sciprism.text.documents.document import Document, normalize_licence
from sciprism.training.examples import Example

TEST_PAPER, DEV_PAPER = "test paper", "dev paper of the open data"
UNCLEAR = ("Latin script", "none")
"""The guesses for a text that is too short, or has too many formulas, to guess its language."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Which documents are retained; an empty filter retains all.

    languages: codes or names; guessed for a document that states none, which is retained if its text is too
    short to guess. licences: such as "CC BY", of any version ("CC BY-NC" is another); documents that state
    none are dropped. exclude: of `read_excluded`. data: the folder of the open data, whose test and dev papers are
    dropped.
    """

    languages: tuple[str, ...] = ()
    licences: tuple[str, ...] = ()
    exclude: tuple[Path, ...] = ()
    data: Path | None = None

    def __post_init__(self) -> None:
        for language in self.languages:
            if language.lower() not in LANGUAGES:
                raise InputError(f"unknown language {language!r}; known: {', '.join(LANGUAGES)}")

    def load_check(self) -> Callable[[Document], str]:
        """Return a function of a document: the reason to drop it, or ""; it holds the ids of all tests."""
        wanted = {LANGUAGES[language.lower()] for language in self.languages}
        licences = {normalize_licence(licence).casefold() for licence in self.licences}
        excluded = read_excluded(self.exclude, PaperReader())
        table = SplitTable.load(DataRoot(self.data)) if self.data else None

        def check(document: Document) -> str:
            if licences and not document.licence:
                return "no licence stated"
            if licences and document.licence.casefold() not in licences:
                return "other licence"
            if wanted and _detect_language(document) not in (*wanted, *UNCLEAR):
                return "other language"
            keys = list_names(document.paper)
            if excluded and not excluded.isdisjoint(keys):
                return TEST_PAPER
            if table is None:
                return ""
            part = table.part(*keys, *_list_test_keys(document.paper, table))
            return {"test": TEST_PAPER, "dev": DEV_PAPER}.get(part or "", "")

        return check


def list_names(paper: Paper) -> list[str]:
    """Return all keys of a paper, and its bare ids."""
    return [*list_paper_keys(paper), f"id:{paper.id}", *(f"id:{value}" for value in paper.ids.values())]


def _list_test_keys(paper: Paper, table: SplitTable) -> list[str]:
    """Return the keys that a paper's id has in each data set with a test; none if it is too short or a number."""
    identifies = len(paper.id) >= SHORT_ID and not paper.id.isdigit()
    return [f"{data}:{paper.id}" for data in table.tests] if identifies else []


def read_excluded(paths: Iterable[Path], reader: PaperReader) -> set[str]:
    """Return the names of the papers to drop: those of files, queries of Multi-SciDocs, ids in the lines of a .txt.

    Raises InputError for a file that is not there or has none.
    """
    excluded: set[str] = set()
    for path in paths:
        if not path.exists():
            raise InputError(f"{path}: no such file or folder; --exclude names papers of tests")
        if path.suffix == ".txt":
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            names = {f"id:{line.strip()}" for line in lines if line.strip()}
        else:
            names = {name for paper in reader.read_queries(path, DataRoot(None)) for name in list_names(paper)}
        if not names:
            raise InputError(f"--exclude {path}: no paper in it; `sciprism inspect` says what it holds")
        excluded |= names
    return excluded


def _detect_language(document: Document) -> str:
    """Return the name of the language that a document states, else of a guess."""
    stated = document.language.strip().lower()
    code = stated.replace("_", "-").partition("-")[0]
    return LANGUAGES.get(stated) or LANGUAGES.get(code) or (stated or guess_language(document.text))


def find_leaks(data_root: DataRoot, examples: Iterable[Example]) -> list[str]:
    """Return "paper X is in the test of ir_scifact" once for each test paper of the examples.

    Queries and candidates are looked up by id (of any data set, DOI, PMID, arXiv id) and by title; the words
    of a query may be a title.
    """
    table = SplitTable.load(data_root)
    seen: set[bytes] = set()
    leaks: dict[str, None] = {}
    items = (item for example in examples for item in (example.query, *example.positives, *example.negatives))
    for item in items:
        paper = Paper(id=UNNAMED, title=item) if isinstance(item, str) else item
        if not isinstance(paper, Paper):  # a label
            continue
        text = f"{paper.id}\0{paper.title}\0{paper.abstract}"
        key = blake2b(text.encode("utf-8", "replace"), digest_size=12).digest()
        if key not in seen:
            seen.add(key)
            if tests := table.tests_of(*list_paper_keys(paper), *_list_test_keys(paper, table)):
                shown = paper.id if paper.id not in ("", UNNAMED) else repr(paper.title[:80])
                leaks[f"paper {shown} is in the test of {', '.join(tests)}"] = None
    return list(leaks)
