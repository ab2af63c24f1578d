from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sciprism.papers.records import Label
from sciprism.uses import label_names
from sciprism.uses.label_names import LabelNames, normalize

# few letters, so that names start inside words and tokens repeat; the last two are white space beyond ASCII
ALPHABET = "ab\u00e9 \t\n\u00a0\u2003"
WORDS = st.text(ALPHABET, max_size=8)


def label(*names: str) -> Label:
    return Label(id=names[0] or "?", name=names[0], synonyms=names[1:])


def found(labels: Sequence[Label], *texts: str, raw: bool = False) -> list[list[int]]:
    return [rows.tolist() for rows in LabelNames(labels, raw=raw).match(texts)]


def plain_rule(labels: Sequence[Label], text: str) -> list[int]:
    """The rule word by word, every name in turn."""
    present = text.split()
    matched = []
    for row, item in enumerate(labels):
        for name in (item.name, *item.synonyms):
            tokens = name.split()
            one_or_whole = len(tokens) == 1 or name in text
            if tokens and all(token in present for token in tokens) and one_or_whole:
                matched.append(row)
                break
    return matched


def test_names_without_tokens_match_nothing():
    names = LabelNames([label(""), label(" \n"), label("", "a")])
    assert [rows.tolist() for rows in names.match(["a b", ""])] == [[2], []]


def test_raw_names_and_texts_are_normalized_and_others_are_not():
    labels = [label("Abdomen, Acute"), label("14-3-3 Proteins"), label("-")]
    text = "The (acute) ABDOMEN; abdomen -- Acute! and 14\u20133\u20133 proteins."
    assert found(labels, text, raw=True) == [[0, 1]]
    assert found(labels, text, "Abdomen, Acute") == [[], [0]]


def test_normalize():
    assert normalize("  O'nyong-nyong_virus,\tPart\u00a02 ") == "o nyong nyong virus part 2"
    assert normalize("H\u2082O \u2264 5 \u00b0C: \u201cna\u00efve\u201d") == "h\u2082o 5 c na\u00efve"
    assert normalize("nai\u0308ve \u0939\u093f\u0928\u094d\u0926\u0940\u0964 \u4e2d\u6587\u3002") == (
        "nai\u0308ve \u0939\u093f\u0928\u094d\u0926\u0940 \u4e2d\u6587"
    )
    assert normalize("...") == ""


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.lists(WORDS, min_size=1, max_size=3), max_size=12),
    st.lists(st.text(ALPHABET, max_size=20), max_size=8),
    st.integers(1, 4),
)
def test_same_as_the_plain_rule(names: list[list[str]], texts: list[str], block: int):
    labels = [label(*each) for each in names]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(label_names, "BLOCK", block)
        assert found(labels, *texts) == [plain_rule(labels, text) for text in texts]
