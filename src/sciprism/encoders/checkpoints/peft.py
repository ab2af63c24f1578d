"""Read and write low-rank updates in the layout of the library peft: `adapter_config.json` and weights.

Weights are called `base_model.model.MAP.lora_A.weight` and `lora_B.weight`, MAP being the name of a linear map in
transformers. Where that has several of our maps as one, or one of ours as several (`families`), the updates are put
together or parted: the products stay, and ranks may grow.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from sciprism.encoders.checkpoints.backbone import read_tensors
from sciprism.encoders.checkpoints.families.family import families, find_family
from sciprism.encoders.checkpoints.released_models import ADAPTER_CONFIG
from sciprism.encoders.checkpoints.sentence_transformers import write_documents
from sciprism.encoders.methods.registry import LowRankUpdates, Product
from sciprism.encoders.transformer import TransformerConfig
from sciprism.errors import InputError
from sciprism.files import write_tensors
from sciprism.text.tokenizer import read_json

WEIGHTS = "adapter_model.safetensors"
KEY = "base_model.model.{}.lora_{}.weight"
PATTERN = re.compile(r"(?:base_model\.model\.)?(.+)\.lora_([AB])\.weight")
INSIDE = re.compile("embed|layer")
"""In the names of all of an encoder's weights, and not in those of its pooler and heads."""
ABSENT: Sequence[Any] = (None, False, [], {})
SETTINGS: Mapping[str, Sequence[Any]] = {
    "peft_type": ["LORA"],
    "bias": ["none"],
    "init_lora_weights": [True, False, "gaussian", "eva", "orthogonal"],
    **dict.fromkeys(("use_dora", "modules_to_save", "lora_bias", "trainable_token_indices"), ABSENT),
    **dict.fromkeys(("layer_replication", "target_parameters", "alpha_pattern", "fan_in_fan_out"), ABSENT),
    **dict.fromkeys(("use_qalora", "use_bdlora", "alora_invocation_tokens"), ABSENT),
    **dict.fromkeys(("arrow_config", "kasa_config", "velora_config"), ABSENT),
}
"""Key of the configuration -> the supported values."""
Link = tuple[str, int, int]
"""A module, and which of how many equal parts of its rows."""


def write_updates(folder: Path, config: TransformerConfig, found: LowRankUpdates, base: str) -> None:
    """Write the updates of one route into a new folder. base: the backbone's name for those who open it."""
    updates = _restack(found.products, _link_maps(config)[1])
    rank = max(len(down) for down, _ in updates.values())
    tensors: dict[str, Tensor] = {}
    for name, product in updates.items():
        down, up = widen(product, rank)
        tensors |= {KEY.format(name, "A"): down.contiguous(), KEY.format(name, "B"): up.contiguous()}
    folder.mkdir(parents=True)
    write_tensors(folder / WEIGHTS, tensors, {"format": "pt"})
    settings = {
        "peft_type": "LORA",
        "task_type": "FEATURE_EXTRACTION",
        "base_model_name_or_path": base,
        "r": rank,
        "lora_alpha": found.scale * rank,
        "lora_dropout": found.dropout,
        "target_modules": sorted(updates),
        "bias": "none",
        "inference_mode": True,
    }
    write_documents(folder, {ADAPTER_CONFIG: settings})


def read_updates(folder: Path, config: TransformerConfig) -> tuple[LowRankUpdates, tuple[str, ...]]:
    """Return the updates in a folder, and the names of ignored weights: those of heads and of a pooler.

    Another method, a setting that is another computation, and a weight that is unknown or of another shape are
    InputErrors.
    """
    path, stated = folder / WEIGHTS, read_json(folder / ADAPTER_CONFIG)
    for key, wanted in SETTINGS.items():
        if key in stated and stated[key] not in wanted:
            raise InputError(
                f"{folder / ADAPTER_CONFIG}: {key} is {stated[key]!r}; of peft only LoRA's B A of linear maps is read, "
                "over a backbone that stays as it is, since all formats share it"
            )
    try:
        alpha, rank, dropout = float(stated["lora_alpha"]), int(stated["r"]), float(stated.get("lora_dropout", 0.0))
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{folder / ADAPTER_CONFIG}: r, lora_alpha or lora_dropout is not a number") from error
    if not alpha > 0 or rank < 1:
        raise InputError(f"{folder / ADAPTER_CONFIG}: r is {rank}, lora_alpha {alpha}; both must be above 0")
    root = math.sqrt if stated.get("use_rslora") else float
    scale = alpha / root(rank)
    ours, theirs = _link_maps(config)
    halves: dict[str, dict[str, Tensor]] = {}
    ignored = []
    for key, tensor in read_tensors(path).items():
        match = PATTERN.fullmatch(key)
        name = next((name for name in theirs if match and f".{match[1]}".endswith(f".{name}")), "")
        if match and name and tensor.dim() == 2:
            halves.setdefault(name, {})[match[2]] = tensor.float()
        elif INSIDE.search(key):
            raise InputError(f"{path}: the weight {key} is unknown here")
        else:
            ignored.append(key)
    updates = {}
    for name, half in halves.items():
        if half.keys() != {"A", "B"} or not 0 < half["A"].shape[0] == half["B"].shape[1]:
            raise InputError(f"{path}: A and B of {name} do not belong together; damaged")
        updates[name] = half["A"], half["B"] * (alpha / root(len(half["A"])) / scale)
    if not updates:
        raise InputError(f"{path}: holds no update of the encoder's maps")
    return LowRankUpdates(_restack(updates, ours), scale, dropout), tuple(ignored)


def widen(product: Product, rank: int) -> Product:
    """Return A and B of a higher rank, with the same product: zeros are added."""
    down, up = product
    more = rank - len(down)
    return F.pad(down, (0, 0, 0, more)), F.pad(up, (0, more))


def _link_maps(config: TransformerConfig) -> tuple[dict[str, list[Link]], dict[str, list[Link]]]:
    """Return our maps with the published ones that give their rows, and these with ours."""
    ours: dict[str, list[Link]] = {}
    theirs: dict[str, list[Link]] = {}
    family = families[find_family(config)]
    for n in range(config.layers):
        for mine, published in (family.modules or family.layer).items():
            if mine.rpartition(".")[2].endswith("norm"):
                continue
            parts = [part.partition(" # ") for part in published.format(n=n).split(" + ")]
            for place, (module, _, share) in enumerate(parts):
                number, count = map(int, share.split("/")) if share else (0, 1)
                ours.setdefault(mine.format(n=n), []).append((module, number, count))
                theirs.setdefault(module, []).append((mine.format(n=n), place, len(parts)))
    return ours, theirs


def _restack(updates: Mapping[str, Product], links: Mapping[str, Sequence[Link]]) -> dict[str, Product]:
    """Return the updates of modules whose rows are those of others: of the parts that are linked, in turn."""
    stacked = {}
    for name, parts in links.items():
        known = [updates[part] for part, _, _ in parts if part in updates]
        if not known:
            continue
        height = next(len(updates[part][1]) // count for part, _, count in parts if part in updates)
        downs = [down for down, _ in known]
        ups = [
            updates[part][1].tensor_split(count)[number] if part in updates else torch.zeros(height, 0)
            for part, number, count in parts
        ]
        if len(known) == len(parts) and all(torch.equal(down, downs[0]) for down in downs):
            stacked[name] = downs[0], torch.cat(ups)
        else:
            stacked[name] = torch.cat(downs), torch.block_diag(*ups)  # type: ignore[no-untyped-call]
    return stacked
