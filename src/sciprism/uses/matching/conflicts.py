"""Find the reviewers who may not review a submission: its authors, their colleagues and co-authors."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from rapidfuzz import fuzz

from sciprism.papers.bibliographic_fields import normalize
from sciprism.papers.identity import GENERIC_TITLES, normalize_words
from sciprism.papers.records import Paper
from sciprism.uses.matching.persons import NUMBERED, NameIndex, find_addresses, fold_id, name_in_id
from sciprism.uses.matching.reviewers import Authorship, Reviewer, ReviewerIndex

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


@dataclass(frozen=True, slots=True)
class ConflictInput:
    """Submissions, details of their authors, and reviewers. since: the first year in which a joint paper counts."""

    submissions: Sequence[Paper]
    authorships: Sequence[Authorship]
    reviewers: Sequence[Reviewer]
    since: int


def find_conflicts(given: ConflictInput, kinds: Sequence[str]) -> Iterator[Conflict]:
    """Yield the conflicts of some kinds (`CONFLICT_KINDS`); a pair may have several."""
    for kind in kinds:
        for paper, reviewer, reason in CONFLICT_KINDS[kind](given):
            yield Conflict(paper, reviewer, kind, reason)


def list_unchecked(given: ConflictInput, kinds: Sequence[str]) -> dict[str, str]:
    """Return kind -> what lacks what it compares: "for 2 of 9 profiles, which have no names"."""
    entries, people = list(zip(given.submissions, given.authorships, strict=True)), given.reviewers
    named = ReviewerIndex(people).names.items
    with_address = {n for n, person in enumerate(people) if list_emails(person)}
    identified = named | with_address if any(each.emails for each in given.authorships) else named
    emails, institutions = "e-mail addresses", "institutions"
    compared: dict[str, tuple[str, Callable[[Paper, Authorship], object], str, Callable[[int, Reviewer], object]]] = {
        "author": (
            "authors",
            lambda p, said: said.emails or _list_authors(p, said),
            "names",
            lambda n, _: n in identified,
        ),
        "domain": (emails, lambda _, said: said.emails, emails, lambda n, _: n in with_address),
        "institution": (institutions, lambda _, said: said.institutions, institutions, lambda _, r: r.institutions),
        "coauthor": ("authors", _list_authors, "papers with authors", lambda _, r: any(p.authors for p in r.papers)),
        "own-paper": ("titles", lambda p, _: p.title, "papers", lambda _, r: r.papers),
    }
    unchecked = {}
    for kind in kinds:
        column, find_ours, other_column, find_theirs = compared[kind]
        ours = sum(not find_ours(*entry) for entry in entries)
        theirs = sum(not find_theirs(*entry) for entry in enumerate(people))
        if ours:
            unchecked[kind] = f"for {ours:,} of {len(entries):,} submissions, which have no {column}"
        elif theirs:
            unchecked[kind] = f"for {theirs:,} of {len(people):,} profiles, which have no {other_column}"
    return unchecked


def _list_authors(paper: Paper, details: Authorship) -> tuple[str, ...]:
    """Return all names of the authors: those listed, and those in ids.

    A table's `Ann Lee, Bob Poe` was read as one name, family name first; it stands for two as well.
    """
    listed = [(author, *_halve(author)) for author in paper.authors]
    names = (*(name for some in listed for name in some), *details.names, *map(name_in_id, details.ids))
    return tuple(dict.fromkeys(filter(None, names)))


def _halve(author: str) -> tuple[str, ...]:
    """Return the two whole names that four capitalized words may be, else nothing."""
    words = author.split()
    if len(words) != 4 or not all(word[0].isupper() and len(word.strip(".")) > 1 for word in words):
        return ()
    return " ".join(words[:2]), " ".join(words[2:])


def list_emails(reviewer: Reviewer) -> tuple[str, ...]:
    """Return a reviewer's addresses, also where the id is one."""
    return find_addresses((*reviewer.emails, reviewer.id))


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
    index = ReviewerIndex(given.reviewers)
    for row, (paper, details) in enumerate(zip(given.submissions, given.authorships, strict=True)):
        identified: set[int] = set()
        for text in dict.fromkeys((*details.ids, *details.emails)):
            if not text.startswith("@"):
                numbers = (index.ids.find_all(text) | index.others.find_all(text)) - identified
                identified |= numbers
                yield from ((row, number, f"{text} is an author") for number in sorted(numbers))
        for author in _list_authors(paper, details):
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


def _find_domains(given: ConflictInput) -> Found:
    theirs = [{reduce_domain(email) for email in list_emails(reviewer)} for reviewer in given.reviewers]
    ours = [{reduce_domain(email) for email in details.emails} for details in given.authorships]
    return _find_shared(ours, theirs, "e-mail domain {} of an author")


def _find_institutions(given: ConflictInput) -> Found:
    theirs = [set(map(_normalize_institution, reviewer.institutions)) for reviewer in given.reviewers]
    ours = [set(map(_normalize_institution, details.institutions)) for details in given.authorships]
    return _find_shared(ours, theirs, "institution of an author: {}")


def _normalize_institution(text: str) -> str:
    """Return an institution for comparison, "" where the text names none."""
    name = normalize(text)
    return "" if name in _NO_INSTITUTION or _UNBOUND.fullmatch(name) else name


def _find_shared(ours: Sequence[set[str]], theirs: Sequence[set[str]], reason: str) -> Found:
    by_key: dict[str, list[int]] = defaultdict(list)
    for number, keys in enumerate(theirs):
        for key in filter(None, keys):
            by_key[key].append(number)
    reasons = {key: reason.format(key) for key in by_key}
    for row, keys in enumerate(ours):
        for key in sorted(filter(None, keys)):
            for number in by_key.get(key, ()):
                yield row, number, reasons[key]


def _find_coauthors(given: ConflictInput) -> Found:
    """Yield reviewers whose papers since a year have an author of the submission.

    Names agree as those of authors and reviewers do (`may_be_same`). A paper without a year counts.
    """
    authors = [
        (row, author)
        for row, entry in enumerate(zip(given.submissions, given.authorships, strict=True))
        for author in _list_authors(*entry)
    ]
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
    owners: dict[str, list[int]] = defaultdict(list)
    for number, reviewer in enumerate(given.reviewers):
        for title in {paper.title for paper in reviewer.papers if paper.title}:
            owners[title].append(number)
    titles = list(owners)
    for row, other, ratio in match_titles([paper.title for paper in given.submissions], titles):
        for number in owners[titles[other]]:
            yield row, number, f"own paper: “{titles[other]}” (titles {ratio:.0f} % equal)"


CONFLICT_KINDS: Mapping[str, Callable[[ConflictInput], Found]] = {
    "author": _find_authors,
    "domain": _find_domains,
    "institution": _find_institutions,
    "coauthor": _find_coauthors,
    "own-paper": _find_own_papers,
}
"""Kinds of conflicts that are found in the files -> what finds them."""


MIN_RATIO = 90.0  # similarity of titles (0 to 100, rapidfuzz) from which they are one paper's
RARE_WORDS = 4  # rarest words of a title by which others are found; of nearly equal ones at least one is shared
MAX_SHARED = 2000  # titles with a word, above which it finds none


def match_titles(titles: Sequence[str], others: Sequence[str]) -> Iterator[tuple[int, int, float]]:
    """Yield positions in both lists, and the similarity, of titles that are nearly equal; generic ones match none."""
    words = [normalize_words(title) for title in titles]
    other_words = [normalize_words(title) for title in others]
    counts = Counter(word for title in (*words, *other_words) for word in set(title))
    by_word: dict[str, list[int]] = defaultdict(list)
    for row, title in enumerate(words):
        for word in _find_rarest(title, counts):
            by_word[word].append(row)
    joined = [" ".join(title) for title in words]
    for other, title in enumerate(other_words):
        if len(title) < 2 or "".join(title) in GENERIC_TITLES:
            continue
        text = " ".join(title)
        near = {row for word in _find_rarest(title, counts) for row in by_word.get(word, ())[:MAX_SHARED]}
        for row in sorted(near):
            ratio = fuzz.ratio(joined[row], text, score_cutoff=MIN_RATIO)
            if ratio:
                yield row, other, ratio


def _find_rarest(words: Sequence[str], counts: Counter[str]) -> list[str]:
    return sorted(set(words), key=lambda word: (counts[word], word))[:RARE_WORDS]
