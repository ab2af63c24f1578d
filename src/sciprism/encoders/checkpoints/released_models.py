"""Published models: the files of one, and settings of SPECTER, SciRepEval and INDUS that no file states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from sciprism.encoders.settings import EncoderSettings
from sciprism.files import sha256
from sciprism.formats import FORMATS, Format
from sciprism.text.template import Template

CHECKPOINT = ".ckpt"  # the suffix of a model in one file
ADAPTER_CONFIG = "adapter_config.json"
ADAPTER_WEIGHTS = ("adapter.safetensors", "adapter_model.safetensors", "pytorch_adapter.bin")
"""The files of an adapter; one of the weights is enough."""

MAX_TOKENS = 512  # tokens per text
# Models that do not state their pooling: CLS, title [SEP] abstract, Euclidean distance.
CLS_MODELS = ("allenai/specter", "malteos/scincl", "allenai/specter2_base", "allenai/specter2_aug2023refresh_base")
# INDUS's encoders: mean pooling as in its retriever, title and abstract joined by a space. They are uncased,
# which a folder with the files of a slow tokenizer does not state.
INDUS_MODELS = (
    "nasa-impact/nasa-smd-ibm-v0.1",
    "nasa-impact/nasa-smd-ibm-distil-v0.1",
    "adsabs/KAILAS",  # the weights of the first
)
# INDUS's retrievers are uncased too. Their folders state pooling and length, but lower-case only with the file of a
# fast tokenizer; where that does, nothing is added, so that their fingerprints stay.
INDUS_RETRIEVERS = ("nasa-impact/nasa-smd-ibm-st", "nasa-impact/nasa-smd-ibm-st-v2", "nasa-impact/nasa-ibm-st.38m")
# Prompts of the models' cards that the folders do not state: name -> role -> text.
_SIZES = ("small", "base", "large")
_E5 = {"query": "query: ", "paper": "passage: ", "label": "passage: "}
PROMPTS = {
    **{f"BAAI/bge-{s}-en-v1.5": {"query": "Represent this sentence for searching relevant passages: "} for s in _SIZES},
    **dict.fromkeys((f"intfloat/{kind}-{s}" for kind in ("e5", "multilingual-e5") for s in _SIZES), _E5),
    **dict.fromkeys((f"intfloat/e5-{s}-{end}" for end in ("v2", "unsupervised") for s in _SIZES), _E5),
}

# The code of each route, which names SciRepEval's tokens and adapters.
CODES: dict[Format, str] = {"classification": "[CLF]", "proximity": "[PRX]", "search": "[QRY]", "regression": "[RGN]"}

# The last word of an adapter's name -> its route.
FORMAT_WORDS: dict[str, Format] = {
    "query": "search",
    **{word: route for route, code in CODES.items() for word in (route, code.strip("[]").lower())},
}

# The base that adapters name -> its present name.
RENAMED = {
    "allenai/specter2": "allenai/specter2_base",
    "allenai/specter_plus_plus": "allenai/specter2_base",
    "allenai/specter2_aug2023refresh": "allenai/specter2_aug2023refresh_base",
}


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model as published.

    name: its full name. title: its name in provenance. path: its folder, or the file of a checkpoint.
    adapters: route -> (name, folder) of an adapter; only for a released family, whose base has the `path`.
    """

    name: str
    title: str
    path: Path
    adapters: Mapping[Format, tuple[str, Path]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AdapterSet:
    """A base with its adapters, and fusions of them: route -> (name, folder).

    title: its name in provenance. where: its name in messages. library: that wrote the adapters.
    """

    title: str
    where: str
    base: tuple[str, Path]
    formats: tuple[Format, ...]
    adapters: Mapping[Format, tuple[str, Path]]
    fusions: Mapping[Format, tuple[str, Path]] = field(default_factory=dict)
    library: str = "adapters"


def describe_origins(
    named: Mapping[Format, tuple[str, Path]], weights: Mapping[Format, Path]
) -> dict[str, dict[str, str]]:
    """Return the provenance of files of weights, by route. named: as in an `AdapterSet`."""
    return {route: {"from": named[route][0], "sha256": sha256(path)} for route, path in weights.items()}


class LocateModel(Protocol):
    """A function that finds a model which other files name as their base."""

    def __call__(self, name: str, *, weights: bool = True) -> tuple[str, Path]:
        """Return the full name and the folder; weights: False where config and tokenizer are enough."""


@dataclass(frozen=True, slots=True)
class AdapterFamily:
    """A base and the adapters trained on it: route -> hub ids, the present one first."""

    base: str
    adapters: Mapping[Format, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class ReleasedModel:
    """What a published name loads: a family of adapters, or one of them; formats: those that it serves."""

    family: AdapterFamily
    formats: tuple[Format, ...] = FORMATS


SPECTER2, REFRESHED = (
    AdapterFamily(
        f"{name}_base",
        {
            "classification": (f"{name}_classification",),
            "regression": (f"{name}_regression",),
            "proximity": (name, f"{name}_proximity"),
            "search": (f"{name}_adhoc_query",),
        },
    )
    for name in ("allenai/specter2", "allenai/specter2_aug2023refresh")
)
SCIREPEVAL = AdapterFamily(
    "malteos/scincl",
    {format: (f"allenai/scirepeval_adapters_{code.strip('[]').lower()}",) for format, code in CODES.items()},
)
# an adapter's name -> its one format; a family's name -> all four
RELEASED_MODELS = {
    name: ReleasedModel(family, (format,))
    for family in (SPECTER2, REFRESHED, SCIREPEVAL)
    for format, names in family.adapters.items()
    for name in names
} | {
    "allenai/specter2": ReleasedModel(SPECTER2),
    "allenai/specter2_aug2023refresh": ReleasedModel(REFRESHED),
    "allenai/scirepeval_adapters": ReleasedModel(SCIREPEVAL),
}


def format_in_name(*names: str) -> Format | None:
    """Return the route in the first name that states one: `[CLF]`, `adhoc_query`, `specter2_regression`."""
    for name in names:
        word = name.rpartition("/")[2].strip("[]").rpartition("_")[2].lower()
        if word in FORMAT_WORDS:
            return FORMAT_WORDS[word]
    return None


def specter_settings(max_length: int, special: Mapping[str, str]) -> EncoderSettings:
    """Return the settings of SPECTER's family: title [SEP] abstract, CLS pooling, Euclidean distance.

    max_length: the model's positions. special: the tokenizer's special tokens by role.
    """
    return EncoderSettings(
        pooling="cls",
        max_length=min(MAX_TOKENS, max_length),
        template=Template(separator=f" {special.get('sep_token', '[SEP]')} "),
        distance="euclidean",
    )
