"""Tokenizers of every public layout give the ids that the reference library gives."""

import json
import resource
import shutil
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import AutoTokenizer, BertTokenizer, RobertaTokenizer

from sciprism.errors import InputError
from sciprism.text.tokenizer import (
    BERT_TOKENS,
    ROBERTA_TOKENS,
    describe_tokenizer,
    open_tokenizer,
    read_tokenizer,
    read_tokens,
    tokenize_texts,
)

WORDPIECE = {
    "no settings": {},
    "cased": {"do_lower_case": False},
    "uncased, accents kept": {"do_lower_case": True, "strip_accents": False},
    "cased, accents stripped": {"do_lower_case": False, "strip_accents": True},
    "Chinese in one piece": {"tokenize_chinese_chars": False},
}
BYTE_LEVEL = {
    "no settings": {},
    "space in front": {"add_prefix_space": True},
    "lower case is not its business": {"do_lower_case": True},
}


def copy_folder(files, folder, **documents):
    """A tokenizer folder: a vocabulary's files and JSON documents."""
    shutil.copytree(files, folder, dirs_exist_ok=True)
    return write_documents(folder, **documents)


def write_documents(folder, **documents):
    for name, content in documents.items():
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


def assert_same(tokenizer, reference, items):
    for text in items:
        assert tokenizer.encode(text).ids == reference(text)["input_ids"], repr(text)


FOLDERS = {name: ("wordpiece_folder", settings) for name, settings in WORDPIECE.items()}
FOLDERS |= {f"byte-level, {name}": ("byte_level_folder", settings) for name, settings in BYTE_LEVEL.items()}


@pytest.fixture(params=FOLDERS)
def folder(request, tmp_path):
    fixture, settings = FOLDERS[request.param]
    return copy_folder(request.getfixturevalue(fixture), tmp_path / "t", tokenizer_config=settings)


@pytest.fixture(params=["wordpiece_folder", "byte_level_folder"])
def source(request):
    return request.getfixturevalue(request.param)


def test_vocabularies_of_models(folder, nasty_texts, tmp_path):
    tokenizer, special = read_tokenizer(folder)
    if (folder / "vocab.txt").exists():
        reference, tokens = BertTokenizer.from_pretrained(folder), BERT_TOKENS
    else:  # RoBERTa's mask swallows the space before it: so in its published tokenizer.json and here
        mask = AddedToken("<mask>", lstrip=True)
        reference, tokens = RobertaTokenizer.from_pretrained(folder, mask_token=mask), ROBERTA_TOKENS
    assert_same(tokenizer, reference, nasty_texts)
    assert special == tokens
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    assert_same(open_tokenizer(tmp_path / "tokenizer.json"), reference, nasty_texts)


@pytest.mark.parametrize("length", [None, 1, 2, 3, 7])
def test_many_texts_have_the_ids_of_each_alone(folder, length, nasty_texts):
    """Printable ASCII is tokenized in a shorter way where there are many texts."""
    tokenizer, special = read_tokenizer(folder)
    if length is not None:
        tokenizer.enable_truncation(length)
    plain = ["", " ", "A", "Don't SHOUT: (DNA)-binding, 3.14!", "  two  spaces ", "".join(map(chr, range(32, 127)))]
    named = [form(f"One{token} two {token}") for token in special.values() for form in (str, str.lower, str.title)]
    many = [*nasty_texts, *plain, *named, "tab\tand\nline"] * 9
    assert tokenize_texts(tokenizer, many) == [tokenizer.encode(text).ids for text in many]


PIECES = ["frog", " ", "\n", "  ", ".", "-", "_", "x" * 30, "7", "e", "\u0301", "\x01", "\x1c", "\u3000", "\u200b"]
PIECES += ["量", "力。", "Ωmega", "🔬", "'s", "don't", "[SEP]", "[SE", "P]", "</s>", "<mask>", "<ma", "ſ", "İ", "\xad"]


def test_the_beginning_of_a_long_text_has_the_tokens_of_the_whole(folder):
    """Texts of repeated and of mixed pieces: of blanks only, one word, accents without letters, special tokens."""
    tokenizer, _ = read_tokenizer(folder)
    runs = st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from([1, 1, 2, 9, 90, 700])), min_size=1, max_size=90)

    @given(length=st.sampled_from([3, 5, 16]), texts=st.lists(runs, min_size=1, max_size=3))
    def check(length, texts):
        tokenizer.enable_truncation(length)
        compare(["".join(piece * times for piece, times in text) for text in texts])

    def compare(texts):
        whole = [tokenizer.encode(text) for text in texts]
        assert read_tokens(tokenizer, texts) == [(each.ids, bool(each.overflowing)) for each in whole]

    check()
    tokenizer.enable_truncation(3)
    for token in ("[SEP]", "</s>", "frog's"):  # cut after each of their characters
        compare([" " * before + f"{token} " * 20 for before in range(25)])


@pytest.mark.parametrize("piece", ["frogs live here. ", "量", "x", " ", "\u0301", "\x01"])
def test_a_text_far_beyond_what_is_read_costs_what_is_read(piece, wordpiece_folder):
    """Memory: the whole would take some hundred MB. What holds no token for very long is not looked at to its end."""
    tokenizer, _ = read_tokenizer(wordpiece_folder)
    tokenizer.enable_truncation(16)
    whole, before = piece * 3_000_000, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert read_tokens(tokenizer, [whole]) == [(tokenizer.encode(piece * 3_000).ids, True)]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60_000  # KB


def test_tokenizer_json_with_truncation_and_padding_inside(source, nasty_texts, tmp_path):
    built, special = read_tokenizer(source)
    limited = Tokenizer.from_str(built.to_str())
    limited.enable_truncation(8)
    limited.enable_padding(length=8, pad_token=special["pad_token"], pad_id=1)
    limited.save(str(tmp_path / "tokenizer.json"))
    assert len(limited.encode("gene " * 99).ids) == 8 == len(limited.encode("").ids)
    tokenizer, found = read_tokenizer(tmp_path)
    assert_same(tokenizer, lambda text: {"input_ids": built.encode(text).ids}, nasty_texts)
    assert len(tokenizer.encode("gene " * 99).ids) > 100 and len(tokenizer.encode("").ids) == 2
    assert found == special


CASED = normalizers.BertNormalizer(lowercase=False)
NORMALIZERS = {"lower": normalizers.BertNormalizer(), "cased": CASED, "none": None}
LOWER = {"stated": {"do_lower_case": True}, "denied": {"do_lower_case": False}, "not stated": {}}
AGREE = {("lower", "stated"), ("lower", "not stated"), ("cased", "denied")}


@pytest.mark.parametrize("stated", LOWER)
@pytest.mark.parametrize("written", NORMALIZERS)
def test_case_in_tokenizer_json_and_in_tokenizer_config(written, stated, tmp_path):
    """The nine combinations: the tokens of transformers, and a warning where the files disagree."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "Cell", "cell", "é", "e", "x", "\N{SOFT HYPHEN}", "中"]
    tokenizer = Tokenizer(models.WordPiece({word: n for n, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = NORMALIZERS[written], pre_tokenizers.BertPreTokenizer()
    special = [("[CLS]", 2), ("[SEP]", 3)]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=special)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    write_documents(tmp_path, tokenizer_config=LOWER[stated], config={"model_type": "bert"})
    with warnings.catch_warnings(record=True) as caught:
        read, _ = read_tokenizer(tmp_path)
    assert_same(read, AutoTokenizer.from_pretrained(tmp_path), ["Cell cell x", "é É e", "中x"])
    message = "tokenizer.json changes case, accents or characters in another way than tokenizer_config.json"
    assert [message in str(w.message) for w in caught] == [True] * ((written, stated) not in AGREE)
    write_documents(tmp_path, tokenizer_config=LOWER[stated] | {"tokenizer_class": "PreTrainedTokenizerFast"})
    assert_same(read_tokenizer(tmp_path)[0], AutoTokenizer.from_pretrained(tmp_path), ["Cell cell x", "é É e", "中x"])


def test_tokenizer_json_goes_first(wordpiece_folder, byte_level_folder, tmp_path):
    read_tokenizer(byte_level_folder)[0].save(str(tmp_path / "tokenizer.json"))
    folder = copy_folder(wordpiece_folder, tmp_path)
    tokenizer, special = read_tokenizer(folder)
    assert tokenizer.encode("gene").ids == read_tokenizer(byte_level_folder)[0].encode("gene").ids
    assert special == ROBERTA_TOKENS


def test_renamed_special_tokens(tmp_path):
    vocabulary = ["<pad>", "<unk>", "<start>", "<end>", "<hide>", "a", "b"]
    (tmp_path / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    mapping = {"cls_token": "<start>", "sep_token": {"content": "<end>", "lstrip": False}, "pad_token": "<pad>"}
    (tmp_path / "special_tokens_map.json").write_text(json.dumps(mapping))
    (tmp_path / "tokenizer_config.json").write_text('{"unk_token": "<unk>", "mask_token": "<hide>"}')
    tokenizer, special = read_tokenizer(tmp_path)
    assert special["cls_token"] == "<start>" and special["sep_token"] == "<end>"
    assert tokenizer.encode("a z B <hide>").ids == [2, 5, 1, 6, 4, 3]


@pytest.mark.parametrize("layout", ["added_tokens.json", "added_tokens_decoder"])
def test_tokens_added_outside_the_vocabulary(source, layout, tmp_path):
    """Control codes such as [PRX] were published this way."""
    first = read_tokenizer(source)[0].get_vocab_size()
    codes = {"[QRY]": first + 1, "[PRX]": first}
    if layout == "added_tokens.json":
        documents = {"added_tokens": codes}
    else:
        plain = dict.fromkeys(("lstrip", "rstrip", "normalized", "single_word"), False)
        rows = {str(number): {"content": code, "special": True, **plain} for code, number in codes.items()}
        documents = {"tokenizer_config": {"added_tokens_decoder": rows}}
    tokenizer, _ = read_tokenizer(copy_folder(source, tmp_path / "t", **documents))
    ids = tokenizer.encode("[PRX]gene[QRY]").ids
    assert ids[1] == first and ids[-2] == first + 1
    assert ids[2:-2] == tokenizer.encode("gene").ids[1:-1]


def test_an_added_token_with_an_id_it_cannot_have(wordpiece_folder, tmp_path):
    folder = copy_folder(wordpiece_folder, tmp_path / "t", added_tokens={"[PRX]": 99_999})
    with pytest.raises(InputError, match=r"\[PRX\].* cannot have the id 99999"):
        read_tokenizer(folder)


WRONG = {
    "nothing there": ({}, "no tokenizer.json, vocab.txt or vocab.json with merges.txt"),
    "merges alone": ({"merges.txt": "#version: 0.2\n"}, "no tokenizer.json, vocab.txt or vocab.json"),
    "garbage": ({"tokenizer.json": "garbage"}, "the tokenizer cannot be read"),
    "empty object": ({"tokenizer.json": "{}"}, "the tokenizer cannot be read"),
    "no special tokens": ({"vocab.txt": "a\nb\n"}, "lacks the special tokens [UNK], [SEP]"),
    "no text": ({"vocab.txt": "\xff\xfe\x80"}, "the tokenizer cannot be read"),
    "vocabulary is a list": ({"vocab.json": "[]", "merges.txt": "a b\n"}, "the tokenizer cannot be read"),
    "settings are a list": ({"tokenizer_config.json": "[]"}, "tokenizer_config.json: holds a list"),
    "settings are broken": ({"tokenizer_config.json": "{"}, "tokenizer_config.json: cannot be read as JSON"),
    "token without content": ({"tokenizer_config.json": '{"cls_token": {"a": 1}}'}, "cannot be read"),
    "added tokens are a list": ({"vocab.txt": "\n".join(BERT_TOKENS.values()), "added_tokens.json": "[]"}, "list"),
}


@pytest.mark.parametrize("files, message", WRONG.values(), ids=WRONG)
def test_wrong_folders(files, message, tmp_path):
    for name, content in files.items():
        (tmp_path / name).write_bytes(content.encode("latin-1"))
    with pytest.raises(InputError) as caught:
        read_tokenizer(tmp_path)
    assert message in str(caught.value) and str(tmp_path) in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        open_tokenizer(tmp_path / "gone.json")


def rebuild(tokenizer, **parts):
    """Build the tokenizer from its JSON, with some of its parts changed."""
    row = json.loads(tokenizer.to_str())
    for name, change in parts.items():
        row[name] = {**row[name], **change} if isinstance(change, dict) else change
    return Tokenizer.from_str(json.dumps(row))


def test_a_tokenizer_is_described_by_what_matters(wordpiece_folder, byte_level_folder):
    wordpiece, byte_level = (read_tokenizer(folder)[0] for folder in (wordpiece_folder, byte_level_folder))
    words = json.loads(wordpiece.to_str())["model"]["vocab"]
    parts = [
        {"normalizer": {key: False}} for key in ("lowercase", "strip_accents", "handle_chinese_chars", "clean_text")
    ]
    parts += [{"post_processor": None}, {"model": {"unk_token": "[MASK]"}}]
    parts += [{"model": {"vocab": words | {"onemore": len(words)}}}]
    parts += [{"model": {"vocab": words | {"gene": words["cell"], "cell": words["gene"]}}}]
    tokenizers = [wordpiece, *(rebuild(wordpiece, **part) for part in parts)]
    tokenizers += [byte_level, rebuild(byte_level, pre_tokenizer={"add_prefix_space": True})]
    found = [json.dumps(describe_tokenizer(tokenizer)) for tokenizer in tokenizers]
    assert len(set(found)) == len(tokenizers)
    for tokenizer in (rebuild(wordpiece), rebuild(wordpiece, decoder=None)):  # what its JSON looks like does not matter
        assert json.dumps(describe_tokenizer(tokenizer)) == found[0]
