"""Who reviews, who wrote a submission, and what files state of pairs; persons are found by any form of name or id."""

from __future__ import annotations

import json
import re
import tomllib
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from importlib.resources import files
from math import isfinite
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
from scipy import sparse

from sciprism.arrays import Doubles, Integers, Rows
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.files import join_cells, write_lines
from sciprism.papers import rows
from sciprism.papers.bibliographic_fields import normalize, split_list
from sciprism.papers.cleaning import clean_id, is_missing, is_placeholder, normalize_unicode
from sciprism.papers.input_file import InputFile
from sciprism.papers.read import ReadReport, read_papers
from sciprism.papers.records import Paper
from sciprism.uses.matching.settings import MatchFiles

_ADDRESS = re.compile(r"(?<![^\s<>;,:()\"'*])[^\s<>;,:()\"'*]+@[^\s<>;,()\"'*]+")
_PAGE = re.compile(r"https?://(?:www\.)?(?:orcid\.org/|openreview\.net/profile\?(?:id|email)=)", re.IGNORECASE)
NUMBERED = re.compile(r"~(.*?)(\d+)")  # an id of OpenReview: a name, and a number that tells its bearers apart
_TITLES = frozenset(["dr", "prof", "professor", "mr", "mrs", "ms", "phd", "md", "msc", "jr", "sr", "ii", "iii"])
"""Words of names that belong to no name."""
_IN_IDS = "author authors chair committee expert id member paper papers pc person profile referee reviewer rev user"
_ROLES = frozenset(_IN_IDS.split())  # words of ids that are not names
_INITIALS_LAST = re.compile(r"(.*[^\W\d_]{2}.*?)\s((?:[A-Z]\.?-?\s?){1,3})")
_MAX_NAME = 500  # characters of what may be a name
_CAPITALS = re.compile(r"\b[A-Z]{2,3}\b")


def normalize_id(text: str) -> str:
    """Return an id as one sequence of characters (NFC), without space at its ends; of a profile's address, the id.

    >>> normalize_id("https://openreview.net/profile?id=%7EAnn_Lee1 ")
    '~Ann_Lee1'
    """
    if not text.isascii():
        text = "".join(c for c in text if unicodedata.category(c) != "Cf")  # marks that cannot be seen
    page = _PAGE.match(text.strip())
    return normalize_unicode("NFC", unquote(text.strip()[page.end() :]) if page else text.strip())


def fold_id(text: str) -> str:
    """Return an id without case and compatibility forms, for comparison; of an address, also without its +tag."""
    text = normalize_unicode("NFKC", normalize_unicode("NFKC", normalize_id(text)).casefold())
    local, at, domain = " ".join(text.split()).rpartition("@")
    if not at:
        return domain
    local = local.partition("+")[0] or local
    if domain in ("gmail.com", "googlemail.com"):
        local, domain = local.replace(".", ""), "gmail.com"
    return f"{local}@{domain}"


def find_addresses(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the e-mail addresses in some texts such as "Ann Lee <ann@x.org>*"; of "****@x.org" the domain alone."""
    addresses: list[str] = []
    for text in texts:
        masked = re.sub(r"(?<!\*)\*+@", "@", text).strip()
        addresses += [f"@{masked.rpartition('@')[2].strip()}"] if masked.startswith("@") else _ADDRESS.findall(text)
    return tuple(addresses)


class IdIndex:
    """Finds items by ids in any form: as written, else without case where that is unambiguous."""

    def __init__(self, ids: Iterable[str] = ()) -> None:
        self._exact: dict[str, set[int]] = defaultdict(set)
        self._folded: dict[str, set[int]] = defaultdict(set)
        for number, id in enumerate(ids):
            self.add(id, number)

    def add(self, id: str, number: int) -> None:
        """Add an id of the item with a number."""
        self._exact[normalize_id(id)].add(number)
        self._folded[fold_id(id)].add(number)

    def find(self, text: str) -> int | None:
        """Return the item that has an id, None where none has it, or several."""
        number = single_or_none(self._exact.get(normalize_id(text), ()))
        return single_or_none(self.find_all(text)) if number is None else number

    def find_all(self, text: str) -> set[int]:
        """Return all items that have an id in any form."""
        return self._folded.get(fold_id(text), set())


def single_or_none(items: Iterable[int]) -> int | None:
    """Return the one number, None of none or several."""
    numbers = set(items)
    return numbers.pop() if len(numbers) == 1 else None


PersonName = tuple[str, ...]
"""The words of a name, given names first, without case, accents, titles and punctuation."""


def rotate(name: PersonName) -> PersonName:
    """Return the name read as family name first."""
    return (*name[1:], *name[:1])


def list_keys(name: PersonName) -> set[str]:
    """Return keys of which names that may be equal share at least one: initial and family name, all letters.

    `Xiao-Ming Li` and `Xiaoming Li` have the same letters.
    """
    initials = (f"{name[0][:1]} {word}" for word in name[1:] if len(word) > 1)
    return {"".join(name), "".join(rotate(name)), *initials}


@lru_cache(maxsize=1 << 18)
def parse_person(text: str) -> tuple[PersonName, ...]:
    """Return the readings of a name such as `Ann B. Lee`, `Lee, Ann B.`, `Lee AB` or `Dr. Ann Lee (Uni X)*`.

    Two capitals or three may be initials or a name in capitals. Names of one word are not readings where letters are
    Latin: a name is part of it. Other scripts write given and family name as one word.

    >>> parse_person("Müller-Lüdenscheidt, Jürgen")
    (('jurgen', 'muller', 'ludenscheidt'),)
    """
    text = re.sub(r"\([^()]*\)", " ", normalize_unicode("NFC", text[:_MAX_NAME])).strip(" *")
    parts = [part for part in map(str.strip, text.split(",")) if not _TITLES.issuperset(normalize(part).split())]
    texts = [" ".join((*parts[1:], *parts[:1]))]
    if any(map(str.islower, texts[0])):  # else initials are no different from words
        initials = _INITIALS_LAST.fullmatch(texts[0]) if len(parts) == 1 else None
        other = f"{initials[2]} {initials[1]}" if initials else texts[0]
        texts.append(_CAPITALS.sub(lambda match: " ".join(match[0]), other))
    folded = (re.sub("([aou])e", r"\1", normalize(text)) for text in texts)  # ü, ue and u are the same
    names = (tuple(word for word in text.split() if word not in _TITLES) for text in folded)
    whole = (name for name in names if len(name) > 1 or any(len(word) > 1 and not word.isascii() for word in name))
    return tuple(dict.fromkeys(name for name in whole if "anonymous" not in name))


def name_in_id(id: str) -> str:
    """Return the name in an id such as `~Ann_Lee1`, `lee, ann` or `ann.lee@x.org`, "" where it holds none.

    >>> [name_in_id(id) for id in ("~Ann_Lee1", "Lee, Ann", "ann.lee@x.org", "AnnLee", "reviewer_12", "r7")]
    ['Ann Lee', 'Lee, Ann', 'ann lee', 'Ann Lee', '', '']
    """
    text = normalize_id(id)[:_MAX_NAME]
    numbered = NUMBERED.fullmatch(text)
    text = numbered[1] if numbered else text.partition("@")[0]
    if re.fullmatch(r"[^\W\d_]+", text):  # AnnLee
        text = re.sub(r"(?<=[^\W\d_A-Z])(?=[A-Z])", " ", text)
    text = re.sub(r"[_.]+|(?<=\w)-(?=\w)", " ", re.sub(r"[\s_(]*\d{1,2}\)?$", "", text)).strip()
    words = normalize(text).split()
    is_name = any(len(word) > 1 for word in words) and _ROLES.isdisjoint(words) and not re.search(r"\d", text)
    return text if is_name and parse_person(text) else ""


def may_be_same(one: PersonName, other: PersonName) -> bool:
    """Return whether two names may be one person's: initials, middle names and one of two surnames may be missing.

    The family name may come first where no name is abbreviated.
    """
    short, long = sorted((one, other), key=len)
    if "".join(other) in ("".join(one), "".join(rotate(one))) or "".join(one) == "".join(rotate(other)):
        return True
    if len(short) < 2 or not _agree(short[0], long[0]):
        return False
    if short[-1] == long[-1]:
        left = iter(long[1:-1])  # the words agree with some of the others, in order
        within = all(any(_agree(word, other) for other in left) for word in short[1:-1])
        return within or "".join(short[:-1]) == "".join(long[:-1])
    return len(short[0]) > 1 and short[0] == long[0] and set(short) < set(long)


def _agree(one: str, other: str) -> bool:
    return one == other or (1 in (len(one), len(other)) and one[:1] == other[:1])


class NameIndex:
    """Finds items by names that may be one person's. items: those that have a name."""

    def __init__(self) -> None:
        self._names: dict[str, list[tuple[int, PersonName]]] = defaultdict(list)
        self.items: set[int] = set()

    def add(self, text: str, number: int, *, any_order: bool = False) -> None:
        """Add a name of the item with a number; a part of one is ignored. any_order: the family name may be first."""
        for name in parse_person(text):
            self.items.add(number)
            for reading in (name, rotate(name)) if any_order else (name,):
                for key in list_keys(reading):
                    self._names[key].append((number, reading))

    def find(self, text: str) -> set[int]:
        """Return the items whose names may be this person's."""
        return {
            number
            for name in parse_person(text)
            for key in list_keys(name)
            for number, other in self._names.get(key, ())
            if may_be_same(name, other)
        }


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
        names = (item.name for item in fields(self))
        return Authorship(**{n: tuple(dict.fromkeys((*getattr(self, n), *getattr(other, n)))) for n in names})


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
        return single_or_none(self.names.find(text))

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
_COLUMNS: dict[str, Any] = tomllib.loads((files(__package__) / "columns.toml").read_text(encoding="utf-8"))
_OF_PERSONS = (*_COLUMNS["person"].values(), *_COLUMNS["reviewer"].values(), _COLUMNS["given"], _COLUMNS["family"])
_KNOWN = {*" ".join(_OF_PERSONS).split()}
"""Columns that are not groups."""


def read_records(path: Path) -> Iterator[Record]:
    """Yield the records of a table or of JSON objects; InputError for a row that cannot be read."""
    file = InputFile(path)
    if not file.name.endswith((*_TABLES, *_JSON)):
        raise InputError(
            f"{path}: not a table (.csv, .tsv) or JSON (.json, .jsonl) by its name; save it as one of them"
        )
    for place, row in rows.read_named_rows(file, json=rows.JsonLayout(("notes", "reviewers", "profiles"))):
        content = row.pop("content", None)  # of OpenReview, versions 1 and 2
        inner = content.items() if isinstance(content, Mapping) else ()
        content = {key: item.get("value") if isinstance(item, Mapping) else item for key, item in inner}
        yield f"{path}, {place}", _normalize_keys(content | row)


def _normalize_keys(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object with its keys as `columns.toml` has them, without the texts that say that nothing is there."""
    texts = {key: item.strip() if isinstance(item, str) else item for key, item in value.items()}
    there = {key: item for key, item in texts.items() if not (isinstance(item, str) and is_missing(item))}
    return {rows.normalize_header(str(key)): item for key, item in there.items()}


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
        if (id := _get(record, _COLUMNS["submission"])) is None:
            continue
        authors = rows.get_first(record, "authors", "author")
        people = [item for item in authors if isinstance(item, Mapping)] if isinstance(authors, list) else []
        try:
            found = _read_person({**record, "author": None} if people else record, _COLUMNS["author"])
            for person in people:
                found = found.join(_read_person(_normalize_keys(person), _COLUMNS["person"]))
        except ValueError as error:
            raise InputError(f"{where}: {error}") from None
        key = normalize_id(clean_id(str(id)))
        authorships[key] = authorships.get(key, Authorship()).join(found)
    return authorships


def _get(record: Mapping[str, Any], names: str) -> Any:
    return rows.get_first(record, *names.split())


def _read_person(record: Mapping[str, Any], keys: Mapping[str, str]) -> Authorship:
    """Return what a record says of one person, or of several in lists."""
    texts = {field: read_texts(_get(record, names)) for field, names in keys.items()}
    parts = [str(_get(record, names) or "") for names in (_COLUMNS["given"], _COLUMNS["family"])]
    return Authorship(
        names=texts["names"] or ((" ".join(parts),) if all(parts) else ()),
        ids=tuple(text for text in texts["ids"] if not is_placeholder(text)),
        emails=find_addresses((*texts["emails"], *texts["ids"])),
        institutions=tuple(text for text in texts["institutions"] if not is_placeholder(text)),
    )


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
    is an id, e-mail address or name of the reviewer), or paper files whose ids the table's column
    `papers` names. dropped: counts the files of no reviewer. Raises InputError for no reviewer, a paper that is not
    there, a limit that is not a number.
    """
    report = report or ReadReport()
    if not path.exists():
        raise InputError(f"{path}: no such file or folder of reviewers")
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
            if place.is_dir():
                folder |= _read_folder(place, skip_bad, report)
            else:
                written |= {paper.id: paper for paper in read_papers(place, skip_bad=skip_bad, report=report)}
        there = f"not in {', '.join(map(str, papers))}" if papers else "nowhere; name its file with --reviewer-papers"
        reviewers = list(_read_reviewer_table(path, written, there))
        reviewers = _add_folder(reviewers, folder, dropped or DropReport())
    if not reviewers:
        raise InputError(f"{path} holds no reviewer")
    return reviewers


def reviewer_id(path: Path) -> str:
    """Return the reviewer whose papers a file holds: its name without suffixes such as .jsonl.gz.

    Ids such as ~Ann_Lee1 may hold dots, so only known suffixes go.
    """
    return normalize_id(_SUFFIX.sub("", path.name))


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
        number = single_or_none(named[file]) if owner is None else owner
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
    for where, record in read_records(path):
        try:
            reviewer, papers = _build_reviewer(record), []
            listed = _get(record, _COLUMNS["reviewer"]["papers"])
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
    person = _read_person({**record, "orcid": None}, _COLUMNS["person"])
    ids = (*person.ids[:1], *person.emails[:1], *person.names[:1])
    if not ids:
        raise ValueError(f"no id of a reviewer; columns: {', '.join(record)}; name one id, email or name")
    others = [list(_read_names(_get(record, "names")))]
    others += [_get(record, _COLUMNS["reviewer"][name]) for name in ("openreview", "orcid", "aliases")]
    limits: list[int | None] = []
    for name in ("minimum", "maximum"):
        value = _get(record, _COLUMNS["reviewer"][name])
        if value is not None and not str(value).isdecimal():
            raise ValueError(f"{name} {value!r} is not a number of submissions")
        limits.append(None if value is None else int(str(value)))
    return Reviewer(
        id=normalize_id(ids[0]),
        name=next(iter(person.names), ""),
        emails=person.emails,
        institutions=person.institutions,
        aliases=tuple(text for value in others for text in read_texts(value)),
        groups={key: str(value) for key, value in record.items() if key not in _KNOWN and isinstance(value, str | int)},
        least=limits[0],
        most=limits[1],
    )


def _read_names(names: Any) -> Iterator[str]:
    """Yield the names and ids of an OpenReview profile's list of names; of other values their texts."""
    for item in names if isinstance(names, list) else read_texts(names):
        if isinstance(item, Mapping):
            person = _read_person(_normalize_keys(item), _COLUMNS["person"])
            yield from (*person.names, *person.ids)
        else:
            yield str(item)


@dataclass(frozen=True, slots=True)
class PairKind:
    """What a file says of pairs: its name, words that stand for values, which values fit, and what to say of others."""

    name: str
    words: Mapping[str, float] = field(default_factory=dict)
    fits: Callable[[float], bool] = lambda _: True
    advice: str = ""


_SCALE = "not from -1 to 1; divide all bids by the highest"
BID = PairKind("bid", _COLUMNS["bid"], lambda bid: abs(bid) <= 1, _SCALE)
_SIGNS = "none of -1 (forbidden), 0 (no conflict) and 1 (locked)"
CONSTRAINT = PairKind("constraint", _COLUMNS["constraint"], {-1.0, 0.0, 1.0}.__contains__, _SIGNS)
SCORE = PairKind("score")
Pair = tuple[int, int]  # numbers of a submission and a reviewer
Pairs = dict[Pair, tuple[float, str]]  # pair -> value, and where a file states it
Finder = IdIndex | ReviewerIndex  # finds submissions or reviewers by what a file calls them


def split_pairs(pairs: Iterable[Pair]) -> tuple[Rows, Rows]:
    """Return the submissions and the reviewers of some pairs, each (n,)."""
    papers, reviewers = np.array(list(pairs), np.int64).reshape(-1, 2).T
    return papers, reviewers


def look_up(stated: Pairs, papers: Rows, reviewers: Rows, shape: tuple[int, int]) -> Doubles:
    """Return the stated values of some pairs (n,), 0 of those without one. shape: all submissions and reviewers."""
    values = [value for value, _ in stated.values()]
    found: Doubles = sparse.csr_array((values, split_pairs(stated)), shape, np.float64)[papers, reviewers]
    return found


@dataclass(frozen=True, slots=True)
class PairReader:
    """Reads files of pairs for some submissions and reviewers.

    known_only: whether unknown ids are dropped and counted in `dropped` instead of being errors.
    """

    papers: Finder
    reviewers: Finder
    known_only: bool = False
    dropped: DropReport = field(default_factory=DropReport)

    def read(self, path: Path | None, kind: PairKind) -> Pairs:
        """Return the pairs of a file, none of no file.

        Raises InputError for an unknown id, a value that does not fit, a pair with two different values.
        """
        read: Pairs = {}
        for where, paper, reviewer, text in read_pair_rows(path) if path is not None else ():
            value = kind.words.get(text.casefold().replace("_", " "))
            try:
                value = float(text or 1) if value is None else value
            except ValueError:
                value = float("nan")
            if not isfinite(value):
                listed = f" or one of {', '.join(filter(None, kind.words))}" if kind.words else ""
                raise InputError(f"{where}: the {kind.name} {text!r} is not a number{listed}")
            if not kind.fits(value):
                raise InputError(f"{where}: the {kind.name} {value:g} is {kind.advice}")
            row, number = self.papers.find(paper), self.reviewers.find(reviewer)
            if row is None:
                self._drop(where, f"{kind.name} of", "submission", paper, self.reviewers)
            elif number is None:
                self._drop(where, f"{kind.name} of", "reviewer", reviewer, self.papers)
            elif (before := read.setdefault((row, number), (value, where)))[0] != value:
                raise InputError(
                    f"{where}: {kind.name} of {paper} and {reviewer} is {text or value}, but {before[0]:g} in "
                    f"{before[1]}; remove one"
                )
        return read

    def _drop(self, where: str, what: str, kind: str, name: str, other: Finder) -> None:
        """Count a pair of an unknown submission or reviewer, or raise InputError. other: index of the other kind."""
        index = self.papers if kind == "submission" else self.reviewers
        what = f"{what} {f'several {kind}s called' if index.find_all(name) else f'an unknown {kind}'}"
        if not self.known_only:
            swapped = other.find(name) is not None
            advice = "name the columns in a header line" if swapped else "remove it or pass --skip-bad"
            raise InputError(f"{where}: {what} {name!r}; {advice}")
        self.dropped.add(what, name)


def read_pair_rows(path: Path) -> Iterator[tuple[str, str, str, str]]:
    """Yield place, submission, reviewer and value (may be empty) of each row.

    A header line may name the columns; , ; or tabs separate cells. A .json file is an assignment in OpenReview's form.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    if path.suffix == ".json":
        yield from _read_assignment(path)
        return
    file = InputFile(path)
    layout, columns = rows.detect_columns(file.head(), _COLUMNS["pair"])
    if not columns:  # no header line
        columns = {"submission": [0], "reviewer": [1], "value": [2]}
        layout = rows.TableLayout((), layout.delimiter, 1)
    for kind in ("submission", "reviewer"):
        if kind not in columns:
            listed = ", ".join(layout.headers)
            raise InputError(f"{path}: no column of the {kind}; columns: {listed}; name one {kind!r}")
    for cells, fault in rows.read_rows(file, layout):
        text = rows.cell_getter(cells, columns)
        if not fault and not (text("submission") and text("reviewer")):
            fault = f"{len(cells)} cells; write submission,reviewer,value"
        if fault:
            raise InputError(f"{path}, line {file.record_line}: {fault}")
        yield f"{path}, line {file.record_line}", clean_id(text("submission")), text("reviewer"), text("value")


def _read_assignment(path: Path) -> Iterator[tuple[str, str, str, str]]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        for paper, reviewers in content.items():
            for pair in reviewers:
                yield f"{path}, {paper}", str(paper), str(pair["user"]), str(pair.get("aggregate_score", ""))
    except (ValueError, AttributeError, TypeError, KeyError) as error:
        form = '{submission: [{"user": reviewer, "aggregate_score": number}]}'
        raise InputError(f"{path} is not an assignment of the form {form}: {error!r}") from error


def write_rows(path: Path, rows: Iterable[Iterable[object]]) -> None:
    """Write rows as CSV, atomically."""
    write_lines(path, map(join_cells, rows), errors="replace")


@dataclass(frozen=True, slots=True, eq=False)
class StatedPairs:
    """Pairs that the files name. allowed: although a conflict was found. earlier: of earlier rounds; kept: of an
    earlier assignment of this round.

    earlier_loads: reviews of each reviewer in earlier rounds, of this file's submissions and of others.
    """

    bids: Pairs = field(default_factory=dict)
    constraints: Pairs = field(default_factory=dict)
    earlier: Pairs = field(default_factory=dict)
    kept: Pairs = field(default_factory=dict)
    scores: Pairs | None = None
    earlier_loads: Counter[int] = field(default_factory=Counter)

    def list_constrained(self, value: float) -> dict[Pair, str]:
        """Return the pairs of a constraint with their places: 1 locked, -1 forbidden, 0 no conflict."""
        return {pair: place for pair, (stated, place) in self.constraints.items() if stated == value}

    def list_loads(self, reviewers: int) -> Integers:
        """Return the reviews of each reviewer in earlier rounds (reviewers,)."""
        return np.array([self.earlier_loads[number] for number in range(reviewers)], np.int64)


def read_stated_pairs(files: MatchFiles, reader: PairReader) -> StatedPairs:
    """Read all files of pairs. Pairs of earlier assignments may name submissions and reviewers that are gone."""
    stated = StatedPairs(
        constraints=reader.read(files.constraints, CONSTRAINT),
        bids=reader.read(files.bids, BID),
        scores=replace(reader, known_only=True).read(files.scores, SCORE) if files.scores else None,
    )
    rounds = [(path, False) for path in files.after] + ([(files.keep, True)] if files.keep else [])
    for path, is_kept in rounds:
        for where, paper, reviewer, _ in read_pair_rows(path):
            row, number = reader.papers.find(paper), reader.reviewers.find(reviewer)
            if not is_kept:
                if number is not None:  # else of another pool, such as metareviewers
                    stated.earlier_loads[number] += 1
                    if row is not None:
                        stated.earlier.setdefault((row, number), (1.0, where))
            elif row is None or number is None:
                gone = "submission" if row is None else "reviewer"
                reader.dropped.add(f"earlier pair whose {gone} is gone", f"{paper} {reviewer}")
            else:
                stated.kept.setdefault((row, number), (1.0, where))
    return stated
