"""SciMult's checkpoints: what an independent model computes, whole or not at all, and nothing executed."""

import copy
import re
import shutil
import sys
import types
import typing

import numpy as np
import pytest
import torch

from build_models import expected_states, reference
from sciprism import Encoder
from sciprism.encoders.checkpoints import names
from sciprism.errors import InputError
from sciprism.papers.records import Label, Paper
from sciprism.text.tokenizer import read_tokenizer

NAMED = "some-group/some-backbone"
EXPERTS = {"search": 0, "proximity": 1, "classification": 2}  # by the number they have in the files
LAYERS = (1, 3)  # of four, counted from 0, where every second has experts
PAPERS = [
    Paper(id="a", title="Dark matter in GALAXY light", abstract="We measure the gravity field of a star."),
    Paper(id="b", title="Gene evolution", abstract="A new method. " * 200),
    Paper(id="c", title="Ice"),
]
LABEL = Label(id="l", name="Quantum field theory", definition="the theory of particle fields")
OWN = {
    "attn": {
        **{f"attention.self.{part}": f"attention.self.moe_{part}.{{}}" for part in ("query", "key", "value")},
        "attention.output.dense": "attention.output.moe_dense.{}",
    },
    "fwd": {
        "intermediate.dense": "moe_layer.interm_layers.{}.dense",
        "output.dense": "moe_layer.output_layers.{}.dense",
        "output.LayerNorm": "moe_layer.output_layers.{}.LayerNorm",
    },
}
"""Kind of experts -> what each has of its own: a BERT's name, and the checkpoint's."""
pytestmark = pytest.mark.usefixtures("cache")
METHODS = {"attn": "attention-experts", "fwd": "feedforward-experts"}


@pytest.fixture(scope="module")
def backbone(tmp_path_factory, wordpiece_folder):
    """A BERT with 4 layers, and the folder with its shape and tokenizer, without weights."""
    folder = tmp_path_factory.mktemp("backbone")
    vocabulary = len((wordpiece_folder / "vocab.txt").read_text().splitlines())
    model = reference(vocabulary=vocabulary, num_hidden_layers=4)
    model.config.to_json_file(folder / "config.json")
    shutil.copy(wordpiece_folder / "vocab.txt", folder)
    return model, folder


@pytest.fixture(scope="module")
def experts(backbone):
    """By kind, three copies of the BERT, each with modules of its own in every second layer."""

    def changed(kind, seed):
        model = copy.deepcopy(backbone[0])
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for n in LAYERS:
                for module in OWN[kind]:
                    for weight in model.encoder.layer[n].get_submodule(module).parameters():
                        weight.add_(0.3 * torch.randn(weight.shape, generator=generator))
        return model

    return {kind: [changed(kind, seed) for seed in (1, 2, 3)] for kind in OWN}


def published(name, kind, expert):
    """The checkpoint's name of a BERT's tensor that belongs to an expert; None for a shared tensor."""
    found = re.fullmatch(r"encoder\.layer\.(\d+)\.(.+)\.(weight|bias)", name)
    if not found or int(found[1]) not in LAYERS or found[2] not in OWN[kind]:
        return None
    return f"encoder.layer.{found[1]}.{OWN[kind][found[2]].format(expert)}.{found[3]}"


def run_state(models, kind=None, **parameters):
    """What the published training code saves: of one model, or of three that are one with experts."""
    inner = {}
    for expert, model in enumerate(models):
        for name, tensor in model.state_dict().items():
            inner[(kind and published(name, kind, expert)) or name] = tensor
    inner["embeddings.position_ids"] = torch.arange(512)[None]
    towers = ("question_model.encoder.", "ctx_model.encoder.")
    moe = {"use_moe": True, "moe_type": f"mod2:{kind}", "num_expert": 3} if kind else {"use_moe": False}
    defaults = {
        "pretrained_model_cfg": NAMED,
        "projection_dim": 0,
        "shared_encoder": True,
        "mean_pool": False,
        "factor_rep": False,
        "use_infer_expert": False,
        "per_layer_gating": False,
        "q_rep_method": "start_end_sum",
    }
    return {
        "model_dict": {tower + name: tensor for tower in towers for name, tensor in inner.items()},
        "optimizer_dict": {"state": {0: {"exp_avg": torch.zeros(3)}}, "param_groups": [{"lr": 3e-4}]},
        "scheduler_dict": {"last_epoch": 7},
        "offset": 0,
        "epoch": 19,
        "encoder_params": defaults | moe | parameters,
    }


@pytest.fixture
def saved(tmp_path, backbone):
    """A function that writes a checkpoint beside the backbone's shape and tokenizer."""

    def write(state, beside=True, **options):
        folder = tmp_path / f"beside-{beside}"
        shutil.copytree(backbone[1], folder) if beside else folder.mkdir(exist_ok=True)
        torch.save(state, folder / "scimult.ckpt", **options)
        return folder / "scimult.ckpt"

    return write


def expected(model, texts, folder, pool="cls"):
    """The vectors of texts by the reference library."""
    tokenizer, _ = read_tokenizer(folder)
    tokenizer.enable_truncation(512)
    with torch.no_grad():
        states = expected_states(model, [tokenizer.encode(text).ids for text in texts])
    return torch.stack([s[0] if pool == "cls" else s.mean(0) for s in states]).numpy()


def paper_texts():
    return [f"{p.title} [SEP] {p.abstract}".lower().replace("[sep]", "[SEP]") for p in PAPERS[:2]] + ["ice [SEP] "]


def close(ours, theirs):
    return np.abs(ours - theirs).max() <= 1e-5 * max(1, np.abs(theirs).max())


# ---- vectors ----


def test_vanilla_gives_the_vectors_of_its_bert(backbone, saved):
    encoder = Encoder.load(saved(run_state(backbone[:1])))
    assert encoder.settings.method == "single" and encoder.settings.pooling == "cls"
    assert encoder.distance == "dot" and not encoder.settings.normalize and encoder.settings.max_length == 512
    assert close(encoder.encode(PAPERS), expected(backbone[0], paper_texts(), backbone[1]))
    label = f"{LABEL.name} [SEP] {LABEL.definition}"
    found = encoder.encode([LABEL], format="classification", role="label")
    assert close(found, expected(backbone[0], [label], backbone[1]))
    query = "dark matter [SEP] a star"
    assert close(encoder.encode([query], role="query"), expected(backbone[0], [query], backbone[1]))


@pytest.mark.parametrize("kind", OWN)
def test_every_expert_gives_the_vectors_of_its_copy(kind, experts, backbone, saved):
    encoder = Encoder.load(saved(run_state(experts[kind], kind)))
    assert encoder.settings.method == METHODS[kind] and encoder.settings.options["every"] == 2
    theirs = {name: expected(experts[kind][e], paper_texts(), backbone[1]) for name, e in EXPERTS.items()}
    for name, vectors in theirs.items():
        assert close(encoder.encode(PAPERS, format=name), vectors), name
    assert not close(theirs["search"], theirs["proximity"])
    assert not close(theirs["classification"], theirs["proximity"])


def test_mean_pooling_goes_with_cosine(backbone, saved):
    encoder = Encoder.load(saved(run_state(backbone[:1], mean_pool=True)))
    theirs = expected(backbone[0], paper_texts(), backbone[1], pool="mean")
    theirs /= np.linalg.norm(theirs, axis=1, keepdims=True)
    assert encoder.distance == "cosine" and close(encoder.encode(PAPERS), theirs)


# ---- what else such files hold ----


def add_class(patch, module, name):
    """Add a class to a module that is not installed."""
    kind = type(name, (types.SimpleNamespace,), {"__module__": module})
    patch.setitem(sys.modules, module.partition(".")[0], types.ModuleType(module))
    patch.setitem(sys.modules, module, types.SimpleNamespace(**{name: kind}))
    return kind


@pytest.mark.parametrize("inner", [False, True], ids=["node", "node under encoder"])
def test_configuration_nodes_are_data(inner, experts, backbone, saved, monkeypatch):
    """Nodes of omegaconf, an optimizer's state, numpy numbers, a stray position_ids, unused weights."""
    state = run_state(experts["attn"], "attn", num_expert=np.int64(3))
    optimizer = torch.optim.AdamW(backbone[0].parameters())
    state |= {"optimizer_dict": optimizer.state_dict() | {"base": [np.float64(3e-4)]}, "epoch": np.int64(19)}
    state["model_dict"] |= {"linear.weight": torch.ones(2, 2), "linear.bias": torch.ones(2)}
    with monkeypatch.context() as patch:
        value = add_class(patch, "omegaconf.nodes", "AnyNode")
        content = {key: value(_val=each) for key, each in state["encoder_params"].items()}
        about = {"ref_type": dict, "key_type": int, "object_type": typing.Any}
        node = add_class(patch, "omegaconf.dictconfig", "DictConfig")(_content=content, _metadata=about)
        state["encoder_params"] = {"do_lower_case": True, "encoder": node} if inner else node
        path = saved(state, _use_new_zipfile_serialization=inner)
    with pytest.raises(ModuleNotFoundError):
        torch.load(path, weights_only=False)
    encoder = Encoder.load(path)
    assert encoder.settings.method == "attention-experts"
    assert close(encoder.encode(PAPERS), expected(experts["attn"][1], paper_texts(), backbone[1]))


# ---- what is refused ----


def without(part):
    def change(state):
        state["model_dict"] = {name: tensor for name, tensor in state["model_dict"].items() if part not in name}

    return change


def with_weight(name, tensor, towers=("question_model", "ctx_model")):
    return lambda state: state["model_dict"].update({f"{tower}.encoder.{name}": tensor for tower in towers})


def with_parameters(**parameters):
    return lambda state: state["encoder_params"].update(parameters)


QUERY = "encoder.layer.1.attention.self.moe_query.2.weight"
REFUSED = {
    "an expert's weight is missing": (without(QUERY), f"1 weights are missing.*{QUERY}"),
    "one encoder is missing": (without("ctx_model"), "expected one ctx_model...embeddings.word_.*, found 0"),
    "a fourth expert": (
        with_weight(QUERY.replace("query.2", "query.3"), torch.ones(32, 32)),
        "2 weights are unknown here, the first is question_model.encoder.encoder.layer.1",
    ),
    "two encoders": (
        with_weight(QUERY, torch.ones(32, 32), towers=["ctx_model"]),
        "differs between question_model and ctx_model; two encoders are not supported",
    ),
    "a projection": (with_parameters(projection_dim=128), "projection_dim is 128; projections"),
    "six experts": (with_parameters(num_expert=6), "num_expert is 6; known: 3"),
    "tokens choose": (with_parameters(moe_type="mod2:tok"), r"moe_type is 'mod2:tok'; known: mod\{N\}:attn"),
    "another rule": (with_parameters(moe_type="mod3:attn"), "states moe_type 'mod3:attn', but the layers 2"),
    "no experts stated": (with_parameters(use_moe=False), "states use_moe False, but the layers 2, 4 of 4"),
    "no experts there": (without("moe"), "use_moe is set, but no layer has experts"),
    "both kinds": (
        with_weight("encoder.layer.1.moe_layer.interm_layers.0.dense.bias", torch.ones(64)),
        r"\(mod2:attn\+fwd\)",
    ),
    "no weights": (lambda s: s.pop("model_dict"), "holds no model_dict; is this a checkpoint of SciMult"),
}


@pytest.mark.parametrize(("spoil", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(spoil, message, experts, saved, cache):
    state = run_state(experts["attn"], "attn")
    spoil(state)
    path = saved(state)
    with pytest.raises(InputError, match=message) as caught:
        Encoder.load(path)
    assert str(path) in str(caught.value)
    assert not list((cache / "converted").iterdir()), "nothing half-made stays"


# ---- converted once ----


def test_the_backbone_is_the_one_that_the_file_names(backbone, saved, monkeypatch):
    path = saved(run_state(backbone[:1], pretrained_model_cfg=str(backbone[1])), beside=False)
    theirs = expected(backbone[0], paper_texts(), backbone[1])
    assert close(Encoder.load(path).encode(PAPERS), theirs)

    old = "microsoft/BiomedNLP-PubMedBERT-base-uncased-abstract"
    new = "microsoft/BiomedNLP-BiomedBERT-base-uncased-abstract"
    asked = []

    def hub(name, *, weights=True):
        asked.append((name, weights))
        if name != new:
            raise InputError(f"no {name}")
        return name, backbone[1]

    monkeypatch.setattr(names, "locate", hub)
    path = saved(run_state(backbone[:1], pretrained_model_cfg=old), beside=False)
    assert close(Encoder.load(path).encode(PAPERS), theirs)
    assert asked == [(old, False), (new, False)]
