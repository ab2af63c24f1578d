"""Who reviews, who wrote a submission, and what a chair states of pairs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers import rows
from sciprism.papers.bibliographic_fields import split_list
from sciprism.papers.cleaning import clean_id, is_missing, is_placeholder
from sciprism.papers.input_file import InputFile
from sciprism.papers.read import ReadReport, read_papers
from sciprism.papers.records import Paper
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
_SUBMISSION_KEYS = ("id", "paperid", "paper", "submission", "submissionid", "note", "forum", "pid", "#")
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
    file, name = InputFile(path), path.name.lower().removesuffix(".gz")
    if name.endswith(_TABLES):
        layout = rows.detect_layout(file.head(), lambda _: ())
        headers = list(map(rows.normalize_header, layout.headers))
        for number, (cells, fault) in enumerate(rows.read_rows(file, layout), 1):
            where = file.locate(number, file.record_line)
            if fault:
                raise InputError(f"{where}: {fault}")
            texts = {header: cell.strip() for header, cell in zip(headers, cells, strict=False) if header}
            yield where, {header: "" if is_missing(text) else text for header, text in texts.items()}
    elif name.endswith(_JSON):
        for number, line, value, reason in rows.read_json_values(
            file, rows.JsonLayout(("notes", "reviewers", "profiles"))
        ):
            where = file.locate(number, line)
            if reason or not isinstance(value, dict):
                raise InputError(f"{where}: {reason or 'not an object'}")
            content = value.pop("content", None)  # of OpenReview, versions 1 and 2
            inner = content.items() if isinstance(content, Mapping) else ()
            content = {key: item.get("value") if isinstance(item, Mapping) else item for key, item in inner}
            yield where, _normalize_keys(content | value)
    else:
        raise InputError(
            f"{path}: not a table (.csv, .tsv) or JSON (.json, .jsonl) by its name; save it as one of them"
        )


def _normalize_keys(value: Mapping[str, Any]) -> dict[str, Any]:
    return {rows.normalize_header(str(key)): item for key, item in value.items()}


def read_texts(value: Any) -> tuple[str, ...]:
    """Return the texts of a list, or of one text in which ; | or a line end separates them, without missing ones."""
    texts = split_list(value) if isinstance(value, str) else rows.list_texts(value, "id", "name", "value", "email")
    return tuple(text for text in texts if not is_missing(text))


def read_authorships(path: Path) -> dict[str, Authorship]:
    """Return submission -> what a file says of its authors; other files than tables and JSON say nothing.

    A table may have one row per author; the rows of a submission are joined.
    """
    authorships: dict[str, Authorship] = {}
    if not path.is_file() or not path.name.lower().removesuffix(".gz").endswith((*_TABLES, *_JSON)):
        return authorships
    for where, record in read_records(path):
        if (id := rows.get_first(record, *_SUBMISSION_KEYS)) is None:
            continue
        authors = rows.get_first(record, "authors", "author")
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
    texts = {field: read_texts(rows.get_first(record, *names.split())) for field, names in keys.items()}
    parts = [str(rows.get_first(record, *names) or "") for names in (_GIVEN, _FAMILY)]
    whole = (" ".join(parts),) if all(parts) else ()
    return Authorship(
        names=texts["names"] or whole,
        ids=tuple(text for text in texts["ids"] if not is_placeholder(text)),
        emails=find_addresses((*texts["emails"], *texts["ids"])),
        institutions=tuple(text for text in texts["institutions"] if not is_placeholder(text)),
    )


_PERSON_COLUMNS = _PERSON_KEYS | {
    "names": f"{_PERSON_KEYS['names']} reviewername",
    "ids": "id reviewerid reviewer profileid userid user username openreviewid",
    "emails": f"{_PERSON_KEYS['emails']} revieweremail",
}
_ALIASES = (("openreviewid", "openreview", "openreviewprofile"), ("orcid", "orcidid"), ("aliases", "othernames"))
_COLUMNS = {
    "minimum": ("min", "minpapers", "minload", "minimum"),
    "maximum": ("max", "maxpapers", "maxload", "maximum", "quota", "load", "customload"),
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
        folder: dict[str, tuple[Paper, ...]] = {}
        written: dict[str, Paper] = {}
        for place in papers:
            if place.is_dir() and not is_collection(place):
                folder |= _read_folder(place, skip_bad, report)
            else:
                written |= {paper.id: paper for paper in list_papers(place, skip_bad, report)}
        there = f"not in {', '.join(map(str, papers))}" if papers else "nowhere; name its file with --reviewer-papers"
        reviewers = list(_read_reviewer_table(path, written, there))
        reviewers = _add_folder(reviewers, folder, DropReport() if dropped is None else dropped)
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


def _add_folder(
    reviewers: Sequence[Reviewer], folder: Mapping[str, tuple[Paper, ...]], dropped: DropReport
) -> list[Reviewer]:
    """Return the reviewers with the papers of their files: named after an id or address, else after one's name."""
    index = ReviewerIndex(reviewers)
    owners = {file: index.others.find(file) if (n := index.ids.find(file)) is None else n for file in folder}
    served = set(owners.values())
    named = {file: index.names.find(name_in_id(file)) - served for file, owner in owners.items() if owner is None}
    claims = Counter(number for numbers in named.values() for number in numbers)
    papers = [list(person.papers) for person in reviewers]
    for file, owner in owners.items():
        number = only(named[file]) if owner is None else owner
        if number is not None and claims[number] <= 1:
            papers[number] += folder[file]
        else:
            dropped.add("file of several reviewers' name" if named[file] else "file of no reviewer", file)
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


def _read_reviewer_table(path: Path, written: Mapping[str, Paper], there: str) -> Iterator[Reviewer]:
    """Yield reviewers with the papers that their records hold, or name by id. there: where others are not."""
    seen: dict[str, str] = {}
    for where, record in read_records(path):
        try:
            reviewer = _build_reviewer(record)
            if reviewer.id in seen:
                raise ValueError(f"reviewer {reviewer.id} again, after {seen[reviewer.id]}")
            seen[reviewer.id] = where
            papers = []
            listed = rows.get_first(record, *_COLUMNS["papers"])
            for item in listed if isinstance(listed, list) else read_texts(listed):
                if isinstance(item, Mapping):
                    papers.append(Paper.from_json({"id": f"{reviewer.id}:{item.get('title')}", **item}))
                elif str(item) in written:
                    papers.append(written[str(item)])
                else:
                    raise ValueError(f"paper {str(item)!r} of {reviewer.id} is {there}")
        except ValueError as error:
            raise error if isinstance(error, InputError) else InputError(f"{where}: {error}") from None
        yield replace(reviewer, papers=tuple(papers))


def _build_reviewer(record: Mapping[str, Any]) -> Reviewer:
    person = _read_person(record, _PERSON_COLUMNS)
    further = _read_names(rows.get_first(record, "names")), *(rows.get_first(record, *keys) for keys in _ALIASES)
    ids = (*person.ids[:1], *person.emails[:1], *person.names[:1])
    if not ids:
        raise ValueError(f"no id of a reviewer; columns: {', '.join(record)}; name one id, email or name")
    limits = [_read_limit(rows.get_first(record, *_COLUMNS[name]), name) for name in ("minimum", "maximum")]
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
    people = [_read_person(_normalize_keys(item), _PERSON_KEYS) for item in names if isinstance(item, Mapping)]
    plain = [str(item) for item in names if not isinstance(item, Mapping)]
    return [*(text for person in people for text in (*person.names, *person.ids)), *plain]


def _read_limit(value: Any, name: str) -> int | None:
    if value is None:
        return None
    if not str(value).isdecimal():
        raise ValueError(f"{name} {value!r} is not a number of submissions")
    return int(str(value))
