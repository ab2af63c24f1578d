"""The released models of SPECTER, SciRepEval and INDUS: what their files leave unsaid, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sciprism.encoders.settings import Settings
from sciprism.formats import FORMATS, Format
from sciprism.text.template import Template

LONGEST = 512  # tokens per text
# Whole models that do not state their pooling: vectors at CLS, title [SEP] abstract, Euclidean distance.
PLAIN = (
    "allenai/specter",
    "malteos/scincl",
    "allenai/specter2_base",
    "allenai/specter2_aug2023refresh_base",
)
# INDUS's encoders: mean of the tokens as its retriever has it, title and abstract joined by a space. They
# know small letters alone, which a folder with the files of a slow tokenizer does not say.
INDUS = (
    "nasa-impact/nasa-smd-ibm-v0.1",
    "nasa-impact/nasa-smd-ibm-distil-v0.1",
    "adsabs/KAILAS",  # the weights of the first
)
# What their makers put before queries, and their folders do not state.
QUERY_PROMPTS = {
    f"BAAI/bge-{size}-en-v1.5": "Represent this sentence for searching relevant passages: "
    for size in ("small", "base", "large")
}

# The code of each way, which names SciRepEval's tokens and adapters.
CODES: dict[Format, str] = {
    "classification": "[CLF]",
    "proximity": "[PRX]",
    "search": "[QRY]",
    "regression": "[RGN]",
}

# How the last word of an adapter's name says which way it serves.
SPOKEN: dict[str, Format] = {
    "clf": "classification",
    "classification": "classification",
    "prx": "proximity",
    "proximity": "proximity",
    "qry": "search",
    "query": "search",
    "search": "search",
    "rgn": "regression",
    "regression": "regression",
}

# What adapters call their base, which has another name today.
RENAMED = {
    "allenai/specter2": "allenai/specter2_base",
    "allenai/specter_plus_plus": "allenai/specter2_base",
    "allenai/specter2_aug2023refresh": "allenai/specter2_aug2023refresh_base",
}


@dataclass(frozen=True, slots=True)
class Family:
    """A base and the adapters trained on it: way -> hub id, the former one behind today's."""

    base: str
    adapters: Mapping[Format, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Member:
    """What one name stands for: some formats of a family."""

    family: Family
    formats: tuple[Format, ...] = FORMATS


SPECTER2 = Family(
    "allenai/specter2_base",
    {
        "classification": ("allenai/specter2_classification",),
        "regression": ("allenai/specter2_regression",),
        "proximity": ("allenai/specter2", "allenai/specter2_proximity"),
        "search": ("allenai/specter2_adhoc_query",),
    },
)
REFRESHED = Family(
    "allenai/specter2_aug2023refresh_base",
    {
        "classification": ("allenai/specter2_aug2023refresh_classification",),
        "regression": ("allenai/specter2_aug2023refresh_regression",),
        "proximity": ("allenai/specter2_aug2023refresh", "allenai/specter2_aug2023refresh_proximity"),
        "search": ("allenai/specter2_aug2023refresh_adhoc_query",),
    },
)
SCIREPEVAL = Family(
    "malteos/scincl",
    {
        "classification": ("allenai/scirepeval_adapters_clf",),
        "regression": ("allenai/scirepeval_adapters_rgn",),
        "proximity": ("allenai/scirepeval_adapters_prx",),
        "search": ("allenai/scirepeval_adapters_qry",),
    },
)


def _members() -> dict[str, Member]:
    """Map every adapter's name to its one format, and a family's name to all four."""
    found = {}
    for family in (SPECTER2, REFRESHED, SCIREPEVAL):
        for format, names in family.adapters.items():
            found.update({name: Member(family, (format,)) for name in names})
    found["allenai/specter2"] = Member(SPECTER2)
    found["allenai/specter2_aug2023refresh"] = Member(REFRESHED)
    found["allenai/scirepeval_adapters"] = Member(SCIREPEVAL)
    return found


MEMBERS = _members()


def way_of(*names: str) -> Format | None:
    """Return the way that the first telling name says: `[CLF]`, `adhoc_query`, `specter2_regression`."""
    for name in names:
        word = name.rpartition("/")[2].strip("[]").rpartition("_")[2].lower()
        if word in SPOKEN:
            return SPOKEN[word]
    return None


def named_settings(name: str, longest: int, special: Mapping[str, str]) -> Settings | None:
    """Return how a model of this name reads a text, whatever its folder says; None for a name not known."""
    if name in PLAIN:
        return family_settings(longest, special)
    if name in INDUS:
        return Settings(pooling="mean", max_length=min(LONGEST, longest), template=Template(lowercase=True))
    return None


def prompted(name: str, settings: Settings) -> Settings:
    """Return the settings with the prompt that goes before queries, where they have none of their own."""
    if name not in QUERY_PROMPTS or settings.template.prompts:
        return settings
    return replace(settings, template=replace(settings.template, prompts={"query": QUERY_PROMPTS[name]}))


def family_settings(longest: int, special: Mapping[str, str]) -> Settings:
    """Return how all of them read a text: title [SEP] abstract, the vector at CLS, Euclidean distance.

    longest: tokens that the model has positions for. special: the tokenizer's special tokens by role.
    """
    return Settings(
        pooling="cls",
        max_length=min(LONGEST, longest),
        template=Template(separator=f" {special.get('sep_token', '[SEP]')} "),
        distance="euclidean",
    )
