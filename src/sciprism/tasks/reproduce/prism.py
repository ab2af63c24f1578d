"""Our own study: prism's variants beside the methods of the four papers, on the same data and steps."""

from __future__ import annotations

from sciprism.tasks.reproduce import reproductions
from sciprism.tasks.reproduce.declared import Model, Reproduction, Row, Shape, Table
from sciprism.tasks.reproduce.scirepeval import open_groups
from sciprism.tasks.suites import suites

TRAIN = "train it: sciprism train recipes/twins/{0}.toml {1} -o RUN, then --models {2}=RUN"
RIVALS = {
    "single": ("one vector", "scirepeval-mtl-cls", ()),
    "control-codes": ("control codes", "scirepeval-ctrl", ()),
    "adapters": ("adapters", "scirepeval-adapters", ()),
    "attention-experts": (
        "attention experts",
        "scirepeval-mtl-cls",
        ("stages.formats.method=attention-experts",),
    ),
    "facets": (
        "three facets",
        "scirepeval-mtl-cls",
        ("stages.formats.method=facets", 'stages.formats.options={start="kept"}', "model.pooling=facets"),
    ),
}
"""The methods of the papers: key -> title, twin, and what is changed in it."""
VARIANTS = {
    "prism": ("prism", ()),
    "prism-bottleneck": ("prism, bottlenecks", ("stages.formats.options.weights=bottleneck",)),
    "prism-map": ("prism, maps", ("stages.formats.options.weights=map",)),
    "prism-none": ("prism, tokens alone", ("stages.formats.options.weights=none",)),
    "prism-half": ("prism, the upper half", ("stages.formats.options.depth=3",)),
    "prism-facets": ("prism, three tokens each", ("stages.formats.options.facets=3",)),
    "prism-alone": ("prism, without the pooled text", ("stages.formats.options.plus=false",)),
    "prism-trained": (
        "prism, the text trained",
        ("stages.formats.options.text=trained", "defaults.optimiser.lr=2e-4"),
    ),
}
"""Choices to compare: key -> title, and what is changed in the twin."""
GROUPS = ("In-Train", "Out-of-Train", "Average")


def model(key: str, title: str, recipe: str, changes: tuple[str, ...]) -> tuple[str, Model]:
    """Return a model that its twin trains, with some changes."""
    told = " ".join(f"--set {change}" for change in changes)
    return key, Model(title=title, obtain=TRAIN.format(recipe, told, key))


MODELS = dict(
    [
        ("backbone", Model(title="the untouched backbone", fixed=True, obtain="--models backbone=NAME")),
        *(model(key, title, recipe, changes) for key, (title, recipe, changes) in RIVALS.items()),
        *(model(key, title, "prism", changes) for key, (title, changes) in VARIANTS.items()),
    ]
)


def rows(against: str, *keys: str) -> tuple[Row, ...]:
    """Return a row of each model, held against one of them."""
    title = MODELS[against].title
    others = (Row(name=MODELS[key].title, model=key, against=title) for key in keys if key != against)
    return (Row(name=title, model=against), *others)


TABLES = (
    Table(
        name="P1",
        title="One pass for all formats, and a pass for each",
        rows=rows("backbone", *RIVALS, "prism"),
        groups=GROUPS,
        form="groups",
    ),
    Table(
        name="variants",
        title="What a format has of its own",
        rows=rows("prism", *VARIANTS),
        groups=GROUPS,
        form="groups",
    ),
)

reproductions.register("prism")(
    Reproduction(
        name="prism",
        title="prism",
        tables={table.name: table for table in TABLES},
        models=MODELS,
        shapes={"open": Shape(suite=suites["open"], groups=open_groups())},
    )
)
