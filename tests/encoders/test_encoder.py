"""The public API of every model: order, determinism, roles and formats, description."""

import json
import random
import re
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from conftest import WORDS

from sciprism import Encoder
from sciprism.encoders import encoder as encoder_module
from sciprism.encoders import settings, streaming
from sciprism.encoders.checkpoints.names import resolve
from sciprism.encoders.layers import pack
from sciprism.encoders.streaming import EncodingPass
from sciprism.errors import InputError, ShownWarning


@pytest.mark.parametrize("pooling", ["cls", "mean", "last"])
def test_the_same_bits_on_any_number_of_cores(pooling, tiny_model):
    encoder, draw = Encoder.load(tiny_model, pooling=pooling, device="cpu"), random.Random(0)
    texts = [" ".join(draw.choices(WORDS, k=draw.choice((0, 1, 3, 10, 60, 200)))) for _ in range(60)]
    expected = encoder.encode(texts)
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        assert np.array_equal(encoder.encode(texts), expected)
        assert np.array_equal(encoder.encode(texts[:1]), expected[:1]), "a batch that is alone is on all cores"
        assert torch.get_num_threads() == threads, "the number of threads is put back"


@pytest.mark.parametrize("count", [None, 30], ids=["a stream", "known count"])
def test_an_accelerators_vectors_are_written_one_batch_late(count, monkeypatch):
    """A stand-in for the device: what is packed for it is computed on the CPU."""
    monkeypatch.setattr(streaming, "pack", lambda *args, device: pack(*args))
    lengths, events = [3, 9, 5] * 10, []

    def compute(batch):
        events.append("computed")
        return batch.sizes[:, None].float().expand(-1, 2)

    device = torch.device("cuda")
    parts = [lengths[:20], lengths[20:]]
    windows = streaming.tokenize_windows(lambda texts: [[1] * n for n in texts], parts, device, None)
    options = {"count": count, "device": device, "on_batch": lambda _texts: events.append("written"), "max_texts": 10}
    (rows,) = streaming.encode_windows(windows, [EncodingPass(compute, "all", (2,))], **options)
    assert rows[:, 0].tolist() == lengths
    late = ["computed", "computed", "written", "computed", "written", "written"]
    assert events == (late if count else ["computed", "computed", "written", "written", "computed", "written"])


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
    with pytest.raises(InputError, match=re.escape(message)):
        tiny_encoder.encode(items)


@pytest.mark.parametrize(
    "request_, message",
    [
        ({"format": "ranking"}, "has no format 'ranking'; it has classification, regression, proximity, search"),
        ({"role": "author"}, "unknown role 'author'; known: paper, query, label"),
        ({"fields": ("title", "doi")}, "unknown fields ('title', 'doi'); a paper has id, title, abstract"),
        ({"fields": "title"}, "unknown fields 'title'"),
    ],
)
def test_wrong_requests(request_, message, tiny_encoder):
    with pytest.raises(InputError, match=re.escape(message)):
        tiny_encoder.encode(["dark matter"], **request_)
    if "fields" not in request_:
        for ask in (tiny_encoder.space, tiny_encoder.path):
            with pytest.raises(InputError):
                ask(**request_)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"pooling": None}, "does not state its pooling; pass pooling cls or mean"),
        ({"pooling": "max"}, "unknown pooling 'max'; known: cls, code, facets, last, mean"),
        ({"max_length": 513}, "max length 513, but the model has positions for 512 tokens"),
        ({"max_length": 2}, "a maximum length of 2 tokens leaves no room for text"),
        ({"max_length": 0}, "a maximum length of 0 tokens leaves no room for text"),
        ({"precision": "int4"}, "unknown precision 'int4'; known: auto, float32, bfloat16, float16"),
        ({"device": "abacus"}, "the device abacus cannot be used"),
    ],
)
def test_wrong_options(options, message, tiny_model):
    with pytest.raises(InputError, match=re.escape(message)):
        Encoder.load(tiny_model, **({"pooling": "mean", "device": "cpu"} | options))


def test_vectors_that_are_not_finite_are_no_vectors(tiny_model):
    broken = Encoder.load(tiny_model, pooling="mean", device="cpu")
    with torch.no_grad():
        broken.model.embeddings.word.weight[20:].fill_(float("nan"))
    with pytest.raises(InputError, match="vectors that are not finite in float32"):
        broken.encode(["dark matter"])


# ---- The fastest precision of a device, and what is said about one that it has no instructions for ----

TEXTS = ["dark matter", "the gene and the brain " * 9]
OLD = {"avx2", "avx512_f"}
NEW = OLD | {"avx512_bf16"}


@pytest.fixture
def processor(monkeypatch):
    """A function that simulates a processor with these features."""
    return lambda features: monkeypatch.setattr(settings, "cpu_features", lambda: features)


@pytest.fixture
def model(tiny_model, tmp_path):
    Encoder.load(tiny_model, pooling="mean", device="cpu").save(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize(
    ("precision", "device", "state", "effective"),
    [
        ("float32", "cuda", "tf32", "tf32"),
        ("float32", "cuda", "ieee", "float32"),
        ("float32", "cpu", "tf32", "float32"),
        ("bfloat16", "cuda", "tf32", "bfloat16"),
    ],
)
def test_torch_may_be_set_to_products_in_tf32(precision, device, state, effective, monkeypatch):
    monkeypatch.setattr(torch.backends.cuda, "matmul", SimpleNamespace(fp32_precision=state))
    assert settings.effective_precision(precision, torch.device(device)) == effective
    monkeypatch.setattr(torch.backends.cuda, "matmul", SimpleNamespace(allow_tf32=state == "tf32"))  # torch before 2.9
    assert settings.effective_precision(precision, torch.device(device)) == effective


def test_a_model_in_tf32_is_not_damaged(model, monkeypatch):
    stored = json.loads((model / "selfcheck.json").read_text())
    vectors = {format: [x * 1.0004 for x in vector] for format, vector in stored["vectors"].items()}
    (model / "selfcheck.json").write_text(json.dumps(stored | {"vectors": vectors}))
    (model / "checksums.json").unlink()
    with pytest.raises(InputError, match=r"by 4\.0e-04, in float32 at most 1e-04: damaged"):
        Encoder.load(model, device="cpu")
    monkeypatch.setattr(encoder_module.precisions, "effective_precision", lambda *_: "tf32")
    assert Encoder.load(model, device="cpu").describe()["precision"] == "tf32"


@pytest.mark.parametrize(("features", "fastest"), [(OLD, "float32"), (NEW, "bfloat16"), ({"bf16"}, "bfloat16")])
def test_auto_takes_what_the_processor_has(features, fastest, processor, model):
    processor(features)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoder = Encoder.load(model, precision="auto", device="cpu")
    assert encoder.precision == fastest
    assert encoder.options == ({} if fastest == "float32" else {"precision": fastest})
    assert np.array_equal(encoder.encode(TEXTS), Encoder.load(model, precision=fastest, device="cpu").encode(TEXTS))


def test_auto_takes_float32_where_vectors_would_not_agree(processor, model, monkeypatch):
    processor(NEW)
    exact = Encoder.load(model, device="cpu").encode(TEXTS)
    monkeypatch.setattr("sciprism.encoders.settings.MIN_COSINE", 1.1)
    encoder = Encoder.load(model, precision="auto", device="cpu")
    assert (encoder.precision, encoder.options) == ("float32", {})
    assert np.array_equal(encoder.encode(TEXTS), exact)


@pytest.mark.parametrize("name", ["bfloat16", "float16"])
def test_a_precision_without_instructions_is_a_warning(name, processor, model):
    processor(OLD)
    with pytest.warns(ShownWarning, match=f"no instructions for {name}.*times as long as float32.*auto"):
        Encoder.load(model, precision=name, device="cpu")


# ---- The model that ships, as a stranger without a network meets it ----


def test_its_scores_are_the_recorded_ones():
    recorded = Path(__file__).parents[2] / "results" / "small" / "open.md"
    lines = set(recorded.read_text(encoding="utf-8").splitlines())
    card = (resolve(None)[1] / "README.md").read_text(encoding="utf-8")
    scores = card.partition("## Scores")[2].partition("## Limits")[0].partition("<!-- split: end -->")[2]
    rows = [line for line in scores.splitlines() if line.startswith("| ") and "\\[" in line]
    assert len(rows) > 50 and set(rows) <= lines
