import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sciprism.papers import Label, cleaning
from sciprism.papers.cleaning import clean_label, clean_text

TEXTS = {
    cleaning.normalize_arxiv: [
        ("arXiv:2101.00001v2", "2101.00001"),
        ("http://arxiv.org/abs/hep-th/9901001v1", "hep-th/9901001"),
        ("https://arxiv.org/pdf/2101.00001.pdf", "2101.00001"),
        ("abs/2101.00001", ""),
        ("12.345", ""),
    ],
    cleaning.fold_text: [
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
