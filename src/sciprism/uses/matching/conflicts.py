"""Find the reviewers who may not review a submission: its authors, their colleagues and co-authors."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz

from sciprism.drop_report import count_noun as count
from sciprism.papers.bibliographic_fields import normalize
from sciprism.papers.identity import GENERIC_TITLES, normalize_words
from sciprism.papers.records import Paper
from sciprism.uses.matching.feasibility import name_some
from sciprism.uses.matching.persons import NUMBERED, NameIndex, find_addresses, fold_id, name_in_id, parse_person
from sciprism.uses.matching.reviewers import Authorship, Reviewer, ReviewerIndex

_WITH_MANY_ENDINGS = "aol gmx icloud live msn outlook posteo proton tuta tutanota windowslive yahoo yandex zoho"
_PROVIDERS = frozenset(_WITH_MANY_ENDINGS.split())
"""Mail providers with addresses under many endings, such as yahoo.fr; those whose name ends in "mail" need no list."""
_OF_STRANGERS = """
me.com mac.com pm.me duck.com hey.com mailbox.org mailfence.com riseup.net disroot.org runbox.com qq.com 163.com 126.com
139.com yeah.net sina.com sina.cn sohu.com tom.com 21cn.com aliyun.com 189.cn naver.com daum.net nate.com web.de
t-online.de freenet.de arcor.de online.de orange.fr free.fr laposte.net sfr.fr neuf.fr bbox.fr libero.it
virgilio.it alice.it tin.it terra.com.br uol.com.br bol.com.br telefonica.net terra.es sapo.pt btinternet.com
ntlworld.com sky.com talktalk.net virginmedia.com comcast.net verizon.net att.net sbcglobal.net bellsouth.net cox.net
charter.net earthlink.net shaw.ca rogers.com sympatico.ca videotron.ca bigpond.com bigpond.net.au optusnet.com.au
xtra.co.nz telenet.be skynet.be ziggo.nl planet.nl home.nl xs4all.nl hetnet.nl bluewin.ch hispeed.ch chello.at aon.at
telia.com online.no seznam.cz centrum.cz post.cz wp.pl o2.pl onet.pl op.pl interia.pl rambler.ru list.ru bk.ru
ya.ru ukr.net i.ua abv.bg sify.com walla.co.il mynet.com nifty.com biglobe.ne.jp ocn.ne.jp so-net.ne.jp docomo.ne.jp
ezweb.ne.jp softbank.ne.jp btopenworld.com blueyonder.co.uk club-internet.fr netcologne.de appleid.com
ieee.org acm.org computer.org
"""
FREE_MAIL = frozenset(_OF_STRANGERS.split())
"""Other domains that strangers share: of mail and internet providers, and of societies for their members."""
_UNBOUND = re.compile(
    r"(?:independent|freelance|private|self employed|unaffiliated|retired)(?: ?(?:research|scholar|scien).*)?"
)
"""Names of domains and institutions of people without one."""
_NO_INSTITUTION = ("", "none", "na", "n a", "null", "nan", "no affiliation", "self", "home", "unknown", "other")
_ORGANIZATIONS = frozenset(["ac", "edu", "gob", "gouv", "gov", "int", "mil"])
"""Endings of domains that only organizations have."""
_OTHER_SECOND_LEVEL = "ad co com cri ernet gc go gr lg ne net nhs nic or org re res sch"
_SECOND_LEVEL = _ORGANIZATIONS.union(_OTHER_SECOND_LEVEL.split())


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
    """Return kind -> what it does not check in this input, and why: what the files do not say."""
    return {kind: reason for kind in kinds if (reason := _explain_unchecked(given, kind))}


Evidence = frozenset[str]
"""What is known of the authors of a submission, or of a reviewer, in words; what both have can be compared."""


def _explain_unchecked(given: ConflictInput, kind: str) -> str:
    """Return "profiles have no names", or for how many pairs a kind is not checked; "" where it is for all."""
    papers, people = _list_evidence(given, kind)
    counts, others = Counter(papers), Counter(people)
    pairs = sum(n * m for ours, n in counts.items() for theirs, m in others.items() if not ours & theirs)
    of_papers, of_people = (Evidence().union(*items) for items in (papers, people))
    needed = _NEEDED.get(kind) or _EVIDENCE[kind][0]
    if not of_papers:
        return f"the submissions {'name' if needed == 'authors' else 'have'} no {needed}"
    missing = " or ".join(sorted(of_papers))
    if not of_papers & of_people:
        return f"profiles have no {missing}"
    reviewers = [r.id for r, known in zip(given.reviewers, people, strict=True) if not known & of_papers]
    submissions = [s.id for s, known in zip(given.submissions, papers, strict=True) if not known & of_people]
    lists = (("profile", reviewers, missing), ("submission", submissions, needed))
    parts = [f"{count(len(ids), noun)} without {word} ({name_some(ids)})" for noun, ids, word in lists if ids]
    text = "; ".join(parts) or "the one has a name, the other an address"
    return f"for {pairs:,} of {len(papers) * len(people):,} pairs: {text}" if pairs else ""


def _list_evidence(given: ConflictInput, kind: str) -> tuple[list[Evidence], list[Evidence]]:
    entries = list(zip(given.submissions, given.authorships, strict=True))
    if kind == "author":
        return _list_author_evidence(given, entries)
    word, of_paper, of_person = _EVIDENCE[kind]
    sides = [of_paper(*entry) for entry in entries], list(map(of_person, given.reviewers))
    ours, theirs = ([Evidence({word} if known else ()) for known in side] for side in sides)
    return ours, theirs


def _list_author_evidence(
    given: ConflictInput, entries: Sequence[tuple[Paper, Authorship]]
) -> tuple[list[Evidence], list[Evidence]]:
    """Return names, addresses and ids; ids compare where they are OpenReview's, or a reviewer's is an author's."""
    index = ReviewerIndex(given.reviewers)
    shared = any(index.ids.find_all(id) for _, details in entries for id in details.ids)

    def describe(names: bool, emails: Iterable[str], ids: Iterable[str]) -> Evidence:
        known = {"names": names, "e-mail addresses": any(not email.startswith("@") for email in emails)}
        known["ids"] = any(shared or id.startswith("~") for id in ids)
        return Evidence(word for word, is_known in known.items() if is_known)

    ours = [describe(any(map(parse_person, _list_authors(*e))), e[1].emails, e[1].ids) for e in entries]
    theirs = [
        describe(number in index.names.items, list_emails(person), (person.id, *person.aliases))
        for number, person in enumerate(given.reviewers)
    ]
    return ours, theirs


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
    size = 3 if len(labels) > 2 and len(labels[-1]) == 2 and labels[-2] in _SECOND_LEVEL else 2
    name, *ending = labels[-size:]
    reduced = ".".join((name, *ending))
    if not _ORGANIZATIONS.isdisjoint(ending):
        return reduced
    shared = name in _PROVIDERS or name.endswith("mail") or reduced in FREE_MAIL
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
_EVIDENCE: Mapping[str, tuple[str, Callable[[Paper, Authorship], object], Callable[[Reviewer], object]]] = {
    "domain": ("e-mail addresses", lambda _, details: details.emails, list_emails),
    "institution": ("institutions", lambda _, details: details.institutions, lambda person: person.institutions),
    "coauthor": ("papers with authors", _list_authors, lambda person: any(p.authors for p in person.papers)),
    "own-paper": ("papers", lambda paper, _: paper.title, lambda person: person.papers),
}
"""Kind of conflict -> what is needed, of whom."""
_NEEDED = {"author": "authors", "coauthor": "authors", "own-paper": "titles"}
"""Kind of conflict -> what submissions need, where it is not what reviewers need."""


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
