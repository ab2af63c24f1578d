"""Convert SciMult's checkpoints (`yuz9yuz/SciMult`: Vanilla, MHAExpert and others) to model folders.

Such a file is a pickle of the training run: weights under `question_model` and `ctx_model`, which are one
shared encoder, its parameters, the optimizer. It names the backbone, but states neither its config nor its
vocabulary.

A label without a definition, or a paper without an abstract, is `name [SEP] ` and so ends with two separators, as in
the published code. The backbone's tokenizer lowercases: lowercasing in the template would turn the separator into
plain text.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from sciprism.encoders.checkpoints.backbone import build_on_meta, load_tensors, published_names, read_config
from sciprism.encoders.checkpoints.families.family import families
from sciprism.encoders.checkpoints.folder import convert_once, write_folder
from sciprism.encoders.checkpoints.released_models import CHECKPOINT, LocateModel, ModelFiles
from sciprism.encoders.checkpoints.torch_files import StandIn, read_torch_file
from sciprism.encoders.methods.registry import PLAIN, build_method
from sciprism.encoders.settings import EncoderSettings
from sciprism.encoders.transformer import Transformer, TransformerConfig
from sciprism.errors import InputError
from sciprism.files import sha256
from sciprism.text.template import Template
from sciprism.text.tokenizer import read_tokenizer

MAX_TOKENS = 512  # tokens per text in the published evaluation
# a backbone's name in the files -> its present name on the hub
UNCASED = "microsoft/BiomedNLP-{}-base-uncased-{}"
RENAMED = {
    UNCASED.format("PubMedBERT", kind): UNCASED.format("BiomedBERT", kind) for kind in ("abstract", "abstract-fulltext")
}
BACKBONE = UNCASED.format("BiomedBERT", "abstract")
TOWERS = ("question_model", "ctx_model")
EXPERTS = ("search", "proximity", "classification")  # in the order of their numbers in the files
WORDS = families["bert"].words
EXTRA = ("pooler.", "embeddings.position_ids")  # in a tower, but not used for its vectors
UNUSED = ("linear.weight", "linear.bias")  # outside the towers, not used for vectors


SUPPORTED: tuple[tuple[str, tuple[Any, ...], str], ...] = (
    ("projection_dim", (0,), "projections of the vectors are not supported"),
    ("factor_rep", (False,), "factored vectors are not supported"),
    (
        "q_rep_method",
        ("cls", "start_end_sum", "start_end_concat"),
        "known: cls, and start_end_sum and start_end_concat at the positions [0, 0]",
    ),
    ("q_rep_token_pos", ([0, 0], (0, 0)), "only [0, 0], the vector at [CLS], is supported"),
)
EXPERTS_SUPPORTED: tuple[tuple[str, tuple[Any, ...], str], ...] = (
    ("use_infer_expert", (False,), "experts that a gate chooses are not supported"),
    ("num_expert", (len(EXPERTS),), f"known: {len(EXPERTS)}, for {', '.join(EXPERTS)}"),
    ("shared_encoder", (True,), "with experts the published code builds two different encoders from it"),
)
"""The encoder's parameters, their supported values if they are stated, and why others are refused."""

METHODS = {"attn": "attention-experts", "fwd": "feedforward-experts"}
EXPERT_MODULES = {
    "attn": {
        "attention.query": "attention.self.moe_query.{e}",
        "attention.key": "attention.self.moe_key.{e}",
        "attention.value": "attention.self.moe_value.{e}",
        "attention.output": "attention.output.moe_dense.{e}",
    },
    "fwd": {
        "feed_forward.expand": "moe_layer.interm_layers.{e}.dense",
        "feed_forward.contract": "moe_layer.output_layers.{e}.dense",
        "feed_forward_norm": "moe_layer.output_layers.{e}.LayerNorm",
    },
}
"""Kind of expert -> our name in a block -> the published name; {e} is the expert's number."""
EXPERT = re.compile(r"\.layer\.(\d+)\.(attention\.(?:self|output)\.moe_|moe_layer\.)")


def convert(files: ModelFiles, locate: LocateModel) -> Path | None:
    """Return the folder of the converted checkpoint; None for folders.

    Config and tokenizer are those in the checkpoint's folder if that has a `config.json`, else those of the
    backbone that the checkpoint names. InputError for a file that names code, is incomplete, or has
    unsupported parameters.
    """
    path = files.path
    if path.suffix != CHECKPOINT or path.is_dir():
        return None
    backbone = path.parent if (path.parent / "config.json").exists() else None
    state = path.stat()
    facts = (path.resolve(), state.st_size, state.st_mtime_ns, backbone, "keep_empty")
    return convert_once(path, facts, lambda draft: _write(draft, path, backbone, locate))


def _write(draft: Path, path: Path, backbone: Path | None, locate: LocateModel) -> None:
    checkpoint = read_torch_file(path)
    if not isinstance(checkpoint, dict) or not isinstance(checkpoint.get("model_dict"), dict):
        raise InputError(f"{path}: holds no model_dict; is this a checkpoint of SciMult?")
    parameters = _read_parameters(path, checkpoint.get("encoder_params"))
    weights = {str(key): value for key, value in checkpoint["model_dict"].items()}
    name, shape = _locate_backbone(path, parameters, backbone, locate)
    tokenizer, special = read_tokenizer(shape)
    config = read_config(shape)
    kind, every = _find_experts(path, parameters, weights, config)
    settings = EncoderSettings(
        method=METHODS[kind] if kind else PLAIN,
        options={"every": every} if kind else {},
        pooling="mean" if parameters.get("mean_pool") else "cls",
        normalize=bool(parameters.get("mean_pool")),
        distance="cosine" if parameters.get("mean_pool") else "dot",
        max_length=min(MAX_TOKENS, config.max_length),
        template=Template(separator=f" {special.get('sep_token', '[SEP]')} ", keep_empty=True),
    )
    model = _build_model(path, weights, config, settings, kind, every)
    provenance = {"converted from": path.name, "sha256": sha256(path), "backbone": name}
    write_folder(draft, model, tokenizer, settings, provenance)


def _read_parameters(path: Path, node: Any) -> dict[str, Any]:
    """Return the encoder's parameters; unsupported values are an InputError."""
    entries = _dict_entries(node)
    entries |= _dict_entries(entries.get("encoder"))  # their place in later files of DPR
    states = {key: node.state if isinstance(node, StandIn) else None for key, node in entries.items()}
    parameters = {
        str(key): state["_val"] if isinstance(state := states[key], dict) and "_val" in state else node
        for key, node in entries.items()
    }

    for key, supported, why in SUPPORTED + EXPERTS_SUPPORTED * bool(parameters.get("use_moe")):
        if (value := parameters.get(key)) is not None and value not in supported:
            raise InputError(f"{path}: {key} is {value!r}; {why}")
    return parameters


def _dict_entries(node: Any) -> dict[Any, Any]:
    """Return the entries of a dict, or of a configuration node."""
    if isinstance(node, StandIn):
        state = node.state if isinstance(node.state, dict) else {}
        node = state.get("_content", state)
    return dict(node) if isinstance(node, dict) else {}


def _locate_backbone(
    path: Path, parameters: dict[str, Any], beside: Path | None, locate: LocateModel
) -> tuple[str, Path]:
    """Return the backbone's name and the folder with its config.json and tokenizer."""
    stated = str(beside or parameters.get("pretrained_model_cfg") or BACKBONE)
    reasons = []
    for name in filter(None, (stated, RENAMED.get(stated))):
        try:
            return locate(name, weights=False)
        except InputError as error:
            reasons.append(str(error))
    raise InputError(
        f"{path}: cannot find its backbone, which has the config and the vocabulary; put config.json and the"
        f" tokenizer's files of {stated} next to the checkpoint: {'; '.join(reasons)}"
    )


def _find_experts(
    path: Path, parameters: dict[str, Any], weights: dict[str, Any], config: TransformerConfig
) -> tuple[str, int]:
    """Return the experts' kind, and N if every N-th layer has experts; ("", 0) without experts."""
    slots = {match.groups() for name in weights if (match := EXPERT.search(name))}
    kinds = {"fwd" if slot.startswith("moe_layer") else "attn" for _, slot in slots}
    layers = sorted({int(layer) for layer, _ in slots})
    moe_type = parameters.get("moe_type") if parameters.get("use_moe", bool(slots)) else None
    if moe_type is not None and not re.fullmatch(r"mod[1-9]\d*:(attn|fwd)", str(moe_type)):
        raise InputError(f"{path}: moe_type is {moe_type!r}; known: mod{{N}}:attn and mod{{N}}:fwd")
    if not slots:
        if parameters.get("use_moe"):
            raise InputError(f"{path}: incomplete: use_moe is set, but no layer has experts")
        return "", 0
    every = layers[0] + 1
    layout = f"mod{every}:{'+'.join(sorted(kinds))}"
    regular = layers == [n for n in range(config.layers) if (n + 1) % every == 0]
    if len(kinds) > 1 or not regular or parameters.get("use_moe") is False or moe_type not in (None, layout):
        stated = f"moe_type {moe_type!r}" if parameters.get("use_moe", True) else "use_moe False"
        where = ", ".join(str(n + 1) for n in layers)
        raise InputError(f"{path}: states {stated}, but the layers {where} of {config.layers} have experts ({layout})")
    return kinds.pop(), every


def _build_model(
    path: Path, weights: dict[str, Any], config: TransformerConfig, settings: EncoderSettings, kind: str, every: int
) -> Transformer:
    """Return the transformer with the checkpoint's weights; missing weights are an InputError."""
    model = build_on_meta(config, build_method(settings.method, settings.options))
    names = checkpoint_names(config, kind, every)
    question, context = _split_towers(path, weights, names.values())
    tensors = {}
    for name, tensor in question.items():
        if not isinstance(tensor, Tensor):
            raise InputError(f"{path}: {name} is not a tensor")
        if not isinstance(context[name], Tensor) or not torch.equal(tensor, context[name]):
            raise InputError(f"{path}: {name} differs between {' and '.join(TOWERS)}; two encoders are not supported")
        tensors[name] = tensor.detach().clone(memory_format=torch.contiguous_format)  # not mapped to the file
    load_tensors(path, model, tensors, names)
    return model


def _split_towers(path: Path, weights: dict[str, Any], wanted: Collection[str]) -> list[dict[str, Any]]:
    """Return the weights of both towers by name; a missing or unknown one is an InputError."""
    towers, expected = [], set(UNUSED)
    for tower in TOWERS:
        anchors = [name for name in weights if name.startswith(f"{tower}.") and name.endswith(WORDS)]
        if len(anchors) != 1:
            raise InputError(f"{path}: expected one {tower}...{WORDS}, found {len(anchors)}")
        prefix = anchors[0].removesuffix(WORDS)
        if missing := [prefix + name for name in wanted if prefix + name not in weights]:
            raise InputError(f"{path}: {len(missing)} weights are missing, the first is {missing[0]}")
        towers.append({name: weights[prefix + name] for name in wanted})
        expected |= {prefix + name for name in wanted}
        expected |= {name for name in weights if name.startswith(tuple(prefix + extra for extra in EXTRA))}
    if unknown := [name for name in weights if name not in expected]:
        raise InputError(f"{path}: {len(unknown)} weights are unknown here, the first is {unknown[0]}")
    return towers


def checkpoint_names(config: TransformerConfig, kind: str, every: int) -> dict[str, str]:
    """Map our parameter names to the published ones inside a tower; kind: attn, fwd, or "" for none."""
    names = published_names(config)
    for n in range(every - 1, config.layers, every) if kind else ():
        for module, theirs in EXPERT_MODULES[kind].items():
            slot, _, part = module.partition(".")
            for what in ("weight", "bias"):
                del names[f"blocks.{n}.{module}.{what}"]
                for e, expert in enumerate(EXPERTS):
                    ours = ".".join(filter(None, (slot, "experts", expert, part, what)))
                    names[f"blocks.{n}.{ours}"] = f"encoder.layer.{n}.{theirs.format(e=e)}.{what}"
    return names
