"""The public API of every model: order, determinism, roles and formats, description."""

import random

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

from sciprism import Encoder, Label, Paper
from sciprism.encoders import streaming
from sciprism.encoders.packing import pack
from sciprism.encoders.settings import EncoderSettings
from sciprism.encoders.streaming import EncodingPass
from sciprism.errors import InputError
from sciprism.formats import FORMATS, ROLES

WORDS = ["dark", "matter", "gene", "brain", "quantum", "light", "protein", "climate", "star", "energy"]


def some_texts(count=60, seed=0):
    """Texts of 0 to 200 words, in no order of length."""
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS, k=draw.choice((0, 1, 3, 10, 60, 200)))) for _ in range(count)]


@pytest.fixture(params=["cls", "mean", "last"])
def encoder(request, tiny_model):
    return Encoder.load(tiny_model, pooling=request.param, device="cpu")


def test_order_is_kept(encoder):
    texts = some_texts()
    vectors = encoder.encode(texts)
    assert vectors.shape == (len(texts), encoder.dim) and vectors.dtype == np.float32
    alone = np.concatenate([encoder.encode([text]) for text in texts])
    assert np.abs(vectors - alone).max() < 1e-5
    shuffled = random.Random(1).sample(range(len(texts)), len(texts))
    again = encoder.encode([texts[i] for i in shuffled])
    assert np.abs(again - vectors[shuffled]).max() < 1e-5


def test_the_same_bits_on_any_number_of_cores(encoder):
    texts, before = some_texts(), torch.get_num_threads()
    try:
        by_threads = []
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            by_threads.append(encoder.encode(texts))
            assert torch.get_num_threads() == threads, "the number of threads is put back"
    finally:
        torch.set_num_threads(before)
    assert all(np.array_equal(vectors, by_threads[0]) for vectors in by_threads)
    assert np.array_equal(encoder.encode(texts), by_threads[0])


@pytest.mark.parametrize("count", [None, 30], ids=["a stream", "known count"])
def test_an_accelerators_vectors_are_written_one_batch_late(count, monkeypatch):
    """A stand-in for the device: what is packed for it is computed on the CPU."""
    monkeypatch.setattr(streaming, "pack", lambda *args, device: pack(*args))
    lengths, events = [3, 9, 5] * 10, []

    def compute(batch):
        events.append("computed")
        return batch.sizes[:, None].float().expand(-1, 2)

    device = torch.device("cuda")
    windows = streaming.tokenize_windows(
        lambda texts: [[1] * n for n in texts], [lengths[:20], lengths[20:]], device, None
    )
    (rows,) = streaming.encode_windows(
        windows,
        [EncodingPass(compute, "all", (2,))],
        count=count,
        device=device,
        on_batch=lambda _texts: events.append("written"),
        max_texts=10,
    )
    assert rows[:, 0].tolist() == lengths
    late = ["computed", "computed", "written", "computed", "written", "written"]
    assert events == (late if count else ["computed", "computed", "written", "written", "computed", "written"])


def test_nothing_to_encode(encoder):
    assert encoder.encode([]).shape == (0, 32)
    assert {f: v.shape for f, v in encoder.encode_all([]).items()} == dict.fromkeys(FORMATS, (0, 32))


def test_every_kind_of_item(tiny_encoder):
    """tiny_model is a plain folder: its template puts [SEP] between title and abstract."""
    items = [
        Paper(id="1", title="dark matter", abstract="a star"),
        Paper(id="2", title="dark matter"),
        Paper(id="3", abstract="a star"),
        Paper(id="4"),
        Label(id="5", name="gene", definition="a protein"),
        "dark matter",
    ]
    texts = ["dark matter[SEP]a star", "dark matter", "a star", "", "gene[SEP]a protein", "dark matter"]
    assert tiny_encoder.texts(items) == texts
    vectors = tiny_encoder.encode(items)
    assert np.array_equal(vectors, tiny_encoder.encode(texts))
    assert np.array_equal(vectors[1], vectors[5]) and np.isfinite(vectors).all()


def test_length_counts_in_tokens_special_ones_included(tiny_model):
    short = Encoder.load(tiny_model, pooling="mean", max_length=5, device="cpu")
    full = Encoder.load(tiny_model, pooling="mean", device="cpu")
    assert np.array_equal(short.encode(["dark matter gene star light"]), full.encode(["dark matter gene"]))
    assert full.settings.max_length == 512
    longest = full.encode([" ".join(["gene"] * 510)])
    assert np.array_equal(full.encode([" ".join(["gene"] * 50_000)]), longest)


WRONG_ITEMS = {
    "a set": ({"dark"}, "got set {'dark'}; a set has no order"),
    "bytes": (b"dark", "expected texts, papers, labels or dicts with title and abstract, got bytes"),
    "a number": (5, "got int 5"),
    "numbers": (["dark", 5], "items[1] is 5; expected texts"),
    "a matrix": (np.array([["dark"]]), "got an array of shape (1, 1)"),
    "nothing": (["dark", None], "items[1] is missing (None); leave it out, or fill it with a text"),
    "a missing value": (pd.Series(["dark", float("nan")]), "items[1] is missing (nan)"),
    "another key": ([{"Title": "dark"}], "items[0] has no 'title' or 'abstract'; its keys are 'Title'"),
    "another column": (pl.DataFrame({"Title": ["dark"]}), "no column 'title' or 'abstract'; the table has 'Title'"),
    "columns of two lengths": ({"title": ["a"], "abstract": ["b", "c"]}, "title 1, abstract 2"),
    "a list as title": ([{"title": ["dark"]}], "items[0]: title is ['dark'], not a text"),
    "a lazy frame": (pl.LazyFrame({"title": ["dark"]}), "pass frame.collect()"),
    "half a character": (["dark \ud800 matter"], "half a character"),
}


@pytest.mark.parametrize("items, message", WRONG_ITEMS.values(), ids=WRONG_ITEMS)
def test_wrong_items(items, message, tiny_encoder):
    with pytest.raises(InputError) as caught:
        tiny_encoder.encode(items)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "request_, message",
    [
        (
            {"format": "ranking"},
            "has no format 'ranking'; it has classification, regression, proximity, search",
        ),
        ({"role": "author"}, "unknown role 'author'; known: paper, query, label"),
        ({"fields": ("title", "doi")}, "unknown fields ('title', 'doi'); a paper has id, title, abstract"),
        ({"fields": "title"}, "unknown fields 'title'"),
    ],
)
def test_wrong_requests(request_, message, tiny_encoder):
    with pytest.raises(InputError) as caught:
        tiny_encoder.encode(["dark matter"], **request_)
    assert message in str(caught.value)
    if "fields" not in request_:
        for ask in (tiny_encoder.space, tiny_encoder.path):
            with pytest.raises(InputError):
                ask(**request_)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"pooling": None}, "does not state its pooling; pass pooling cls or mean"),
        ({"pooling": "max"}, "unknown pooling 'max'; known: cls, code, facets, last, mean"),
        ({"pooling": ""}, "unknown pooling ''"),
        ({"max_length": 513}, "max length 513, but the model has positions for 512 tokens"),
        ({"max_length": 2}, "a maximum length of 2 tokens leaves no room for text"),
        ({"max_length": 0}, "a maximum length of 0 tokens leaves no room for text"),
        ({"precision": "int4"}, "unknown precision 'int4'; known: auto, float32, bfloat16, float16"),
        ({"device": "abacus"}, "the device abacus cannot be used"),
    ],
)
def test_wrong_options(options, message, tiny_model):
    with pytest.raises(InputError) as caught:
        Encoder.load(tiny_model, **({"pooling": "mean", "device": "cpu"} | options))
    assert message in str(caught.value)


def test_vectors_that_are_not_finite_are_no_vectors(tiny_model):
    broken = Encoder.load(tiny_model, pooling="mean", device="cpu")
    with torch.no_grad():
        broken.model.embeddings.word.weight[20:].fill_(float("nan"))
    with pytest.raises(InputError, match="vectors that are not finite in float32"):
        broken.encode(["dark matter"])


def test_description(tiny_encoder):
    about = tiny_encoder.describe()
    assert about["backbone"] == "BERT, 2 layers, 32 wide, 4 heads"
    assert about["parameters"] == sum(p.numel() for p in tiny_encoder.model.parameters())
    assert about["method"] == "single" and about["formats"] == list(FORMATS)
    assert about["pooling"] == "mean" and about["normalize"] is False and about["distance"] == "cosine"
    assert about["template"] == {"separator": "[SEP]", "prompts": {}, "lowercase": False}
    assert about["max_length"] == 512 and about["dim"] == 32 == tiny_encoder.dim
    assert about["fingerprint"] == tiny_encoder.fingerprint and about["device"] == "cpu"
    assert about["spaces"]["search"] == dict.fromkeys(ROLES, "all") and about["ignored_weights"] == []


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"pooling": "max"}, "unknown pooling"),
        ({"method": "magic"}, "unknown method"),
        ({"distance": "manhattan"}, "unknown distance 'manhattan'; known: cosine, dot, euclidean"),
        ({"max_length": 2}, "no room for text"),
        ({"max_length": "64"}, "64"),
        ({"speed": 3}, "speed"),
        ({"template": {"separator": None}}, "None"),
        ({"template": None}, "somewhere.json"),
    ],
)
def test_wrong_settings(wrong, message):
    row = {"pooling": "mean", "max_length": 64}
    assert EncoderSettings.from_json(row, "somewhere.json").to_json() | row == EncoderSettings(**row).to_json()
    with pytest.raises(InputError, match=message) as caught:
        EncoderSettings.from_json(row | wrong, "somewhere.json")
    assert "somewhere.json" in str(caught.value)
