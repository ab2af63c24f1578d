"""Folders of sentence-transformers, old and new: the same vectors as from that library, or a refusal."""

import json
import shutil

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

from build_models import reference, write
from sciprism import Encoder
from sciprism.encoders.export import export
from sciprism.errors import InputError

KIND = "sentence_transformers.models"
PROMPTS = {"query": "find: ", "document": "read: "}


def assert_same(ours, theirs):
    assert ours.shape == theirs.shape and ours.dtype == np.float32
    assert np.abs(ours - theirs).max() < 1e-5
    norms = np.linalg.norm(ours, axis=1) * np.linalg.norm(theirs, axis=1)
    assert ((ours * theirs).sum(axis=1) / norms).min() > 0.99999


@pytest.fixture(scope="module")
def backbones(tmp_path_factory, wordpiece_folder, byte_level_folder):
    """A BERT and a RoBERTa in the layout of transformers."""
    folders = {"bert": wordpiece_folder, "roberta": byte_level_folder}
    return {
        family: write(tmp_path_factory.mktemp(family), reference(family), files) for family, files in folders.items()
    }


@pytest.fixture
def old_folder(tiny_model, tmp_path):
    """The tiny model as the early releases laid it out, changed by JSON documents given by their path."""

    def make(**documents):
        folder = tmp_path / "old"
        shutil.copytree(tiny_model, folder)
        modules = [
            {"idx": 0, "name": "0", "path": "", "type": f"{KIND}.Transformer"},
            {"idx": 1, "name": "1", "path": "1_Pooling", "type": f"{KIND}.Pooling"},
        ]
        flags = {"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True}
        defaults = {"modules": modules, "1_Pooling/config": flags}
        for name, content in (defaults | documents).items():
            path = folder / f"{name}.json"
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps(content))
        return folder

    return make


@pytest.mark.parametrize("normalize", [False, True], ids=["plain", "normalized"])
@pytest.mark.parametrize("mode, ours", [("mean", "mean"), ("cls", "cls"), ("lasttoken", "last")])
@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_folders_of_the_installed_release(family, mode, ours, normalize, backbones, nasty_texts, tmp_path):
    short = 20 if mode == "mean" else None
    modules = [Transformer(str(backbones[family]), max_seq_length=48), Pooling(32, mode)]
    theirs = SentenceTransformer(
        modules=modules + [Normalize()] * normalize,
        device="cpu",
        prompts=PROMPTS,
        similarity_fn_name="dot",
        truncate_dim=short,
    )
    theirs.save(str(tmp_path), create_model_card=False)
    encoder = Encoder.load(tmp_path, device="cpu")
    assert encoder.settings.pooling == ours and encoder.settings.normalize is normalize
    assert encoder.settings.max_length == 48 == theirs.max_seq_length
    assert encoder.distance == "dot" == theirs.similarity_fn_name
    texts = [text for text in nasty_texts if "<mask>" not in text]
    assert_same(encoder.encode(texts, role="query"), theirs.encode(texts, prompt_name="query"))
    for role in ("paper", "label"):
        assert_same(encoder.encode(texts, role=role), theirs.encode(texts, prompt_name="document"))
    assert encoder.dim == (short or 32)
    export(encoder, tmp_path / "out")
    assert SentenceTransformer(str(tmp_path / "out"), device="cpu").truncate_dim == short


@pytest.mark.parametrize(
    "flags, ours",
    [
        ({"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}, "mean"),
        ({"pooling_mode_cls_token": True, "pooling_mode_max_tokens": False}, "cls"),
        ({"pooling_mode_lasttoken": True, "pooling_mode_mean_tokens": False}, "last"),
        ({"pooling_mode": "cls"}, "cls"),
        ({"pooling_mode": ["mean"], "include_prompt": True}, "mean"),
    ],
)
def test_spellings_of_the_pooling(flags, ours, old_folder, nasty_texts):
    folder = old_folder(**{"1_Pooling/config": {"word_embedding_dimension": 32} | flags})
    encoder = Encoder.load(folder, device="cpu")
    assert encoder.settings.pooling == ours and encoder.settings.template.separator == " "
    assert_same(encoder.encode(nasty_texts), SentenceTransformer(str(folder), device="cpu").encode(nasty_texts))


@pytest.mark.parametrize(
    "documents, length",
    [
        ({"sentence_bert_config": {"max_seq_length": 12, "do_lower_case": False}}, 12),
        ({"sentence_roberta_config": {"max_seq_length": 12}}, 12),
        ({"tokenizer_config": {"model_max_length": 20}}, 20),
        ({"tokenizer_config": {"model_max_length": 20}, "sentence_bert_config": {"max_seq_length": 12}}, 12),
        ({"tokenizer_config": {"model_max_length": 10**30}, "sentence_bert_config": {}}, 512),
        ({}, 512),
    ],
)
def test_maximum_length(documents, length, old_folder):
    folder = old_folder(**documents)
    encoder = Encoder.load(folder, device="cpu")
    assert encoder.settings.max_length == length
    texts = ["gene", "dark matter " * 400]
    assert_same(encoder.encode(texts), SentenceTransformer(str(folder), device="cpu").encode(texts))


def test_a_transformer_in_its_own_folder(old_folder):
    folder = old_folder(
        modules=[
            {"idx": 0, "name": "0", "path": "0_Transformer", "type": f"{KIND}.Transformer"},
            {"idx": 1, "name": "1", "path": "1_Pooling", "type": f"{KIND}.Pooling"},
            {"idx": 2, "name": "2", "path": "2_Normalize", "type": f"{KIND}.Normalize"},
        ]
    )
    (folder / "0_Transformer").mkdir()
    for name in ("config.json", "model.safetensors", "vocab.txt", "tokenizer_config.json"):
        shutil.move(folder / name, folder / "0_Transformer" / name)
    (folder / "2_Normalize").mkdir()
    encoder = Encoder.load(folder, device="cpu")
    texts = ["the brain", "dark matter"]
    assert encoder.settings.normalize
    assert_same(encoder.encode(texts), SentenceTransformer(str(folder), device="cpu").encode(texts))


ABOUT = "config_sentence_transformers"


@pytest.mark.parametrize(
    "about, expected",
    [
        ({"prompts": PROMPTS}, {"query": "query", "paper": "document", "label": "document"}),
        ({"prompts": {"passage": "p: ", "query": "q: "}}, {"query": "query", "paper": "passage", "label": "passage"}),
        ({"prompts": {"corpus": "c: ", "passage": "p: ", "document": "d: "}}, {"paper": "document"}),
        # none named: the library takes its default
        (
            {"prompts": {"query": "q: ", "sort": "s: "}, "default_prompt_name": "sort"},
            {"query": "query", "paper": None},
        ),
        ({"prompts": {"sort": "s: "}, "default_prompt_name": None}, dict.fromkeys(("query", "paper", "label"))),
        ({"prompts": {"query": "", "document": "d"}, "default_prompt_name": "document"}, {"query": "query"}),
        ({"prompts": {}}, dict.fromkeys(("query", "paper", "label"))),
    ],
)
def test_prompts(about, expected, old_folder):
    folder = old_folder(**{ABOUT: about})
    encoder, theirs = Encoder.load(folder, device="cpu"), SentenceTransformer(str(folder), device="cpu")
    texts = ["the brain", "", "dark matter"]
    for role, name in expected.items():
        assert_same(encoder.encode(texts, role=role), theirs.encode(texts, prompt_name=name))


def modules(*kinds):
    return [{"idx": n, "path": "1_Pooling" if n else "", "type": f"{KIND}.{k}"} for n, k in enumerate(kinds)]


def pooling(**flags):
    return {"1_Pooling/config": flags}


REFUSED = {
    "dense": ({"modules": modules("Transformer", "Pooling", "Dense")}, "Transformer + Pooling + Dense;"),
    "no pooling": ({"modules": modules("Transformer")}, "modules Transformer; known"),
    "no modules": ({"modules": []}, "names no modules"),
    "modules are an object": ({"modules": {}}, "holds a dict, expected a list"),
    "module without type": ({"modules": [{"idx": 0}]}, "every module needs idx, type and path"),
    "max pooling": (pooling(pooling_mode_max_tokens=True), "pooling max is not supported"),
    "two poolings": (
        pooling(pooling_mode_mean_tokens=True, pooling_mode_cls_token=True),
        "pooling cls + mean is not supported",
    ),
    "prompt excluded": (
        pooling(pooling_mode_mean_tokens=True, include_prompt=False),
        "pooling without the prompt's tokens is not supported",
    ),
    "similarity": ({ABOUT: {"similarity_fn_name": "manhattan"}}, "similarity 'manhattan' is not supported"),
    "length is a word": ({"sentence_bert_config": {"max_seq_length": "x"}}, "length is 'x', not a number"),
    "prompts are a list": ({ABOUT: {"prompts": ["q"]}}, "prompts are ['q'], not names and texts"),
}


@pytest.mark.parametrize("documents, message", REFUSED.values(), ids=REFUSED)
def test_refused(documents, message, old_folder):
    with pytest.raises(InputError) as caught:
        Encoder.load(old_folder(**documents), device="cpu")
    assert message in str(caught.value)
