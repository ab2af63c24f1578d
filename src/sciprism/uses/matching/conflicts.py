"""Find the reviewers who may not review a submission: its authors, their colleagues and co-authors."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from rapidfuzz import fuzz

from sciprism.errors import InputError
from sciprism.papers.bibliographic_fields import Name, normalize, parse_name
from sciprism.papers.duplicates import GENERIC_TITLES, normalise_words
from sciprism.papers.records import Paper
from sciprism.uses.matching.reviewers import Authorship, Reviewer

_MAIL_PROVIDERS = """
gmail.com googlemail.com outlook.com hotmail.com live.com msn.com yahoo.com yahoo.co.uk yahoo.co.jp ymail.com
icloud.com me.com mac.com aol.com proton.me protonmail.com pm.me gmx.com gmx.de gmx.net web.de mail.com mail.ru
yandex.com yandex.ru qq.com 163.com 126.com foxmail.com sina.com sina.cn sohu.com naver.com daum.net hanmail.net
zoho.com fastmail.com posteo.de
"""
FREE_MAIL = frozenset(_MAIL_PROVIDERS.split())
"""Domains of mail providers: sharing one is no conflict."""
_SECOND_LEVEL = frozenset(("ac", "co", "com", "edu", "go", "gov", "ne", "net", "or", "org", "re"))


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
        if kind not in CONFLICT_KINDS:
            raise InputError(f"no kind of conflict {kind!r}; kinds: {', '.join(CONFLICT_KINDS)}, or none")
        for paper, reviewer, reason in CONFLICT_KINDS[kind](given):
            yield Conflict(paper, reviewer, kind, reason)


def list_unchecked(given: ConflictInput, kinds: Sequence[str]) -> dict[str, str]:
    """Return kind -> why it finds nothing in this input: what the files do not say."""
    people = given.reviewers
    names = any(paper.authors for paper in given.submissions)
    ids = any(authors.ids or authors.emails for authors in given.authorships)
    emails = any(authors.emails for authors in given.authorships) and any(p.emails for p in people)
    places = any(authors.institutions for authors in given.authorships) and any(p.institutions for p in people)
    coauthors = names and any(paper.authors for person in people for paper in person.papers)
    checks = {
        "author": (names or ids, "the submissions name no authors"),
        "domain": (emails, "submissions or reviewers have no e-mail addresses"),
        "institution": (places, "submissions or reviewers have no institutions"),
        "coauthor": (coauthors, "submissions or reviewers' papers name no authors"),
        "own-paper": (any(person.papers for person in people), "no reviewer has papers"),
    }
    return {kind: checks[kind][1] for kind in kinds if not checks[kind][0]}


def reduce_domain(email: str) -> str:
    """Return the organisation's domain of an e-mail address, "" of a mail provider or of no address.

    >>> reduce_domain("ann@cs.example.ac.uk"), reduce_domain("ann@gmail.com")
    ('example.ac.uk', '')
    """
    domain = email.rpartition("@")[2].strip().casefold().rstrip(".")
    labels = domain.split(".")
    if "@" not in email or len(labels) < 2 or domain in FREE_MAIL:
        return ""
    size = 3 if len(labels) > 2 and len(labels[-1]) == 2 and labels[-2] in _SECOND_LEVEL else 2
    return ".".join(labels[-size:])


Found = Iterator[tuple[int, int, str]]


def _find_authors(given: ConflictInput) -> Found:
    """Yield reviewers who are authors, by profile id, e-mail address or whole name."""
    by_key: dict[str, set[int]] = defaultdict(set)
    for number, reviewer in enumerate(given.reviewers):
        for key in (reviewer.id, *reviewer.emails):
            by_key[key.casefold()].add(number)
        name = _parse(reviewer.name)
        if len(name.first) > 1:
            by_key[f"name {name.first} {name.last}"].add(number)
    for row, (paper, details) in enumerate(zip(given.submissions, given.authorships, strict=True)):
        for text in (*details.ids, *details.emails):
            for number in by_key.get(text.casefold(), ()):
                yield row, number, f"{text} is an author"
        for author in paper.authors:
            name = _parse(author)
            for number in by_key.get(f"name {name.first} {name.last}", ()) if len(name.first) > 1 else ():
                yield row, number, f"an author is named {author}"


def _find_domains(given: ConflictInput) -> Found:
    theirs = [{reduce_domain(email) for email in reviewer.emails} for reviewer in given.reviewers]
    ours = [{reduce_domain(email) for email in details.emails} for details in given.authorships]
    return _find_shared(ours, theirs, "e-mail domain {} of an author")


def _find_institutions(given: ConflictInput) -> Found:
    theirs = [set(map(normalize, reviewer.institutions)) for reviewer in given.reviewers]
    ours = [set(map(normalize, details.institutions)) for details in given.authorships]
    return _find_shared(ours, theirs, "institution of an author: {}")


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

    Names agree where surnames are equal and first names are, or one is the other's initial. A paper without a year
    counts.
    """
    by_block: dict[str, list[tuple[int, Name, str]]] = defaultdict(list)
    for row, paper in enumerate(given.submissions):
        for author in paper.authors:
            name = _parse(author)
            if name.first and name.last:
                by_block[name.block].append((row, name, author))
    for number, reviewer in enumerate(given.reviewers):
        conflicting: set[int] = set()
        for paper in reviewer.papers:
            if paper.year is not None and paper.year < given.since:
                continue
            for author in paper.authors:
                name = _parse(author)
                for row, other, text in by_block.get(name.block, ()):
                    if row not in conflicting and _may_be_equal(name.first, other.first):
                        conflicting.add(row)
                        yield row, number, f"{text} is an author of the reviewer's paper “{paper.title}”"


def _may_be_equal(one: str, other: str) -> bool:
    return one == other or 1 in (len(one), len(other))


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


@lru_cache(maxsize=1 << 18)
def _parse(name: str) -> Name:
    return parse_name(name)


CONFLICT_KINDS: Mapping[str, Callable[[ConflictInput], Found]] = {
    "author": _find_authors,
    "domain": _find_domains,
    "institution": _find_institutions,
    "coauthor": _find_coauthors,
    "own-paper": _find_own_papers,
}
"""Kinds of conflicts that are found in the files -> what finds them."""


MIN_RATIO = 90.0
"""Similarity of titles (0 to 100, rapidfuzz) from which they are one paper's."""
RARE_WORDS = 4
"""Rarest words of a title by which others are found; of nearly equal ones at least one is shared."""
MAX_SHARED = 2000
"""Titles with a word, above which it finds none."""


def match_titles(titles: Sequence[str], others: Sequence[str]) -> Iterator[tuple[int, int, float]]:
    """Yield positions in both lists, and the similarity, of titles that are nearly equal; generic ones match none."""
    words = [normalise_words(title) for title in titles]
    other_words = [normalise_words(title) for title in others]
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
