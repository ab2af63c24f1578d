"""Folders of sentence-transformers, old and new: the same vectors as from that library, or a refusal."""

import json
import re
import shutil

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

from build_models import reference, write
from sciprism import Encoder
from sciprism.encoders.export import export
from sciprism.errors import InputError

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
    return {name: write(tmp_path_factory.mktemp(name), reference(name), files) for name, files in folders.items()}


def modules(*kinds, first=""):
    places = [first, *(f"{n}_{kind}" for n, kind in enumerate(kinds) if n)]
    return [
        {"idx": n, "name": str(n), "path": place, "type": f"sentence_transformers.models.{kind}"}
        for n, (place, kind) in enumerate(zip(places, kinds, strict=True))
    ]


@pytest.fixture
def old_folder(tiny_model, tmp_path):
    """The tiny model as the early releases laid it out, changed by JSON documents given by their path."""

    def make(**documents):
        folder = tmp_path / "old"
        shutil.copytree(tiny_model, folder)
        defaults = {"modules": modules("Transformer", "Pooling")} | pooling(pooling_mode_mean_tokens=True)
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
    again = SentenceTransformer(str(tmp_path / "out"), device="cpu")
    assert again.truncate_dim == short and again.max_seq_length == 48 and again.tokenizer.mask_token
    assert_same(encoder.encode(texts, role="query"), again.encode(texts, prompt_name="query"))


def pooling(**flags):
    return {"1_Pooling/config": {"word_embedding_dimension": 32} | flags}


@pytest.mark.parametrize(
    "documents, ours, length",
    [
        (pooling(pooling_mode_mean_tokens=True, pooling_mode_cls_token=False), "mean", 512),
        (pooling(pooling_mode_cls_token=True, pooling_mode_max_tokens=False), "cls", 512),
        (pooling(pooling_mode_lasttoken=True, pooling_mode_mean_tokens=False), "last", 512),
        (pooling(pooling_mode="cls"), "cls", 512),
        (pooling(pooling_mode=["mean"], include_prompt=True), "mean", 512),
        ({"sentence_bert_config": {"max_seq_length": 12, "do_lower_case": False}}, "mean", 12),
        ({"sentence_roberta_config": {"max_seq_length": 12}}, "mean", 12),
        ({"tokenizer_config": {"model_max_length": 20}}, "mean", 20),
        ({"tokenizer_config": {"model_max_length": 20}, "sentence_bert_config": {"max_seq_length": 12}}, "mean", 12),
        ({"tokenizer_config": {"model_max_length": 10**30}, "sentence_bert_config": {}}, "mean", 512),
    ],
)
def test_spellings_of_the_pooling_and_of_the_maximum_length(documents, ours, length, old_folder, nasty_texts):
    folder = old_folder(**documents)
    encoder = Encoder.load(folder, device="cpu")
    assert (encoder.settings.pooling, encoder.settings.max_length) == (ours, length)
    assert encoder.settings.template.separator == " "
    texts = [*nasty_texts, "dark matter " * 400]
    assert_same(encoder.encode(texts), SentenceTransformer(str(folder), device="cpu").encode(texts))


def test_a_transformer_in_its_own_folder(old_folder):
    folder = old_folder(modules=modules("Transformer", "Pooling", "Normalize", first="0_Transformer"))
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
        ({"prompts": {"query": "q: ", "sort": ":"}, "default_prompt_name": "sort"}, {"query": "query", "paper": None}),
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
    with pytest.raises(InputError, match=re.escape(message)):
        Encoder.load(old_folder(**documents), device="cpu")
