"""EndNote's two formats: XML and tagged text."""

from __future__ import annotations

from html import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sciprism.errors import InputError
from sciprism.papers.cleaning import clean_text

TEXT = st.text(alphabet="abcXYZäßé漢0123 .,:()!?'-/&<>", min_size=1, max_size=50)
PLAIN = TEXT.filter(lambda text: clean_text(text).removesuffix(" /") == clean_text(text) != "")  # no catalogue's title
ROWS = st.lists(
    st.tuples(PLAIN, PLAIN, st.lists(st.text("abcé", min_size=1), max_size=3, unique=True), st.integers(1500, 2030)),
    min_size=1,
    max_size=6,
)


def xml(*records: str, declaration: str = "") -> str:
    return f"{declaration}<xml><records>{''.join(f'<record>{record}</record>' for record in records)}</records></xml>"


def test_other_xml_is_named(read) -> None:
    with pytest.raises(InputError, match=r"o\.xml: not in a known format \(XML of <modsCollection>\); known: "):
        read("o.xml", '<?xml version="1.0"?>\n<!-- a list -->\n<modsCollection xmlns="x"><mods/></modsCollection>')


@settings(max_examples=60, deadline=None)
@given(ROWS, st.booleans())
def test_written_xml_then_read_is_equal(read, rows, styled) -> None:
    def style(text: str) -> str:
        text = escape(text)
        return f'<style face="normal" font="default" size="100%">{text}</style>' if styled else text

    records = [
        f"<label>k{i}</label><contributors><authors>{''.join(f'<author>{style(name)}</author>' for name in names)}"
        f"</authors></contributors><titles><title>{style(title)}</title></titles><dates><year>{style(str(year))}</year>"
        f"</dates><abstract>{style(abstract)}</abstract>"
        for i, (title, abstract, names, year) in enumerate(rows)
    ]
    papers, _ = read("w.xml", xml(*records))
    _check(papers, rows)


@settings(max_examples=60, deadline=None)
@given(ROWS, st.booleans())
def test_written_tags_then_read_are_equal(read, rows, typed) -> None:
    text = "".join(
        ("%0 Journal Article\n" if typed else "")
        + f"%F k{i}\n"
        + "".join(f"%A {name}\n" for name in names)
        + f"%T {title}\n%D {year}\n%X {abstract}\n\n"
        for i, (title, abstract, names, year) in enumerate(rows)
    )
    papers, _ = read("w.enw", text)
    _check(papers, rows)


def _check(papers, rows) -> None:
    assert [(p.id, p.title, p.abstract, p.authors, p.year) for p in papers] == [
        (f"k{i}", clean_text(title), clean_text(abstract), tuple(names), year)
        for i, (title, abstract, names, year) in enumerate(rows)
    ]
