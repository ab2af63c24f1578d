"""Compare records field by field, and weigh whether they are of one paper."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from string import ascii_lowercase
from typing import Any, NamedTuple

from rapidfuzz.distance import Indel
from rapidfuzz.fuzz import token_sort_ratio

from sciprism.papers.identity import MAX_YEARS_APART, WORDS, PaperIdentity, identify, normalize_words
from sciprism.papers.records import Paper

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
_NO_WORD, _NO_NAME = (frozenset(WORDS[key].split()) for key in ("small", "no_names"))
_PROCEEDINGS = re.compile(r"proc(?:eedings)?|\d+(?:st|nd|rd|th)?")  # words of a journal that tell nothing
_ACRONYM = re.compile(r"\b[A-Z]{3,}\b")
_MEETING = re.compile(r"\b(?:conf|symp|workshop|congress|proc)", re.IGNORECASE)
MIN_ABBREVIATED = 4  # words of a name that abbreviate the first ones of a longer name

Pages = tuple[tuple[str, str], ...]
Weights = Mapping[str, Mapping[str, float]]
WEIGHTS: Weights = json.loads(Path(__file__).with_name("comparison_weights.json").read_text(encoding="utf-8"))
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
    each name. pages: the first and the last of each range. id, place: what names the record.
    """

    identity: PaperIdentity
    fields: dict[str, Any]
    id: str = ""
    place: str = ""


def cite(paper: Paper) -> Citation:
    """Return what is compared of a paper."""
    title = _TITLE_NOTE.sub("", paper.title) if "(" in paper.title or "[" in paper.title else paper.title
    both = _TRANSLATION.fullmatch(title)
    titles = [" ".join(normalize_words(part)) for part in (title, *(both.groups() if both else ()))]
    names = (frozenset(word for word in normalize_words(name) if word not in _NO_NAME) for name in paper.authors)
    journals = (normalize_words(name) for name in _JOURNAL_ENDS.split(paper.venue.strip(" \"'"))[:3])
    telling = ([w for w in name if w not in _NO_WORD and not _PROCEEDINGS.fullmatch(w)] for name in journals)
    venues = tuple(map(tuple, filter(None, telling)))
    acronyms = [] if paper.venue.isupper() and " " in paper.venue else _ACRONYM.findall(paper.venue)
    volume, issue = ("".join(re.findall(r"(?!0)\d+", text)[:1]) for text in (paper.volume, paper.issue))
    identity = identify(paper if title == paper.title else replace(paper, title=title))
    fields = {
        "title": tuple(text for text in titles if text == titles[0] != "" or len(text) > 15),
        "authors": tuple(filter(None, names)),
        "year": identity.year,
        "journal": Journal(venues, acronyms, bool(_MEETING.search(paper.venue))) if venues else (),
        "volume": volume,
        "issue": issue,
        "pages": read_pages(paper.pages) if volume or not _AHEAD.match(paper.pages) else (),
        "abstract": abstract if len(abstract := " ".join(normalize_words(paper.abstract[:1500])[:100])) >= 100 else "",
    }
    fields = {name: value for name, value in fields.items() if value}
    return Citation(identity, fields, paper.id, str(paper.place or ""))


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


def is_version(one: Citation, other: Citation, levels: Mapping[str, str]) -> bool:
    """Return whether one record is a preprint and the other its article; where they are printed says nothing."""
    if one.identity.preprint == other.identity.preprint or not levels.get("authors", "").startswith("first"):
        return False
    years = one.identity.year, other.identity.year
    exact = levels.get("title") in ("equal", "equal, short", "spelling", "part", "more words")
    near = 0 in years or abs(years[0] - years[1]) <= MAX_YEARS_APART
    return exact and near and levels.get("abstract") != "differs" and not {"part", "numbers"} & levels.keys()


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
    ours, theirs = ({word for word in frozenset().union(*names) if len(word) > 2} for names in (one, other))
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


COMPARISONS: dict[str, Callable[[Any, Any], str]] = {
    "title": _compare_titles,
    "authors": _compare_authors,
    "year": lambda one, other: ("equal", "1 apart", "2 apart", "far")[min(3, abs(one - other))],
    "journal": _compare_journals,
    **dict.fromkeys(("volume", "issue"), lambda one, other: "equal" if one == other else "differs"),
    "pages": _compare_pages,
    "abstract": _compare_abstracts,
}
"""Field -> its comparison."""
