"""Our own study: prism's variants beside the methods of the four papers, on the same data and steps."""

from __future__ import annotations

from shlex import quote

from sciprism.evaluation.suites.registry import suites
from sciprism.reproduce.tables.declared import Model, Reproduction, Row, Shape, Table
from sciprism.reproduce.tables.registry import reproductions
from sciprism.reproduce.tables.scirepeval import open_groups

TRAIN = "train it: sciprism train recipes/laptop/prism.toml {0} -o RUN, then --models {1}=RUN"


def of(method: str, rate: str, *more: str, options: str = "{}") -> tuple[str, ...]:
    """Return what makes another method's recipe of prism's laptop recipe."""
    return (
        f"stages.formats.method={method}",
        f"stages.formats.options={options}",
        f"defaults.optimiser.lr={rate}",
        *more,
    )


RIVALS = {
    "single": ("one vector", of("single", "2e-4")),
    "control-codes": (
        "control codes",
        of("control-codes", "2e-4", "model.pooling=code", options='{start="random"}'),
    ),
    "adapters": ("adapters", of("adapters", "1e-3")),
    "attention-experts": ("attention experts", of("attention-experts", "2e-4")),
    "facets": ("three facets", of("facets", "2e-4", "model.pooling=facets", options='{start="kept"}')),
}
"""The methods of the papers: key -> title, and what is changed in prism's laptop recipe."""
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
        ("stages.formats.options.text=trained", "defaults.optimiser.lr=2e-4"),
    ),
}
"""Choices to compare: key -> title, and what is changed in the laptop recipe."""
GROUPS = ("In-Train", "Out-of-Train", "Average")


def model(key: str, title: str, changes: tuple[str, ...]) -> tuple[str, Model]:
    """Return a model that the laptop recipe trains, with some changes."""
    told = " ".join(f"--set {quote(change)}" for change in changes)
    return key, Model(title=title, obtain=TRAIN.format(told, key))


MODELS = dict(
    [
        ("backbone", Model(title="the untouched backbone", fixed=True, obtain="--models backbone=NAME")),
        *(model(key, title, changes) for key, (title, changes) in (RIVALS | VARIANTS).items()),
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
