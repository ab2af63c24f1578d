import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sciprism.papers import Label, Paper
from sciprism.papers.cleaning import (
    clean_abstract,
    clean_label,
    clean_paper,
    clean_text,
    fold_text,
    normalize_arxiv,
    normalize_doi,
)

TEXTS = {
    clean_text: [
        ("H<sub>2</sub>O at 10<sup>3</sup> K", "H2O at 10³ K"),
        ("10<jats:sup>\u22126</jats:sup> m<sup>2</sup> of <sup>13</sup>C", "10⁻⁶ m2 of 13C"),
        ("<jats:p>One</jats:p><jats:p>Two</jats:p>", "One Two"),
        ("<i>E. coli</i> and <b class='x'>bold</b><br/>next", "E. coli and bold next"),
        ("a < b and c > d, p<0.05", "a < b and c > d, p<0.05"),
        ("if a <b and c> d", "if a <b and c> d"),
        ("the mean <p> and <x>", "the mean <p> and <x>"),
        ("&lt;p&gt;R&amp;D&lt;/p&gt; &alpha; &#946; AT&T a &lt; b", "R&D α β AT&T a < b"),
        ('<mml:math><mml:mi>x</mml:mi><mml:annotation encoding="t">\\x</mml:annotation></mml:math>', "x"),
        ("so\u00adft zero\u200bwidth\u00a0space \t\r\n fold", "soft zerowidth space fold"),
        ("bell\x07 null\x00 e\u0301 lone\ud800", "bell null é lone"),
        ("<!-- hidden -->shown <![CDATA[data]]>", "shown data"),
        ("\u0645\u06cc\u200c\u0631\u0648\u0645", "\u0645\u06cc\u200c\u0631\u0648\u0645"),  # joiners inside words stay
    ],
    clean_abstract: [
        ("<jats:title>Abstract</jats:title><jats:p>Foo</jats:p>", "Foo"),
        ("Abstract: foo", "foo"),
        ("ABSTRACT Foo", "Foo"),
        ("Abstract We show", "We show"),
        ("Abstract interpretation of programs", "Abstract interpretation of programs"),
        ("Abstract Wiener spaces are", "Abstract Wiener spaces are"),
        ("Abstract", "Abstract"),
    ],
    normalize_doi: [
        ("https://doi.org/10.1000/ABC.", "10.1000/abc"),
        ("doi:10.1016/S0140-6736(05)1", "10.1016/s0140-6736(05)1"),
        ("(see http://dx.doi.org/10.1000/x)", "10.1000/x"),
        ("10.1002/(SICI)1097(1998)49:8<693::AID>3.0.CO;2-O", "10.1002/(sici)1097(1998)49:8<693::aid>3.0.co;2-o"),
        ("https://doi.org/10.1000%2Fabc?x=1", "10.1000/abc"),
        ("none", ""),
    ],
    normalize_arxiv: [
        ("arXiv:2101.00001v2", "2101.00001"),
        ("http://arxiv.org/abs/hep-th/9901001v1", "hep-th/9901001"),
        ("https://arxiv.org/pdf/2101.00001.pdf", "2101.00001"),
        ("2101.00001 [cs.CL]", "2101.00001"),
        ("abs/2101.00001", ""),
        ("12.345", ""),
    ],
    fold_text: [
        ("NO₂, SO₄²⁻, PM₁₀, Ca²⁺", "no2, so42−, pm10, ca2+"),
        ("the ﬁrst diﬀerence in ﬂuids", "the first difference in fluids"),
        ("ＬＳＴＭ ２Ｄ ｶﾀｶﾅ", "lstm 2d カタカナ"),
        ("co\u00adoperation, zero\u200bwidth, half\u200cway", "cooperation, zerowidth, halfway"),
        ("two\u00a0words\u2009here", "two words here"),
        ("\u00b5-law, \u2126, \u212b", "μ-law, ω, a"),
        ("Ménière, Ørsted, Łukasiewicz, Straße", "meniere, orsted, lukasiewicz, strasse"),
        ("ΣΕΙΣΜΟΣ", "σεισμοσ"),
        ("Widget™ in 10½ years", "widget in 10  years"),
        ("type Ⅱ of \U0001d431", "type ii of x"),
    ],
}


@pytest.mark.parametrize(("function", "text", "clean"), [(f, *row) for f, rows in TEXTS.items() for row in rows])
def test_texts(function, text: str, clean: str) -> None:
    assert function(text) == clean
    if function is normalize_doi:
        assert function(clean) == clean


NO_IDS = "NA N/A n/a #N/A <NA> nan NaN null NULL None none - -- . ? 0 0.0 unknown tbd doi: #REF! https://doi.org/NA"


@pytest.mark.parametrize("value", [*NO_IDS.split(), "not available", "in press", "https://doi.org/"])
def test_values_that_mean_none_are_no_ids(value: str) -> None:
    systems = ("doi", "pmid", "pmcid", "arxiv", "openalex", "isbn")
    paper = clean_paper(Paper(id="own", title="T", ids=dict.fromkeys(systems, value), references=("b", value)))
    assert paper.ids == {} and paper.references[0] == "b"


@pytest.mark.parametrize("value", ["NA", "n/a", "nan", "null", "None", "-", "?", "doi:"])
def test_a_placeholder_is_no_id_of_a_paper(value: str) -> None:
    paper = Paper(id=value, title="Tides", ids={"doi": "10.1000/t", "s2": value, "url": "https://doi.org/NA"})
    assert clean_paper(paper).id == "doi:10.1000/t" and clean_paper(paper).ids == {"doi": "10.1000/t"}
    assert clean_paper(Paper(id="0", title="Tides")).id == "0"  # a row's number


@pytest.mark.parametrize(
    ("system", "value", "id"),
    [
        *(("doi", f"10.{rest}", "") for rest in ("1145/nnnnnnn.nnnnnnn", "1145/xxxxxxx", "xxxx/xxxx", "1234")),
        ("pmid", "0031000001", "31000001"),
        ("pmid", "31000001.0", "31000001"),
        ("pmid", "3.1E+07", ""),  # Excel rounded it
        ("arxiv", "704.0001", "0704.0001"),
        ("arxiv", "1512.0338", "1512.03380"),
        ("arxiv", "1412.0338", "1412.0338"),
        ("doi", "10/abcd", "10/abcd"),
        ("openalex", "https://openalex.org/works/w12", "W12"),
        ("DOI", "https://doi.org/10.1000/A", "10.1000/a"),
        ("pmid", "PMID: 12", "12"),
        ("pmcid", "34", "PMC34"),
        ("arxiv", "arXiv:2101.00001v1", "2101.00001"),
        ("s2", " x ", "x"),
    ],
)
def test_ids_are_brought_into_one_form(system: str, value: str, id: str) -> None:
    assert clean_paper(Paper(id="a", title="T", ids={system: value})).ids.get(system.lower(), "") == id


def test_titles_and_names_are_text() -> None:
    number = clean_paper(Paper(id="12.0", title="T", references=("13.0",)))
    assert (number.id, number.references) == ("12", ("13",))
    paper = clean_paper(Paper(id="a", title="None", authors=("NA", "Ann Null"), venue="Null"))
    assert (paper.title, paper.authors, paper.venue) == ("None", ("NA", "Ann Null"), "Null")
    for abstract in ("NA", "n/a", "nan", "No abstract available.", "[No abstract available]"):
        assert clean_paper(Paper(id="a", title="T", abstract=abstract)).abstract == ""


def test_missing_id_is_a_hash_of_title_and_year() -> None:
    first = clean_paper(Paper(id="", title="On the <i>Origin</i> of Species.", year=1859)).id
    assert first == clean_paper(Paper(id="", title="on the origin of  species", year=1859)).id
    assert first != clean_paper(Paper(id="", title="on the origin of species", year=1860)).id
    assert first == "sha1:28bb8d2d145b"  # printf "on the origin of species 1859" | sha1sum


def test_papers_of_one_title_and_year_get_ids_of_their_own() -> None:
    one = Paper(id="", title="Editorial", year=2021, venue="Widgets", abstract="On widgets.")
    others = [replace(one, venue="Gadgets"), replace(one, abstract="On gadgets."), replace(one, authors=("A",))]
    assert len({clean_paper(paper).id for paper in (one, *others)}) == 4


def test_labels_are_cleaned() -> None:
    label = clean_label(Label(id=" D1 ", name="<i>Fucus</i>", synonyms=("a &amp; b", " "), definition="x\n y"))
    assert label == Label(id="D1", name="Fucus", synonyms=("a & b",), definition="x y")


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=120) | st.text(alphabet="<>&;/ipbalt\"'= -x", max_size=60))
def test_cleaning_is_done_once(text: str) -> None:
    clean = clean_text(text)
    assert clean == unicodedata.normalize("NFC", clean)
    assert clean == " ".join(clean.split())
    assert clean_text(clean) == clean


def test_many_unclosed_comments_and_scripts_are_read_once() -> None:
    assert clean_text("<!-- a " * 50_000).count("a") == 50_000  # looking for each one's end would take a minute
    assert clean_text("<script> a " * 50_000).count("a") == 50_000
    assert clean_text("one <!-- two --> three <script x='1'>four</script> five") == "one three five"


@pytest.mark.parametrize("text", ["\u200b", "\u200d\u200c", "\u200e \u202c", "\u3164", "\u2800", "\u034f", "&zwj;"])
def test_what_nobody_can_see_is_no_text(text):
    assert clean_text(text) == ""
    assert clean_text(f"\u0645\u06cc{text}") != ""
