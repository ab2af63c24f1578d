"""Read and write what a sentence-transformers folder says besides weights: pooling, length, prompts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sciprism.encoders.settings import Settings
from sciprism.errors import InputError
from sciprism.text.template import Template
from sciprism.text.tokenizer import read_json

# the folder's name of a pooling -> ours, in the old spelling (one flag each) and the new (one value)
POOLINGS = {"cls": "cls", "mean": "mean", "lasttoken": "last"}
OLD_POOLINGS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
DISTANCES = {"cosine": "cosine", "dot": "dot", "dot_product": "dot", "euclidean": "euclidean"}
# where a folder says its maximum length; the name once told the backbone
LENGTH_FILES = tuple(
    f"sentence_{kind}_config.json"
    for kind in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
# which prompt serves which role, best name first
PROMPTS = {
    "query": ("query",),
    "paper": ("document", "passage", "corpus"),
    "label": ("document", "passage", "corpus"),
}


def backbone_folder(folder: Path) -> Path:
    """Return where the folder keeps its transformer."""
    return folder / _modules(folder)[0][1]


def read_settings(folder: Path, positions: int) -> Settings:
    """Return the folder's settings; a module or pooling that is not known here is an InputError.

    positions: the longest text the backbone can take, in tokens.
    """
    modules = _modules(folder)
    kinds = [kind for kind, _ in modules]
    if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        raise InputError(f"{folder}: modules {' + '.join(kinds)}; known: Transformer + Pooling (+ Normalize)")
    inner = folder / modules[0][1]
    said = [read_json(inner / name, missing={}) for name in LENGTH_FILES]
    text: dict[str, Any] = next(filter(None, said), {})
    tokenizer = read_json(inner / "tokenizer_config.json", missing={})
    about = read_json(folder / "config_sentence_transformers.json", missing={})
    length = text.get("max_seq_length") or tokenizer.get("model_max_length") or positions
    if not isinstance(length, int | float) or length != length:  # NaN
        raise InputError(f"{inner}: the maximum length is {length!r}, not a number")
    similarity = str(about.get("similarity_fn_name") or "cosine")
    if similarity not in DISTANCES:
        raise InputError(
            f"{folder}: similarity {similarity!r} is not supported; known: {', '.join(DISTANCES)}"
        )
    return Settings(
        pooling=_pooling(folder / modules[1][1]),
        max_length=int(min(length, positions)),
        template=Template(prompts=_prompts(about), lowercase=bool(text.get("do_lower_case", False))),
        normalize=kinds[-1] == "Normalize",
        distance=DISTANCES[similarity],
    )


def _modules(folder: Path) -> list[tuple[str, str]]:
    """Return (class name, path) of each module in order."""
    rows = read_json(folder / "modules.json", kind=list)
    try:
        rows = sorted(rows, key=lambda row: int(row["idx"]))
        found = [(row["type"].rsplit(".", 1)[-1], str(row.get("path") or "")) for row in rows]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{folder}/modules.json: every module needs idx, type and path") from error
    if not found:
        raise InputError(f"{folder}/modules.json: names no modules")
    return found


def _pooling(folder: Path) -> str:
    config = read_json(folder / "config.json")
    mode = config.get("pooling_mode")
    active = [mode] if isinstance(mode, str) else list(mode or ())
    active = active or [name for flag, name in OLD_POOLINGS.items() if config.get(flag)]
    if len(active) != 1 or active[0] not in POOLINGS:
        named = " + ".join(map(str, active)) or "none"
        raise InputError(f"{folder}: pooling {named} is not supported; known: {', '.join(POOLINGS)}")
    if not config.get("include_prompt", True):
        raise InputError(f"{folder}: pooling that leaves out the prompt's tokens is not supported")
    return POOLINGS[active[0]]


def _prompts(about: dict[str, Any]) -> dict[str, str]:
    given = about.get("prompts") or {}
    if not isinstance(given, dict) or not all(isinstance(prompt, str) for prompt in given.values()):
        raise InputError(f"the folder's prompts are {given!r}, not names and texts")
    default = given.get(about.get("default_prompt_name") or "", "")
    found = {
        role: next((given[n] for n in names if given.get(n)), default) for role, names in PROMPTS.items()
    }
    return {role: prompt for role, prompt in found.items() if prompt}


def write_settings(folder: Path, settings: Settings, dim: int) -> None:
    """Make a folder that holds a plain backbone loadable by sentence-transformers."""
    kinds = [("Transformer", ""), ("Pooling", "1_Pooling")]
    if settings.normalize:
        kinds.append(("Normalize", "2_Normalize"))
    for _, path in kinds:
        (folder / path).mkdir(exist_ok=True)
    modes = {theirs: ours for ours, theirs in POOLINGS.items()}
    pooling = {flag: name == modes[settings.pooling] for flag, name in OLD_POOLINGS.items()}
    prompts = settings.template.prompts
    by_role = {"query": prompts.get("query", ""), "document": prompts.get("paper", "")}
    documents = {
        "modules.json": [
            {"idx": n, "name": str(n), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for n, (kind, path) in enumerate(kinds)
        ],
        "1_Pooling/config.json": {"word_embedding_dimension": dim, **pooling},
        "sentence_bert_config.json": {
            "max_seq_length": settings.max_length,
            "do_lower_case": settings.template.lowercase,
        },
        "config_sentence_transformers.json": {"prompts": by_role, "similarity_fn_name": settings.distance},
    }
    for name, content in documents.items():
        (folder / name).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
