"""Every family of backbones: the numbers of transformers, the layout of its models, and each method on it."""

import shutil
from copy import deepcopy
from functools import cache

import numpy as np
import pytest
import torch

from build_methods import build_encoder, pack_texts
from build_models import expected_states
from build_runs import by_two_and_by_one
from build_sources import write_recipe
from sciprism import Encoder
from sciprism.encoders.checkpoints.backbone import read_backbone
from sciprism.encoders.checkpoints.families.family import families
from sciprism.encoders.export import export
from sciprism.encoders.layers import pack
from sciprism.encoders.methods.registry import methods
from sciprism.errors import InputError

WIDE = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 4, "num_attention_heads": 4}
WIDE |= {"max_position_embeddings": 128}
GROUPED = {**WIDE, "num_key_value_heads": 2, "bos_token_id": 1, "eos_token_id": 2}
LOCAL = {"local_attention": 8, "bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1, "sep_token_id": 2}
NARROW = {"dim": 32, "hidden_dim": 48, "n_layers": 4, "n_heads": 4, "max_position_embeddings": 128}
MODELS = {
    "modernbert": ("ModernBert", {**WIDE, **LOCAL}),
    "eurobert": ("EuroBert", {**GROUPED, "mask_token_id": 3}),
    "qwen3": ("Qwen3", {**GROUPED, "head_dim": 16}),
    "nomic_bert": ("NomicBert", WIDE),
    "distilbert": ("DistilBert", NARROW),
    "electra": ("Electra", {**WIDE, "embedding_size": 32}),
}
"""Model type -> the class of transformers, and the settings of a small model; BERT's own tests have the others."""
IDS = [list(range(5, 5 + length)) for length in (3, 40, 40, 9, 17, 1)]
TEXTS = ["dark matter in our galaxy", "the gene and the brain " * 5, "light"]
ROTARY = {"prefix": "rotary positions", "instruction": "rotary positions"}
BEFORE = {**ROTARY, "pals": "norms before each"}
GROUPS = {**BEFORE, "prism": "heads of keys"}
REFUSED = {"modernbert": BEFORE, "eurobert": GROUPS, "qwen3": GROUPS, "nomic_bert": ROTARY}
"""Model type -> methods that it cannot have, with a word of the reason."""


@pytest.fixture(scope="module")
def published(tmp_path_factory, tiny_model):
    """A function that returns a small random model of a family and its folder, as transformers writes it."""
    transformers = pytest.importorskip("transformers")

    @cache
    def build(family):
        kind, settings = MODELS.get(family, ("Bert", WIDE))
        size = len((tiny_model / "vocab.txt").read_text("utf-8").splitlines())
        config = getattr(transformers, f"{kind}Config")(vocab_size=size, pad_token_id=0, **settings)
        torch.manual_seed(0)
        model = getattr(transformers, f"{kind}Model")(config).eval()
        with torch.no_grad():
            for weight in model.parameters():
                weight.add_(torch.randn_like(weight) * 0.1)
        folder = tmp_path_factory.mktemp(family)
        model.save_pretrained(folder)
        for name in ("vocab.txt", "tokenizer_config.json"):
            shutil.copy(tiny_model / name, folder)
        return model, folder

    return build


def test_every_family_is_tested():
    assert set(MODELS) == set(families) - {"bert", "roberta", "xlm-roberta", "camembert", "mpnet"}


@pytest.mark.parametrize("family", MODELS)
def test_hidden_states_are_those_of_transformers(family, published):
    theirs, folder = published(family)
    ours, ignored = read_backbone(folder)
    with torch.no_grad():
        found, expected = ours.eval()(pack(IDS)), torch.cat(expected_states(theirs, IDS))
    assert not ignored and (found - expected).abs().max() < 1e-5
    with torch.inference_mode():
        packed, rough = (ours.prepare(precision)(pack(IDS)) for precision in (torch.float32, torch.bfloat16))
    assert (packed - expected).abs().max() < 1e-5
    assert torch.cosine_similarity(rough, expected, dim=-1).min() > 0.99


@pytest.mark.parametrize("family", MODELS)
def test_what_is_written_opens_in_sentence_transformers(family, published, tmp_path):
    peer = pytest.importorskip("sentence_transformers")
    encoder = Encoder.load(published(family)[1], pooling="last" if family == "qwen3" else "mean", device="cpu")
    encoder.save(tmp_path / "saved")
    again = peer.SentenceTransformer(str(tmp_path / "saved"), device="cpu")
    assert np.abs(again.encode(TEXTS) - encoder.encode(TEXTS)).max() < 1e-5
    assert Encoder.load(tmp_path / "saved", device="cpu").fingerprint == encoder.fingerprint


@pytest.mark.parametrize("name", sorted(methods))
@pytest.mark.parametrize("family", MODELS)
def test_each_method_is_trained_saved_and_loaded_or_refused(family, name, published, tmp_path):
    _, folder = published(family)
    if reason := REFUSED.get(family, {}).get(name):
        with pytest.raises(InputError, match=reason):
            build_encoder(folder, name).encode(TEXTS)
        return
    encoder = build_encoder(folder, name)
    formats = sorted(encoder.formats, key=encoder.route)
    batch = pack_texts(encoder, TEXTS[:1] * len(formats), formats)
    trained = [weight for key, weight in encoder.model.named_parameters() if encoder.method.trainable(key)]
    encoder.model.train()
    encoder.vectors(batch).square().sum().backward()
    moved = [weight for weight in trained if weight.grad is not None]
    assert moved and all(weight.grad.isfinite().all() for weight in moved)
    torch.optim.SGD(moved, 1e-3).step()
    encoder.model.eval()
    encoder.save(tmp_path / "saved")
    again = Encoder.load(tmp_path / "saved", device="cpu")
    assert again.fingerprint == encoder.fingerprint
    for format in encoder.formats:
        assert np.array_equal(again.encode(TEXTS, format=format), encoder.encode(TEXTS, format=format))


@pytest.mark.slow
@pytest.mark.parametrize(("family", "name"), [("modernbert", "feedforward-experts"), ("qwen3", "adapters")])
def test_two_processes_train_as_one(family, name, published, tmp_path):
    path = write_recipe(tmp_path, published(family)[1], steps=4, every=100, dropout=0.0)
    two, one = by_two_and_by_one(path, [f"stages.0.method={name}", "defaults.steps=4"], tmp_path)
    assert len(two) == len(one) == 4 and np.abs(np.array(two) - np.array(one)).max() < 1e-5


@pytest.mark.parametrize("family", ["bert", *MODELS])
def test_low_rank_updates_are_those_of_peft(family, published, tmp_path):
    """Also where a family publishes our query, key and value as one map, or one of ours as two."""
    peft, transformers = pytest.importorskip("peft"), pytest.importorskip("transformers")
    plain, folder = published(family)
    Encoder.load(folder, pooling="mean", device="cpu").save(tmp_path / "read" / "base")
    config = peft.LoraConfig(r=4, lora_alpha=6, target_modules="all-linear", init_lora_weights=False)
    torch.manual_seed(0)
    theirs = peft.get_peft_model(deepcopy(plain), config).eval()
    theirs.save_pretrained(tmp_path / "read" / "adapters" / "proximity")
    ours = Encoder.load(tmp_path / "read", device="cpu")
    export(ours, tmp_path / "written", peft=True)
    base = transformers.AutoModel.from_pretrained(tmp_path / "written" / "base")
    again = peft.PeftModel.from_pretrained(base, tmp_path / "written" / "adapters" / "proximity").eval()
    with torch.no_grad():
        found = ours.model(pack(IDS, "proximity"))
        without, expected, back = (torch.cat(expected_states(model, IDS)) for model in (plain, theirs, again))
    assert (found - without).abs().max() > 0.1
    assert (found - expected).abs().max() < 1e-5 and (back - expected).abs().max() < 1e-5
