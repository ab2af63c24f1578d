"""Find the reviewers who may not review a submission: its authors, their colleagues and co-authors."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import repeat

from rapidfuzz import fuzz

from sciprism.errors import InputError
from sciprism.papers.bibliographic_fields import normalize
from sciprism.papers.identity import GENERIC_TITLES, normalize_words
from sciprism.papers.records import Paper
from sciprism.uses.matching.reviewers import (
    NUMBERED,
    Authorship,
    NameIndex,
    Pair,
    Reviewer,
    ReviewerIndex,
    StatedPairs,
    find_addresses,
    fold_id,
    name_in_id,
)

_LINES = (files(__package__) / "mail_providers.txt").read_text(encoding="utf-8").splitlines()
MAIL_PROVIDERS = frozenset(" ".join(line for line in _LINES if not line.startswith("#")).split())
"""Domains that strangers share, such as t-online.de, and names that are so under any ending, such as yahoo."""
_UNBOUND = re.compile(
    r"(?:independent|freelance|private|self employed|unaffiliated|retired)(?: ?(?:research|scholar|scien).*)?"
)
"""Names of domains and institutions of people without one."""
_NO_INSTITUTION = ("", "none", "na", "n a", "null", "nan", "no affiliation", "self", "home", "unknown", "other")
_ORGANIZATIONS = re.compile(r"ac|edu|gob|gouv|gov|int|mil")
"""Endings of domains that only organizations have; the others are second levels below a country too."""
_SECOND_LEVEL = re.compile(rf"{_ORGANIZATIONS.pattern}|ad|com?|cri|ernet|gc|go|gr|lg|net?|nhs|nic|org?|res?|sch")


@dataclass(frozen=True, slots=True)
class Conflict:
    """Why a reviewer (number) may not review a submission (number): the kind and the evidence."""

    paper: int
    reviewer: int
    kind: str
    reason: str


class ConflictInput:
    """Submissions, details of their authors, and reviewers. since: the first year in which a joint paper counts.

    authors: all names of each submission's authors: those listed, and those in ids. A table's `Ann Lee, Bob Poe` was
    read as one name, family name first; it stands for two as well. emails: of each reviewer, also where the id is one.
    """

    def __init__(
        self, submissions: Sequence[Paper], authorships: Sequence[Authorship], reviewers: Sequence[Reviewer], since: int
    ) -> None:
        self.submissions, self.authorships, self.reviewers, self.since = submissions, authorships, reviewers, since
        self.index = ReviewerIndex(reviewers)
        self.emails = [find_addresses((*person.emails, person.id)) for person in reviewers]
        self.authors: list[tuple[str, ...]] = []
        for paper, details in zip(submissions, authorships, strict=True):
            listed = (name for author in paper.authors for name in (author, *_halve(author)))
            names = (*listed, *details.names, *map(name_in_id, details.ids))
            self.authors.append(tuple(dict.fromkeys(filter(None, names))))


def find_conflicts(given: ConflictInput) -> Iterator[Conflict]:
    """Yield the conflicts of all kinds; a pair may have several."""
    for kind, find in CONFLICT_KINDS.items():
        for paper, reviewer, reason in find(given):
            yield Conflict(paper, reviewer, kind, reason)


def list_unchecked(given: ConflictInput) -> dict[str, str]:
    """Return kind -> what lacks what it compares: "for 2 of 9 profiles, which have no names"."""
    said, people, named = given.authorships, given.reviewers, given.index.names.items
    known = [each.emails or authors for each, authors in zip(said, given.authors, strict=True)]
    by_email = any(each.emails for each in said)
    identified = [number in named or (by_email and emails) for number, emails in enumerate(given.emails)]
    compared: list[tuple[str, str, str, Sequence[object]]] = [
        ("author", "submissions", "authors", known),
        ("author", "profiles", "names", identified),
        ("domain", "submissions", "e-mail addresses", [each.emails for each in said]),
        ("domain", "profiles", "e-mail addresses", given.emails),
        ("institution", "submissions", "institutions", [each.institutions for each in said]),
        ("institution", "profiles", "institutions", [person.institutions for person in people]),
        ("coauthor", "submissions", "authors", given.authors),
        ("coauthor", "profiles", "papers with authors", [any(p.authors for p in person.papers) for person in people]),
        ("own-paper", "submissions", "titles", [paper.title for paper in given.submissions]),
        ("own-paper", "profiles", "papers", [person.papers for person in people]),
    ]
    unchecked: dict[str, str] = {}
    for kind, whose, column, values in compared:
        if lacking := sum(not value for value in values):
            unchecked.setdefault(kind, f"for {lacking:,} of {len(values):,} {whose}, which have no {column}")
    return unchecked


def _halve(author: str) -> tuple[str, ...]:
    """Return the two whole names that four capitalized words may be, else nothing."""
    words = author.split()
    if len(words) != 4 or not all(word[0].isupper() and len(word.strip(".")) > 1 for word in words):
        return ()
    return " ".join(words[:2]), " ".join(words[2:])


def reduce_domain(email: str) -> str:
    """Return the organization's domain of an e-mail address, "" of a mail provider or of no address.

    >>> reduce_domain("ann@cs.example.ac.uk"), reduce_domain("ann@gmail.com")
    ('example.ac.uk', '')
    """
    domain = email.rpartition("@")[2].strip().casefold().rstrip(".")
    labels = domain.split(".")
    if "@" not in email or len(labels) < 2:
        return ""
    size = 3 if len(labels) > 2 and len(labels[-1]) == 2 and _SECOND_LEVEL.fullmatch(labels[-2]) else 2
    name, *ending = labels[-size:]
    reduced = ".".join((name, *ending))
    if any(map(_ORGANIZATIONS.fullmatch, ending)):
        return reduced
    shared = name.endswith("mail") or not MAIL_PROVIDERS.isdisjoint((name, reduced))
    return "" if shared or _UNBOUND.fullmatch(name.replace("-", " ")) else reduced


Found = Iterator[tuple[int, int, str]]


def _find_authors(given: ConflictInput) -> Found:
    """Yield reviewers who are authors, by id, e-mail address or a name that may be theirs."""
    index = given.index
    for row, details in enumerate(given.authorships):
        identified: set[int] = set()
        for text in dict.fromkeys((*details.ids, *details.emails)):
            if not text.startswith("@"):
                numbers = (index.ids.find_all(text) | index.others.find_all(text)) - identified
                identified |= numbers
                yield from ((row, number, f"{text} is an author") for number in sorted(numbers))
        for author in given.authors[row]:
            for number in sorted(index.names.find(author) - identified):
                person = given.reviewers[number]
                if not _are_namesakes(details.ids, (person.id, *person.aliases)):
                    identified.add(number)
                    yield row, number, f"an author is named {author}"


def _are_namesakes(authors: Iterable[str], reviewer: Iterable[str]) -> bool:
    """Return whether OpenReview's numbers tell a reviewer apart from an author of the same name."""
    ours, theirs = (
        {match[1]: match[2] for match in map(NUMBERED.fullmatch, map(fold_id, ids)) if match}
        for ids in (authors, reviewer)
    )
    return any(ours[name] != number for name, number in theirs.items() if name in ours)


def _normalize_institution(text: str) -> str:
    """Return an institution for comparison, "" where the text names none."""
    name = normalize(text)
    return "" if name in _NO_INSTITUTION or _UNBOUND.fullmatch(name) else name


def _find_shared(
    ours: Iterable[Iterable[str]], theirs: Iterable[Iterable[str]], reduce: Callable[[str], str], reason: str
) -> Found:
    """Yield pairs with a text that is the same when reduced; "" is none."""
    owners: dict[str, list[int]] = defaultdict(list)
    for number, texts in enumerate(theirs):
        for key in {*map(reduce, texts)} - {""}:
            owners[key].append(number)
    for row, texts in enumerate(ours):
        for key in sorted({*map(reduce, texts)} & owners.keys()):
            yield from zip(repeat(row), owners[key], repeat(reason.format(key)))


def _find_coauthors(given: ConflictInput) -> Found:
    """Yield reviewers whose papers since a year have an author of the submission.

    Names agree as those of authors and reviewers do (`may_be_same`). A paper without a year counts.
    """
    authors = [(row, author) for row, names in enumerate(given.authors) for author in names]
    index = NameIndex()
    for number, (_, author) in enumerate(authors):
        index.add(author, number)
    for number, reviewer in enumerate(given.reviewers):
        conflicting: set[int] = set()
        for paper in reviewer.papers:
            if paper.year is not None and paper.year < given.since:
                continue
            for row, author in (authors[i] for written_by in paper.authors for i in sorted(index.find(written_by))):
                if row not in conflicting:
                    conflicting.add(row)
                    yield row, number, f"{author} is an author of the reviewer's paper “{paper.title}”"


def _find_own_papers(given: ConflictInput) -> Found:
    """Yield reviewers of whom a paper has nearly the title of the submission."""
    owners: dict[str, set[int]] = defaultdict(set)
    for number, reviewer in enumerate(given.reviewers):
        for paper in reviewer.papers:
            owners[paper.title].add(number)
    titles = list(owners)
    for row, other, ratio in match_titles([paper.title for paper in given.submissions], titles):
        for number in sorted(owners[titles[other]]):
            yield row, number, f"own paper: “{titles[other]}” (titles {ratio:.0f} % equal)"


CONFLICT_KINDS: Mapping[str, Callable[[ConflictInput], Found]] = {
    "author": _find_authors,
    "domain": lambda given: _find_shared(
        (details.emails for details in given.authorships), given.emails, reduce_domain, "e-mail domain {} of an author"
    ),
    "institution": lambda given: _find_shared(
        (details.institutions for details in given.authorships),
        (person.institutions for person in given.reviewers),
        _normalize_institution,
        "institution of an author: {}",
    ),
    "coauthor": _find_coauthors,
    "own-paper": _find_own_papers,
}
"""Kinds of conflicts that are found in the files -> what finds them."""


MIN_RATIO = 90.0  # similarity of titles (0 to 100, rapidfuzz) from which they are one paper's
RARE_WORDS = 4  # rarest words of a title by which others are found; of nearly equal ones at least one is shared
MAX_SHARED = 2000  # titles with a word, above which it finds none


def match_titles(titles: Sequence[str], others: Sequence[str]) -> Iterator[tuple[int, int, float]]:
    """Yield positions in both lists, and the similarity, of titles that are nearly equal; generic ones match none."""
    words, other_words = (list(map(normalize_words, some)) for some in (titles, others))
    counts = Counter(word for title in (*words, *other_words) for word in set(title))

    def find_rarest(title: Sequence[str]) -> list[str]:
        return sorted(set(title), key=lambda word: (counts[word], word))[:RARE_WORDS]

    by_word: dict[str, list[int]] = defaultdict(list)
    for row, title in enumerate(words):
        for word in find_rarest(title):
            by_word[word].append(row)
    for other, title in enumerate(other_words):
        if len(title) < 2 or "".join(title) in GENERIC_TITLES:
            continue
        for row in sorted({row for word in find_rarest(title) for row in by_word.get(word, ())[:MAX_SHARED]}):
            if ratio := fuzz.ratio(" ".join(words[row]), " ".join(title), score_cutoff=MIN_RATIO):
                yield row, other, ratio


@dataclass(frozen=True, slots=True, eq=False)
class ForbiddenReport:
    """All forbidden pairs with their reasons, counts of their kinds, and the bids above 0 on them, which are ignored.

    conflicts: those found, without those on pairs that a file allows. contradicted: these bids, each with the reason.
    """

    reasons: dict[Pair, str]
    counts: dict[str, int]
    conflicts: list[Conflict]
    contradicted: list[str]


def join_forbidden(
    stated: StatedPairs, conflicts: Iterable[Conflict], ids: tuple[Sequence[str], Sequence[str]]
) -> ForbiddenReport:
    """Return the pairs that are forbidden by files, by found conflicts or because an earlier round has them.

    Raises InputError for a locked pair that is forbidden. A bid above 0 on a forbidden pair is ignored, and listed with
    the reason.
    """
    allowed = stated.list_constrained(0)
    found = [conflict for conflict in conflicts if (conflict.paper, conflict.reviewer) not in allowed]
    counts, reasons = Counter(conflict.kind for conflict in found), dict[Pair, str]()
    for conflict in found:
        reasons.setdefault((conflict.paper, conflict.reviewer), f"{conflict.kind}: {conflict.reason}")
    earlier = {pair: place for pair, (_, place) in stated.earlier.items()}
    for kind, places in (("forbidden", stated.list_constrained(-1)), ("earlier round", earlier)):
        counts[kind] += len(places)
        reasons |= {pair: f"{kind}: {place}" for pair, place in places.items()}
    bids = {pair: place for pair, (bid, place) in stated.bids.items() if bid > 0}
    locked, contradicted = (
        [
            f"{place}: {ids[1][pair[1]]} {what} {ids[0][pair[0]]}, but {reasons[pair]}"
            for pair, place in places.items()
            if pair in reasons
        ]
        for what, places in (("is locked to", stated.list_constrained(1)), ("bids on", bids))
    )
    if locked:
        raise InputError(f"{locked[0]}; remove the lock, or the conflict if it is none ({len(locked)} in all)")
    return ForbiddenReport(reasons, +counts, found, contradicted)
