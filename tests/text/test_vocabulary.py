"""Vocabularies learned from texts; tokenizers compared: counts, shared tokens."""

import pytest
from tokenizers import Tokenizer, models

from sciprism.errors import InputError
from sciprism.text.tokenizer import read_tokenizer
from sciprism.text.vocabulary import compare_tokenizers, learn_vocabulary, save_vocabulary

TEXTS = ["The phosphorylated protein binds.", "A phosphorylated kinase", "Kinase binds the protein"] * 20


@pytest.fixture(scope="module")
def learned():
    return learn_vocabulary(TEXTS, vocab_size=400)


def test_special_tokens_have_the_ids_of_roberta(learned):
    size = learned.get_vocab_size()
    assert [learned.id_to_token(i) for i in range(4)] == ["<s>", "<pad>", "</s>", "<unk>"]
    assert learned.id_to_token(size - 1) == "<mask>" and size <= 400
    encoded = learned.encode("The kinase", "protein")
    assert [learned.id_to_token(i) for i in (encoded.ids[0], encoded.ids[-1])] == ["<s>", "</s>"]
    assert learned.encode("a <mask> b").ids.count(size - 1) == 1


def test_case_goes_and_every_byte_has_a_token(learned):
    assert learned.encode("KINASE").ids == learned.encode("kinase").ids
    text = "żółć 中文 \x00 🧬"
    assert learned.decode(learned.encode(text).ids) == text and 3 not in learned.encode(text).ids


def test_frequent_words_become_one_token(learned):
    tokens = learned.encode("the phosphorylated kinase", add_special_tokens=False).tokens
    assert tokens == ["the", "Ġphosphorylated", "Ġkinase"]


def test_a_folder_of_it_is_read_again(learned, tmp_path):
    save_vocabulary(learned, tmp_path)
    read, special = read_tokenizer(tmp_path)
    assert read.encode("A kinase").ids == learned.encode("A kinase").ids
    assert special["mask_token"] == "<mask>" and special["cls_token"] == "<s>"
    fast = pytest.importorskip("transformers").AutoTokenizer.from_pretrained(tmp_path)
    assert fast("A kinase")["input_ids"] == learned.encode("A kinase").ids
    assert (fast.mask_token_id, fast.pad_token_id, fast.model_max_length) == (learned.get_vocab_size() - 1, 1, 512)


def test_nothing_to_learn_from():
    with pytest.raises(InputError, match="no text to learn"):
        learn_vocabulary(["", " "])
    with pytest.raises(InputError, match="at least 261 are"):
        learn_vocabulary(TEXTS, vocab_size=100)


def test_counts_by_hand(learned):
    """Two texts of three and two words; bytes alone need a token for each letter and space."""
    bytes_only = learn_vocabulary(["x"], vocab_size=261)
    texts = ["the phosphorylated kinase", "kinase binds"]
    found = compare_tokenizers({"ours": learned, "bytes": bytes_only}, {"biology": texts})
    ours, plain = found["ours"].domains["biology"], found["bytes"].domains["biology"]
    assert (ours.texts, ours.words, ours.tokens, ours.fertility) == (2, 5, 5, 1.0)
    assert plain.tokens == sum(map(len, texts))
    assert found["ours"].shared_tokens["bytes"] == found["bytes"].size == 261


def test_vocabularies_of_two_kinds_share_what_means_the_same():
    """A word begins bare in WordPiece and behind a space in byte-level BPE; kinase, ase and é agree."""
    pieces = {token: n for n, token in enumerate(["[UNK]", "kinase", "##ase", "ase", "star", "##é"])}
    letters = {token: n for n, token in enumerate(["Ġkinase", "ase", "Ġase", "star", "Ã©", "Ã", "©", "<s>"])}
    wordpiece, bpe = models.WordPiece(pieces, unk_token="[UNK]"), models.BPE(letters, [])
    found = compare_tokenizers({"pieces": Tokenizer(wordpiece), "letters": Tokenizer(bpe)}, {})
    assert (found["pieces"].size, found["letters"].size) == (6, 8)
    assert found["pieces"].shared_tokens["letters"] == found["letters"].shared_tokens["pieces"] == 4
    assert found["letters"].shared_tokens["letters"] == 8
