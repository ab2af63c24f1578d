"""Find the records of one paper: compare them field by field, let a person decide uncertain pairs, merge them."""

from __future__ import annotations

import json
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain, product
from math import exp
from operator import attrgetter
from pathlib import Path
from string import ascii_lowercase
from typing import Any, NamedTuple

import numpy as np
from rapidfuzz.distance import Indel
from rapidfuzz.fuzz import token_sort_ratio

from sciprism.errors import InputError
from sciprism.files import join_cells, write_lines
from sciprism.papers.bibliography_entries import find_doi, find_url, format_bibtex, format_ris
from sciprism.papers.identity import (
    MAX_YEARS_APART,
    PaperIdentity,
    find_equal_runs,
    hash_text,
    identify,
    join_groups,
    merge_records,
    normalize_words,
)
from sciprism.papers.input_file import InputFile
from sciprism.papers.records import PRINTED, Paper
from sciprism.papers.rows import detect_layout, read_rows
from sciprism.parallel import Progress, show_nothing

# What databases add to titles: "[Erratum appears in ...]", "[see comment]", "[Review] [42 refs]", "(in German)".
_NOTES = (
    r"(?:published )?(?:erratum|errata|corrigendum|correction) (?:appears?|in|to)\b|see comments?|comments?\b|\d+ refs?"
    r"\b|review\b|(?:structured|provisional|brief|conference|meeting) (?:abstract|record)|abstract\b|project record"
    r"|corrected\b|retract(?:ed|ion)\b|republished|summary for|in process|article in\b"
    r"|(?:in )?(?:french|german|spanish|italian|chinese|japanese|russian|portuguese|polish|turkish|korean|dutch)\b"
)
_TITLE_NOTE = re.compile(rf"(?<!\W)(?:\W*(?:\[(?:{_NOTES})[^\]]*(?:\]|$)|\((?:{_NOTES})[^()]*\)))+", re.IGNORECASE)
_TRANSLATION = re.compile(r"(.*?)\s*\[([^\[\]]{20,})\]\W*")
_PAGE = re.compile(r"([a-z]*)0*(\d+)([a-z]*)")
_JOURNAL_ENDS = re.compile(r" ?[=:(\[/] ?|(?<=[a-z]{5})\.(?=[A-Z]\w{4})")
_AHEAD = re.compile(r"\W*0?1\b")  # pages from 1 on of an article that has no volume yet
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec"
_MONTH = re.compile(r"(?<=\d-)[a-z]{3}$|^[a-z]{3}(?=-\d)")  # a program took the pages 8-8 for the date 08-Aug
_SMALL_WORDS = "a and at de der des die do du for fur in la le of on the to und y"
_NO_WORD = frozenset(_SMALL_WORDS.split())
_PROCEEDINGS = re.compile(r"proc(?:eedings)?|\d+(?:st|nd|rd|th)?")  # words of a journal that tell nothing
_ACRONYM = re.compile(r"\b[A-Z]{3,}\b")
_MEETING = re.compile(r"\b(?:conf|symp|workshop|congress|proc)", re.IGNORECASE)
# No names: of groups, and what databases write for trials without authors.
_NO_NAMES = """
al and anon anonymous author available dr et group investigators jr listed name no of study the team unknown
actrn chictr ctri drks euctr irct isrctn jprn nct ntr pactr umin
"""
_NO_NAME = frozenset(_NO_NAMES.split())
MIN_ABBREVIATED = 4  # words of a name that abbreviate the first ones of a longer name

Pages = tuple[tuple[str, str], ...]
Weights = Mapping[str, Mapping[str, float]]
WEIGHTS: Weights = json.loads(Path(__file__).with_name("deduplication_weights.json").read_text(encoding="utf-8"))
"""Field -> level -> log likelihood ratio of duplicates, as `benchmarks/dedupe.py --fit` estimates it.

The same of an equal id, of a generic title and of the year of a series is set: the labelled libraries have too few.
"""


class Journal(NamedTuple):
    """The words of each of a journal's titles, its acronyms, and whether it is a meeting."""

    titles: tuple[tuple[str, ...], ...]
    acronyms: list[str]
    is_meeting: bool


class Citation(NamedTuple):
    """What is compared of a record: its identity, and the fields that it has, as `COMPARISONS` take them.

    title: its words, those of the whole title first, then of the original and the translation. authors: the words of
    each name. pages: the first and the last of each range.
    """

    identity: PaperIdentity
    fields: dict[str, Any]


def cite(paper: Paper) -> Citation:
    """Return what is compared of a paper."""
    title = _TITLE_NOTE.sub("", paper.title)
    both = _TRANSLATION.fullmatch(title)
    titles = [" ".join(normalize_words(part)) for part in (title, *(both.groups() if both else ()))]
    names = (frozenset(word for word in normalize_words(name) if word not in _NO_NAME) for name in paper.authors)
    journals = (normalize_words(name) for name in _JOURNAL_ENDS.split(paper.venue.strip(" \"'"))[:3])
    telling = ([w for w in name if w not in _NO_WORD and not _PROCEEDINGS.fullmatch(w)] for name in journals)
    venues = tuple(map(tuple, filter(None, telling)))
    acronyms = [] if paper.venue.isupper() and " " in paper.venue else _ACRONYM.findall(paper.venue)
    volume, issue = ("".join(re.findall(r"(?!0)\d+", text)[:1]) for text in (paper.volume, paper.issue))
    identity = identify(replace(paper, title=title))
    fields = {
        "title": tuple(text for text in titles if text == titles[0] != "" or len(text) > 15),
        "authors": tuple(filter(None, names)),
        "year": identity.year,
        "journal": Journal(venues, acronyms, bool(_MEETING.search(paper.venue))) if venues else (),
        "volume": volume,
        "issue": issue,
        "pages": read_pages(paper.pages) if volume or not _AHEAD.match(paper.pages) else (),
        "abstract": abstract if len(abstract := " ".join(normalize_words(paper.abstract)[:100])) >= 100 else "",
    }
    return Citation(identity, {name: value for name, value in fields.items() if value})


def cite_all(papers: Sequence[Paper]) -> Callable[[int], Citation]:
    """Return a function that returns what is compared of the paper at a position; it keeps the latest.

    Issues of a file that number its records, as some programs write them, are not compared.
    """
    issues: dict[str, Counter[str]] = {}
    for paper in papers:
        if paper.issue and paper.place:
            issues.setdefault(paper.place.file, Counter())[paper.issue] += 1
    numbered = {file for file, counts in issues.items() if len(counts) > max(MAX_ISSUES, counts.total() / 2)}

    @lru_cache(maxsize=HELD)
    def cited(position: int) -> Citation:
        paper = papers[position]
        return cite(replace(paper, issue="") if paper.place and paper.place.file in numbered else paper)

    return cited


def read_pages(text: str) -> Pages:
    """Return the first and the last page of each range, the last one whole; "" where it is unknown.

    >>> read_pages("S288-97; discussion 300"), read_pages("e12"), read_pages("08-Aug")
    ((('s288', 's297'), ('300', '')), (('e12', ''),), (('8', '8'),))
    """
    ranges = []
    for part in re.split(r"[,;]", text.lower())[:4]:
        part = _MONTH.sub(lambda month: str(_MONTHS.find(month[0]) // 4 + 1), part.strip(' "'))
        pages = [match.groups() for match in _PAGE.finditer(part)]
        if pages and part[0] not in "-t":  # "t-8": the first page is lost
            letters, first, suffix = pages[0]
            last = pages[1][1] if len(pages) > 1 else ""
            whole = letters + first[: max(0, len(first) - len(last))] + last
            ranges.append((letters + first + suffix, whole if last else ""))
    return tuple(ranges)


def weigh(levels: Mapping[str, str], weights: Weights = WEIGHTS) -> float:
    """Return the log odds that two records are of one paper: the sum of the levels' weights."""
    return weights["prior"][""] + sum(weights[field][level] for field, level in levels.items())


def is_sufficient(levels: Mapping[str, str]) -> bool:
    """Return whether two records share what a merge needs besides its probability.

    A title that differs needs the same range of pages; a generic one, or one with other numbers, a page or an id; one
    that is only similar a place in print, an id or an abstract, but for its spelling in lists without place in print.
    Records of two issues, or with two DOIs of one registrant, need that all else is equal.
    """
    title, pages, authors = (levels.get(name, "") for name in ("title", "pages", "authors"))
    same_year = levels.get("year") == "equal"
    is_placed = levels.get("ids") == "equal" or pages in ("equal", "first equal")
    if other := find_other_place(levels):
        fits = (title, pages, len(other)) == ("equal", "equal", 1) and authors.startswith("first")
        return fits and (same_year or "ids" not in other)
    if title in ("differs", "0.7", "0.8"):
        return pages == "equal"
    if title in ("", "generic") or {"part", "numbers", "series"} & levels.keys():
        return is_placed
    listed = title in ("spelling", "part", "more words") and authors == "first and most" and same_year
    if title in ("equal", "equal, short") or (listed and not {"pages", "volume", "abstract"} & levels.keys()):
        return True
    return is_placed or levels.get("volume") == "equal" or levels.get("abstract") == "0.9"


def find_other_place(levels: Mapping[str, str]) -> set[str]:
    """Return what says that two records are of two places of one journal: volume, issue; or ids of one registrant."""
    if levels.get("ids") == "equal":
        return set()
    printed = ("volume", "issue") if levels.get("journal") in ("equal", "abbreviated", "part") else ()
    return {name for name in (*printed, "ids") if levels.get(name) == "differs"}


def tell_apart(levels: Mapping[str, str], recurs: bool) -> str:
    """Return why two records are two papers, whatever their probability: "column" or "issue"; "" if nothing says so.

    recurs: whether the title is that of several volumes or years of its journal.
    """
    other, title, pages = find_other_place(levels), levels.get("title", ""), levels.get("pages", "")
    if pages == "differs" and {"part", "numbers"} & levels.keys():
        return "issue"
    if title not in ("equal", "equal, short", "generic"):
        return "issue" if other and title != "spelling" else ""
    if recurs and not other:
        return "column" if levels.get("ids") != "equal" and pages not in ("equal", "first equal") else ""
    slip = pages == "equal" and len(other) == 1 and levels.get("year") == "equal"  # one number may be a mistake
    return "column" if other and (recurs or title != "equal") and not slip else ""


def compare(one: Citation, other: Citation) -> dict[str, str]:
    """Return the level of agreement of each field that both records have, and of what tells papers apart."""
    shared = (field for field in COMPARISONS if field in one.fields and field in other.fields)
    graded = ((field, COMPARISONS[field](one.fields[field], other.fields[field])) for field in shared)
    levels = {field: level for field, level in graded if level}
    if levels.get("title") == "equal" and not one.identity.long:
        levels["title"] = "generic" if one.identity.generic else "equal, short"
    if one.identity.shares_id(other.identity):
        return levels | {"ids": "equal"}
    names = {"part": "part", "numbers": "numbers", "year": "series"}
    return levels | {names.get(kind, "ids"): "differs" for kind in one.identity.differences(other.identity)}


def _grade(similarity: float, *levels: str) -> str:
    return next((level for level in levels if similarity >= float(level)), "differs")


def _compare_titles(one: tuple[str, ...], other: tuple[str, ...]) -> str:
    ours, theirs = ([title.replace(" ", "") for title in titles] for titles in (one, other))
    if not set(ours).isdisjoint(theirs):
        return "equal"
    short, long = sorted((ours[0], theirs[0]), key=len)
    if len(short) > 25 and (long.startswith(short) or long.endswith(short)):
        return "part"
    best = max(Indel.normalized_similarity(a, b, score_cutoff=0.4) for a in ours for b in theirs)
    best = max(best, token_sort_ratio(one[0], other[0]) / 100) if 0.6 < best < 0.95 else best
    if best >= 0.8:
        more = sorted(_count_others(*pair) for pair in ((one[0], other[0]), (other[0], one[0])))
        if more[0] == 0:
            return "spelling" if more[1] == 0 and best >= 0.9 else "more words"
    return _grade(best, "0.9", "0.8", "0.7")


def _count_others(title: str, other: str) -> int:
    """Count the words of a title that another has in no spelling."""
    words, squeezed = other.split(), other.replace(" ", "")
    others = (word for word in title.split() if word not in words and word not in _NO_WORD)
    others = (word for word in others if len(word) < 4 or word not in squeezed)
    return sum(all(Indel.normalized_similarity(word, like) < 0.75 for like in words) for word in others)


def _compare_authors(one: tuple[frozenset[str], ...], other: tuple[frozenset[str], ...]) -> str:
    ours, theirs = ({word for name in names for word in name if len(word) > 2} for names in (one, other))
    shared = len(ours & theirs) / min(len(ours), len(theirs)) if ours and theirs else 1.0
    if not (same := _is_person(one[0], other[0])) and shared > 0.6 and len(one) == len(other):
        same = all(any(_is_person(name, like) for like in other) for name in one)  # in another order
    if same:
        return "first and most" if shared > 0.6 else "first"
    return "not first" if shared > 0.6 else "some" if shared > 0 else "none"


def _is_person(one: frozenset[str], other: frozenset[str]) -> bool:
    """Return whether two names may be of one person: a word in common, and no other whole words that differ."""
    ours, theirs = ({word for word in words if len(word) > 2} for words in (one - other, other - one))
    if ours and theirs:
        return any(Indel.normalized_similarity(a, b) >= 0.8 for a in ours for b in theirs)
    return any(len(word) > 2 for word in one & other) or (bool(one & other) and not ours and not theirs)


def _compare_journals(one: Journal, other: Journal) -> str:
    """Return the level of two journals; "" for a meeting or an acronym, which may have a name of other words."""
    if one.titles[0] == other.titles[0]:
        return "equal"
    pairs = [sorted((a, b), key=lambda words: sum(map(len, words))) for a in one.titles for b in other.titles]
    if any(is_abbreviation(*pair) for pair in pairs):
        return "abbreviated"
    if any(len("".join(a)) > 3 and _is_part(a, b) for a, b in pairs):
        return "part"
    if one.acronyms and other.acronyms:
        return "part" if set(one.acronyms) & set(other.acronyms) else "differs"
    return "" if any(journal.acronyms or journal.is_meeting for journal in (one, other)) else "differs"


def is_abbreviation(short: tuple[str, ...], long: tuple[str, ...]) -> bool:
    """Return whether a journal's words abbreviate those of another, one by one or by their initials.

    >>> is_abbreviation(("j", "clin", "oncol"), ("journal", "clinical", "oncology")), is_abbreviation(("bmj",), ("bm",))
    (True, False)
    """
    if len(short) == len(long) or MIN_ABBREVIATED <= len(short) < len(long):
        return all(map(_abbreviates, short, long))
    initials = "".join(word[0] for word in long)
    return len(short) == 1 and (
        short[0] == initials if len(short[0]) == 3 else len(short[0]) > 3 and short[0] in initials
    )


def _is_part(short: tuple[str, ...], long: tuple[str, ...]) -> bool:
    """Return whether each word of a journal is in the other's name, whole or abbreviated, in this order."""
    rest = iter(long)
    return all(any(_abbreviates(word, whole) for whole in rest) for word in short)


def _abbreviates(short: str, long: str) -> bool:
    rest = iter(long)  # `in` an iterator goes on where the last letter was
    return short[0] == long[0] and all(letter in rest for letter in short)


def _compare_pages(one: Pages, other: Pages) -> str:
    if any(pages in other and pages[1] not in ("", pages[0]) for pages in one):
        return "equal"
    firsts, lasts = ([{pages[end] for pages in ranges} - {""} for ranges in (one, other)] for end in (0, 1))
    numbers = [{page.strip(ascii_lowercase) for page in pages} for pages in firsts]
    if not firsts[0].isdisjoint(firsts[1]):
        return "first equal"
    return "differs" if numbers[0].isdisjoint(numbers[1]) and lasts[0].isdisjoint(lasts[1]) else "like"


def _compare_abstracts(one: str, other: str) -> str:
    size = min(len(one), len(other))
    return _grade(Indel.normalized_similarity(one[:size], other[:size]), "0.9", "0.7", "0.5")


def _compare_numbers(one: str, other: str) -> str:
    return "equal" if one == other else "differs"


COMPARISONS: dict[str, Callable[[Any, Any], str]] = {
    "title": _compare_titles,
    "authors": _compare_authors,
    "year": lambda one, other: ("equal", "1 apart", "2 apart", "far")[min(3, abs(one - other))],
    "journal": _compare_journals,
    "volume": _compare_numbers,
    "issue": _compare_numbers,
    "pages": _compare_pages,
    "abstract": _compare_abstracts,
}
"""Field -> its comparison."""


Pair = tuple[int, int]
FIELDS = ("title", "authors", "year", "venue", *PRINTED, "doi", "record")
COLUMNS = ("decision", "probability", "agreement", *(f"{name}_{side}" for name in FIELDS for side in (1, 2)))
REQUIRED = ("decision", "record_1", "record_2", "title_1", "title_2")
DECISIONS = {"duplicate": True, "yes": True, "y": True, "1": True} | dict.fromkeys(("different", "no", "n", "0"), False)


class ComparedPair(NamedTuple):
    """Two records by position, the probability that they are of one paper, and the levels of agreement."""

    positions: Pair
    probability: float
    levels: Mapping[str, str]


@dataclass(slots=True)
class Review:
    """A person's decisions by the positions of two records, and the rows of the file, also undecided ones, by pair.

    columns: of the file; those that a person added stay.
    """

    decisions: dict[Pair, bool] = field(default_factory=dict)
    columns: Sequence[str] = COLUMNS
    rows: dict[Pair, list[str]] = field(default_factory=dict)


def read_review(path: Path, papers: Sequence[Paper]) -> Review:
    """Read the decisions of an earlier review; none where there is no such file.

    Raises InputError with the line for a decision that is none, of records that the input does not have (any more), or
    that contradicts others. The file is not changed.
    """
    if not path.exists():
        return Review()
    file = InputFile(path)
    layout = detect_layout(file.head(), lambda headers: {*headers} & {*COLUMNS})
    if missing := [name for name in REQUIRED if name not in layout.headers]:
        raise InputError(f"{path} is not a review file, as it has no column {', '.join(missing)}; name another one")
    review, lines = Review(columns=layout.headers), dict[Pair, int]()
    records = {name_record(paper): position for position, paper in enumerate(papers)}
    for cells, fault in read_rows(file, layout):
        row = dict(zip(layout.headers, map(str.strip, cells), strict=False))
        word = row.get("decision", "").lower()
        if word and word not in DECISIONS:
            fault = fault or f"decision {word!r} is unknown; write duplicate or different, or nothing"
        pair = _find_pair(row, papers, records)
        if isinstance(pair, str):
            fault = fault or (word and f"{pair}; if the input has changed, clear the row's decision")
        elif word and not fault and review.decisions.setdefault(pair, DECISIONS[word]) != DECISIONS[word]:
            fault = f"another decision than in line {lines[pair]} for the same records; change one of them"
        if fault:
            raise InputError(f"{path}, line {file.record_line}: {fault}")
        if not isinstance(pair, str) and (word or pair not in lines):
            review.rows[pair] = cells
            lines |= {pair: file.record_line or 0} if word else {}
    _check_contradictions(path, review.decisions, lines)
    return review


def write_review(path: Path, review: Review, uncertain: Sequence[ComparedPair], papers: Sequence[Paper]) -> None:
    """Write the decided rows as they were, then the uncertain pairs."""
    rows = [review.rows[pair] for pair in review.decisions]
    for pair in uncertain:
        row = {"probability": f"{pair.probability:.2f}"}
        row["agreement"] = "; ".join(f"{field}: {level}" for field, level in pair.levels.items())
        for side, paper in enumerate((papers[position] for position in pair.positions), 1):
            texts = {name: str(getattr(paper, name, "") or "") for name in FIELDS}
            texts |= {"authors": "; ".join(paper.authors), "doi": find_doi(paper), "record": name_record(paper)}
            row |= {f"{name}_{side}": text for name, text in texts.items()}
        rows.append(review.rows.get(pair.positions) or [row.get(name, "") for name in review.columns])
    write_lines(path, map(join_cells, [review.columns, *rows]), errors="replace")


def name_record(paper: Paper) -> str:
    """Return where a record was read."""
    return str(paper.place or paper.id)


def _find_pair(row: Mapping[str, str], papers: Sequence[Paper], records: Mapping[str, int]) -> Pair | str:
    """Return the positions of a row's records, or what is wrong with them."""
    names = [row.get("record_1", ""), row.get("record_2", "")]
    if names[0] == names[1]:
        return f"{names[0]!r} is named twice"
    for name, title in zip(names, (row.get("title_1", ""), row.get("title_2", "")), strict=True):
        if name not in records:
            return f"no record {name!r} is read"
        if normalize_words(papers[records[name]].title) != normalize_words(title):
            return f"{name} is {papers[records[name]].title[:60]!r} now, not {title[:60]!r}"
    first, last = sorted(records[name] for name in names)
    return first, last


def _check_contradictions(path: Path, decisions: Mapping[Pair, bool], lines: Mapping[Pair, int]) -> None:
    """Raise InputError where records are called different that other rows make duplicates."""
    groups: dict[int, list[int]] = {}
    for pair in (pair for pair, same in decisions.items() if same):
        join_groups(groups, *pair)
    for (one, other), same in decisions.items():
        if not same and other in groups.get(one, ()):
            by = sorted(line for pair, line in lines.items() if decisions[pair] and pair[0] in groups[one])
            raise InputError(
                f"{path}, line {lines[one, other]}: different, but the duplicates of lines {', '.join(map(str, by))} "
                "make these records one paper; change one of the decisions"
            )


SUFFIXES = (".bib", ".ris", ".csv", ".jsonl")
ORIGIN = ("merged_from", "other_version")
LISTS = ("authors", "keywords", *ORIGIN)
PAPER_COLUMNS = (
    *("id", "title", "authors", "year", "venue", *PRINTED, "doi", "pmid", "pmcid", "arxiv", "url", "keywords"),
    *("abstract", *ORIGIN),
)


def check_output(path: Path) -> None:
    """Raise InputError for a file that cannot be written."""
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"{path}: its name must end with {', '.join(SUFFIXES)}")


def write_papers(papers: Iterable[tuple[Paper, list[str]]], path: Path) -> None:
    """Write papers, each with the ids of its other versions, by the file's suffix: as a whole, or not at all."""
    suffix, rows = path.suffix.lower(), ((paper, _to_json(paper, versions)) for paper, versions in papers)
    if suffix in (".bib", ".ris"):
        lines = (format_bibtex if suffix == ".bib" else format_ris)((paper, _note(row)) for paper, row in rows)
    elif suffix == ".jsonl":
        lines = (json.dumps(row, ensure_ascii=False) for _, row in rows)
    else:
        cells = (row | row.get("ids", {}) | {name: "; ".join(row.get(name, ())) for name in LISTS} for _, row in rows)
        lines = chain([join_cells(PAPER_COLUMNS)], (join_cells(map(row.get, PAPER_COLUMNS)) for row in cells))
    write_lines(path, lines, errors="replace")


def _to_json(paper: Paper, versions: list[str]) -> dict[str, Any]:
    places = paper.place.list_all() if paper.place and paper.place.others else []
    more = {"doi": find_doi(paper), "url": find_url(paper), "merged_from": places, "other_version": versions}
    more |= {name: getattr(paper, name) for name in PRINTED}
    return paper.to_json() | {name: value for name, value in more.items() if value}


def _note(row: dict[str, Any]) -> str:
    """Return a note such as "merged from: a.ris, record 1; b.csv, record 5"."""
    return ". ".join(f"{name.replace('_', ' ')}: {'; '.join(row[name])}" for name in ORIGIN if name in row)


TITLE_ENDS = 20  # letters at the begin and the end of a title that are keys
LONGEST = 3  # words of a title that are a key together
MAX_BLOCK = 40  # records of one key that are all compared with each other; of more, each with its neighbours
NEIGHBOURS = 8  # that follow by title
PART = 1 << 16  # pairs that are Python's numbers at once, which take five times the memory


def find_candidates(records: Iterable[Citation]) -> Iterator[tuple[int, int]]:
    """Yield each pair of positions whose records share a key once, in order. Memory: about 200 bytes a record."""
    titles: list[str] = []
    columns: list[array[int]] = []
    pairs = array("q")
    for record in records:
        keys = list(_list_keys(record))
        columns = columns or [array("Q") for _ in keys]
        for column, key in zip(columns, keys, strict=True):
            column.append(key)
        titles.append(record.fields.get("title", [""])[0][:40])
    for run in (run for column in columns for run in find_equal_runs(column)):
        width = len(run)
        if width > MAX_BLOCK:
            run, width = sorted(run, key=titles.__getitem__), NEIGHBOURS + 1
        for place, one in enumerate(run):
            pairs.extend(min(one, other) * len(titles) + max(one, other) for other in run[place + 1 : place + width])
    distinct = np.unique(np.frombuffer(pairs, np.int64))
    del pairs
    for start in range(0, len(distinct), PART):
        yield from (divmod(pair, len(titles)) for pair in distinct[start : start + PART].tolist())


def _list_keys(record: Citation) -> Iterator[int]:
    """Yield the keys of a record, always as many; 0 for one that it does not have."""
    get, identity = record.fields.get, record.identity
    titles = [title.replace(" ", "") for title in get("title", [""])]
    yield from (*identity.ids, identity.abstract)
    yield from map(hash_text, (titles[0], titles[-1], titles[0][:TITLE_ENDS], titles[0][-TITLE_ENDS:]))
    longest = sorted(set(get("title", [""])[0].split()), key=lambda word: (-len(word), word))[:LONGEST]
    yield hash_text(" ".join(longest))
    name = max(get("authors", [[""]])[0], key=lambda word: (len(word), word))
    for parts in ((get("volume"), page := get("pages", [[""]])[0][0]), (name, page), (name, *longest[:1])):
        yield hash_text(" ".join((*parts, str(identity.year)))) if all(parts) else 0


MERGE = 0.8  # probability from which two records are merged
REVIEW = 0.1  # probability from which a person should look
CONTRADICTION = -4.0  # log odds of two records that must not come into one group by way of others
MAX_CHECKED = 12  # records of a group that those of another are compared with
MAX_ISSUES = 60  # of a file whose issues are not numbers of records
RECURS = 3  # volumes, issues or years of a journal in which a title makes a column
HELD = 1 << 16  # records whose compared form is held


@dataclass(frozen=True, slots=True)
class Deduplication:
    """Records as read, and by position: groups of one paper, preprints with their articles, pairs left for a person.

    columns: groups of papers that share a title which recurs in one journal, in other volumes or issues.
    decided: how many pairs a person had decided on. containers: how many ids are of no paper (`find_containers`).
    """

    records: Sequence[Paper]
    groups: list[list[int]]
    columns: list[list[int]]
    versions: list[Pair]
    uncertain: list[ComparedPair]
    decided: int
    containers: int

    @property
    def removed(self) -> int:
        """Count the records that became part of another one."""
        return sum(len(group) - 1 for group in self.groups)

    def count_sources(self) -> list[dict[str, Any]]:
        """Count of each file the records, and those removed as duplicates: the first of a group is retained."""
        files = [paper.place.file if paper.place else "" for paper in self.records]
        removed = Counter(files[position] for group in self.groups for position in group[1:])
        return [{"file": file, "records": n, "removed": removed[file]} for file, n in Counter(files).items()]

    def papers(self) -> Iterator[tuple[Paper, list[str]]]:
        """Yield each paper, merged from its records, with the ids of its preprints or its articles."""
        groups = {position: group for group in self.groups for position in group}
        versions: dict[int, dict[str, None]] = {}
        for pair in self.versions:
            firsts = [groups.get(position, [position])[0] for position in pair]
            for one, other in (firsts, firsts[::-1]):
                if one != other:
                    versions.setdefault(one, {})[self.records[other].id] = None
        for position, paper in enumerate(self.records):
            group = groups.get(position, [position])
            if group[0] == position:
                merged = _merge([self.records[member] for member in group]) if group[1:] else paper
                yield merged, list(versions.get(position, ()))

    def to_json(self) -> dict[str, Any]:
        """Return counts, groups and pairs as JSON values; a record is named by its file and number."""

        def name(*positions: int) -> list[str]:
            return [name_record(self.records[position]) for position in positions]

        counts = {"records": len(self.records), "removed": self.removed, "papers": len(self.records) - self.removed}
        counts |= {"preprint_pairs": len(self.versions), "uncertain": len(self.uncertain), "decided": self.decided}
        counts |= {"containers": self.containers, "columns": len(self.columns)}
        return {
            "counts": counts,
            "sources": self.count_sources(),
            "groups": [name(*group) for group in self.groups],
            "columns": [name(*group) for group in self.columns],
            "preprints": [name(*pair) for pair in self.versions],
            "uncertain": [[*name(*pair.positions), round(pair.probability, 3)] for pair in self.uncertain],
        }


def dedupe(
    papers: Iterable[Paper],
    *,
    review: Path | None = None,
    merge_preprints: bool = False,
    threshold: float = MERGE,
    weights: Weights = WEIGHTS,
    progress: Progress = show_nothing,
) -> Deduplication:
    """Group the records of one paper; all are held in memory. `Deduplication.papers` merges them.

    review: a file of uncertain pairs; decisions in it count, and it is written again with the pairs that remain.
    threshold: the probability of a merge. Raises InputError for decisions that cannot be followed; the file stays.

    >>> one, other = Paper(id="1", title="On the frogs of Ohio", year=1990), Paper(id="2", title="Toads")
    >>> dedupe([one, other]).removed
    0
    """
    records, by_probability = list(papers), attrgetter("probability")
    cited = cite_all(records)
    reviewed = read_review(review, records) if review else Review()
    titles = _Titles()

    def index() -> Iterator[Citation]:
        for position in range(len(records)):
            titles.add(record := cited(position))
            progress("indexing", "records", position + 1, len(records))
            yield record

    def judge(one: Citation, other: Citation) -> tuple[dict[str, str], float, str]:
        levels = compare(one, other)
        recurs = titles.recurs(one) or titles.recurs(other)
        if recurs and levels.get("title") == "equal":
            levels["title"] = "generic"
        return levels, weigh(levels, weights), tell_apart(levels, recurs)

    versions, sure, unsure = list[Pair](), list[ComparedPair](), list[ComparedPair]()
    containers, columns = set[int](), dict[int, list[int]]()
    for pair in find_candidates(index()):
        progress("comparing", "records", pair[0] + 1, len(records))
        if pair in reviewed.decisions:
            continue
        one, other = map(cited, pair)
        levels, odds, apart = judge(one, other)
        compared = ComparedPair(pair, 1 / (1 + exp(-odds)), levels)
        if one.identity.contradicts(other.identity):
            containers |= one.identity.list_shared_ids(other.identity)
        if is_version := _is_version(one, other, levels):
            versions.append(pair)
        is_sure = not apart and compared.probability >= threshold and is_sufficient(levels)
        if apart == "column":
            join_groups(columns, *pair)
        elif merge_preprints if is_version else is_sure:
            sure.append(compared)
        elif compared.probability >= REVIEW and not is_version and not apart:
            unsure.append(compared)
    sure.sort(key=by_probability, reverse=True)

    def contradict(first: int, second: int) -> bool:
        _, odds, apart = judge(cited(first), cited(second))
        return bool(apart) or odds < CONTRADICTION

    groups = _join(sure, reviewed.decisions, contradict)
    apart_pairs = (pair for pair in sure + unsure if pair.positions[1] not in groups.get(pair.positions[0], ()))
    uncertain = sorted(apart_pairs, key=by_probability, reverse=True)
    if review:
        write_review(review, reviewed, uncertain, records)
    merged, recurring = _list_groups(groups), _list_groups(columns)
    return Deduplication(records, merged, recurring, versions, uncertain, len(reviewed.decisions), len(containers))


def _list_groups(groups: Mapping[int, list[int]]) -> list[list[int]]:
    return sorted({id(group): sorted(group) for group in groups.values()}.values())


class _Titles:
    """In which volumes, issues and years of a journal each title is."""

    def __init__(self) -> None:
        self._places = defaultdict[tuple[int, tuple[str, ...]], set[tuple[str, Any]]](set)

    def add(self, record: Citation) -> None:
        """Note where a record is printed."""
        get = record.fields.get
        if journal := get("journal"):
            printed = {("volume", get("volume")), ("year", get("year")), ("issue", get("volume") and get("issue"))}
            self._places[record.identity.title, journal.titles[0]].update(place for place in printed if place[1])

    def recurs(self, record: Citation) -> bool:
        """Return whether a record's title is in at least `RECURS` volumes, issues or years of its journal."""
        journal = record.fields.get("journal")
        places = self._places[record.identity.title, journal.titles[0]] if journal else ()
        return len(places) >= RECURS and max(Counter(kind for kind, _ in places).values()) >= RECURS


def _is_version(one: Citation, other: Citation, levels: Mapping[str, str]) -> bool:
    """Return whether one record is a preprint and the other its article; where they are printed says nothing."""
    if one.identity.preprint == other.identity.preprint or not levels.get("authors", "").startswith("first"):
        return False
    years = one.identity.year, other.identity.year
    exact = levels.get("title") in ("equal", "equal, short", "spelling", "part", "more words")
    near = 0 in years or abs(years[0] - years[1]) <= MAX_YEARS_APART
    return exact and near and levels.get("abstract") != "differs" and not {"part", "numbers"} & levels.keys()


def _join(
    pairs: Iterable[ComparedPair], decisions: Mapping[Pair, bool], contradict: Callable[[int, int], bool]
) -> dict[int, list[int]]:
    """Join the records of each pair, those that a person calls duplicates first; return record -> its group.

    No pair joins two groups where others of their members contradict each other.
    """
    groups: dict[int, list[int]] = {}
    decided = sorted(pair for pair, same in decisions.items() if same)
    for pair in [*decided, *(compared.positions for compared in pairs)]:
        ones, others = (groups.get(position, [position]) for position in pair)
        members = product(ones[:MAX_CHECKED], others[:MAX_CHECKED]) if ones is not others else ()
        checked = {(min(two), max(two)) for two in members} - {pair}
        if pair in decisions or not any(two in decisions or contradict(*two) for two in checked):
            join_groups(groups, *pair)
    return groups


def _merge(records: Sequence[Paper]) -> Paper:
    """Return the merged record; volume, issue, pages and year are those of one record, which has most of them."""
    merged = merge_records(records)
    printed = max(records, key=lambda paper: (bool(paper.volume), bool(paper.pages), bool(paper.issue)))
    year = printed.year if printed.volume and printed.year else merged.year
    return replace(merged, year=year, volume=printed.volume, issue=printed.issue, pages=printed.pages)
