"""An exported model gives the same vectors in sentence-transformers; a plain one opens without us."""

import re
from copy import deepcopy

import pytest
import torch
from sentence_transformers import SentenceTransformer

from build_methods import build_encoder, max_difference, perturb_weights
from sciprism import Encoder, Paper
from sciprism.encoders.export import SciprismModule, export
from sciprism.encoders.methods.registry import methods
from sciprism.errors import InputError

TEXTS = ["dark matter", "", "the gene and the brain " * 200, "a black hole [SEP] in our galaxy", "中文 🧬"]
PAPERS = [
    Paper(id="1", title="Dark matter", abstract="Galaxies turn too fast."),
    Paper(id="2", title="A title alone"),
    Paper(id="3", abstract="An abstract alone."),
]
PROMPTS = {"query": "find: ", "paper": "read: "}
CLOSE = 1e-5


@pytest.fixture(params=sorted(methods))
def name(request):
    return request.param


@pytest.fixture
def encoder(name, tiny_model):
    return perturb_weights(build_encoder(tiny_model, name, template={"prompts": PROMPTS}, distance="dot"))


def open_folder(folder):
    return SentenceTransformer(str(folder), device="cpu", trust_remote_code=True)


def test_every_method_opens_with_the_same_vectors_in_each_role(encoder, name, tmp_path):
    assert export(encoder, tmp_path / "out") == ("plain" if name == "single" else "module")
    model = open_folder(tmp_path / "out")
    assert max_difference(encoder.encode_query(TEXTS), model.encode_query(TEXTS)) < CLOSE
    assert max_difference(encoder.encode_document(TEXTS), model.encode_document(TEXTS)) < CLOSE
    assert max_difference(encoder.encode(TEXTS), model.encode(TEXTS)) < CLOSE
    assert model.get_embedding_dimension() == encoder.dim
    assert model.max_seq_length == encoder.settings.max_length
    assert model.similarity_fn_name == encoder.distance
    assert not list(tmp_path.glob(".*")), "nothing unfinished is left"


def test_a_module_gives_the_other_formats_and_joins_pairs(encoder, tmp_path):
    if export(encoder, tmp_path / "out", format="regression") == "plain":
        return
    model = open_folder(tmp_path / "out")
    pairs = [(paper.title, paper.abstract) for paper in PAPERS]
    for format in encoder.formats:
        assert max_difference(encoder.encode(PAPERS, format=format), model.encode(pairs, format=format)) < CLOSE
        asked = encoder.encode(TEXTS, format=format, role="query")
        assert max_difference(asked, model.encode_query(TEXTS, format=format)) < CLOSE
    labels = encoder.encode(TEXTS, format="regression", role="label")
    assert max_difference(labels, model.encode(TEXTS, task="label")) < CLOSE
    by_hand = model.encode(["x"], prompt="find: ", format="classification")
    label = [PROMPTS["query"] + "x"]  # labels have no prompt of their own
    assert max_difference(encoder.encode(label, format="classification", role="label"), by_hand) < CLOSE


def test_the_cards_example_runs(name, tiny_model, tmp_path, monkeypatch):
    export(perturb_weights(build_encoder(tiny_model, name)), tmp_path / "out")
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path / "out")
    names: dict = {}
    exec(re.search(r"```python\n(.*?)```", card, re.S)[1], names)
    encoder = Encoder.load(".")
    paper = Paper(id="1", title="A title", abstract="Its abstract.")
    assert max_difference(encoder.encode_document([paper]), names["papers"]) < CLOSE
    assert max_difference(encoder.encode_query(["what it is about"]), names["queries"]) < CLOSE
    assert "[SEP]" in card and "compare them by cosine" in card


def test_a_module_follows_changed_weights(tiny_model):
    encoder = perturb_weights(build_encoder(tiny_model, "prism"))
    model = SentenceTransformer(modules=[SciprismModule(encoder, format="regression", search_format="search")])
    other = deepcopy(model)
    perturb_weights(other[0].encoder, seed=1)
    assert max_difference(model.encode_query(TEXTS), other.encode_query(TEXTS)) > 0.01
    with torch.no_grad():
        for weight, new in zip(model.to("cpu").share_memory().parameters(), other.parameters(), strict=True):
            weight.data.copy_(new.data)
    assert max_difference(model.encode_query(TEXTS), other.encode_query(TEXTS)) == 0
    assert max_difference(model[0].encoder.encode(TEXTS), other[0].encoder.encode(TEXTS)) == 0, "our encoder too"


def test_a_module_in_half_precision(tiny_model, tmp_path):
    export(build_encoder(tiny_model, "pals"), tmp_path / "out")
    model = open_folder(tmp_path / "out")
    expected = model.encode(TEXTS)
    with pytest.raises(InputError, match=r"computes in float32, bfloat16, float16, not torch\.float64"):
        model.double()
    assert max_difference(model.encode(TEXTS), expected) == 0
    assert 0 < max_difference(model.bfloat16().to("cpu").encode(TEXTS), expected) < 0.05
    assert max_difference(model.float().encode(TEXTS), expected) == 0, "the weights stay float32"


def test_wrong_requests(tiny_model, tmp_path):
    encoder = build_encoder(tiny_model, "adapters", options={"formats": ["classification"]})
    with pytest.raises(InputError, match="has no format 'search'; it has classification"):
        export(encoder, tmp_path / "out", format="search")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="full is not empty; name a new folder"):
        export(encoder, tmp_path / "full")
    with pytest.raises(InputError, match=r"notes\.txt is a file"):
        export(encoder, tmp_path / "full" / "notes.txt")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full"]
    export(encoder, tmp_path / "out")
    model = open_folder(tmp_path / "out")
    with pytest.raises(InputError, match="has no format 'search'"):
        model.encode(["x"], format="search")
    with pytest.raises(InputError, match="unknown role 'clustering'; known: paper, query, label"):
        model.encode(["x"], task="clustering")
