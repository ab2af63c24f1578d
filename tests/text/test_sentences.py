"""Sentences of abstracts, and full sentences in blocks: what fits, what crosses documents, what is split."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sciprism.text.sentences import EncodedDocument, SentencePacker, encode_documents, split_sentences
from sciprism.text.vocabulary import learn_vocabulary


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("", []),
        ("One. Two! Three?  Four", ["One.", "Two!", "Three?", "Four"]),
        ("Smith et al. Showed it. Yes.", ["Smith et al. Showed it.", "Yes."]),
        ("Metals (e.g. Iron) melt, i.e. They flow.", ["Metals (e.g. Iron) melt, i.e. They flow."]),
        ("It grows by 3.5 percent. 12 cases follow.", ["It grows by 3.5 percent.", "12 cases follow."]),
        ("See Fig. 3 and Eq. 4. Then stop.", ["See Fig. 3 and Eq. 4.", "Then stop."]),
        ("J. R. Smith wrote it. He left.", ["J. R. Smith wrote it.", "He left."]),
        ("In E. coli, genes act. done now. Good.", ["In E. coli, genes act. done now.", "Good."]),
        ('He said "stop." Then he left.', ['He said "stop."', "Then he left."]),
        ("It works (see above.) The end.", ["It works (see above.)", "The end."]),
        ("BACKGROUND: none\n\nMETHODS: some", ["BACKGROUND: none", "METHODS: some"]),
        ("第一句。第二句。", ["第一句。", "第二句。"]),
        ("A. B. " * 10_000, [("A. B. " * 10_000).strip()]),  # a look back to the start at each would take a minute
    ],
)
def test_sentences(text: str, sentences: list[str]) -> None:
    assert split_sentences(text) == sentences


B, E = 0, 2
TOKENIZER = learn_vocabulary(["the kinase binds the protein"] * 5, vocab_size=280)


def build_document(*lengths, start=10):
    return EncodedDocument(np.arange(start, start + sum(lengths), dtype=np.uint32), list(lengths))


def pack(documents, length=8, across_documents=True):
    packer = SentencePacker(B, E, length, across_documents)
    blocks = [block.tolist() for each in documents for block in packer.add(each)]
    return blocks + [block.tolist() for block in packer.flush()]


def test_sentences_until_the_next_does_not_fit():
    """Room for 6: 3 + 2 fit, 4 begins the next block."""
    assert pack([build_document(3, 2, 4)]) == [[B, 10, 11, 12, 13, 14, E], [B, 15, 16, 17, 18, E]]


def test_a_block_crosses_documents_with_one_separator():
    two = [build_document(2, start=10), build_document(3, start=20)]
    assert pack(two) == [[B, 10, 11, E, 20, 21, 22, E]]
    assert pack(two, across_documents=False) == [[B, 10, 11, E], [B, 20, 21, 22, E]]
    # 2 + 1 + 4 are too many: no separator is left behind at the end of the first block
    assert pack([build_document(2), build_document(4, start=20)]) == [[B, 10, 11, E], [B, 20, 21, 22, 23, E]]


def test_a_sentence_longer_than_a_block_is_cut():
    """13 tokens: 6, 6, 1; the last piece shares its block with the next sentence."""
    pieces = [[B, *range(20, 26), E], [B, *range(26, 32), E], [B, 32, 33, 34, E]]
    assert pack([build_document(2), build_document(13, 2, start=20)]) == [[B, 10, 11, E], *pieces]


@given(st.lists(st.lists(st.integers(1, 30), max_size=8), max_size=10), st.integers(3, 20), st.booleans())
def test_no_token_is_lost_and_no_block_is_too_long(documents, length, across_documents):
    built, start = [], 10
    for lengths in documents:
        built.append(build_document(*lengths, start=start))
        start += sum(lengths)
    blocks = pack(built, length, across_documents)
    assert all(3 <= len(block) <= length and block[0] == B and block[-1] == E for block in blocks)
    assert all(block[-2] != E for block in blocks)
    assert [i for block in blocks for i in block if i not in (B, E)] == list(range(10, start))


def test_tokens_are_those_of_the_running_text():
    text = "The kinase binds. It is the protein. Done"
    (found,) = encode_documents(TOKENIZER, [text])
    assert found.ids.tolist() == TOKENIZER.encode(text, add_special_tokens=False).ids
    assert len(found.lengths) == 3 and sum(found.lengths) == len(found.ids)


def test_special_tokens_in_a_text_are_plain_text():
    (found,) = encode_documents(TOKENIZER, ["a <mask> b </s> c"])
    special = {TOKENIZER.token_to_id(token) for token in ("<s>", "</s>", "<mask>", "<pad>")}
    assert special.isdisjoint(found.ids.tolist())
    assert TOKENIZER.decode(found.ids.tolist()) == "a <mask> b </s> c"


def test_two_processes_give_the_same(two_processes):
    texts = [f"The kinase {n} binds. " * 300 for n in range(60)]
    one = list(encode_documents(TOKENIZER, texts))
    two_processes()
    two = list(encode_documents(TOKENIZER, texts))
    assert [(a.ids.tolist(), a.lengths) for a in one] == [(b.ids.tolist(), b.lengths) for b in two]
