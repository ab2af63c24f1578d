"""Two tokenizers have the same description if they give the same ids, and only then."""

import json

import pytest
from tokenizers import Tokenizer

from sciprism.text.tokenizer import describe_tokenizer, read_tokenizer


def rebuild(tokenizer, **parts):
    """Build the tokenizer from its JSON, with some of its parts changed."""
    row = json.loads(tokenizer.to_str())
    for name, change in parts.items():
        row[name] = {**row[name], **change} if isinstance(change, dict) else change
    return Tokenizer.from_str(json.dumps(row))


@pytest.fixture
def wordpiece(wordpiece_folder):
    return read_tokenizer(wordpiece_folder)[0]


@pytest.fixture
def byte_level(byte_level_folder):
    return read_tokenizer(byte_level_folder)[0]


def test_what_its_json_looks_like_does_not_matter(wordpiece, byte_level):
    for tokenizer in (wordpiece, byte_level):
        found = describe_tokenizer(tokenizer)
        assert json.loads(json.dumps(found)) is not None
        assert describe_tokenizer(rebuild(tokenizer)) == found
        assert describe_tokenizer(rebuild(tokenizer, decoder=None)) == found  # says nothing about ids
    assert describe_tokenizer(wordpiece) != describe_tokenizer(byte_level)


def test_each_setting_matters(wordpiece, byte_level):
    normalizers = (
        {"lowercase": False},
        {"strip_accents": False},
        {"handle_chinese_chars": False},
        {"clean_text": False},
    )
    tokenizers = [wordpiece, *(rebuild(wordpiece, normalizer=change) for change in normalizers)]
    tokenizers += [rebuild(wordpiece, post_processor=None), rebuild(wordpiece, model={"unk_token": "[MASK]"})]
    tokenizers += [byte_level, rebuild(byte_level, pre_tokenizer={"add_prefix_space": True})]
    found = [json.dumps(describe_tokenizer(tokenizer)) for tokenizer in tokenizers]
    assert len(set(found)) == len(tokenizers)


def test_one_word_more_or_elsewhere_matters(wordpiece):
    words = json.loads(wordpiece.to_str())["model"]["vocab"]
    more = rebuild(wordpiece, model={"vocab": words | {"onemore": len(words)}})
    swapped = rebuild(wordpiece, model={"vocab": words | {"gene": words["cell"], "cell": words["gene"]}})
    found = [describe_tokenizer(tokenizer) for tokenizer in (wordpiece, more, swapped)]
    assert found[0] != found[1] != found[2] != found[0]
