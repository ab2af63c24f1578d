"""Tokenizers compared: counts, whole terms, shared tokens."""

import pytest
from tokenizers import Tokenizer, models

from sciprism.text.vocabulary import compare_tokenizers, learn_vocabulary

TEXTS = ["The phosphorylated protein binds.", "A phosphorylated kinase", "Kinase binds the protein"] * 20


@pytest.fixture(scope="module")
def learned():
    return learn_vocabulary(TEXTS, vocab_size=400)


def test_counts_by_hand(learned):
    """Two texts of three and two words; bytes alone need a token for each letter and space."""
    bytes_only = learn_vocabulary(["x"], vocab_size=261)
    texts = ["the phosphorylated kinase", "kinase binds"]
    found = compare_tokenizers(
        {"ours": learned, "bytes": bytes_only},
        {"biology": texts},
        terms=["Kinase", "phosphatase"],
        sentences=["Kinase binds"],
        lowercase=True,
    )
    ours, plain = found.counts["ours", "biology"], found.counts["bytes", "biology"]
    assert (ours.texts, ours.words, ours.tokens, ours.fertility) == (2, 5, 5, 1.0)
    assert plain.tokens == sum(map(len, texts))
    assert found.whole_terms == {"ours": 0.5, "bytes": 0.0}
    assert found.shared_tokens["ours", "bytes"] == found.vocab_sizes["bytes"] == 261
    assert found.splits["ours", "Kinase binds"] == ["kinase", "binds"]


def test_vocabularies_of_two_kinds_share_what_means_the_same():
    """A word begins bare in WordPiece and behind a space in byte-level BPE; kinase, ase and é agree."""
    pieces = {token: n for n, token in enumerate(["[UNK]", "kinase", "##ase", "ase", "star", "##é"])}
    letters = {token: n for n, token in enumerate(["Ġkinase", "ase", "Ġase", "star", "Ã©", "Ã", "©", "<s>"])}
    kinds = {
        "pieces": Tokenizer(models.WordPiece(pieces, unk_token="[UNK]")),
        "letters": Tokenizer(models.BPE(letters, [])),
    }
    found = compare_tokenizers(kinds, {})
    assert found.vocab_sizes == {"pieces": 6, "letters": 8}
    assert found.shared_tokens["pieces", "letters"] == found.shared_tokens["letters", "pieces"] == 4
    assert found.shared_tokens["letters", "letters"] == 8
