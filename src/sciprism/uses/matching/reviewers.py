"""Who reviews, who wrote a submission, and what a chair states of pairs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.bibliographic_fields import split_list
from sciprism.papers.cleaning import clean_id, is_missing, is_placeholder
from sciprism.papers.input_file import InputFile
from sciprism.papers.json_rows import JsonLayout, get_first, list_texts, read_json_values
from sciprism.papers.read import ReadReport, read_papers
from sciprism.papers.records import Paper
from sciprism.papers.rows import detect_layout, normalize_header, read_rows
from sciprism.store import StoredCollection
from sciprism.store.manifest import is_collection
from sciprism.store.paper_lookup import iterate_papers
from sciprism.uses.matching.persons import IdIndex, NameIndex, find_addresses, name_in_id, normalize_id, only


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewer:
    """A reviewer; only the id is required.

    aliases: further ids and names. groups: column -> value, such as seniority -> senior. least, most: submissions to
    review; None: as for all.
    """

    id: str
    name: str = ""
    emails: tuple[str, ...] = ()
    institutions: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    groups: Mapping[str, str] = field(default_factory=dict)
    least: int | None = None
    most: int | None = None
    papers: tuple[Paper, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Authorship:
    """What files say of the authors beyond a submission's list of them: names, profile ids, e-mails, institutions."""

    names: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    emails: tuple[str, ...] = ()
    institutions: tuple[str, ...] = ()

    def join(self, other: Authorship) -> Authorship:
        """Return what two files, or rows, say together."""
        values = {item.name: (*getattr(self, item.name), *getattr(other, item.name)) for item in fields(self)}
        return Authorship(**{name: tuple(dict.fromkeys(texts)) for name, texts in values.items()})


NO_AUTHORSHIP = Authorship()


class ReviewerIndex:
    """Finds reviewers by what a file calls them: an id in any form, an e-mail address, a name."""

    def __init__(self, reviewers: Sequence[Reviewer]) -> None:
        self.ids, self.others, self.names = IdIndex(person.id for person in reviewers), IdIndex(), NameIndex()
        for number, person in enumerate(reviewers):
            for text in (*person.aliases, *(email for email in person.emails if not email.startswith("@"))):
                self.others.add(text, number)
            for text in filter(None, (person.name, *person.aliases)):
                self.names.add(text, number)
            for id in (person.id, *person.aliases, *person.emails):
                self.names.add(name_in_id(id), number, any_order=not id.startswith("~"))

    def find(self, text: str) -> int | None:
        """Return the number of the one reviewer who is called so, None of none or several."""
        for index in (self.ids, self.others):
            if (number := index.find(text)) is not None:
                return number
        return only(self.names.find(text))

    def find_all(self, text: str) -> set[int]:
        """Return the numbers of all reviewers who may be called so."""
        return self.ids.find_all(text) | self.others.find_all(text) | self.names.find(text)


Record = tuple[str, dict[str, Any]]  # where a record is, and its values by normalized header
_TABLES = (".csv", ".tsv", ".tab")
_JSON = (".json", ".jsonl", ".ndjson")
_SUFFIX = re.compile(
    r"(?<=.)(\.(csl\.json|jsonl?|ndjson|csv|tsv|bib|ris|xml|nbib|enw|txt))?(\.gz)?\Z", re.IGNORECASE | re.DOTALL
)
"""Of a file of papers."""
_SUBMISSION_KEYS = ("id", "paperid", "paper", "submission", "submissionid", "note", "forum")
_AUTHOR_KEYS = {
    "names": "name fullname author authorname",
    "ids": "authorids authorid authorprofiles authororcids orcids orcid",
    "emails": "emails email authoremails authoremail authorsemails primarycontactauthoremail",
    "institutions": "institutions institution authorinstitutions affiliations affiliation organization",
}
_PERSON_KEYS = {
    "names": "name fullname preferredname displayname",
    "ids": "id username authorid profileid orcid",
    "emails": "emails email emailaddress mail preferredemail",
    "institutions": "institutions institution affiliations affiliation organisation organization",
}
"""What an object of one author, or one name of a profile, may hold."""
_GIVEN = ("firstname", "givenname", "givennames", "given", "first", "forename")
_FAMILY = ("lastname", "familyname", "surname", "family", "last")


def read_records(path: Path) -> Iterator[Record]:
    """Yield the records of a table or of JSON objects; InputError for a row that cannot be read."""
    if not path.exists():
        raise InputError(f"{path}: no such file")
    file = InputFile(path)
    name = path.name.lower().removesuffix(".gz")
    if not name.endswith((*_TABLES, *_JSON)):
        raise InputError(
            f"{path}: not a table (.csv, .tsv) or JSON (.json, .jsonl) by its name; save it as one of them"
        )
    if name.endswith(_TABLES):
        yield from _read_table(file)
        return
    for number, line, value, reason in read_json_values(file, JsonLayout(("notes", "reviewers", "profiles"))):
        where = file.locate(number, line)
        if reason or not isinstance(value, dict):
            raise InputError(f"{where}: {reason or 'not an object'}")
        yield where, _normalize_keys(_flatten(value))


def _normalize_keys(value: Mapping[str, Any]) -> dict[str, Any]:
    return {normalize_header(str(key)): item for key, item in value.items()}


def read_texts(value: Any) -> tuple[str, ...]:
    """Return the texts of a list, or of one text in which ; | or a line end separates them, without missing ones."""
    texts = split_list(value) if isinstance(value, str) else list_texts(value, "id", "name", "value", "email")
    return tuple(text for text in texts if not is_missing(text))


def read_authorships(paths: Iterable[Path]) -> dict[str, Authorship]:
    """Return submission -> what its file says of its authors; other files than tables and JSON say nothing.

    A table may have one row per author; the rows of a submission are joined.
    """
    authorships: dict[str, Authorship] = {}
    for path in paths:
        if not path.is_file() or not path.name.lower().removesuffix(".gz").endswith((*_TABLES, *_JSON)):
            continue
        for where, record in read_records(path):
            if (id := get_first(record, *_SUBMISSION_KEYS)) is None:
                continue
            authors = get_first(record, "authors", "author")
            people = [item for item in authors if isinstance(item, Mapping)] if isinstance(authors, list) else []
            try:
                found = _read_person({**record, "author": None} if people else record, _AUTHOR_KEYS)
                for person in people:
                    found = found.join(_read_person(_normalize_keys(person), _PERSON_KEYS))
            except ValueError as error:
                raise InputError(f"{where}: {error}") from None
            key = normalize_id(clean_id(str(id)))
            authorships[key] = authorships.get(key, NO_AUTHORSHIP).join(found)
    return authorships


def _read_person(record: Mapping[str, Any], keys: Mapping[str, str]) -> Authorship:
    """Return what a record says of one person, or of several in lists."""
    texts = {field: read_texts(get_first(record, *names.split())) for field, names in keys.items()}
    parts = [str(get_first(record, *names) or "") for names in (_GIVEN, _FAMILY)]
    whole = (" ".join(parts),) if all(parts) else ()
    return Authorship(
        names=texts["names"] or whole,
        ids=tuple(text for text in texts["ids"] if not is_placeholder(text)),
        emails=find_addresses((*texts["emails"], *texts["ids"])),
        institutions=tuple(text for text in texts["institutions"] if not is_placeholder(text)),
    )


def _read_table(file: InputFile) -> Iterator[Record]:
    layout = detect_layout(file.head(), lambda _: ())
    headers = list(map(normalize_header, layout.headers))
    for number, (cells, fault) in enumerate(read_rows(file, layout), 1):
        where = file.locate(number, file.record_line)
        if fault:
            raise InputError(f"{where}: {fault}")
        texts = {header: cell.strip() for header, cell in zip(headers, cells, strict=False) if header}
        yield where, {header: "" if is_missing(text) else text for header, text in texts.items()}


def _flatten(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object with the values of OpenReview's `content` (versions 1 and 2) next to its own."""
    content = value.get("content")
    if not isinstance(content, Mapping):
        return dict(value)
    inner = {key: item.get("value") if isinstance(item, Mapping) else item for key, item in content.items()}
    return {**inner, **{key: item for key, item in value.items() if key != "content"}}


_PERSON_COLUMNS = _PERSON_KEYS | {
    "names": f"{_PERSON_KEYS['names']} reviewername",
    "ids": "id reviewerid reviewer profileid userid user username openreviewid",
    "emails": f"{_PERSON_KEYS['emails']} revieweremail",
}
_ALIASES = (("openreviewid", "openreview", "openreviewprofile"), ("orcid", "orcidid"), ("aliases", "othernames"))
_COLUMNS = {
    "least": ("min", "minpapers", "minload", "minimum"),
    "most": ("max", "maxpapers", "maxload", "maximum", "quota", "load", "customload"),
    "papers": ("papers", "paperids", "publications"),
}
_KNOWN = {"names", *" ".join(_PERSON_COLUMNS.values()).split()}.union(*_COLUMNS.values(), *_ALIASES, _GIVEN, _FAMILY)


def read_reviewers(
    path: Path,
    papers: Sequence[Path] = (),
    *,
    skip_bad: bool = False,
    report: ReadReport | None = None,
    dropped: DropReport | None = None,
) -> list[Reviewer]:
    """Return the reviewers of a folder, table or JSON file, in the order read.

    papers: where their papers are, where the table does not hold them: a folder with a file per reviewer (its name
    is an id, e-mail address or name of the reviewer), or paper files or collections whose ids the table's column
    `papers` names. dropped: counts the files of no reviewer. Raises InputError for no reviewer, an id that occurs
    twice, a paper that is not there, a limit that is no number.
    """
    report = ReadReport() if report is None else report
    if not path.exists():
        raise InputError(f"{path}: no such file or folder of reviewers")
    if is_collection(path):
        raise InputError(f"{path} is a collection of papers; name reviewers, and the collection with --reviewer-papers")
    if path.is_dir():
        if papers:
            raise InputError(
                f"{path} is a folder of reviewers' papers; --reviewer-papers belongs to a table of reviewers"
            )
        reviewers = [Reviewer(id=id, papers=written) for id, written in _read_folder(path, skip_bad, report).items()]
    else:
        source = _PaperSource(papers, skip_bad, report)
        reviewers = list(_read_reviewer_table(path, source))
        reviewers = source.add_folders(reviewers, DropReport() if dropped is None else dropped)
    if not reviewers:
        raise InputError(f"{path} holds no reviewer")
    return reviewers


def reviewer_id(path: Path) -> str:
    """Return the reviewer whose papers a file holds: its name without suffixes such as .jsonl.gz.

    Ids such as ~Ann_Lee1 may hold dots, so only known suffixes go.
    """
    return normalize_id(_SUFFIX.sub("", path.name))


def list_papers(path: Path, skip_bad: bool, report: ReadReport) -> Iterator[Paper]:
    """Yield the papers of a collection or a paper file."""
    if not is_collection(path):
        yield from read_papers(path, skip_bad=skip_bad, report=report)
        return
    for part in iterate_papers(StoredCollection.open(path)):
        yield from part


class _PaperSource:
    """The papers that a table of reviewers refers to: files per reviewer, or papers by id."""

    def __init__(self, paths: Sequence[Path], skip_bad: bool, report: ReadReport) -> None:
        self.folder: dict[str, tuple[Paper, ...]] = {}
        self.papers: dict[str, Paper] = {}
        self.named = ", ".join(map(str, paths))
        for path in paths:
            if path.is_dir() and not is_collection(path):
                self.folder.update(_read_folder(path, skip_bad, report))
            else:
                self.papers.update((paper.id, paper) for paper in list_papers(path, skip_bad, report))

    def find(self, where: str, id: str, listed: Any) -> Iterator[Paper]:
        """Yield a reviewer's papers. listed: what the record says of them: ids, or objects with titles."""
        for item in listed if isinstance(listed, list) else read_texts(listed):
            if isinstance(item, Mapping):
                try:
                    yield Paper.from_json({"id": f"{id}:{item.get('title')}", **item})
                except ValueError as error:
                    raise InputError(f"{where}: a paper of {id}: {error}") from None
            elif (paper := self.papers.get(str(item))) is not None:
                yield paper
            else:
                there = f"not in {self.named}" if self.named else "nowhere; name its file with --reviewer-papers"
                raise InputError(f"{where}: paper {str(item)!r} of {id} is {there}")

    def add_folders(self, reviewers: Sequence[Reviewer], dropped: DropReport) -> list[Reviewer]:
        """Return the reviewers with the papers of their files: named after an id or address, else after one's name."""
        index, owners = ReviewerIndex(reviewers), dict[str, int | None]()
        for file in self.folder:
            number = index.ids.find(file)
            owners[file] = index.others.find(file) if number is None else number
        served = set(owners.values())
        named = {file: index.names.find(name_in_id(file)) - served for file, owner in owners.items() if owner is None}
        claims = Counter(number for numbers in named.values() for number in numbers)
        for file, numbers in named.items():
            owners[file] = only(number for number in numbers if claims[number] == 1) if len(numbers) == 1 else None
        papers = [list(person.papers) for person in reviewers]
        for file, number in owners.items():
            if number is None:
                dropped.add("file of several reviewers' name" if named[file] else "file of no reviewer", file)
            else:
                papers[number] += self.folder[file]
        return [replace(person, papers=tuple(own)) for person, own in zip(reviewers, papers, strict=True)]


def _read_folder(folder: Path, skip_bad: bool, report: ReadReport) -> dict[str, tuple[Paper, ...]]:
    papers_of: dict[str, tuple[Paper, ...]] = {}
    for path in sorted(file for file in folder.iterdir() if file.is_file() and not file.name.startswith(".")):
        if path.name.lower().startswith("readme"):
            continue
        id = reviewer_id(path)
        if id in papers_of:
            raise InputError(f"{folder} holds two files of reviewer {id}; join them")
        empty = not path.stat().st_size
        papers_of[id] = () if empty else tuple(read_papers(path, skip_bad=skip_bad, report=report))
    return papers_of


def _read_reviewer_table(path: Path, papers: _PaperSource) -> Iterator[Reviewer]:
    seen: dict[str, str] = {}
    for where, record in read_records(path):
        try:
            reviewer = _build_reviewer(record)
            if reviewer.id in seen:
                raise ValueError(f"reviewer {reviewer.id} again, after {seen[reviewer.id]}")
        except ValueError as error:
            raise error if isinstance(error, InputError) else InputError(f"{where}: {error}") from None
        seen[reviewer.id] = where
        listed = get_first(record, *_COLUMNS["papers"])
        yield replace(reviewer, papers=tuple(papers.find(where, reviewer.id, listed)))


def _build_reviewer(record: Mapping[str, Any]) -> Reviewer:
    person = _read_person(record, _PERSON_COLUMNS)
    further = _read_names(get_first(record, "names")), *(get_first(record, *keys) for keys in _ALIASES)
    ids = (*person.ids[:1], *person.emails[:1], *person.names[:1])
    if not ids:
        raise ValueError(f"no id of a reviewer; columns: {', '.join(record)}; name one id, email or name")
    limits = [_read_limit(get_first(record, *_COLUMNS[name]), name) for name in ("least", "most")]
    return Reviewer(
        id=normalize_id(ids[0]),
        name=next(iter(person.names), ""),
        emails=person.emails,
        institutions=person.institutions,
        aliases=tuple(text for value in further for text in read_texts(value)),
        groups={key: str(value) for key, value in record.items() if key not in _KNOWN and isinstance(value, str | int)},
        least=limits[0],
        most=limits[1],
    )


def _read_names(names: Any) -> list[str]:
    """Return the names and ids of an OpenReview profile's list of names; of other values their texts."""
    if not isinstance(names, list):
        return list(read_texts(names))
    objects = [_normalize_keys(item) for item in names if isinstance(item, Mapping)]
    people = [_read_person(item, _PERSON_KEYS) for item in objects]
    listed = [text for person in people for text in (*person.names, *person.ids)]
    return [*listed, *(str(item) for item in names if not isinstance(item, Mapping))]


def _read_limit(value: Any, name: str) -> int | None:
    if value is None:
        return None
    try:
        number = int(str(value))
    except ValueError:
        number = -1
    if number < 0:
        raise ValueError(f"{'minimum' if name == 'least' else 'maximum'} {value!r} is not a number of submissions")
    return number
