"""Which documents may be trained on: by language, by licence, and not those of tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.split import SplitTable, names
from sciprism.errors import InputError
from sciprism.evaluation.overlap import SHORT_ID
from sciprism.papers.languages import guess_language
from sciprism.papers.reading import ReadReport, read_papers
from sciprism.papers.records import Paper
from sciprism.text.documents.document import Document, plain_licence

TESTED, HELD_BACK = "paper of a test", "dev paper of the open data"
NO_LICENCE, OTHER_LICENCE, OTHER_LANGUAGE = "no licence stated", "other licence", "other language"
UNCLEAR = ("Latin script", "none")
"""What is guessed of a text too short, or too full of formulas, to tell its language."""

_CODES = """
en eng English / de deu ger German / fr fra fre French / es spa Spanish / pt por Portuguese / it ita Italian
nl nld dut Dutch / pl pol Polish / tr tur Turkish / id ind Indonesian / sv swe Swedish / cs ces cze Czech
zh zho chi Chinese / ja jpn Japanese / ko kor Korean / el ell gre Greek / he heb Hebrew / th tha Thai
ru rus uk ukr bg bul Cyrillic script / ar ara fa fas per Arabic script / hi hin Devanagari script
"""


def _named() -> dict[str, str]:
    found: dict[str, str] = {}
    for row in _CODES.replace("\n", " / ").split("/"):
        codes = [word for word in row.split() if word.islower() and word != "script"]
        name = " ".join(word for word in row.split() if word not in codes)
        found |= dict.fromkeys([*codes, name.lower()], name) if name else {}
    return found


LANGUAGES = _named()
"""Code or lower-case name -> the name that `guess_language` uses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What documents must be; empty allows everything.

    languages: codes or names; a document that states none is judged by a guess, and stays where its text is
    too short to tell. licences: such as "CC BY", whatever the version ("CC BY-NC" is another); documents that
    state none go. without: files of papers, or .txt with an id a line, that are tests. data: the folder of
    the open data, whose test and dev papers go.
    """

    languages: tuple[str, ...] = ()
    licences: tuple[str, ...] = ()
    without: tuple[Path, ...] = ()
    data: Path | None = None

    def __post_init__(self) -> None:
        for each in self.languages:
            if each.lower() not in LANGUAGES:
                raise InputError(f"language {each!r} is not known; known: {', '.join(LANGUAGES)}")
        for path in self.without:
            if not path.exists():
                raise InputError(f"{path}: no such file or folder; --without names papers of tests")

    def judge(self) -> Callable[[Document], str]:
        """Return what says why a document goes, "" for one that stays; it holds the names of all tests."""
        wanted = {LANGUAGES[each.lower()] for each in self.languages}
        licences = {plain_licence(each).casefold() for each in self.licences}
        tested = self._tested()
        table = SplitTable.of(DataRoot(self.data)) if self.data else None

        def fault(document: Document) -> str:
            if licences and (reason := _licence_fault(document.licence, licences)):
                return reason
            if wanted and _language(document) not in (*wanted, *UNCLEAR):
                return OTHER_LANGUAGE
            keys = _names(document.paper)
            if tested and not tested.isdisjoint(keys):
                return TESTED
            if table is None:
                return ""
            part = table.part(*keys, *_ids(document.paper.id, table))
            return {"test": TESTED, "dev": HELD_BACK}.get(part or "", "")

        return fault

    def _tested(self) -> set[str]:
        found: set[str] = set()
        for path in self.without:
            if path.suffix == ".txt":
                lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
                found.update(f"id:{line.strip()}" for line in lines if line.strip())
            else:
                for paper in read_papers(path, skip_bad=True, report=ReadReport()):
                    found.update(_names(paper))
        return found


def _names(paper: Paper) -> list[str]:
    """Return all names of a paper, its bare ids too."""
    return [*names(paper), f"id:{paper.id}", *(f"id:{value}" for value in paper.ids.values())]


def _ids(name: str, table: SplitTable) -> list[str]:
    """Return an id as each data set has it; nothing for one so short or plain that it means no one paper."""
    return [] if len(name) < SHORT_ID or name.isdigit() else [f"{data}:{name}" for data in table.tests]


def _language(document: Document) -> str:
    stated = document.language.strip().lower()
    code = stated.replace("_", "-").partition("-")[0]
    return LANGUAGES.get(stated) or LANGUAGES.get(code) or (stated or guess_language(document.text))


def _licence_fault(licence: str, allowed: set[str]) -> str:
    if not licence:
        return NO_LICENCE
    return "" if licence.casefold() in allowed else OTHER_LICENCE
