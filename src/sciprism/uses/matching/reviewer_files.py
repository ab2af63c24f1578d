"""Read reviewers: a folder with one paper file each, or a table or JSON lines that name them, and their papers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sciprism.errors import InputError
from sciprism.papers.read import ReadReport, read_papers
from sciprism.papers.records import Paper
from sciprism.store.manifest import is_collection
from sciprism.uses.matching.details import first_of, read_records, read_texts
from sciprism.uses.matching.reviewers import Reviewer
from sciprism.uses.matching.stored_papers import read_collection

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
        found = [Reviewer(id=id, papers=own) for id, own in _read_folder(path, skip_bad, report).items()]
    else:
        found = list(_read_table(path, _PaperSource(papers, skip_bad, report)))
    if not found:
        raise InputError(f"{path} holds no reviewer")
    return found


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
        self.known: dict[str, Paper] = {}
        self.named = ", ".join(map(str, paths))
        for path in paths:
            if is_collection(path):
                self.known.update({paper.id: paper for paper in read_collection(path)})
            elif path.is_dir():
                self.folder.update(_read_folder(path, skip_bad, report))
            else:
                self.known.update({paper.id: paper for paper in read_papers(path, skip_bad=skip_bad, report=report)})

    def find(self, where: str, id: str, listed: Any) -> Iterator[Paper]:
        """Yield a reviewer's papers. listed: what the record says of them: ids, or objects with titles."""
        yield from self.folder.get(id, ())
        for item in listed if isinstance(listed, list) else read_texts(listed):
            if isinstance(item, Mapping):
                try:
                    yield Paper.from_json({"id": f"{id}:{item.get('title')}", **item})
                except ValueError as error:
                    raise InputError(f"{where}: a paper of {id}: {error}") from None
            elif (paper := self.known.get(str(item))) is not None:
                yield paper
            else:
                there = f"not in {self.named}" if self.named else "nowhere; name its file with --reviewer-papers"
                raise InputError(f"{where}: paper {str(item)!r} of {id} is {there}")


def _read_folder(folder: Path, skip_bad: bool, report: ReadReport) -> dict[str, tuple[Paper, ...]]:
    found: dict[str, tuple[Paper, ...]] = {}
    for path in sorted(each for each in folder.iterdir() if each.is_file() and not each.name.startswith(".")):
        if path.name.lower().startswith("readme"):
            continue
        id = reviewer_id(path)
        if id in found:
            raise InputError(f"{folder} holds two files of reviewer {id}; join them")
        empty = not path.stat().st_size
        found[id] = () if empty else tuple(read_papers(path, skip_bad=skip_bad, report=report))
    return found


def _read_table(path: Path, papers: _PaperSource) -> Iterator[Reviewer]:
    seen: dict[str, str] = {}
    for where, record in read_records(path):
        try:
            reviewer = _build_reviewer(record)
            if reviewer.id in seen:
                raise ValueError(f"reviewer {reviewer.id} again, after {seen[reviewer.id]}")
        except ValueError as error:
            raise error if isinstance(error, InputError) else InputError(f"{where}: {error}") from None
        seen[reviewer.id] = where
        listed = first_of(record, _KEYS["papers"])
        yield replace(reviewer, papers=tuple(papers.find(where, reviewer.id, listed)))


def _build_reviewer(record: Mapping[str, Any]) -> Reviewer:
    values = {field: first_of(record, keys) for field, keys in _KEYS.items()}
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
