"""Sentences of abstracts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sciprism.text.sentences import split_sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("", []),
        ("One", ["One"]),
        ("One. Two! Three?  Four", ["One.", "Two!", "Three?", "Four"]),
        ("Smith et al. Showed it. Yes.", ["Smith et al. Showed it.", "Yes."]),
        ("Metals (e.g. Iron) melt, i.e. They flow.", ["Metals (e.g. Iron) melt, i.e. They flow."]),
        ("It grows by 3.5 percent. 12 cases follow.", ["It grows by 3.5 percent.", "12 cases follow."]),
        ("See Fig. 3 and Eq. 4. Then stop.", ["See Fig. 3 and Eq. 4.", "Then stop."]),
        ("J. R. Smith wrote it. He left.", ["J. R. Smith wrote it.", "He left."]),
        ("In E. coli, genes act. done now. Good.", ["In E. coli, genes act. done now.", "Good."]),
        ('He said "stop." Then he left.', ['He said "stop."', "Then he left."]),
        ("It works (see above.) The end.", ["It works (see above.)", "The end."]),
        ("Über Äther. Éther too.", ["Über Äther.", "Éther too."]),
        ("BACKGROUND: none\n\nMETHODS: some", ["BACKGROUND: none", "METHODS: some"]),
        ("第一句。第二句。", ["第一句。", "第二句。"]),
        ("Lines\nare joined.\nNext one.", ["Lines are joined.", "Next one."]),
    ],
)
def test_sentences(text: str, sentences: list[str]) -> None:
    assert split_sentences(text) == sentences


@given(st.text())
def test_no_word_is_lost(text: str) -> None:
    assert " ".join(split_sentences(text)).split() == _spaced(text)


def _spaced(text: str) -> list[str]:
    for mark in "。！？":
        text = text.replace(mark, mark + " ")
    return text.split()


def test_a_book_of_initials_is_one_sentence() -> None:
    assert len(split_sentences("A. B. " * 10_000)) == 1  # a look back to the start at each would take a minute
