"""Tell whether records are one paper, by identifiers, title, first author, year and abstract; merge them."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from hashlib import blake2b
from importlib.resources import files
from itertools import combinations, islice
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from sciprism.papers.cleaning import derive_id, normalize_arxiv, normalize_doi, normalize_unicode
from sciprism.papers.records import PAPER_ID_SYSTEMS, Deletion, Paper

WORDS = tomllib.loads((files(__package__) / "titles.toml").read_text(encoding="utf-8"))
GENERIC_TITLES = frozenset(WORDS["generic"].split())
MIN_TEXT_WORDS = 30  # shorter texts recur in different papers, and are often notices
# Chinese and Japanese have no spaces between words: each character counts as a word.
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_MARKS = {code: " " for code in range(128) if not chr(code).isalnum()}
WORD_PATTERN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+")
MIN_TITLE_WORDS = 5  # shorter titles need the same author and year
MAX_SHARING = 50  # records of one identifier that are compared with each other
MAX_WORKS = 100  # papers of one id that further ones are compared with
MAX_SHARED_WORDS = 2 / 3  # share of the words of a title up to which another one is that of another paper
_LAST_PAGE = 0xFFFFFFFF
MAX_YEARS_APART = 5  # years between a preprint and its article, where the first authors agree

_PREPRINT_DOI = re.compile(
    r"10\.(?:1101/(?:\d{4}\.\d\d\.\d\d\.)?\d{6,8}(?:v\d+)?$|64898/|2139/ssrn|21203/rs|20944/preprints|26434/|22541/|36227/"
    r"|312[123]\d/|3554[23]/|33767/|31730/|32942/|33774/|31124/|34055/|17605/osf|7287/peerj\.preprints|2196/preprints"
    r"|1590/scielopreprints|3386/w|1596/1813|22004/|1002/essoar|14293/(?:pr|s)2199|12074/|51094/|3762/bxiv|5281/|13140/"
    r"|6084/m9|5194/(?:egusphere|[a-z]+-\d{4}-\d+|(?:acp|amt|bg|cp|esd|essd|gmd|hess|nhess|os|se|tc)d-\d))"
)
"""bioRxiv (not the journals of its first registrant), SSRN, Research Square, OSF, Zenodo and others."""
_UNVERSIONED_DOI = re.compile(r"10\.(?:5281|13140)/")
"""Of Zenodo and ResearchGate: each version of one deposit has another DOI, and nothing shows it."""
_PREPRINT_VENUE = re.compile(r"rxiv|^corr\b|\bssrn\b|research square|\bres sq\b|\bpreprints?\b", re.IGNORECASE)
_VERSION = re.compile(
    r"(?:[./_-]|(?<=\d))v\d{1,2}$|(?<=10\.12688/)([a-z0-9]+\.\d+)\.\d$|(?<=10\.7554/)(elife\.\d+)\.\d$"
)
ARXIV_DOI = "10.48550/arxiv."
_ID_FORMS = {
    "pmid": re.compile(r"(?:\S*pubmed\S*/|pmid:?\s*)?(\d{1,8})/?", re.IGNORECASE),
    "pmcid": re.compile(r"(?:https?://\S+/|pmcid:?\s*)?(PMC\d+)/?", re.IGNORECASE),
    "openalex": re.compile(r"(?:\S*openalex\.org/(?:works/)?|openalex:\s*)?(W\d+)/?", re.IGNORECASE),
    "s2": re.compile(r"(?:\S*semanticscholar\.org/\S*|s2:\s*)?([0-9a-f]{40})", re.IGNORECASE),
}
"""Identifiers as people paste them; those of DOIs and arXiv are read as everywhere."""

_PART_WORDS, _COUNTS = (frozenset(WORDS[key].split()) for key in ("parts", "cardinals"))
_NUMBER_WORDS = {
    word: str(number) for key in ("cardinals", "ordinals") for number, word in enumerate(WORDS[key].split(), 1)
}
_NUMBER = re.compile(r"(\d+)(?:st|nd|rd|th)?")
_ROMAN = re.compile(r"(?!l?$)(xl|l?x{0,3})(ix|iv|v?i{0,3})")
_ROMAN_DIGITS = {"i": 1, "v": 5, "x": 10, "l": 50}
_NAME_WITH_NUMBER = re.compile(r"(?<=[^\W\d_])(?<!part)(?<!phase)(?<!study)[-\u2010\u2011](?=\d)", re.IGNORECASE)
"""Where a number belongs to a name, as in COVID-19: it numbers no paper."""
_NOTICE = re.compile(
    r"\b(correction|corrigend(?:um|a)|errat(?:um|a)|addendum|retract(?:ion|ed)|withdrawn|withdrawal"
    r"|reprint(?:ed)?(?= of| from|:)|expressions? of concern|repl(?:y|ies)|rejoinder|comments?|commentary|response"
    r"|berichtigung|erwiderung|antwort auf|rectificatif|réponse|corrección|fe de erratas)\b"
    r"|^\W*(re|(?:peer )?review|letter|data|dataset|code|software|supplement\w*|figures?|tables?|protocol|summary"
    r"|discussion|decision letter|editorial|replication data)\b(?=[^:]{0,25}(?::|\b(?:of|for|from|to|on)\b))",
    re.IGNORECASE,
)
"""What is published about a paper, under its title with a few words more."""
_SERIES = re.compile(
    r"\b(?:annual|yearly|quarterly|monthly|weekly) (?:\w+ )?(?:report|review|survey|update|summary|meeting)s?\b"
    r"|\byearbook\b|\bthe year in\b|\byear in review\b"
    r"|\b(?:meeting|conference|status|progress) report\b|^(?:proceedings|abstracts) of\b",
    re.IGNORECASE,
)
"""Titles under which something appears again and again."""


class PaperIdentity(NamedTuple):
    """What tells papers apart, as 64-bit hashes; 0 where a paper has none.

    ids: of `PAPER_ID_SYSTEMS`. registrant: of the DOI. title: without case and punctuation; words: of it, a bit each.
    part: number in a series, or notice. numbers: others of the title. abstract: of one with enough words. details:
    title, abstract, authors, venue and year. authors: of the first one. pages: first and last number, 32 bits each.
    file: where the paper was read. generic: whether many papers have this title; long: whether few do; series: whether
    it is that of every year. preprint, published: as far as is known. latin: letters of the title.
    """

    ids: tuple[int, ...]
    registrant: int
    title: int
    words: int
    part: int
    numbers: int
    abstract: int
    details: int
    authors: int
    pages: int
    file: int
    year: int
    generic: bool
    long: bool
    series: bool
    preprint: bool
    published: bool
    latin: bool

    def apart(self, other: PaperIdentity) -> str:
        """Return what shows that two papers differ: a system such as `doi`, `part`, `numbers`, `year`; "" if nothing.

        A preprint and an article may differ in DOI and PMID; so may DOIs of two registrants.
        """
        return next(iter(self.differences(other)), "")

    def shares_id(self, other: PaperIdentity) -> bool:
        """Return whether two papers have an id of one system in common, which is of one paper."""
        return bool(self.list_shared_ids(other)) and not self.contradicts(other)

    def list_shared_ids(self, other: PaperIdentity) -> set[int]:
        """Return the ids that two records have in common; a volume's or a book's too."""
        return {one for one, two in zip(self.ids, other.ids, strict=True) if one == two != 0}

    def without(self, ids: set[int]) -> PaperIdentity:
        """Return the identity without some ids."""
        return self._replace(ids=tuple(0 if id in ids else id for id in self.ids))

    def contradicts(self, other: PaperIdentity) -> bool:
        """Return whether titles and first authors, or titles and pages, are of two papers, whatever id they share.

        Titles in two scripts are not compared; nor are those of the same pages, which may be translations.
        """
        if not (self.words and other.words) or self.latin != other.latin:
            return False
        fewer = min(self.words.bit_count(), other.words.bit_count())
        if (self.words & other.words).bit_count() > MAX_SHARED_WORDS * fewer:
            return False
        first, last = self.pages >> 32, self.pages & _LAST_PAGE
        if first and first != other.pages >> 32 != 0:
            return True
        same_pages = last != 0 and self.pages == other.pages
        return not same_pages and bool(self.authors and other.authors) and not self.authors & other.authors

    def differences(self, other: PaperIdentity) -> list[str]:
        """Return all that shows that two papers differ, as `apart` returns the first."""
        if self.shares_id(other):
            return []
        claims = other.claims()
        return [kind.split()[0] for kind, values in self.claims().items() if not values & claims.get(kind, values)]

    def claims(self) -> dict[str, set[int]]:
        """Return what a paper has one of, by kind: papers that share no value of one kind are not one paper."""
        doi, pmid, pmcid, arxiv, *_ = self.ids  # catalogues have one paper under several ids of their own
        stage = "preprint" if self.preprint else "article"
        claims = {
            f"doi {self.registrant}": {doi} if self.registrant else set(),
            f"pmid {stage}": {pmid},
            f"pmcid {stage}": {pmcid},
            "arxiv": {arxiv},
            "part": {self.title, self.part},
            "numbers": {self.title, self.numbers} if self.numbers else set(),
            f"year {stage}": {self.year or -1} if self.series else set(),
        }
        return {kind: values - {0} for kind, values in claims.items() if any(values)}


def identify(paper: Paper) -> PaperIdentity:
    """Return what tells a paper apart from others."""
    words, ids = normalize_words(paper.title), list_ids(paper)
    title = "".join(words)  # "meta-analysis", "meta analysis", "metaanalysis" are one
    abstract = normalize_words(paper.abstract)
    details = (paper.title, paper.abstract, *paper.authors, paper.venue, str(paper.year))
    part, numbers = _find_numbers(paper.title, words)
    doi = ids.get("doi", "")
    on_server = bool(_PREPRINT_VENUE.search(paper.venue)) or ("arxiv" in ids and not paper.venue)
    preprint = bool(_PREPRINT_DOI.match(doi)) if doi else on_server
    kind = "preprint" if preprint else "article"
    first, last, *_ = [*(int(digits[-9:]) for digits in re.findall(r"\d+", paper.pages)[:2]), 0, 0]
    return PaperIdentity(
        ids=tuple(hash_text(system + ids[system] if system in ids else "") for system in PAPER_ID_SYSTEMS),
        registrant=hash_text(f"{doi.split('/')[0]} {kind}") if doi and not _UNVERSIONED_DOI.match(doi) else 0,
        title=hash_text(title),
        words=_hash_words(word for word in words if len(word) > 3 or not word.isascii()) or _hash_words(words),
        part=hash_text(f"part {part}") if title else 0,
        numbers=hash_text(numbers),
        abstract=hash_text(" ".join(abstract)) if len(abstract) >= MIN_TEXT_WORDS else 0,
        details=hash_text("\n".join(details)),
        authors=_hash_words(
            word for name in paper.authors[:1] for word in normalize_words(name) if len(word) > 1 or not word.isascii()
        ),
        pages=first << 32 | last,
        file=hash_text(paper.place.file) if paper.place else 0,
        year=paper.year if paper.year and 0 < paper.year < 10_000 else 0,
        generic=title in GENERIC_TITLES,
        long=len(words) >= MIN_TITLE_WORDS,
        series=bool(_SERIES.search(paper.title)),
        preprint=preprint,
        published=not preprint and bool(doi or ids.get("pmid") or paper.venue),
        latin=max(title, default="") < "\u0370",
    )


def list_ids(paper: Paper) -> dict[str, str]:
    """Return the identifiers of a paper by system, in one form: lower case, without version, an arXiv DOI as arXiv's.

    >>> list_ids(Paper(id="a", ids={"doi": "10.48550/arXiv.1706.03762"}))
    {'arxiv': '1706.03762'}
    """
    ids = {system: paper.ids[system].lower() for system in PAPER_ID_SYSTEMS if paper.ids.get(system)}
    written = ids.pop("doi", "") or (paper.id if "10." in paper.id else "")
    doi = _VERSION.sub(r"\1\2", normalize_doi(written) or paper.ids.get("doi", "").lower()) if written else ""
    if doi.startswith(ARXIV_DOI):
        ids.setdefault("arxiv", doi.removeprefix(ARXIV_DOI))
    elif doi:
        ids["doi"] = doi
    if "arxiv" in ids:
        ids["arxiv"] = normalize_arxiv(ids["arxiv"]) or ids["arxiv"]
    return ids


def read_ids(text: str) -> dict[str, str]:
    """Return the identifier that a text is, or is a link to, by its system; as `list_ids` does.

    >>> read_ids("https://arxiv.org/abs/1706.03762v5"), read_ids("PMID: 90000001")
    ({'arxiv': '1706.03762'}, {'pmid': '90000001'})
    """
    ids = {system: match[1] for system, form in _ID_FORMS.items() if (match := form.fullmatch(text.strip()))}
    return list_ids(Paper(id=text, ids=ids | {"arxiv": normalize_arxiv(text)}))


def list_names(paper: Paper) -> list[tuple[str, str]]:
    """Return by what a paper can be found again, the surest first: ids by system, its own id, its title's letters."""
    title = "".join(normalize_words(paper.title))
    names = [*list_ids(paper).items(), ("id", paper.id)]
    return [*names, ("title", title)] if title and title not in GENERIC_TITLES else names


def is_same_paper(one: PaperIdentity, other: PaperIdentity) -> bool:
    """Return whether two records with one id are versions of one paper.

    Ids such as 1 or smith2020 recur from file to file. An equal identifier of another system says so, a different one
    not. Else an equal title that is not generic, or an equal abstract in the same file (a corrected title).
    """
    difference = one.apart(other)
    if one.shares_id(other):
        return True
    if difference and (difference in PAPER_ID_SYSTEMS or one.file != other.file):
        return False
    same_title = one.title == other.title
    if one.details == other.details or (same_title and one.title and not one.generic):
        return True
    same_abstract = bool(one.abstract) and one.abstract == other.abstract
    return same_abstract and (same_title or (bool(one.file) and one.file == other.file))


def find_containers(papers: Iterable[PaperIdentity]) -> set[int]:
    """Return the ids under which records contradict each other: a book's or a supplement's, which identify no paper."""
    by_id: dict[int, list[PaperIdentity]] = {}
    for paper in papers:
        for id in filter(None, paper.ids):
            by_id.setdefault(id, []).append(paper)
    pairs = ((id, combinations(group[:MAX_SHARING], 2)) for id, group in by_id.items())
    return {id for id, group in pairs if any(one.contradicts(other) for one, other in group)}


def is_same_title(one: PaperIdentity, other: PaperIdentity) -> bool:
    """Return whether two records have one title, and are one paper by identifiers, first author and year.

    A short title needs both, unless all else is equal. Of a long one, a preprint may be years older than the article.
    """
    if not one.title or one.title != other.title or one.generic:
        return False
    if one.details == other.details and not one.apart(other):
        return True
    return may_share_source(one, other, short=not one.long)


def may_share_source(one: PaperIdentity, other: PaperIdentity, *, short: bool = False) -> bool:
    """Return whether nothing tells two papers apart, and first authors and years fit; if short, both are needed."""
    if one.apart(other):
        return False
    named, dated = bool(one.authors and other.authors), bool(one.year and other.year)
    if (named and not one.authors & other.authors) or (short and not (named and dated)):
        return False
    years = abs(one.year - other.year) if dated else 0
    versions = named and not short and not (one.published and other.published)
    return years <= (MAX_YEARS_APART if versions else 1)


def normalize_words(text: str) -> list[str]:
    """Return the words of a text without case, accents or punctuation."""
    if not text.isascii():
        text = _NOT_ASCII.sub(lambda letters: _fold_letters(letters[0]), text.lower())
        if not text.isascii():
            return WORD_PATTERN.findall(text)
    return text.lower().translate(_MARKS).split()  # the same result, three times faster


@lru_cache(maxsize=1 << 14)
def _fold_letters(text: str) -> str:
    """Return what `normalize_words` compares of letters that are not ASCII, a space for each sign."""
    letters = "".join(c for c in normalize_unicode("NFKD", text) if not unicodedata.combining(c)).casefold()
    return "".join(c if WORD_PATTERN.match(c) else " " for c in letters)


def hash_text(text: str) -> int:
    """Hash a text to 64 bits; no text is 0."""
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()) if text else 0


def _hash_words(words: Iterable[str]) -> int:
    """Return 64 bits, of which each word sets one; 0 means no word.

    So names of a person share a bit in any order and abbreviation, and titles many bits where they are nearly one.
    """
    bits = 0
    for word in words:
        bits |= 1 << crc32(word.encode("utf-8", "replace")) % 64
    return bits


def find_equal_runs(column: array[int] | NDArray[np.uint64]) -> Iterator[list[int]]:
    """Yield the ascending positions of every key that occurs more than once."""
    keys = np.asarray(column, np.uint64)
    order = np.argsort(keys, kind="stable")
    order = order[keys[order] != 0]
    starts = np.flatnonzero(np.diff(keys[order], prepend=np.uint64(0)))
    lengths = np.diff(starts, append=len(order))
    for start, length in zip(starts[lengths > 1].tolist(), lengths[lengths > 1].tolist(), strict=True):
        yield order[start : start + length].tolist()


def join_groups(groups: dict[int, list[int]], one: int, other: int) -> None:
    """Join the groups of two positions; all members share one list."""
    pair = groups.setdefault(one, [one]), groups.setdefault(other, [other])
    large, small = sorted(pair, key=len, reverse=True)
    if large is not small:
        large += small
        groups |= dict.fromkeys(small, large)


def _find_numbers(title: str, words: list[str]) -> tuple[str, str]:
    """Return what numbers a paper in a series, or makes it a notice about another, and the title's other numbers."""
    if (joined := _NAME_WITH_NUMBER.sub("", title)) != title:
        words = normalize_words(joined)
    notices = sorted({(match[1] or match[2]).lower() for match in _NOTICE.finditer(title)})
    part, numbers = list[str](), list[str]()
    for place, word in enumerate(words):
        after = place > 0 and words[place - 1] in _PART_WORDS
        number = _read_number(word) or (word if after and len(word) == 1 else "")
        if number and (after or word not in _COUNTS):
            (part if after or place == len(words) - 1 else numbers).append(number)
    return " ".join([*notices, *part]), " ".join(numbers)


@lru_cache(maxsize=1 << 14)
def _read_number(word: str) -> str:
    """Return the number that a word is, in digits: 12, 12th, XII, twelve; else ""."""
    if match := _NUMBER.fullmatch(word):
        return match[1].lstrip("0") or "0"
    if not _ROMAN.fullmatch(word):
        return _NUMBER_WORDS.get(word, "")
    digits = [_ROMAN_DIGITS[letter] for letter in word]
    signs = [-1 if digit < following else 1 for digit, following in zip(digits, [*digits[1:], 0], strict=True)]
    return str(sum(sign * digit for sign, digit in zip(signs, digits, strict=True)))


FULLER = 1.25  # an abstract with this many times the words of another is fuller; else the record with more fields is
FIELDS = ("title", "abstract", "authors", "venue", "year", "fields", "keywords", "references")
SHOWN = 60  # characters of a value in a message


@dataclass(frozen=True, slots=True)
class MergedPaper:
    """A paper of several records: its id, their ids and places, and the fields that others than the fullest gave."""

    id: str
    records: tuple[str, ...]
    places: tuple[str, ...]
    filled: tuple[str, ...]


class MergedRecords:
    """Merges the records of one paper. An input is read for `add`, again for `collect` if that is needed, then `merge`.

    Records are of one paper where they have one id and `is_same_paper` says so, in one file only if no text of theirs
    contradicts; or where they are of two files and share an id of `PAPER_ID_SYSTEMS`. The paper is at the place of its
    first record, and has its id. Memory: 64 bytes a record, and the records whose ids repeat.

    papers: those of several records. groups: position of a record -> a number that all have that may be of its paper,
    after `find_repeated`. completed: position of a paper's first record -> the record of all. absorbed:
    positions of the others. containers: how many ids are of no paper (`find_containers`): records that have such a one
    in place of their own id get another.
    """

    def __init__(self) -> None:
        self.papers: list[MergedPaper] = []
        self.containers = 0
        self._keys = {name: array("Q") for name in ("id", *PAPER_ID_SYSTEMS)}
        self._contents = array("Q")
        self.groups: dict[int, int] = {}
        self.completed: dict[int, Paper] = {}
        self.absorbed: set[int] = set()

    def add(self, paper: Paper, content: int | None = None) -> None:
        """Add the next record of the input. content: a hash of it, where the paper has nothing but its ids."""
        ids = list_ids(paper) | {"id": paper.id}
        for name, keys in self._keys.items():
            keys.append(hash_text(ids.get(name, "")))
        if content is None:
            fields = (getattr(paper, name) for name in FIELDS)
            content = hash_text("\n".join(map(str, (paper.id, paper.ids, *fields))))
        self._contents.append(content)

    def find_repeated(self) -> bool:
        """Return whether records share an id and differ; then `collect` must see all again."""
        groups: dict[int, list[int]] = {}
        for key in self._keys.values():
            for run in find_equal_runs(key):
                if len({self._contents[position] for position in run}) > 1:
                    for position in run:
                        join_groups(groups, run[0], position)
        self.groups = {position: group[0] for position, group in groups.items()}
        self._keys, self._contents = {}, array("Q")
        return bool(self.groups)

    def collect(self, records: Iterable[Paper | Deletion]) -> None:
        """Read all records again, and merge those of one paper."""
        papers = enumerate(record for record in records if isinstance(record, Paper))
        self.compare({position: paper for position, paper in papers if position in self.groups})

    def compare(self, repeated: Mapping[int, Paper]) -> None:
        """Merge the records of one paper. repeated: position -> record of all in some `groups`, ascending."""
        members: dict[int, dict[int, Paper]] = {}
        for position, paper in repeated.items():
            members.setdefault(self.groups[position], {})[position] = paper
        for group in members.values():
            identities = {position: identify(paper) for position, paper in group.items()}
            containers = find_containers(identities.values())
            self.containers += len(containers)
            for position, paper in group.items() if containers else ():
                identities[position] = identities[position].without(containers)
                if not containers.isdisjoint(identify(Paper(id=paper.id)).ids):
                    group[position] = self.completed[position] = replace(paper, id=derive_id(replace(paper, ids={})))
            for first, *others in _cluster(group, identities):
                if others:
                    papers = [group[position] for position in (first, *others)]
                    merged, fullest = merge_records(papers), reduce(_choose_fuller, papers)
                    self.completed[first] = merged
                    self.absorbed.update(others)
                    filled = tuple(name for name in FIELDS if getattr(merged, name) and not getattr(fullest, name))
                    places = tuple(str(paper.place or "") for paper in papers)
                    self.papers.append(MergedPaper(merged.id, tuple(paper.id for paper in papers), places, filled))

    def merge(self, records: Iterable[Paper | Deletion]) -> Iterator[Paper | Deletion]:
        """Yield the records of the input, those of one paper as one."""
        position = -1
        for record in records:
            position += isinstance(record, Paper)
            if isinstance(record, Deletion):
                yield record
            elif position not in self.absorbed:
                yield self.completed.get(position, record)


def merge_records(records: Sequence[Paper]) -> Paper:
    """Return the fullest of several records of one paper, the first of equals, completed with the others' fields.

    It has the id of the first record. Of two ids of one system, that of an article goes before that of a preprint.
    """
    fullest = reduce(_choose_fuller, records)
    others = [record for record in records if record is not fullest]
    values = {name: next(filter(None, (getattr(paper, name) for paper in others)), None) for name in FIELDS}
    filled = {name: value for name, value in values.items() if value and not getattr(fullest, name)}
    ids: dict[str, str] = {}
    for paper in sorted([fullest, *others], key=lambda paper: identify(paper).preprint):
        ids |= {system: value for system, value in paper.ids.items() if system not in ids}
    places = dict.fromkeys(place for paper in [fullest, *others] if paper.place for place in paper.place.list_all())
    place = fullest.place and replace(fullest.place, others=tuple(places)[1:])
    return replace(fullest, id=records[0].id, ids=ids, place=place, **filled)


def describe_differences(paper: Paper, other: Paper) -> str:
    """Return what differs between two records, field by field, with both values; "" where nothing does.

    >>> describe_differences(Paper(id="1", title="On frogs", year=2020), Paper(id="1", title="On toads", year=2020))
    "title 'On frogs', not 'On toads'"
    """
    pairs = {name: (getattr(paper, name), getattr(other, name)) for name in FIELDS[:5]}
    pairs |= {system: (paper.ids.get(system), other.ids.get(system)) for system in {**paper.ids, **other.ids}}
    return "; ".join(
        f"{name} {', not '.join(_show(*values))}" for name, values in pairs.items() if values[0] != values[1]
    )


def _show(one: object, other: object) -> Iterator[str]:
    """Yield two values, of long texts the part where they begin to differ."""
    texts = ["; ".join(value) if isinstance(value, tuple) else str(value or "") for value in (one, other)]
    equal = next((n for n, (a, b) in enumerate(zip(*texts, strict=False)) if a != b), min(map(len, texts)))
    start = max(0, equal - SHOWN // 2) if max(map(len, texts)) > SHOWN else 0
    for text in texts:
        part, cut = text[start : start + SHOWN], start + SHOWN < len(text)
        yield repr("…" * bool(start) + part + "…" * cut) if text else "none"


def _cluster(group: Mapping[int, Paper], identities: Mapping[int, PaperIdentity]) -> list[list[int]]:
    """Divide records that share ids into those of one paper."""
    clusters: list[list[int]] = []
    for position, paper in group.items():
        for cluster in islice(clusters, MAX_WORKS):
            related = [_relate(identities[position], paper, identities[member], group[member]) for member in cluster]
            if any(related) and None not in related:
                cluster.append(position)
                break
        else:
            clusters.append([position])
    return clusters


def _relate(one: PaperIdentity, paper: Paper, other: PaperIdentity, record: Paper) -> bool | None:
    """Return whether two records are shown to be of one paper; None where they must not be."""
    same_file = one.file == other.file
    if paper.id != record.id:
        return None if same_file else one.shares_id(other)
    texts = ((paper.title, record.title), (paper.abstract, record.abstract))
    contradict = any(a and b and normalize_words(a) != normalize_words(b) for a, b in texts)
    return (is_same_paper(one, other) and not (same_file and contradict)) or None


def _choose_fuller(other: Paper, paper: Paper) -> Paper:
    """Return the fuller of two records, the first of equals."""
    words = [len(normalize_words(record.abstract)) for record in (paper, other)]
    filled = [sum(bool(getattr(record, name)) for name in FIELDS) + len(record.ids) for record in (paper, other)]
    by = words if max(words) > FULLER * min(words) else filled
    return paper if by[0] > by[1] else other
