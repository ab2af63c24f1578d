"""Models run by their own libraries, with the face of Encoder."""

import json
import shutil

import numpy as np
import pytest
import torch
import transformers
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

from sciprism import Encoder, Paper
from sciprism.errors import InputError
from sciprism.evaluation.systems.loading import BridgeEncoder


def modules_of(folder, **options):
    return BridgeEncoder(folder, library="sentence-transformers", **options)


def plain(folder, **options):
    return BridgeEncoder(folder, library="transformers", **options)


PAPERS = [
    Paper(id="1", title="Dark matter", abstract="Galaxies turn too fast."),
    Paper(id="2", title="A title alone"),
    Paper(id="3", abstract="Proteins fold."),
    Paper(id="4"),
]


@pytest.fixture(scope="module")
def distilled(tmp_path_factory, wordpiece_folder):
    """A folder of an architecture that our own encoder does not read."""
    torch.manual_seed(3)
    folder = tmp_path_factory.mktemp("distilled")
    vocabulary = len((wordpiece_folder / "vocab.txt").read_text(encoding="utf-8").splitlines())
    config = transformers.DistilBertConfig(
        vocab_size=vocabulary, dim=32, n_layers=1, n_heads=4, hidden_dim=64, max_position_embeddings=64
    )
    transformers.DistilBertModel(config).save_pretrained(folder)
    shutil.copy(wordpiece_folder / "vocab.txt", folder)
    tokenizer = transformers.BertTokenizerFast(vocab_file=str(wordpiece_folder / "vocab.txt"))
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def modular(distilled, tmp_path):
    """The same model as sentence-transformers keeps it, with prompts, CLS pooling and unit vectors."""
    backbone = Transformer(str(distilled))
    model = SentenceTransformer(
        modules=[backbone, Pooling(32, "cls"), Normalize()],
        prompts={"query": "find: ", "document": "read: "},
        similarity_fn_name="dot",
        device="cpu",
    )
    model.save(str(tmp_path / "modular"))
    return tmp_path / "modular"


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_a_bert_gives_the_vectors_of_our_encoder(tiny_model, pooling):
    ours = Encoder.load(tiny_model, pooling=pooling, device="cpu")
    theirs = plain(tiny_model, pooling=pooling)
    assert theirs.texts(PAPERS) == ours.texts(PAPERS)
    assert np.abs(theirs.encode(PAPERS) - ours.encode(PAPERS)).max() < 1e-5
    assert (theirs.dim, theirs.distance) == (ours.dim, ours.distance)


def test_a_plain_folder_needs_its_pooling_said(distilled):
    with pytest.raises(InputError, match="pass pooling cls, mean"):
        plain(distilled)
    with pytest.raises(InputError, match="unknown pooling 'maen'; known: cls"):
        plain(distilled, pooling="maen")
    with pytest.raises(InputError, match=r"no modules\.json.*transformers:NAME"):
        modules_of(distilled, pooling="mean")


def test_poolings_of_a_foreign_architecture_by_hand(distilled):
    model = transformers.AutoModel.from_pretrained(distilled).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(distilled)
    with torch.inference_mode():
        states = model(**tokenizer("black hole", return_tensors="pt")).last_hidden_state[0]
    expected = {"cls": states[0], "mean": states.mean(0), "last": states[-1], "max": states.max(0).values}
    for pooling, vector in expected.items():
        found = plain(distilled, pooling=pooling).encode(["black hole"])
        assert np.abs(found[0] - vector.numpy()).max() < 1e-5, pooling


def test_a_folder_of_modules_is_taken_at_its_word(modular):
    encoder = modules_of(modular)
    reference = SentenceTransformer(str(modular), device="cpu")
    found = encoder.encode(["star"], role="query")
    assert np.allclose(found, reference.encode(["star"], prompt_name="query"), atol=1e-6)
    assert np.allclose(np.linalg.norm(found, axis=1), 1)
    assert encoder.distance == "dot"
    assert encoder.texts(["star"], "query") == ["find: star"]
    assert encoder.texts(PAPERS[:1]) == ["read: Dark matter Galaxies turn too fast."]
    assert encoder.space("search", "query") == encoder.space("classification", "paper")
    assert encoder.path("search", "query") != encoder.path("search", "paper") == encoder.path("proximity")
    assert encoder.describe()["pooling"] == ["cls"]


def test_what_is_stated_goes_before_the_folder(modular):
    encoder = modules_of(modular, pooling="mean", max_length=7)
    assert encoder.describe()["pooling"] == ["mean"]
    long, longer = encoder.encode(["a star and a wave"]), encoder.encode(["a star and a wave of light"])
    assert np.allclose(long, longer)


def test_the_fingerprint_follows_weights_pooling_and_length(modular, distilled):
    def fingerprint(folder, load=modules_of, **options):
        return load(folder, **options).fingerprint

    same = fingerprint(modular)
    assert fingerprint(modular) == same
    others = [fingerprint(modular, pooling="mean"), fingerprint(modular, max_length=9)]
    others.append(fingerprint(distilled, plain, pooling="cls"))
    assert len({same, *others}) == 4


def test_a_broken_folder_and_a_foreign_similarity_are_refused(modular, tmp_path):
    about = json.loads((modular / "config_sentence_transformers.json").read_text())
    about["similarity_fn_name"] = "manhattan"
    (modular / "config_sentence_transformers.json").write_text(json.dumps(about))
    with pytest.raises(InputError, match="similarity 'manhattan' is not supported"):
        modules_of(modular)
    (modular / "config.json").write_text('{"model_type": "no-such-thing"}')
    with pytest.raises(InputError, match="the library cannot load it"):
        modules_of(modular)


def test_no_items_give_no_rows(distilled):
    assert plain(distilled, pooling="mean").encode([]).shape == (0, 32)
