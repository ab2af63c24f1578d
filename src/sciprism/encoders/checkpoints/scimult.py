"""Convert SciMult's checkpoints (`yuz9yuz/SciMult`: Vanilla, MHAExpert and their kin) to model folders.

Such a file is a pickle of the training run: weights under `question_model` and `ctx_model`, which are one
shared encoder, its parameters, the optimiser. It states neither the backbone's shape nor its vocabulary, but
names the backbone.

One difference to the published code stays: there a label without a definition, or a paper without an
abstract, reads `name [SEP] ` and so has two separators at its end; here a part that is missing is left out
together with its separator. Case is folded by the backbone's own tokenizer: folding it in the template would
turn the separator into plain text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from sciprism.encoders.checkpoints import folder as folders
from sciprism.encoders.checkpoints.backbone import ANCHOR, published_names, read_config
from sciprism.encoders.checkpoints.converted import kept
from sciprism.encoders.checkpoints.locate import locate
from sciprism.encoders.checkpoints.restricted import Placeholder
from sciprism.encoders.checkpoints.torch_files import read_torch_file
from sciprism.encoders.methods.registry import make
from sciprism.encoders.settings import Settings
from sciprism.encoders.transformer import Transformer, TransformerConfig
from sciprism.errors import InputError
from sciprism.files import sha256
from sciprism.text.template import Template
from sciprism.text.tokenizer import read_tokenizer

LONGEST = 512  # tokens per text in the published evaluation
# what the files name by its old name -> what the hub calls it today
UNCASED = "microsoft/BiomedNLP-{}-base-uncased-{}"
RENAMED = {
    UNCASED.format("PubMedBERT", kind): UNCASED.format("BiomedBERT", kind)
    for kind in ("abstract", "abstract-fulltext")
}
BACKBONE = UNCASED.format("BiomedBERT", "abstract")
TOWERS = ("question_model", "ctx_model")
EXPERTS = ("search", "proximity", "classification")  # by their number in the files
EXTRA = ("pooler.", "embeddings.position_ids")  # in a tower, and no part of its vectors
UNUSED = ("linear.weight", "linear.bias")  # beside the towers, and no part of their vectors


@dataclass(frozen=True)
class Kind:
    """What an expert owns: our module in a block -> its published name; {e} is the expert's number."""

    method: str
    modules: Mapping[str, str]


KINDS = {
    "attn": Kind(
        "attention-experts",
        {
            "attention.query": "attention.self.moe_query.{e}",
            "attention.key": "attention.self.moe_key.{e}",
            "attention.value": "attention.self.moe_value.{e}",
            "attention.output": "attention.output.moe_dense.{e}",
        },
    ),
    "fwd": Kind(
        "feedforward-experts",
        {
            "feed_forward.expand": "moe_layer.interm_layers.{e}.dense",
            "feed_forward.contract": "moe_layer.output_layers.{e}.dense",
            "feed_forward_norm": "moe_layer.output_layers.{e}.LayerNorm",
        },
    ),
}
EXPERT = re.compile(r"\.layer\.(\d+)\.(attention\.(?:self|output)\.moe_|moe_layer\.)")


def convert(path: Path, backbone: str | Path | None = None) -> Path:
    """Return the model folder of a checkpoint, converted at the first call and kept in the cache.

    backbone: folder or hub id that gives shape and tokenizer; by default the checkpoint's own folder where
    that has a `config.json`, else the backbone that the checkpoint names. Raises InputError for a file that
    is refused, that is half a model, or whose vectors are made in a way that is not known here.
    """
    if backbone is None and (path.parent / "config.json").exists():
        backbone = path.parent
    state = path.stat()
    facts = (path.resolve(), state.st_size, state.st_mtime_ns, backbone)
    return kept(path, facts, lambda draft: _write(draft, path, backbone))


def _write(draft: Path, path: Path, backbone: str | Path | None) -> None:
    checkpoint = read_torch_file(path)
    if not isinstance(checkpoint, dict) or not isinstance(checkpoint.get("model_dict"), dict):
        raise InputError(f"{path}: holds no model_dict; is this a checkpoint of SciMult?")
    parameters = _parameters(path, checkpoint.get("encoder_params"))
    weights = {str(key): value for key, value in checkpoint["model_dict"].items()}
    name, shape = _backbone(path, parameters, backbone)
    tokenizer, special = read_tokenizer(shape)
    config = read_config(shape)
    kind, every = _placement(path, parameters, weights, config)
    settings = Settings(
        method=KINDS[kind].method if kind else "single",
        options={"every": every} if kind else {},
        pooling="mean" if parameters.get("mean_pool") else "cls",
        normalize=bool(parameters.get("mean_pool")),
        distance="cosine" if parameters.get("mean_pool") else "dot",
        max_length=min(LONGEST, config.max_length),
        template=Template(separator=f" {special.get('sep_token', '[SEP]')} "),
    )
    model = _model(path, weights, config, settings, kind, every)
    provenance = {"converted from": path.name, "sha256": sha256(path), "backbone": name}
    folders.write_folder(draft, model=model, tokenizer=tokenizer, settings=settings, provenance=provenance)


# ---- what the file says about itself ----


def _parameters(path: Path, node: Any) -> dict[str, Any]:
    """Return the encoder's parameters, checked; those that a file leaves out are SciMult's own."""
    entries = _entries(node)
    entries |= _entries(entries.get("encoder"))  # where DPR's later files keep them
    found = {str(key): _value(value) for key, value in entries.items()}

    def refuse(key: str, why: str) -> None:
        raise InputError(f"{path}: {key} is {found[key]!r}; {why}")

    if found.get("projection_dim") not in (None, 0):
        refuse("projection_dim", "projections of the vectors are not supported")
    if found.get("factor_rep"):
        refuse("factor_rep", "factored vectors are not supported")
    if found.get("q_rep_method") not in (None, "cls", "start_end_sum", "start_end_concat"):
        refuse("q_rep_method", "known: cls, and start_end_sum and start_end_concat at the positions [0, 0]")
    if found.get("q_rep_token_pos") not in (None, [0, 0], (0, 0)):
        refuse("q_rep_token_pos", "only [0, 0], the vector at [CLS], is supported")
    if found.get("use_moe"):
        if found.get("use_infer_expert"):
            refuse("use_infer_expert", "experts that a gate chooses are not supported")
        if found.get("num_expert") not in (None, len(EXPERTS)):
            refuse("num_expert", f"known: {len(EXPERTS)}, for {', '.join(EXPERTS)}")
        if not found.get("shared_encoder", True):
            refuse("shared_encoder", "with experts the published code builds two different encoders from it")
    return found


def _entries(node: Any) -> dict[Any, Any]:
    """Return the entries of a dict, or of a configuration node taken as data."""
    if isinstance(node, Placeholder):
        state = node.state if isinstance(node.state, dict) else {}
        inner = state.get("_content", state)
        return node.entries | (inner if isinstance(inner, dict) else {})
    return dict(node) if isinstance(node, dict) else {}


def _value(node: Any) -> Any:
    state = node.state if isinstance(node, Placeholder) else None
    return state["_val"] if isinstance(state, dict) and "_val" in state else node


def _backbone(path: Path, parameters: dict[str, Any], chosen: str | Path | None) -> tuple[str, Path]:
    """Return the backbone's name and the folder with its config.json and tokenizer."""
    stated = str(chosen or parameters.get("pretrained_model_cfg") or BACKBONE)
    reasons = []
    for name in filter(None, (stated, RENAMED.get(stated))):
        try:
            return locate(name, weights=False)
        except InputError as error:
            reasons.append(str(error))
    raise InputError(
        f"{path}: its backbone gives shape and vocabulary, and cannot be found; put config.json and the"
        f" tokenizer's files of {stated} beside the checkpoint: {'; '.join(reasons)}"
    )


def _placement(
    path: Path, parameters: dict[str, Any], weights: dict[str, Any], config: TransformerConfig
) -> tuple[str, int]:
    """Return the experts' kind and N where every N-th layer has them; ("", 0) without experts."""
    places = {match.groups() for name in weights if (match := EXPERT.search(name))}
    kinds = {"fwd" if what.startswith("moe_layer") else "attn" for _, what in places}
    layers = sorted({int(layer) for layer, _ in places})
    said = parameters.get("moe_type") if parameters.get("use_moe", bool(places)) else None
    if said is not None and not re.fullmatch(r"mod[1-9]\d*:(attn|fwd)", str(said)):
        raise InputError(f"{path}: moe_type is {said!r}; known: mod{{N}}:attn and mod{{N}}:fwd")
    if not places:
        if parameters.get("use_moe"):
            raise InputError(f"{path}: half a model: use_moe is set, and no layer has experts")
        return "", 0
    every = layers[0] + 1
    found = f"mod{every}:{'+'.join(sorted(kinds))}"
    regular = layers == [n for n in range(config.layers) if (n + 1) % every == 0]
    if len(kinds) > 1 or not regular or parameters.get("use_moe") is False or said not in (None, found):
        stated = f"moe_type {said!r}" if parameters.get("use_moe", True) else "use_moe False"
        where = ", ".join(str(n + 1) for n in layers)
        raise InputError(
            f"{path}: states {stated}, but the layers {where} of {config.layers} have experts ({found})"
        )
    return kinds.pop(), every


# ---- the weights ----


def _model(
    path: Path,
    weights: dict[str, Any],
    config: TransformerConfig,
    settings: Settings,
    kind: str,
    every: int,
) -> Transformer:
    """Return the transformer with the checkpoint's weights; half a model is an InputError."""
    with torch.device("meta"):  # shapes alone: the weights come from the file
        model = Transformer(config)
        make(settings.method, settings.options).fill(model)
    names = checkpoint_names(config, kind, every)
    shapes = {ours: tensor.shape for ours, tensor in model.state_dict().items()}
    question, context = _towers(path, weights, names.values())
    state = {}
    for ours, theirs in names.items():
        tensor = question[theirs]
        if not isinstance(tensor, Tensor) or not tensor.is_floating_point():
            raise InputError(f"{path}: {theirs} is no tensor of floating point numbers")
        if tensor.shape != shapes[ours]:
            sizes = f"{tuple(tensor.shape)}, the backbone's config.json says {tuple(shapes[ours])}"
            raise InputError(f"{path}: {theirs} has the shape {sizes}")
        if not isinstance(context[theirs], Tensor) or not torch.equal(tensor, context[theirs]):
            raise InputError(
                f"{path}: {theirs} differs between {' and '.join(TOWERS)}; two encoders are not supported"
            )
        state[ours] = tensor.float().clone(memory_format=torch.contiguous_format)
    model.load_state_dict(state, assign=True)
    return model


def _towers(path: Path, weights: dict[str, Any], wanted: Collection[str]) -> list[dict[str, Any]]:
    """Return both encoders' weights by their names inside; a missing or unknown one is an InputError."""
    towers, known = [], set(UNUSED)
    for tower in TOWERS:
        found = [name for name in weights if name.startswith(f"{tower}.") and name.endswith(ANCHOR)]
        if len(found) != 1:
            raise InputError(f"{path}: expected one {tower}...{ANCHOR}, found {len(found)}")
        prefix = found[0].removesuffix(ANCHOR)
        missing = [prefix + name for name in wanted if prefix + name not in weights]
        if missing:
            raise InputError(f"{path}: {len(missing)} weights are missing, the first is {missing[0]}")
        towers.append({name: weights[prefix + name] for name in wanted})
        known |= {prefix + name for name in wanted}
        known |= {name for name in weights if name.startswith(tuple(prefix + extra for extra in EXTRA))}
    unknown = [name for name in weights if name not in known]
    if unknown:
        raise InputError(f"{path}: {len(unknown)} weights are unknown here, the first is {unknown[0]}")
    return towers


def checkpoint_names(config: TransformerConfig, kind: str, every: int) -> dict[str, str]:
    """Map our parameter names to the published ones inside a tower; kind: attn, fwd, or "" for none."""
    names = published_names(config)
    for n in range(every - 1, config.layers, every) if kind else ():
        for module, theirs in KINDS[kind].modules.items():
            slot, _, part = module.partition(".")
            for what in ("weight", "bias"):
                del names[f"blocks.{n}.{module}.{what}"]
                for e, expert in enumerate(EXPERTS):
                    ours = ".".join(filter(None, (slot, "experts", expert, part, what)))
                    names[f"blocks.{n}.{ours}"] = f"encoder.layer.{n}.{theirs.format(e=e)}.{what}"
    return names
