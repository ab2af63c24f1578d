"""Conflicts that are found in the files, and what is not checked for want of data."""

from __future__ import annotations

import pytest

from sciprism import Paper
from sciprism.uses.matching.conflicts import ConflictInput, find_conflicts, list_unchecked, reduce_domain
from sciprism.uses.matching.reviewers import Authorship, Reviewer

NOTHING = Authorship()


def conflicts(kind, paper, authorship=NOTHING, *, since=2020, **reviewer):
    person = Reviewer(id=reviewer.pop("id", "rev"), **reviewer)
    given = ConflictInput([Paper(id="s", **paper)], [authorship], [Reviewer(id="other"), person], since)
    found = (each for each in find_conflicts(given) if each.kind == kind)
    return [each.reason for each in found if each.reviewer == 1 and each.paper == 0]


@pytest.mark.parametrize(
    ("authorship", "reviewer", "found"),
    [
        (Authorship(ids=("~Ann_Lee1",)), {"id": "~Ann_Lee1"}, True),
        (Authorship(emails=("Ann@x.org",)), {"emails": ("ann@X.org",)}, True),
        (Authorship(), {"name": "Ann B. Lee"}, True),  # an author is named Ann Lee
        (Authorship(), {"id": "~Ann_Lee2"}, True),  # nothing says which Ann Lee it is
        (Authorship(ids=("~Ann_Lee1",)), {"id": "~Ann_Lee2"}, False),
        (Authorship(ids=("~Ann_Lee1",)), {"id": "~Ann_B_Lee2"}, True),  # people may have several ids
        (Authorship(ids=("~Ann_Lee1", "~Ann_Lee2")), {"id": "~Ann_Lee2"}, True),
        (Authorship(ids=("0000-0002-1825-0097",)), {"aliases": ("https://orcid.org/0000-0002-1825-0097",)}, True),
        (Authorship(names=("Eve Fox",)), {"id": "eve.fox@x.org"}, True),
        (Authorship(ids=("~Eve_Fox1",)), {"name": "Fox, Eve"}, True),
        (Authorship(emails=("eve@x.org",)), {"id": "Eve@X.org"}, True),
        (Authorship(emails=("@x.org",)), {"emails": ("@x.org",)}, False),  # masked addresses
    ],
)
def test_authors_do_not_review_their_own_submission(authorship, reviewer, found):
    assert bool(conflicts("author", {"title": "t", "authors": ("Ann Lee", "B. Poe")}, authorship, **reviewer)) is found


@pytest.mark.parametrize(
    ("email", "domain"),
    [
        ("a@cs.stanford.edu", "stanford.edu"),
        ("a@Dept.Cam.ac.uk.", "cam.ac.uk"),
        ("a@gmail.com", ""),
        ("a@vip.qq.com", ""),
        ("a@outlook.com.br", ""),
        ("a@orange.com", "orange.com"),  # the company
        ("a@independent-researcher.org", ""),
        ("a@live.ac.uk", "live.ac.uk"),
        ("****@cs.uni-x.edu", "uni-x.edu"),
        ("a@localhost", ""),
    ],
)
def test_domains_are_those_of_organizations(email, domain):
    assert reduce_domain(email) == domain


def test_colleagues_share_a_domain_or_an_institution():
    theirs = {"emails": ("r@ai.mit.edu", "r@gmail.com"), "institutions": ("École Normale",)}
    assert conflicts("domain", {"title": "t"}, Authorship(emails=("a@csail.mit.edu",)), **theirs)
    assert not conflicts("domain", {"title": "t"}, Authorship(emails=("a@gmail.com",)), **theirs)
    assert conflicts("institution", {"title": "t"}, Authorship(institutions=("ecole normale",)), **theirs)
    assert not conflicts("institution", {"title": "t"}, Authorship(institutions=("ETH",)), **theirs)
    for none in ("Independent Researcher", "N/A", "-", "Unaffiliated"):
        assert not conflicts("institution", {"title": "t"}, Authorship(institutions=(none,)), institutions=(none,))


@pytest.mark.parametrize(
    ("author", "coauthor", "year", "found"),
    [
        ("Bob Poe", "Bob Poe", 2021, True),
        ("Bob Poe", "B. Poe", 2020, True),
        ("B. Poe", "Bob Poe", None, True),  # an undated paper counts
        ("Bob Poe", "Bob Poe", 2019, False),
        ("Bob Poe", "Ben Poe", 2021, False),
    ],
)
def test_recent_coauthors_are_in_conflict(author, coauthor, year, found):
    written = Paper(id="w", title="Joint work", authors=("Ann Lee", coauthor), year=year)
    reasons = conflicts("coauthor", {"title": "t", "authors": (author, "C. Yu")}, papers=(written,))
    assert bool(reasons) is found and all("Joint work" in reason for reason in reasons)


@pytest.mark.parametrize(
    ("title", "found"),
    [
        ("Learning to Rank Papers Fast!", True),
        ("Learning to rank papers at last", True),
        ("Introduction", False),
    ],
)
def test_a_reviewers_own_paper_is_found_by_its_title(title, found):
    titles = ("Learning to rank papers, fast", "Introduction", "Learning to rank proofs", "")
    own = tuple(Paper(id=str(n), title=each) for n, each in enumerate(titles))
    said = conflicts("own-paper", {"title": title}, papers=own)
    assert len(said) == found and all("“Learning to rank papers, fast” (titles" in reason for reason in said)


ANN = {"authors": ("Ann Lee", "Bo Fen")}


@pytest.mark.parametrize(
    ("kind", "paper", "authorship", "reviewers", "said"),
    [
        ("author", {}, {}, ("Ann_Lee",), "for 1 of 1 submissions, which have no authors"),
        ("author", ANN, {}, ("r1", "r2"), "for 2 of 2 profiles, which have no names"),
        ("author", ANN, {}, ("~Ann_Lee1", "Bo_Fen"), None),
        ("domain", ANN, {"emails": ("a@x.org",)}, ("r1",), "for 1 of 1 profiles, which have no e-mail addresses"),
        ("institution", ANN, {}, ("r1",), "for 1 of 1 submissions, which have no institutions"),
        ("coauthor", ANN, {}, ("r1",), "for 1 of 1 profiles, which have no papers with authors"),
    ],
)
def test_what_is_not_checked_for_want_of_a_column_is_said(kind, paper, authorship, reviewers, said):
    people = [Reviewer(id=id) for id in reviewers]
    given = ConflictInput([Paper(id="s", title="t", **paper)], [Authorship(**authorship)], people, 2020)
    assert list_unchecked(given).get(kind) == said
