"""Encoder as people of sentence-transformers and pandas call it: inputs, options, names."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from sentence_transformers import SentenceTransformer

from build_methods import build_encoder, perturb_weights
from sciprism import Encoder, Paper
from sciprism.encoders import streaming
from sciprism.errors import InputError, ShownWarning

TEXTS = ["dark matter", "the gene and the brain", "a star"]
PAPERS = [{"title": "dark matter", "abstract": "a star"}, {"title": "gene", "abstract": None}, {"abstract": "light"}]
READ = ["dark matter[SEP]a star", "gene", "light"]
TITLES, ABSTRACTS = ["dark matter", "gene", None], ["a star", None, "light"]

COLUMNS = {
    "dict's keys": lambda texts: dict.fromkeys(texts).keys(),
    "pandas": pd.Series,
    "pandas string": lambda texts: pd.Series(texts, dtype="string", index=[7, 7, 7]),
    "polars": pl.Series,
    "arrow": pa.array,
    "arrow chunks": lambda texts: pa.chunked_array([texts[:1], texts[1:]]),
    "numpy": np.array,
    "numpy scalars": lambda texts: list(np.array(texts)),
}
TABLES = {
    "dicts": lambda table: PAPERS,
    "generator": lambda table: iter(PAPERS),
    "papers": lambda table: [Paper.from_json({"id": "1"} | paper) for paper in PAPERS],
    "columns": dict,
    "pandas": pd.DataFrame,
    "rows of pandas": lambda table: pd.DataFrame(table).to_dict("records"),
    "polars": pl.DataFrame,
    "arrow": pa.table,
}


@pytest.mark.parametrize("make", COLUMNS.values(), ids=COLUMNS)
def test_columns_of_texts(make, tiny_encoder, monkeypatch):
    monkeypatch.setattr("sciprism.encoders.streaming.ARROW_SLICE", 2)
    assert np.array_equal(tiny_encoder.encode(make(TEXTS)), tiny_encoder.encode(TEXTS))
    assert np.array_equal(tiny_encoder.encode_all(make(TEXTS))["search"], tiny_encoder.encode(TEXTS))


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_tables_of_papers(make, tiny_encoder):
    table = {"title": TITLES, "abstract": ABSTRACTS, "year": [1905, 1906, 1907]}
    assert tiny_encoder.texts(make(table)) == READ
    assert np.array_equal(tiny_encoder.encode(make(table)), tiny_encoder.encode(READ))


def test_a_stream_is_read_as_it_is_encoded(tiny_encoder, monkeypatch):
    monkeypatch.setattr(streaming, "WINDOW", 4)
    read = []

    def stream():
        for text in TEXTS * 7:
            read.append(text)
            yield text

    assert np.array_equal(tiny_encoder.encode(stream()), tiny_encoder.encode(TEXTS * 7))
    read.clear()
    encoder = Encoder.from_parts(tiny_encoder.model, tiny_encoder.tokenizer, tiny_encoder.settings, device="cpu")
    done = []
    encoder.on_batch = lambda texts: done.append((texts, len(read)))
    assert encoder.encode(stream(), batch_size=1).shape == (21, 32)
    assert [texts for texts, _ in done] == [1] * 21 and done[0][1] == 4 and done[-1][1] == 21
    assert tiny_encoder.encode(iter([])).shape == (0, 32)


def test_items_without_text_are_counted(tiny_encoder):
    empty = ["", Paper(id="1"), {"title": None}, " \u200b"]
    with pytest.warns(ShownWarning, match=r"4 of 5 items have no text, the first is items\[1\]") as caught:
        vectors = tiny_encoder.encode(["gene", *empty], role="query")
    assert len(caught) == 1 and caught[0].filename == __file__
    assert np.array_equal(vectors[1], vectors[3])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tiny_encoder.encode(TEXTS)


@pytest.fixture(scope="module")
def both(tiny_model, tmp_path_factory):
    """Ours and sentence-transformers' model of one folder, with prompts."""
    folder = tmp_path_factory.mktemp("folder") / "out"
    prompts = {"query": "find: ", "paper": "read: "}
    encoder = perturb_weights(build_encoder(tiny_model, "single", template={"prompts": prompts, "separator": " "}))
    encoder.save(folder)
    return Encoder(folder, device="cpu"), SentenceTransformer(str(folder), device="cpu")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"convert_to_tensor": True, "convert_to_numpy": True},
        {"convert_to_numpy": False},
        {"normalize_embeddings": True, "batch_size": 2, "show_progress_bar": False},
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["encode", "encode_query", "encode_document"])
@pytest.mark.parametrize("items", [TEXTS, TEXTS[0], tuple(TEXTS)], ids=["list", "one", "tuple"])
def test_the_calls_of_sentence_transformers(items, name, options, both):
    ours, theirs = (getattr(model, name)(items, **options) for model in both)
    assert type(ours) is type(theirs)
    if isinstance(ours, list):
        ours, theirs = torch.stack(ours), torch.stack(theirs)
    assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
    assert np.abs(np.asarray(ours) - np.asarray(theirs)).max() < 1e-5


@pytest.mark.parametrize("distance", ["cosine", "dot", "euclidean"])
def test_similarity_is_by_the_stated_distance(distance, both, tiny_model):
    ours, theirs = Encoder.start(tiny_model, pooling="mean", distance=distance, device="cpu"), both[1]
    assert ours.similarity_fn_name == distance
    theirs.similarity_fn_name = distance
    a = ours.encode(TEXTS)
    for one, other in ((a, a), (a[0], a), (torch.tensor(a), list(a)), (a, a[1])):
        found = ours.similarity(one, other)
        assert isinstance(found, torch.Tensor) and torch.allclose(found, theirs.similarity(one, other), atol=1e-4)
    b = a[::-1].copy()
    assert torch.allclose(ours.similarity_pairwise(a, b), theirs.similarity_pairwise(a, b), atol=1e-4)


def test_names_of_a_loaded_model(both, tiny_model):
    ours, theirs = both
    assert ours.get_sentence_embedding_dimension() == ours.get_embedding_dimension() == theirs.get_embedding_dimension()
    assert ours.max_seq_length == theirs.max_seq_length == 512 and ours.device == theirs.device
    encoder = Encoder(tiny_model, pooling="mean", device="cpu")
    before = encoder.fingerprint
    assert before == Encoder.load(tiny_model, pooling="mean").fingerprint and encoder.to("cpu") is encoder
    encoder.max_seq_length = 5
    short = Encoder.load(tiny_model, pooling="mean", max_length=5, device="cpu")
    long = ["dark matter gene star light"]
    assert np.array_equal(encoder.encode(long), short.encode(long)) and encoder.options == short.options
    assert encoder.fingerprint == short.fingerprint != before
    assert f"{encoder!r}" == (
        f"Encoder({str(tiny_model)!r}, method='single', dim=32, max_seq_length=5, distance='cosine', device='cpu')"
    )
    for change, message in (
        (lambda: setattr(encoder, "max_seq_length", 513), "max length 513, but the model has positions for 512"),
        (lambda: setattr(encoder, "max_seq_length", 2), "no room for text"),
        (lambda: encoder.to("abacus"), "the device abacus cannot be used"),
        (lambda: encoder.encode(TEXTS, batch_size=0), "batch_size is 0"),
    ):
        with pytest.raises(InputError, match=message):
            change()
    with pytest.raises(TypeError, match="batchsize"):
        encoder.encode_query(TEXTS, batchsize=3)
    assert np.array_equal(encoder.encode(long), short.encode(long)), "a refused change leaves it as it was"


def test_a_progress_bar_counts_texts(tiny_encoder, capsys):
    tiny_encoder.encode(TEXTS, show_progress_bar=True)
    tiny_encoder.encode_all(iter(TEXTS), show_progress_bar=True)
    tiny_encoder.encode(TEXTS)
    out, err = capsys.readouterr()
    assert not out and "3/3" in err and "3/?" in err and err.count("encoding") == 2


# ---- Scikit-learn and LangChain call an encoder as they call their own ----

CLASSES = ["star galaxy", "gene cell", "planet star", "cell protein"] * 2


def test_the_format_of_transform(tiny_model):
    encoder = perturb_weights(build_encoder(tiny_model, "adapters"))
    assert encoder.get_params() == {"format": "proximity"}
    vectors = encoder.set_params(format="classification").fit(CLASSES).transform(CLASSES)
    assert np.array_equal(vectors, encoder.encode(CLASSES, format="classification"))
    with pytest.raises(InputError, match="no format 'sorting'"):
        encoder.set_params(format="sorting")


@pytest.mark.slow
def test_a_pipeline_of_scikit_learn_fits_clones_and_varies_the_format(tiny_model, recwarn):
    pytest.importorskip("sklearn")
    from sklearn.base import clone
    from sklearn.linear_model import RidgeClassifier
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.utils.validation import check_is_fitted

    encoder = perturb_weights(build_encoder(tiny_model, "adapters"))
    check_is_fitted(make_pipeline(encoder))  # as BERTopic asks
    copied = clone(encoder).set_params(format="classification")
    assert copied.model is encoder.model and encoder.get_params() == {"format": "proximity"}
    formats = ["classification", "proximity"]
    search = GridSearchCV(make_pipeline(encoder, RidgeClassifier()), {"encoder__format": formats}, cv=2)
    assert search.fit(CLASSES, [0, 1] * 4).score(CLASSES, [0, 1] * 4) == 1 and not recwarn


def test_lists_of_vectors_for_langchain(tiny_encoder: Encoder):
    assert tiny_encoder.embed_documents(CLASSES[:2]) == tiny_encoder.encode_document(CLASSES[:2]).tolist()
    assert tiny_encoder.embed_query("star") == tiny_encoder.encode_query("star").tolist()
