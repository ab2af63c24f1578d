"""Two tokenizers have the same vocabulary and habits where they give the same ids, and only there."""

import json

import pytest
from tokenizers import Tokenizer

from sciprism.text.habits import vocabulary_and_habits
from sciprism.text.tokenizer import read_tokenizer


def rebuilt(tokenizer, **parts):
    """The tokenizer made anew from its JSON, with some of its parts changed."""
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
        told = vocabulary_and_habits(tokenizer)
        assert json.loads(json.dumps(told)) is not None
        assert vocabulary_and_habits(rebuilt(tokenizer)) == told
        assert vocabulary_and_habits(rebuilt(tokenizer, decoder=None)) == told  # says nothing about ids
    assert vocabulary_and_habits(wordpiece) != vocabulary_and_habits(byte_level)


def test_each_setting_matters(wordpiece, byte_level):
    normalizers = (
        {"lowercase": False},
        {"strip_accents": False},
        {"handle_chinese_chars": False},
        {"clean_text": False},
    )
    made = [wordpiece, *(rebuilt(wordpiece, normalizer=change) for change in normalizers)]
    made += [rebuilt(wordpiece, post_processor=None), rebuilt(wordpiece, model={"unk_token": "[MASK]"})]
    made += [byte_level, rebuilt(byte_level, pre_tokenizer={"add_prefix_space": True})]
    told = [json.dumps(vocabulary_and_habits(tokenizer)) for tokenizer in made]
    assert len(set(told)) == len(made)


def test_one_word_more_or_elsewhere_matters(wordpiece):
    words = json.loads(wordpiece.to_str())["model"]["vocab"]
    more = rebuilt(wordpiece, model={"vocab": words | {"onemore": len(words)}})
    swapped = rebuilt(wordpiece, model={"vocab": words | {"gene": words["cell"], "cell": words["gene"]}})
    told = [vocabulary_and_habits(tokenizer) for tokenizer in (wordpiece, more, swapped)]
    assert told[0] != told[1] != told[2] != told[0]
