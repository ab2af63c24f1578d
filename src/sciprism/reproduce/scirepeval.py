"""SciRepEval's tables: its methods on each base, every code on every format, and its ablations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sciprism.encoders.checkpoints.released_models import CODES
from sciprism.evaluation.protocols.probe import ProbeProtocol
from sciprism.evaluation.published import parse_published, rename_columns
from sciprism.evaluation.suites import suites
from sciprism.evaluation.task import Published, Task
from sciprism.formats import FORMATS, Format
from sciprism.reproduce.table import (
    BACKBONE,
    DOWNLOAD,
    GroupedSuite,
    ModelRow,
    PaperTable,
    Reproduction,
    TableModel,
    averages_table,
    baseline_model,
    paired_rows,
)

PAPER = suites["scirepeval-paper"].reference
AVERAGED = ("In-Train", "Out-of-Train", "SciDocs", "Average")
COUNTED = suites["open"].tasks_of("all")
TRAIN = "train it: sciprism train recipes/scirepeval-{0}.toml{1} -o RUN, then --models {2}=RUN"
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
OTHER_BASES = ("scibert", "specter")
ASPIRE = "allenai/aspire-contextualsentence-multim-compsci"


def ensemble(key: str, title: str, join: str = "mean") -> TableModel:
    """Return an ensemble of adapters and codes on one base."""
    base = key.rpartition("ensemble")[0]
    members = (f"{base}adapters", f"{base}ctrl")
    return TableModel(title, obtain=f"name both members: --models {key}={join}:RUN+OTHER", members=members)


def trained_model(key: str, title: str, base: str = "") -> TableModel:
    """Return a model of ours to train, on SciNCL (default: the published one) or another base."""
    if not base:
        return TableModel(title, RELEASED.get(key, ""), obtain=TRAIN.format(key, "", key))
    name, backbone = BASES[base]
    options = f" --set model.backbone={backbone}"
    return TableModel(f"{title} on {name}", obtain=TRAIN.format(key, options, f"{base}-{key}"))


MODELS = {
    **{key: trained_model(key, title) for key, title in METHODS.items()},
    **{
        f"{base}-{key}": trained_model(key, METHODS[key], base)
        for base in OTHER_BASES
        for key in ("mtl-cls", "ctrl", "adapters")
    },
    **{key: baseline_model(key, title, name) for key, (title, name) in BASES.items()},
    "backbone": BACKBONE,
    "ensemble": ensemble("ensemble", "mean of adapters and codes"),
    "ensemble-concat": ensemble("ensemble-concat", "adapters and codes concatenated", "concat"),
    **{
        f"{base}-ensemble": ensemble(f"{base}-ensemble", f"mean of adapters and codes on {BASES[base][0]}")
        for base in OTHER_BASES
    },
    "ctrl-random": TableModel(
        "codes for a random partition of the sources",
        obtain="train recipes/scirepeval-ctrl.toml with the formats dealt out to all sources at random: "
        "--set stages.formats.sources.fos.format=regression ..., with query=query for search alone, then "
        "--models ctrl-random=RUN",
    ),
    "ctrl-no-citations": trained_model("ctrl-no-citations", "codes without the citation objective"),
    "ctrl-400k": TableModel(
        "codes, at most 400,000 examples of a task",
        obtain="train it from sources of sciprism prepare scirepeval --max-examples 400000",
    ),
    "aspire": TableModel("TS ASPIRE", f"aspire:{ASPIRE}", fixed=True, obtain=DOWNLOAD.format(ASPIRE, "aspire")),
}


def method_row(base: str, key: str, title: str) -> ModelRow:
    """Return the row of a method on a base, compared with the base with one vector."""
    shown = BASES[base][0]
    model = key if base == "scincl" else f"{base}-{key}"
    against = "" if key == "mtl-cls" else row_name("mtl-cls", base)
    return ModelRow(row_name(key, base, title), model, against=against, published_name=f"{shown} + {title}")


def row_name(key: str, base: str, title: str = "") -> str:
    """Return the name of a row, with the base unless it is SciNCL."""
    shown = title or METHODS[key]
    return shown if base == "scincl" else f"{shown}, {BASES[base][0]}"


UNTOUCHED = tuple(ModelRow(title, key) for key, (title, _) in BASES.items())
BOTH = "Adapters + MTL CTRL"
MAIN = (
    *(method_row("scincl", key, title) for key, title in METHODS.items()),
    method_row("scincl", "ensemble", BOTH),
)
OTHER_ROWS = tuple(
    method_row(base, key, title)
    for base in OTHER_BASES
    for key, title in {**{k: METHODS[k] for k in ("mtl-cls", "ctrl", "adapters")}, "ensemble": BOTH}.items()
)
FORMAT_GROUPS = tuple(f"{train} {format}" for train in ("in-train", "out-of-train") for format in FORMATS)
CROSS = """
CLF: 38.7/29.7/87.1/73.9 66.9/16.2/43.8/86.7
RGN: 32.9/46.8/82.2/75.6 63.5/20.4/43.1/85.2
PRX: 31.9/43.7/89.0/77.5 65.0/18.1/44.7/85.3
QRY: 31.0/42.9/88.3/78.5 64.5/17.5/44.7/90.5
"""
NO_CITATIONS = """
MTL CTRL: 61.9/57.9/-
MTL CTRL without citations: 61.8/57.5/-
"""
RANDOM_PARTITION = (
    "The paper has the gains of formats over five random partitions (CLF, RGN, PRX, QRY): "
    "in train +5.2, +3.8, +1.2, +1.3; out of train +0.2, +3.9, +4.5, +2.2."
)

DEPARTURES = {
    "pooling": ("mean, except for codes", "first token, except for codes"),
    "triplets": ("cosine distance, margin 0.2", "Euclidean distance, margin 1"),
    "heads": ("of standardised vectors and numbers", "of vectors as they are, numbers scaled in the data"),
    "labels of a MeSH paper": ("several", "one"),
    "searches": ("titles for abstracts, contrast in the batch", "clicks, triplets"),
    "peak learning rate": (
        "2e-4, 1e-3 for adapters and their fusion",
        "5e-5, 1e-4 for adapters, their fusion and PALs",
    ),
    "gradients": ("clipped at 2", "not clipped"),
}


def published_rows(table: str, *names: str) -> tuple[Published, ...]:
    """Return the published rows of a table, or some of them, with our names of the averages."""
    columns = {average.name: f"Average, {average.name}" for average in suites["scirepeval-paper"].averages}
    return tuple(
        rename_columns(row, columns)
        for row in suites["scirepeval-paper"].published
        if row.source == f"{PAPER}, Table {table}" and (not names or row.name in names)
    )


AVERAGES = tuple(f"Average, {name}" for name in AVERAGED)
TABLES = (
    averages_table(
        "2", "all methods on SciNCL", (*UNTOUCHED, *MAIN), AVERAGED, published_rows("2"), printed_as="Table 2"
    ),
    averages_table(
        "3",
        "the methods on SciBERT and SPECTER",
        (*UNTOUCHED[:2], *OTHER_ROWS),
        AVERAGED,
        (*published_rows("2", "SciBERT", "SPECTER"), *published_rows("3")),
        printed_as="Table 3",
        notes=("SciBERT, SPECTER: published in Table 2.",),
    ),
    averages_table(
        "4",
        "every format with every code",
        tuple(ModelRow(CODES[f].strip("[]"), "ctrl", encoded_format=f) for f in FORMATS),
        FORMAT_GROUPS,
        parse_published(f"{PAPER}, Table 4", tuple(f"Average, {group}" for group in FORMAT_GROUPS), CROSS),
        printed_as="Table 4",
    ),
    averages_table(
        "7",
        "proximity, with ASPIRE",
        (
            ModelRow("MTL CTRL", "ctrl", published_name="SciNCL + MTL CTRL"),
            ModelRow("Adapters", "adapters", published_name="SciNCL + Adapters"),
            ModelRow("TS ASPIRE", "aspire", published_name="TS ASPIRE CS"),
            *map(ModelRow, ("TS ASPIRE Bio", "OT ASPIRE CS", "OT ASPIRE Bio")),
        ),
        tuple(f"{name} (proximity)" for name in AVERAGED),
        published_rows("7"),
        printed_as="Table 7",
        notes=("The published averages of ASPIRE's rows are 0.2 below the mean of their 14 numbers.",),
    ),
    averages_table(
        "E",
        "without the citation objective (published: on SciBERT)",
        paired_rows(("MTL CTRL without citations", "ctrl-no-citations", "MTL CTRL", "ctrl")),
        ("In-Train", "Out-of-Train", "no citations"),
        parse_published(f"{PAPER}, Appendix E", (*AVERAGES[:2], "Average, no citations"), NO_CITATIONS),
        printed_as="Appendix E",
    ),
    # Ours, for questions of the paper's text and appendix.
    averages_table(
        "R1",
        "the methods against the untouched backbone",
        (
            ModelRow("backbone", "backbone"),
            *(ModelRow(title, key, against="backbone") for key, title in METHODS.items()),
            ModelRow(BOTH, "ensemble", against="backbone"),
        ),
        ("In-Train", "Out-of-Train", "Average"),
    ),
    averages_table(
        "partition",
        "codes for formats, and for a random partition of the sources",
        paired_rows(("random partition", "ctrl-random", "MTL CTRL", "ctrl")),
        FORMAT_GROUPS,
        notes=(RANDOM_PARTITION,),
    ),
    averages_table(
        "ensemble",
        "mean and concatenation of adapters and codes",
        paired_rows(("side by side", "ensemble-concat", "mean", "ensemble")),
        AVERAGED,
    ),
    averages_table(
        "cap",
        "600,000 and 400,000 examples of a task",
        paired_rows(("400,000", "ctrl-400k", "600,000", "ctrl")),
        AVERAGED,
    ),
    PaperTable(
        name="correlations",
        title="regression by Kendall's tau and by Pearson's correlation",
        rows=MAIN[:3],
        groups=("numbers",),
        metrics=("kendall_tau", "pearson"),
        average=False,
    ),
)


def pearson_tasks(tasks: Iterable[Task]) -> tuple[Task, ...]:
    """Return the regression tasks by Pearson's correlation, which also chooses C."""
    return tuple(
        replace(task, name=f"{task.name}-pearson", protocol=replace(task.protocol, metric="pearson"))
        for task in tasks
        if isinstance(task.protocol, ProbeProtocol)
    )


def paper_groups() -> dict[str, tuple[str, ...]]:
    """Return the paper's groups on its own data; Table 4 has one task per format."""
    averages = {average.name: average.tasks for average in suites["scirepeval-paper"].averages}
    chosen = (
        *("fos", "citation-count", "same-author", "search"),
        *("drsm", "peer-review", "reviewers", "trec-covid"),
    )
    kinds = {kind: (task,) for kind, task in zip(FORMAT_GROUPS, chosen, strict=True)}
    tasks = suites["scirepeval-paper"].tasks
    plain = tuple(name for name in averages["Out-of-Train"] if name != "reviewers")
    return averages | kinds | {"no citations": plain, "numbers": _tasks_of_format(tasks, "regression")}


def open_groups() -> dict[str, tuple[str, ...]]:
    """Return the same groups on the open suite, whose out-of-train tasks replace SciDocs too."""
    sides = {"In-Train": True, "Out-of-Train": False}
    found = {
        f"{side.lower()} {format}": tuple(
            task.name for task in COUNTED if task.in_train is seen and task.format == format
        )
        for side, seen in sides.items()
        for format in FORMATS
    }
    found |= {side: tuple(t.name for t in COUNTED if t.in_train is seen) for side, seen in sides.items()}
    found |= {
        "Average": tuple(task.name for task in COUNTED),
        "no citations": tuple(task.name for task in COUNTED if task.in_train is False and task.format != "proximity"),
        "numbers": _tasks_of_format(COUNTED, "regression"),
    }
    found |= {format: _tasks_of_format(COUNTED, format) for format in FORMATS}
    near = found["proximity"]
    for name in (*sides, "Average"):
        found[f"{name} (proximity)"] = tuple(task for task in found[name] if task in near)
    return found


def _grouped_suite(suite: str, groups: dict[str, tuple[str, ...]], *, original: bool = False) -> GroupedSuite:
    """Return a suite in the paper's groups, with regression by Pearson's correlation too."""
    twice = pearson_tasks(task for task in suites[suite].tasks if task.name in groups["numbers"])
    numbers = (*groups["numbers"], *(task.name for task in twice))
    return GroupedSuite(suite=suites[suite], groups=groups | {"numbers": numbers}, tasks=twice, original=original)


def _tasks_of_format(tasks: tuple[Task, ...], format: Format) -> tuple[str, ...]:
    return tuple(task.name for task in tasks if task.format == format)


REPRODUCTION = Reproduction(
    name="scirepeval",
    title=PAPER,
    tables={table.name: table for table in TABLES},
    models=MODELS,
    suites={
        "scirepeval-paper": _grouped_suite("scirepeval-paper", paper_groups(), original=True),
        "open": replace(_grouped_suite("open", open_groups()), departures=DEPARTURES),
    },
    other_tables={
        "5": "time and parameters of each method are measured by python benchmarks/formats.py --shape bert-base",
        "8": "it counts the papers of each data set by field, as Semantic Scholar's classifier assigns them, and "
        "needs the field of each paper: neither the paper's data nor the open data have it, and other fields, "
        "such as those of arXiv, would be other counts",
    },
)
