"""Who reviews, who wrote a submission, and what a chair states of pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sciprism.errors import InputError
from sciprism.papers.bibliographic_fields import split_list
from sciprism.papers.input_file import InputFile
from sciprism.papers.json_rows import JsonLayout, get_first, list_texts, read_json_values
from sciprism.papers.read import ReadReport, read_papers
from sciprism.papers.records import Paper
from sciprism.papers.rows import detect_layout, normalise_header, read_rows
from sciprism.store import StoredCollection
from sciprism.store.manifest import is_collection
from sciprism.store.paper_lookup import iterate_papers


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewer:
    """A reviewer; only the id is required.

    groups: column -> value, such as seniority -> senior. least, most: submissions to review; None: as for all.
    """

    id: str
    name: str = ""
    emails: tuple[str, ...] = ()
    institutions: tuple[str, ...] = ()
    groups: Mapping[str, str] = field(default_factory=dict)
    least: int | None = None
    most: int | None = None
    papers: tuple[Paper, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Authorship:
    """What a file of submissions says of the authors beyond their names: profile ids, e-mails, institutions."""

    ids: tuple[str, ...] = ()
    emails: tuple[str, ...] = ()
    institutions: tuple[str, ...] = ()


NO_AUTHORSHIP = Authorship()


Record = tuple[str, dict[str, Any]]
"""Where a record is, and its values by normalised header."""
_TABLES = (".csv", ".tsv", ".tab")
_JSON = (".json", ".jsonl", ".ndjson")
_SUBMISSION_KEYS = ("id", "paperid", "paper", "submission", "submissionid", "note", "forum")
_AUTHOR_KEYS = {
    "ids": ("authorids", "authorid", "authorprofiles"),
    "emails": ("emails", "email", "authoremails", "authoremail", "authorsemails"),
    "institutions": ("institutions", "institution", "authorinstitutions", "affiliations", "affiliation"),
}


def read_records(path: Path) -> Iterator[Record]:
    """Yield the records of a table or of JSON objects; InputError for a row that cannot be read."""
    if not path.exists():
        raise InputError(f"{path}: no such file")
    file = InputFile(path)
    if file.name.removesuffix(".gz").endswith(_TABLES):
        yield from _read_table(file)
        return
    for number, line, value, reason in read_json_values(file, JsonLayout(("notes", "reviewers", "profiles"))):
        where = file.locate(number, line)
        if reason or not isinstance(value, dict):
            raise InputError(f"{where}: {reason or 'not an object'}")
        yield where, {normalise_header(str(key)): item for key, item in _flatten(value).items()}


def read_texts(value: Any) -> tuple[str, ...]:
    """Return the texts of a list, or of one text in which ; | or a line end separates them."""
    return split_list(value) if isinstance(value, str) else list_texts(value, "id", "name", "value", "email")


def read_authorships(paths: Iterable[Path]) -> dict[str, Authorship]:
    """Return submission -> what its file says of its authors; other files than tables and JSON say nothing.

    A table may have one row per author; the rows of a submission are joined.
    """
    authorships: dict[str, Authorship] = {}
    for path in paths:
        name = path.name.removesuffix(".gz")
        if not path.is_file() or not name.endswith((*_TABLES, *_JSON)):
            continue
        for where, record in read_records(path):
            id = get_first(record, *_SUBMISSION_KEYS)
            if id is None:
                continue
            try:
                new = {field: read_texts(get_first(record, *keys)) for field, keys in _AUTHOR_KEYS.items()}
            except ValueError as error:
                raise InputError(f"{where}: {error}") from None
            emails = tuple(address for address in (*new["emails"], *new["ids"]) if "@" in address)
            old = authorships.get(str(id), Authorship())
            authorships[str(id)] = Authorship(
                ids=(*old.ids, *new["ids"]),
                emails=(*old.emails, *emails),
                institutions=(*old.institutions, *new["institutions"]),
            )
    return authorships


def _read_table(file: InputFile) -> Iterator[Record]:
    layout = detect_layout(file.head(), lambda _: ())
    headers = list(map(normalise_header, layout.headers))
    for number, (cells, fault) in enumerate(read_rows(file, layout), 1):
        where = file.locate(number, file.record_line)
        if fault:
            raise InputError(f"{where}: {fault}")
        yield where, {header: cell.strip() for header, cell in zip(headers, cells, strict=False) if header}


def _flatten(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object with the values of OpenReview's `content` (versions 1 and 2) next to its own."""
    content = value.get("content")
    if not isinstance(content, Mapping):
        return dict(value)
    inner = {key: item.get("value") if isinstance(item, Mapping) else item for key, item in content.items()}
    return {**inner, **{key: item for key, item in value.items() if key != "content"}}


_KEYS = {
    "id": ("id", "reviewerid", "reviewer", "profileid", "userid", "user", "username"),
    "name": ("name", "fullname", "preferredname"),
    "emails": ("emails", "email", "emailaddress", "mail"),
    "institutions": ("institutions", "institution", "affiliations", "affiliation", "organisation", "organization"),
    "least": ("min", "minpapers", "minload", "minimum"),
    "most": ("max", "maxpapers", "maxload", "maximum", "quota", "load", "customload"),
    "papers": ("papers", "paperids", "publications"),
}
_KNOWN = {key for keys in _KEYS.values() for key in keys}


def read_reviewers(
    path: Path, papers: Sequence[Path] = (), *, skip_bad: bool = False, report: ReadReport | None = None
) -> list[Reviewer]:
    """Return the reviewers of a folder, table or JSON file, in the order read.

    papers: where their papers are, where the table does not hold them: a folder with a file per reviewer (its name
    is the reviewer's id), or paper files or collections whose ids the table's column `papers` names. Raises
    InputError for no reviewer, an id that occurs twice, a paper that is not there, a limit that is no number.
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
        reviewers = list(_read_reviewer_table(path, _PaperSource(papers, skip_bad, report)))
    if not reviewers:
        raise InputError(f"{path} holds no reviewer")
    return reviewers


def reviewer_id(path: Path) -> str:
    """Return the reviewer whose papers a file holds: its name without suffixes such as .jsonl.gz.

    Ids such as ~Ann_Lee1 may hold dots, so only known suffixes go.
    """
    name = path.name
    for suffix in (".gz", *_SUFFIXES):
        if name.endswith(suffix) and name != suffix:
            name = name.removesuffix(suffix)
            if suffix != ".gz":
                break
    return name


_SUFFIXES = (".csl.json", ".jsonl", ".json", ".ndjson", ".csv", ".tsv", ".bib", ".ris", ".xml", ".nbib", ".enw", ".txt")


class _PaperSource:
    """The papers that a table of reviewers refers to: files per reviewer, or papers by id."""

    def __init__(self, paths: Sequence[Path], skip_bad: bool, report: ReadReport) -> None:
        self.folder: dict[str, tuple[Paper, ...]] = {}
        self.papers: dict[str, Paper] = {}
        self.named = ", ".join(map(str, paths))
        for path in paths:
            if is_collection(path):
                for part in iterate_papers(StoredCollection.open(path)):
                    self.papers.update({paper.id: paper for paper in part})
            elif path.is_dir():
                self.folder.update(_read_folder(path, skip_bad, report))
            else:
                self.papers.update({paper.id: paper for paper in read_papers(path, skip_bad=skip_bad, report=report)})

    def find(self, where: str, id: str, listed: Any) -> Iterator[Paper]:
        """Yield a reviewer's papers. listed: what the record says of them: ids, or objects with titles."""
        yield from self.folder.get(id, ())
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
        listed = get_first(record, *_KEYS["papers"])
        yield replace(reviewer, papers=tuple(papers.find(where, reviewer.id, listed)))


def _build_reviewer(record: Mapping[str, Any]) -> Reviewer:
    values = {field: get_first(record, *keys) for field, keys in _KEYS.items()}
    emails = read_texts(values["emails"])
    id = values["id"] or (emails[0] if emails else None)
    if id is None:
        raise ValueError(f"no id of a reviewer; columns: {', '.join(record)}; name one id")
    limits = [_read_limit(values[name], name) for name in ("least", "most")]
    return Reviewer(
        id=str(id),
        name=str(values["name"] or ""),
        emails=emails,
        institutions=read_texts(values["institutions"]),
        groups={key: str(value) for key, value in record.items() if key not in _KNOWN and isinstance(value, str | int)},
        least=limits[0],
        most=limits[1],
    )


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
