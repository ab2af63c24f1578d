"""SciRepEval's tables: its methods on each base, every code on every format, what its appendix leaves out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sciprism.encoders.checkpoints.family import CODES
from sciprism.evaluation.protocols.probe import Probe
from sciprism.evaluation.suites.open import COUNTED
from sciprism.evaluation.suites.printed import printed
from sciprism.evaluation.suites.registry import suites
from sciprism.evaluation.suites.scirepeval import AVERAGED, PAPER
from sciprism.evaluation.task import Published, Task
from sciprism.formats import FORMATS, Format
from sciprism.reproduce.tables.declared import Model, Reproduction, Row, Shape, Table
from sciprism.reproduce.tables.registry import reproductions

TRAIN = "train it: sciprism train recipes/scirepeval-{0}.toml{1} -o RUN, then --models {2}=RUN"
FETCH = "where there is a network: hf download {0}; or --models {1}=FOLDER"
METHODS = {
    "mtl-cls": "MTL CLS",
    "ctrl": "MTL CTRL",
    "adapters": "Adapters",
    "pals": "PALs",
    "adapter-fusion": "Adapter Fusion",
}
RELEASED = {
    "ctrl": "allenai/scirepeval_ctrl",
    "adapters": "allenai/scirepeval_adapters",
    "pals": "allenai/scirepeval_pals",
}
BASES = {
    "scibert": ("SciBERT", "allenai/scibert_scivocab_uncased"),
    "specter": ("SPECTER", "allenai/specter"),
    "scincl": ("SciNCL", "malteos/scincl"),
}
ENSEMBLE = "name both members: --models {0}={1}:RUN+OTHER"


def trained(key: str, title: str, base: str = "") -> Model:
    """Return a model of ours to train, on SciNCL or another base, or the one that the authors gave."""
    if not base:
        return Model(title=title, default=RELEASED.get(key, ""), obtain=TRAIN.format(key, "", key))
    on = f" --set model.backbone={BASES[base][1]}"
    return Model(title=f"{title} on {BASES[base][0]}", obtain=TRAIN.format(key, on, f"{base}-{key}"))


MODELS = {
    **{key: trained(key, title) for key, title in METHODS.items()},
    **{
        f"{base}-{key}": trained(key, title, base)
        for base in ("scibert", "specter")
        for key, title in METHODS.items()
        if key in ("mtl-cls", "ctrl", "adapters")
    },
    **{
        key: Model(title=title, default=name, pooling="cls", fixed=True, obtain=FETCH.format(name, key))
        for key, (title, name) in BASES.items()
    },
    "backbone": Model(title="the untouched backbone", fixed=True, obtain="--models backbone=NAME"),
    "ensemble": Model(title="mean of adapters and codes", obtain=ENSEMBLE.format("ensemble", "mean")),
    "ensemble-concat": Model(
        title="adapters and codes side by side", obtain=ENSEMBLE.format("ensemble-concat", "concat")
    ),
    **{
        f"{base}-ensemble": Model(
            title=f"mean of adapters and codes on {BASES[base][0]}",
            obtain=ENSEMBLE.format(f"{base}-ensemble", "mean"),
        )
        for base in ("scibert", "specter")
    },
    "ctrl-random": Model(
        title="codes for a random partition of the sources",
        obtain="train recipes/scirepeval-ctrl.toml with other formats: "
        "--set stages.formats.sources.fos.format=regression ..., then --models ctrl-random=RUN",
    ),
    "ctrl-no-citations": trained("ctrl-no-citations", "codes without the citation objective"),
    "ctrl-400k": Model(
        title="codes, 400,000 examples of a task at most",
        obtain="train it from sources of sciprism prepare scirepeval --most 400000",
    ),
    "aspire": Model(
        title="TS ASPIRE",
        default="aspire:allenai/aspire-contextualsentence-multim-compsci",
        fixed=True,
        obtain=FETCH.format("allenai/aspire-contextualsentence-multim-compsci", "aspire"),
    ),
}


def on(base: str, key: str, title: str) -> Row:
    """Return a method on a base, held against the base with one vector."""
    shown = BASES[base][0]
    model = key if base == "scincl" else f"{base}-{key}"
    against = "" if key == "mtl-cls" else named("mtl-cls", base)
    return Row(name=named(key, base, title), model=model, against=against, as_published=f"{shown} + {title}")


def named(key: str, base: str, title: str = "") -> str:
    """Return the name of a row; the base is said where it is not SciNCL."""
    shown = title or METHODS[key]
    return shown if base == "scincl" else f"{shown}, {BASES[base][0]}"


UNTOUCHED = tuple(Row(name=title, model=key) for key, (title, _) in BASES.items())
BOTH = "Adapters + MTL CTRL"
MAIN = (
    *(on("scincl", key, title) for key, title in METHODS.items()),
    on("scincl", "ensemble", BOTH),
)
OTHER_BASES = tuple(
    on(base, key, title)
    for base in ("scibert", "specter")
    for key, title in {**{k: METHODS[k] for k in ("mtl-cls", "ctrl", "adapters")}, "ensemble": BOTH}.items()
)
KINDS = tuple(f"{train} {format}" for train in ("in-train", "out-of-train") for format in FORMATS)
CROSS = """
CLF: 38.7/29.7/87.1/73.9 66.9/16.2/43.8/86.7
RGN: 32.9/46.8/82.2/75.6 63.5/20.4/43.1/85.2
PRX: 31.9/43.7/89.0/77.5 65.0/18.1/44.7/85.3
QRY: 31.0/42.9/88.3/78.5 64.5/17.5/44.7/90.5
"""
NO_CITATIONS = """
MTL CTRL: 61.9/57.9
MTL CTRL without citations: 61.8/57.5
"""


def of_suite(table: str) -> tuple[Published, ...]:
    """Return the printed rows that the suite holds, their columns named as the averages here."""
    found = (row for row in suites["scirepeval-paper"].published if row.source == f"{PAPER}, {table}")
    return tuple(
        Published(
            name=row.name,
            source=row.source,
            scores={f"Average, {name}": score for name, score in row.scores.items()},
        )
        for row in found
    )


AVERAGES = tuple(f"Average, {name}" for name in AVERAGED)
TABLES = (
    Table(
        name="2",
        title="All methods on SciNCL",
        rows=(*UNTOUCHED, *MAIN),
        groups=AVERAGED,
        form="groups",
        published=of_suite("Table 2"),
    ),
    Table(
        name="3",
        title="The methods on SciBERT and SPECTER",
        rows=(*UNTOUCHED[:2], *OTHER_BASES),
        groups=AVERAGED,
        form="groups",
        published=of_suite("Table 3"),
    ),
    Table(
        name="4",
        title="Every format with every code",
        rows=tuple(Row(name=CODES[f].strip("[]"), model="ctrl", as_format=f) for f in FORMATS),
        groups=KINDS,
        form="groups",
        published=printed(f"{PAPER}, Table 4", tuple(f"Average, {kind}" for kind in KINDS), CROSS),
    ),
    Table(
        name="7",
        title="Proximity, beside ASPIRE",
        rows=(
            Row(name="MTL CTRL", model="ctrl", as_published="SciNCL + MTL CTRL"),
            Row(name="Adapters", model="adapters", as_published="SciNCL + Adapters"),
            Row(name="TS ASPIRE", model="aspire", as_published="TS ASPIRE CS"),
        ),
        groups=tuple(f"{name} (proximity)" for name in AVERAGED),
        form="groups",
        published=of_suite("comparison with ASPIRE"),
    ),
    Table(
        name="E",
        title="Without the citation objective (printed: on SciBERT)",
        rows=(
            Row(name="MTL CTRL without citations", model="ctrl-no-citations"),
            Row(name="MTL CTRL", model="ctrl", against="MTL CTRL without citations"),
        ),
        groups=("In-Train", "Out-of-Train", "no citations"),
        form="groups",
        published=printed(f"{PAPER}, Appendix E", AVERAGES[:2], NO_CITATIONS),
    ),
    # Ours, after the questions of the paper's text and appendix.
    Table(
        name="R1",
        title="The methods against the untouched backbone",
        rows=(
            Row(name="backbone", model="backbone"),
            *(Row(name=title, model=key, against="backbone") for key, title in METHODS.items()),
            Row(name=BOTH, model="ensemble", against="backbone"),
        ),
        groups=("In-Train", "Out-of-Train", "Average"),
        form="groups",
    ),
    Table(
        name="partition",
        title="Codes for formats, and for a random partition of the sources",
        rows=(
            Row(name="random partition", model="ctrl-random"),
            Row(name="MTL CTRL", model="ctrl", against="random partition"),
        ),
        groups=KINDS,
        form="groups",
    ),
    Table(
        name="ensemble",
        title="Mean of adapters and codes, and both side by side",
        rows=(
            Row(name="side by side", model="ensemble-concat"),
            Row(name="mean", model="ensemble", against="side by side"),
        ),
        groups=AVERAGED,
        form="groups",
    ),
    Table(
        name="cap",
        title="600,000 and 400,000 examples of a task",
        rows=(
            Row(name="400,000", model="ctrl-400k"),
            Row(name="600,000", model="ctrl", against="400,000"),
        ),
        groups=AVERAGED,
        form="groups",
    ),
    Table(
        name="correlations",
        title="Numbers by Kendall's tau, Pearson's beside it",
        rows=MAIN[:3],
        groups=("numbers",),
        metrics=("kendall_tau", "pearson"),
        average=False,
    ),
)


def by_pearson(tasks: Iterable[Task]) -> tuple[Task, ...]:
    """Return the tasks of numbers once more, by Pearson's correlation, which chooses C too."""
    return tuple(
        replace(task, name=f"{task.name}-pearson", protocol=replace(task.protocol, metric="pearson"))
        for task in tasks
        if isinstance(task.protocol, Probe)
    )


def own_groups() -> dict[str, tuple[str, ...]]:
    """Return the paper's groups over its own data; Table 4 takes one task of each format."""
    averages = {average.name: average.tasks for average in suites["scirepeval-paper"].averages}
    chosen = (
        ("fos", "citation-count", "same-author", "search"),
        ("drsm", "peer-review", "reviewers", "trec-covid"),
    )
    kinds = {kind: (task,) for kind, task in zip(KINDS, (*chosen[0], *chosen[1]), strict=True)}
    tasks = suites["scirepeval-paper"].tasks
    plain = tuple(name for name in averages["Out-of-Train"] if name != "reviewers")
    return averages | kinds | {"no citations": plain, "numbers": _with(tasks, "regression")}


def open_groups() -> dict[str, tuple[str, ...]]:
    """Return the same groups over the open suite, whose out-of-train tasks stand for SciDocs too."""
    found = {
        f"{train} {format}": tuple(
            task.name for task in COUNTED if task.in_train is seen and task.format == format
        )
        for train, seen in (("in-train", True), ("out-of-train", False))
        for format in FORMATS
    }
    sides = {"In-Train": True, "Out-of-Train": False}
    found |= {name: tuple(t.name for t in COUNTED if t.in_train is seen) for name, seen in sides.items()}
    found["Average"] = tuple(task.name for task in COUNTED)
    found["no citations"] = tuple(
        task.name for task in COUNTED if task.in_train is False and task.format != "proximity"
    )
    found["numbers"] = _with(COUNTED, "regression")
    for name in ("In-Train", "Out-of-Train", "Average"):
        near = {task.name for task in COUNTED if task.format == "proximity"}
        found[f"{name} (proximity)"] = tuple(task for task in found[name] if task in near)
    return found


def _shape(suite: str, groups: dict[str, tuple[str, ...]], *, own: bool = False) -> Shape:
    """Return a suite as the paper's groups, the numbers by Pearson's correlation too."""
    twice = by_pearson(task for task in suites[suite].tasks if task.name in groups["numbers"])
    numbers = (*groups["numbers"], *(task.name for task in twice))
    return Shape(suite=suites[suite], groups=groups | {"numbers": numbers}, tasks=twice, own=own)


def _with(tasks: tuple[Task, ...], format: Format) -> tuple[str, ...]:
    return tuple(task.name for task in tasks if task.format == format)


reproductions.register("scirepeval")(
    Reproduction(
        name="scirepeval",
        title=PAPER,
        tables={table.name: table for table in TABLES},
        models=MODELS,
        shapes={
            "scirepeval-paper": _shape("scirepeval-paper", own_groups(), own=True),
            "open": _shape("open", open_groups()),
        },
        elsewhere={
            "5": "time and parameters of each method are measured by python benchmarks/formats.py "
            "--shape bert-base",
            "8": "it counts fields that Semantic Scholar's classifier gave to the papers, which the data do "
            "not hold",
        },
    )
)
