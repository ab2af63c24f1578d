"""Compare two records field by field: which level of agreement each field has."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from string import ascii_lowercase
from typing import Any, NamedTuple

from rapidfuzz.distance import Indel
from rapidfuzz.fuzz import token_sort_ratio

from sciprism.papers.identity import PaperIdentity, identify, normalize_words
from sciprism.papers.records import Paper

# What databases add to titles: "[Erratum appears in ...]", "[see comment]", "[Review] [42 refs]", "(in German)".
_NOTES = (
    r"(?:published )?(?:erratum|errata|corrigendum|correction) (?:appears?|in|to)\b|see comments?|comments?\b|\d+ refs?"
    r"\b|review\b|(?:structured|provisional|brief|conference|meeting) (?:abstract|record)|abstract\b|project record"
    r"|corrected\b|retract(?:ed|ion)\b|republished|summary for|in process|article in\b"
    r"|(?:in )?(?:french|german|spanish|italian|chinese|japanese|russian|portuguese|polish|turkish|korean|dutch)\b"
)
_TITLE_NOTE = re.compile(rf"(?<!\W)\W*(?:\[(?:{_NOTES})[^\]]*(?:\]|$)|\((?:{_NOTES})[^()]*\))", re.IGNORECASE)
_TRANSLATION = re.compile(r"(.*?)\s*\[([^\[\]]{20,})\]\W*")
_PAGE = re.compile(r"([a-z]*)0*(\d+)([a-z]*)")
_JOURNAL_ENDS = re.compile(r" ?[=:(\[/] ?|(?<=[a-z]{5})\.(?=[A-Z]\w{4})")
_AHEAD = re.compile(r"\W*0?1\b")  # pages from 1 on of an article that has no volume yet
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec"
_MONTH = re.compile(r"(?<=\d-)[a-z]{3}$|^[a-z]{3}(?=-\d)")  # a program took the pages 8-8 for the date 08-Aug
_SMALL_WORDS = "a and at de der des die do du for fur in la le of on the to und y"
_NO_WORD = frozenset(_SMALL_WORDS.split())
# No names: of groups, and what databases write for trials without authors.
_NO_NAMES = """
al and anon anonymous author available dr et group investigators jr listed name no of study the team unknown
actrn chictr ctri drks euctr irct isrctn jprn nct ntr pactr umin
"""
_NO_NAME = frozenset(_NO_NAMES.split())

Words = tuple[tuple[str, ...], ...]
Pages = tuple[tuple[str, str], ...]
Weights = Mapping[str, Mapping[str, float]]
WEIGHTS: Weights = {
    "prior": {"": -4.6},
    "title": {"equal": 4.5, "equal, short": 2.8, "generic": 0.0, "spelling": 1.3, "part": 1.3, "more words": 0.5}
    | {"0.9": -0.3, "0.8": -1.5, "0.7": -2.3, "differs": -4.6},
    "authors": {"first and most": 2.7, "first": 0.0, "not first": -0.7, "some": -2.4, "none": -3.9},
    "year": {"equal": 0.8, "1 apart": -1.7, "2 apart": -4.2, "far": -4.2},
    "journal": {"equal": 1.3, "abbreviated": 3.1, "part": 0.0, "differs": -2.2},
    "volume": {"equal": 2.4, "differs": -2.7},
    "issue": {"equal": 2.4, "differs": 0.0},
    "pages": {"equal": 7.1, "first equal": 1.3, "like": 1.0, "differs": -2.9},
    "abstract": {"0.9": 3.7, "0.7": 0.6, "0.5": -2.4, "differs": -4.4},
    "ids": {"equal": 6.0, "differs": -3.6},
    "part": {"differs": -2.8},
    "numbers": {"differs": -2.2},
    "series": {"differs": -4.2},
}
"""Field -> level -> log likelihood ratio of duplicates, as `benchmarks/dedupe.py --fit` estimates it.

The same of an equal id, of a generic title and of the year of a series is set: the labelled libraries have too few.
"""


class Citation(NamedTuple):
    """What is compared of a record: its identity, and the fields that it has, as `COMPARISONS` take them.

    title: its words, those of the whole title first, then of the original and the translation. authors: the words of
    each name. journal: the words of each of its titles. pages: the first and the last of each range.
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
    volume, issue = ("".join(re.findall(r"(?!0)\d+", text)[:1]) for text in (paper.volume, paper.issue))
    identity = identify(replace(paper, title=title))
    fields = {
        "title": tuple(text for text in titles if text == titles[0] != "" or len(text) > 15),
        "authors": tuple(filter(None, names)),
        "year": identity.year,
        "journal": tuple(filter(None, (tuple(word for word in name if word not in _NO_WORD) for name in journals))),
        "volume": volume,
        "issue": issue,
        "pages": read_pages(paper.pages) if volume or not _AHEAD.match(paper.pages) else (),
        "abstract": abstract if len(abstract := " ".join(normalize_words(paper.abstract)[:100])) >= 100 else "",
    }
    return Citation(identity, {name: value for name, value in fields.items() if value})


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
    that is only similar a place in print, an id or an abstract.
    """
    title, pages = levels.get("title", ""), levels.get("pages", "")
    is_placed = levels.get("ids") == "equal" or pages in ("equal", "first equal")
    if title in ("differs", "0.7", "0.8"):
        return pages == "equal"
    if title in ("", "generic") or {"part", "numbers", "series"} & levels.keys():
        return is_placed
    exact = title in ("equal", "equal, short")
    return exact or is_placed or levels.get("volume") == "equal" or levels.get("abstract") == "0.9"


def compare(one: Citation, other: Citation) -> dict[str, str]:
    """Return the level of agreement of each field that both records have, and of what tells papers apart."""
    shared = (field for field in COMPARISONS if field in one.fields and field in other.fields)
    levels = {field: COMPARISONS[field](one.fields[field], other.fields[field]) for field in shared}
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
    if _is_person(one[0], other[0]):
        return "first and most" if shared > 0.6 else "first"
    return "not first" if shared > 0.6 else "some" if shared > 0 else "none"


def _is_person(one: frozenset[str], other: frozenset[str]) -> bool:
    """Return whether two names may be of one person: a word in common, and no other whole words that differ."""
    ours, theirs = ({word for word in words if len(word) > 2} for words in (one - other, other - one))
    if ours and theirs:
        return any(Indel.normalized_similarity(a, b) >= 0.8 for a in ours for b in theirs)
    return any(len(word) > 2 for word in one & other) or (bool(one & other) and not ours and not theirs)


def _compare_journals(one: Words, other: Words) -> str:
    if one[0] == other[0]:
        return "equal"
    pairs = [sorted((a, b), key=lambda words: sum(map(len, words))) for a in one for b in other]
    if any(is_abbreviation(*pair) for pair in pairs):
        return "abbreviated"
    return "part" if any(set(a) <= set(b) and len("".join(a)) > 3 for a, b in pairs) else "differs"


def is_abbreviation(short: tuple[str, ...], long: tuple[str, ...]) -> bool:
    """Return whether a journal's words abbreviate those of another, one by one or by their initials.

    >>> is_abbreviation(("j", "clin", "oncol"), ("journal", "clinical", "oncology")), is_abbreviation(("bmj",), ("bm",))
    (True, False)
    """
    if len(short) == len(long):
        words = zip(short, long, map(iter, long), strict=True)  # `in` an iterator goes on where the last letter was
        return all(a[0] == b[0] and all(letter in rest for letter in a) for a, b, rest in words)
    return len(short[0]) > 2 and short == ("".join(word[0] for word in long),)


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
