"""Read and write the settings of a sentence-transformers folder: pooling, length, prompts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sciprism.encoders.settings import EncoderSettings
from sciprism.errors import InputError, StaticModelError
from sciprism.text.template import Template
from sciprism.text.tokenizer import read_json

# the library's name of a pooling -> ours; older folders have one flag per pooling instead
POOLINGS = {"cls": "cls", "mean": "mean", "lasttoken": "last"}
POOLING_FLAGS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
DISTANCES = {"cosine": "cosine", "dot": "dot", "dot_product": "dot", "euclidean": "euclidean"}
STATIC, MAX_PATH = "StaticEmbedding", 256
# files with the maximum length; formerly named after the backbone
LENGTH_FILES = tuple(
    f"sentence_{kind}_config.json"
    for kind in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
# role -> names of its prompt, best first
PROMPTS = {"query": ("query",), "paper": ("document", "passage", "corpus"), "label": ("document", "passage", "corpus")}


def backbone_folder(folder: Path) -> Path:
    """Return the folder of the transformer module."""
    return folder / _read_modules(folder)[0][1]


def transformer_folder(folder: Path) -> Path:
    """Return the folder of the transformer module; StaticModelError where there is a table of vectors instead."""
    kind, path = _read_modules(folder)[0]
    if kind == STATIC:
        raise StaticModelError(
            f"{folder} holds a static model, a vector per token without a network; `sciprism evaluate` and "
            "sciprism.evaluation.systems.loading.StaticEncoder encode it, all else needs a model with a transformer"
        )
    return folder / path


def read_static_settings(folder: Path) -> tuple[Path, bool, dict[str, str], str, int | None]:
    """Return the folder of a static model's table, if vectors are normalized, prompts, distance, and truncate_dim."""
    modules = _read_modules(folder)
    kinds = [kind for kind, _ in modules]
    if kinds not in ([STATIC], [STATIC, "Normalize"]):
        raise InputError(f"{folder}: modules {' + '.join(kinds)}; known: {STATIC} (+ Normalize)")
    config = read_json(folder / "config_sentence_transformers.json", missing={})
    facts = _read_prompts(config), _read_distance(folder, config), config.get("truncate_dim")
    return folder / modules[0][1], len(kinds) == 2, *facts


def read_settings(folder: Path, max_length: int) -> EncoderSettings:
    """Return the folder's settings; an unknown module or pooling is an InputError.

    max_length: the backbone's, in tokens.
    """
    modules = _read_modules(folder)
    kinds = [kind for kind, _ in modules]
    if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        raise InputError(f"{folder}: modules {' + '.join(kinds)}; known: Transformer + Pooling (+ Normalize)")
    inner = folder / modules[0][1]
    length_files = [read_json(inner / name, missing={}) for name in LENGTH_FILES]
    transformer: dict[str, Any] = next(filter(None, length_files), {})
    tokenizer = read_json(inner / "tokenizer_config.json", missing={})
    config = read_json(folder / "config_sentence_transformers.json", missing={})
    length = transformer.get("max_seq_length") or tokenizer.get("model_max_length") or max_length
    if not isinstance(length, int | float) or length != length:  # NaN
        raise InputError(f"{inner}: the maximum length is {length!r}, not a number")
    return EncoderSettings(
        pooling=_read_pooling(folder / modules[1][1]),
        max_length=int(min(length, max_length)),
        template=Template(prompts=_read_prompts(config), lowercase=bool(transformer.get("do_lower_case", False))),
        normalize=kinds[-1] == "Normalize",
        distance=_read_distance(folder, config),
        truncate_dim=config.get("truncate_dim") or 0,
    )


def _read_distance(folder: Path, config: dict[str, Any]) -> str:
    similarity = str(config.get("similarity_fn_name") or "cosine")
    if similarity not in DISTANCES:
        raise InputError(f"{folder}: similarity {similarity!r} is not supported; known: {', '.join(DISTANCES)}")
    return DISTANCES[similarity]


def _read_modules(folder: Path) -> list[tuple[str, str]]:
    """Return (class name, path) of each module in order."""
    rows = read_json(folder / "modules.json", kind=list)
    try:
        rows = sorted(rows, key=lambda row: int(row["idx"]))
        modules = [(row["type"].rsplit(".", 1)[-1], str(row.get("path") or "")) for row in rows]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{folder}/modules.json: every module needs idx, type and path") from error
    if not modules:
        raise InputError(f"{folder}/modules.json: names no modules")
    paths = [Path(path) for _, path in modules]
    if outside := [str(p) for p in paths if p.is_absolute() or ".." in p.parts or len(str(p).encode()) >= MAX_PATH]:
        raise InputError(f"{folder}/modules.json: names {outside[0][:80]!r}, which is not in the folder")
    return modules


def _read_pooling(folder: Path) -> str:
    config = read_json(folder / "config.json")
    mode = config.get("pooling_mode")
    active = [mode] if isinstance(mode, str) else list(mode or ())
    active = active or [name for flag, name in POOLING_FLAGS.items() if config.get(flag)]
    if len(active) != 1 or active[0] not in POOLINGS:
        named = " + ".join(map(str, active)) or "none"
        raise InputError(f"{folder}: pooling {named} is not supported; known: {', '.join(POOLINGS)}")
    if not config.get("include_prompt", True):
        raise InputError(f"{folder}: pooling without the prompt's tokens is not supported")
    return POOLINGS[active[0]]


def _read_prompts(config: dict[str, Any]) -> dict[str, str]:
    prompts = config.get("prompts") or {}
    if not isinstance(prompts, dict) or not all(isinstance(prompt, str) for prompt in prompts.values()):
        raise InputError(f"the folder's prompts are {prompts!r}, not names and texts")
    default = prompts.get(config.get("default_prompt_name") or "", "")
    chosen = {}
    for role, names in PROMPTS.items():
        named = [prompts[name] for name in names if name in prompts]
        chosen[role] = next(filter(None, named), "") if named else default  # an empty one is stated too
    return {role: prompt for role, prompt in chosen.items() if prompt}


def write_settings(folder: Path, settings: EncoderSettings, dim: int) -> None:
    """Write the files by which sentence-transformers opens a folder with a plain backbone."""
    kinds = [("Transformer", ""), ("Pooling", "1_Pooling")]
    if settings.normalize:
        kinds.append(("Normalize", "2_Normalize"))
    for _, path in kinds:
        (folder / path).mkdir(exist_ok=True)
    modes = {theirs: ours for ours, theirs in POOLINGS.items()}
    pooling = {flag: name == modes[settings.pooling] for flag, name in POOLING_FLAGS.items()}
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
        "config_sentence_transformers.json": format_config(settings),
    }
    write_documents(folder, documents)


def format_config(settings: EncoderSettings) -> dict[str, object]:
    """Return the library's configuration: prompts, of which plain `encode` has the papers', and the similarity."""
    prompts = settings.template.prompts
    return {
        "prompts": {"query": prompts.get("query", ""), "document": prompts.get("paper", "")},
        "default_prompt_name": "document" if prompts.get("paper") else None,
        "similarity_fn_name": settings.distance,
    } | ({"truncate_dim": settings.truncate_dim} if settings.truncate_dim else {})


def write_documents(folder: Path, documents: Mapping[str, object]) -> None:
    """Write JSON files by name."""
    for name, content in documents.items():
        (folder / name).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
