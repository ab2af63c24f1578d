"""Our own study: prism's variants and the methods of the four papers, on the same data and steps."""

from __future__ import annotations

from shlex import quote

from sciprism.evaluation.suites import suites
from sciprism.formats import FORMATS, Format
from sciprism.reproduce.scirepeval import open_groups
from sciprism.reproduce.table import (
    BACKBONE,
    GroupedSuite,
    ModelRow,
    Reproduction,
    TableModel,
    averages_table,
)

TRAIN = "train it: sciprism train recipes/laptop/prism.toml {0} -o RUN, then --models {1}=RUN"


def method_changes(method: str, rate: str, *more: str, options: str = "{}") -> tuple[str, ...]:
    """Return the changes that turn prism's laptop recipe into another method's."""
    return (
        f"stages.formats.method={method}",
        f"stages.formats.options={options}",
        f"defaults.optimizer.lr={rate}",
        *more,
    )


RIVALS: dict[str, tuple[str, tuple[str, ...]]] = {
    "single": ("one vector", method_changes("single", "2e-4")),
    "control-codes": (
        "control codes",
        method_changes("control-codes", "2e-4", "model.pooling=code", options='{start="random"}'),
    ),
    "adapters": ("adapters", method_changes("adapters", "1e-3")),
    "pals": ("PALs", method_changes("pals", "2e-4")),
    "prefix": ("prefixes", method_changes("prefix", "2e-4")),
    "attention-experts": ("attention experts", method_changes("attention-experts", "2e-4")),
    "facets": (
        "three facets",
        method_changes("facets", "2e-4", "model.pooling=facets", options='{start="kept"}'),
    ),
}
"""The methods of the papers: key -> title and changes of prism's laptop recipe."""
FUSION = "adapter-fusion"
GROWN = ("single", "adapters")
STEPS = (75, 150, 300, 600, 1200)
VARIANTS = {
    "prism": ("prism", ()),
    "prism-bottleneck": ("prism, bottlenecks", ("stages.formats.options.weights=bottleneck",)),
    "prism-map": ("prism, maps", ("stages.formats.options.weights=map",)),
    "prism-none": ("prism, tokens alone", ("stages.formats.options.weights=none",)),
    "prism-half": ("prism, the upper half", ("stages.formats.options.depth=3",)),
    "prism-split": (
        "prism, parted in the upper half",
        ("stages.formats.options.depth=3", "stages.formats.options.split=true"),
    ),
    "prism-split-last": (
        "prism, parted in the last layer",
        ("stages.formats.options.depth=1", "stages.formats.options.split=true"),
    ),
    "prism-facets": ("prism, three tokens each", ("stages.formats.options.facets=3",)),
    "prism-alone": ("prism, without the pooled text", ("stages.formats.options.plus=false",)),
    "prism-trained": (
        "prism, the text trained",
        ("stages.formats.options.text=trained", "defaults.optimizer.lr=2e-4"),
    ),
}
"""Ablations: key -> title and changes of the laptop recipe."""
GROUPS = ("In-Train", "Out-of-Train", "Average")


def prism_model(key: str, title: str, changes: tuple[str, ...]) -> tuple[str, TableModel]:
    """Return the key and model of the laptop recipe with some changes."""
    options = " ".join(f"--set {quote(change)}" for change in changes)
    return key, TableModel(title, obtain=TRAIN.format(options, key))


MODELS = {
    "backbone": BACKBONE,
    **dict(prism_model(key, title, changes) for key, (title, changes) in (RIVALS | VARIANTS).items()),
    FUSION: TableModel(
        "adapter fusion",
        obtain="train it: sciprism train recipes/laptop/scirepeval-adapter-fusion.toml -o RUN, then "
        f"--models {FUSION}=RUN",
    ),
    **dict(
        prism_model(
            f"{key}-{steps}", f"{RIVALS[key][0]}, {steps:,} steps", (*RIVALS[key][1], f"defaults.steps={steps}")
        )
        for steps in STEPS
        for key in GROWN
    ),
}


def rows_against(against: str, *keys: str) -> tuple[ModelRow, ...]:
    """Return one row per model, all compared with one of them."""
    title = MODELS[against].title
    others = (ModelRow(MODELS[key].title, key, against=title) for key in keys if key != against)
    return (ModelRow(title, against), *others)


def one_pass_row(key: str) -> ModelRow:
    """Return a method whose vectors of one format serve all tasks, so that a paper costs one pass as with prism."""
    title = f"{MODELS[key].title}, {ONE_FORMAT} for all"
    return ModelRow(title, key, against=MODELS["prism"].title, encoded_format=ONE_FORMAT)


ONE_FORMAT: Format = "proximity"
FORMAT_GROUPS = tuple(f"{side} {format}" for side in ("in-train", "out-of-train") for format in FORMATS)
METHODS = (*RIVALS, FUSION, "prism", "prism-trained")
TABLES = (
    averages_table(
        "P1",
        "one pass for all formats, and a pass for each",
        rows_against("backbone", *METHODS),
        ("Average", "In-Train", "Out-of-Train", *FORMATS),
    ),
    averages_table(
        "P1-formats",
        "the methods on the tasks of each format",
        rows_against("backbone", *METHODS),
        FORMAT_GROUPS,
    ),
    averages_table(
        "P1-one-pass",
        "methods at the cost of one pass for a paper, whatever its uses",
        (
            ModelRow(MODELS["prism"].title, "prism"),
            ModelRow(MODELS["single"].title, "single", against=MODELS["prism"].title),
            *map(one_pass_row, ("control-codes", "adapters")),
        ),
        GROUPS,
    ),
    averages_table(
        "growth",
        "adapters against one vector after more and more steps",
        tuple(
            ModelRow(
                MODELS[f"{key}-{steps}"].title,
                f"{key}-{steps}",
                against="" if key == GROWN[0] else MODELS[f"{GROWN[0]}-{steps}"].title,
            )
            for steps in STEPS
            for key in GROWN
        ),
        GROUPS,
    ),
    averages_table("variants", "parts of prism that a format owns", rows_against("prism", *VARIANTS), GROUPS),
)

REPRODUCTION = Reproduction(
    name="prism",
    title="prism",
    tables={table.name: table for table in TABLES},
    models=MODELS,
    suites={"open": GroupedSuite(suite=suites["open"], groups=open_groups())},
)
