"""Names, ids and addresses in any form meet in one; those of different persons do not."""

from __future__ import annotations

import unicodedata

import pytest

from sciprism.uses.matching import reviewers
from sciprism.uses.matching.reviewers import Authorship, IdIndex, NameIndex


def nfd(text):
    return unicodedata.normalize("NFD", text)


@pytest.mark.parametrize(
    ("id", "text"),
    [
        ("~Zoë_Ångström1", nfd("~Zoë_Ångström1")),
        ("~Ann_Lee1", " ~ann_lee1\u200b"),
        ("~Ann_Lee1", "https://openreview.net/profile?id=%7EAnn_Lee1"),
        ("0000-0002-1825-0097", "https://orcid.org/0000-0002-1825-0097"),
        ("ann@x.org", "Ann+reviews@X.org"),
        ("a.lee@gmail.com", "alee@googlemail.com"),
    ],
)
def test_an_id_is_found_in_any_form(id, text):
    assert IdIndex(["other", id]).find(text) == 1 == IdIndex(["other", text]).find(id)


def test_case_decides_only_where_it_must():
    index = IdIndex(["Lee", "lee"])
    assert (index.find("Lee"), index.find("lee"), index.find("LEE")) == (0, 1, None)
    assert index.find_all("LEE") == {0, 1}


SAME = [
    *(("Ann Lee", other) for other in ("Lee, Ann", "Lee Ann", "A. Lee", "Lee A")),
    *(("Ann B. Lee", other) for other in ("Lee AB", "Ann Barbara Lee", "ANN LEE")),
    ("Dr. Ann Lee, PhD", "Ann Lee (Uni X)*"),
    *(("Jean-Pierre Dupont", other) for other in ("J.-P. Dupont", "JP Dupont", "Jeanpierre DUPONT")),
    ("Xiao-Ming Li", "Li Xiaoming"),
    *(("Jürgen Müller", other) for other in ("Juergen Mueller", "Jurgen Muller")),
    ("Søren Kjær", nfd("Soren Kjaer")),
    *(("Gabriela García Márquez", other) for other in ("García Márquez, Gabriela", "Gabriela García")),
    ("Gabriela García-Márquez", "G. García Márquez"),
    ("Maria del Carmen García", "Maria C. García"),
    ("Seán O’Brien", "Sean O'Brien"),
    ("王小明", "王 小明"),
]
OTHERS = [
    *(("Ann Lee", other) for other in ("Anna Lee", "Ann Lees", "B. Lee", "Lee", "Ann")),
    ("Ann B. Lee", "Ann C. Lee"),
    ("A. B. Lee", "A. C. Lee"),
    ("Gabriela García Márquez", "G. García López"),
    ("Xiao-Ming Li", "Xiao-Hong Li"),
    ("王小明", "王小红"),
    ("Anonymous Authors", "Anonymous Authors"),
]


@pytest.mark.parametrize(
    ("one", "other", "found"), [*((*pair, {7}) for pair in SAME), *((*pair, set()) for pair in OTHERS)]
)
def test_forms_of_one_name_meet_and_different_names_stay_apart(one, other, found):
    for here, there in ((one, other), (other, one)):
        index = NameIndex()
        index.add(here, 7)
        assert index.find(there) == found and not index.find("")


@pytest.mark.parametrize(
    ("id", "name"),
    [
        ("~Ann_B_Lee12", "Ann B Lee"),
        ("Ann Lee (2)", "Ann Lee"),
        ("Lee, Ann", "Lee, Ann"),
        ("ann.lee@x.org", "ann lee"),
        ("AnnLee", "Ann Lee"),
        (nfd("~José_García1"), "José García"),
        ("reviewer_12", ""),
        ("a1b2_c3d4", ""),
    ],
)
def test_an_id_may_hold_a_name(id, name):
    assert reviewers.name_in_id(id) == name


def test_addresses_are_found_in_what_people_write():
    texts = ("Ann Lee <ann@x.org>*", "mailto:bo@y.org", "****@z.org", "none")
    assert reviewers.find_addresses(texts) == ("ann@x.org", "bo@y.org", "@z.org")


def test_missing_values_make_no_colleagues(tmp_path):
    (tmp_path / "people.csv").write_text(
        "id,name,email,institution,quota,track\nr1,Ann Null,NA,n/a,NA,None\nr2,NA,nan,Unknown,2,b\n"
    )
    one, two = reviewers.read_reviewers(tmp_path / "people.csv")
    assert (one.name, one.emails, one.institutions, one.most) == ("Ann Null", (), (), None)
    assert (two.name, two.emails, two.institutions, two.most) == ("", (), (), 2)
    (tmp_path / "papers.csv").write_text("id,title,authorids,author_emails,affiliations\n7.0,T,NA;~Ann_Lee1,nan,NA\n")
    assert reviewers.read_authorships(tmp_path / "papers.csv") == {"7": Authorship(ids=("~Ann_Lee1",))}
    (tmp_path / "papers.csv").rename(tmp_path / "PAPERS.CSV")
    assert reviewers.read_authorships(tmp_path / "PAPERS.CSV") == {"7": Authorship(ids=("~Ann_Lee1",))}
