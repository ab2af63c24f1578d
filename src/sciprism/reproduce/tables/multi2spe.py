"""Multi2SPE's tables: one CLS and several, one field and many, each part left out, and SciDocs."""

from __future__ import annotations

from dataclasses import replace

from sciprism.evaluation.protocols.rerank import Rerank
from sciprism.evaluation.suites.multi_scidocs import PAPER, TASKS
from sciprism.evaluation.suites.printed import printed
from sciprism.evaluation.suites.registry import suites
from sciprism.evaluation.suites.scidocs import TASKS as SCIDOCS
from sciprism.evaluation.task import Published
from sciprism.reproduce.tables.declared import Model, Reproduction, Row, Shape, Table
from sciprism.reproduce.tables.registry import reproductions

TRAIN = (
    "train it: sciprism train recipes/{recipe}.toml{sets} --sources TRIPLETS -o RUN, with TRIPLETS {made}, "
    "then --models {key}=RUN"
)
CORPORA = {"": "multi-domain", "cs": "CS", "medicine": "Medicine"}
S2ORC = "of `sciprism prepare citations S2ORC {} --dev 0.2 --hold-out queries --seed 321 -o TRIPLETS`"
RELEASED = (
    "of `sciprism prepare citations train_metadata.jsonl --triples train_triples.csv --hold-out queries "
    "-o TRIPLETS` over SciNCL's release {}"
)
TRIPLETS = {
    ("", "specter"): S2ORC.format("--shard 11"),
    ("cs", "specter"): S2ORC.format("--field 'Computer Science'")
    + ", since the paper's are SPECTER's own, released as pickles that nothing reads here",
    ("medicine", "specter"): S2ORC.format("--shard 22 --shard 33 --shard 44 --field Medicine"),
    ("", "scincl"): RELEASED.format("without leakage (0.1-wol)"),
    ("cs", "scincl"): RELEASED.format("with leakage (0.1)"),
}
"""Corpus and sampler -> where the paper's triplets come from (its S2ORC is 20200705v1)."""
VARIANTS = {
    "specter": ("SPECTER", "specter", ""),
    "facets": ("Multi2SPE", "multi2spe", ""),
    "facets-lambda-0": ("lambda 0", "multi2spe", "stages.0.objective.best=0"),
    "facets-lambda-05": ("lambda 0.5", "multi2spe", "stages.0.objective.best=0.5"),
    "facets-lambda-1": ("lambda 1", "multi2spe", "stages.0.objective.best=1"),
    "facets-1": ("1 CLS", "multi2spe", "stages.0.options.facets=1"),
    "facets-5": ("5 CLS", "multi2spe", "stages.0.options.facets=5"),
    "facets-no-maps": ("no maps between layers", "multi2spe", "stages.0.options.after=[]"),
    "facets-no-reparameterisation": (
        "no re-parameterisation",
        "multi2spe",
        "stages.0.options.reparameterise=false",
    ),
}
"""Key -> row, recipe, and what is changed in it."""
ABLATED = tuple(key for key, (_, _, change) in VARIANTS.items() if change)
DEFAULT = "3 CLS, lambda 0.1"
SIDES = {"specter": "1 CLS", "facets": "3 CLS"}
SIZES = {"one-field": "1 field", "few-fields": "4 fields", "all-fields": "17 fields"}
PAIRS = "of {} of arXiv, where papers of one category stand in for cited ones (benchmarks/multi2spe_data.py)"


def trained(variant: str, corpus: str, sampler: str = "specter") -> tuple[str, Model]:
    """Return the key and the model of a variant, trained on triplets of a corpus, drawn in some way."""
    key = "-".join(filter(None, (variant, "" if sampler == "specter" else sampler, corpus)))
    title = f"{VARIANTS[variant][0]}, {sampler} triplets, {CORPORA[corpus]}"
    return key, Model(title=title, obtain=obtain(key, variant, TRIPLETS[corpus, sampler]))


def obtain(key: str, variant: str, made: str) -> str:
    """Say how one comes by a model. made: where its triplets come from."""
    _, recipe, change = VARIANTS[variant]
    return TRAIN.format(key=key, recipe=recipe, sets=f" --set {change}" if change else "", made=made)


MODELS = dict(
    [
        *(trained(key, corpus) for corpus in ("", "cs") for key in VARIANTS),
        *(trained(key, "medicine") for key in ("specter", "facets")),
        *(trained(key, corpus, "scincl") for corpus in ("", "cs") for key in ("specter", "facets")),
    ]
)
MODELS |= {
    "backbone": Model(title="the untouched backbone", fixed=True, obtain="--models backbone=NAME"),
    **{
        f"{variant}-{size}": Model(
            title=f"{title}, {count} of arXiv, pairs of one category",
            obtain=obtain(f"{variant}-{size}", variant, PAIRS.format(count)),
        )
        for variant, title in SIDES.items()
        for size, count in SIZES.items()
    },
}
GROUP = "Multi-SciDocs"
ABLATION = ("multi-mag", "multi-cite map", "multi-co-cite map")
MULTI = """
3 CLS, lambda 0.1: 81.36 84.08 71.79
lambda 0: 81.06 84.09 71.90
lambda 0.5: 80.70 83.05 71.46
lambda 1: 79.78 83.69 71.18
1 CLS: 80.32 83.32 70.30
5 CLS: 80.83 84.03 72.59
no maps between layers: 80.82 83.54 71.12
no re-parameterisation: 80.89 83.79 71.11
"""
SINGLE = """
3 CLS, lambda 0.1: 80.24 81.57 69.12
lambda 0: 80.18 81.39 68.95
lambda 0.5: 79.94 81.33 68.46
lambda 1: 79.39 79.85 66.44
1 CLS: 79.98 81.09 67.84
5 CLS: 80.14 80.78 68.03
no maps between layers: 80.09 80.70 67.67
no re-parameterisation: 80.05 81.03 67.67
"""
PRINTED = {
    "SPECTER (CS, mean of 4 seeds)": "SPECTER (CS)",
    "SciNCL (CS, their run)": "SciNCL (CS)",
    "SPECTER (medicine)": "SPECTER (Medicine)",
    "Multi2SPE (medicine)": "Multi2SPE (Medicine)",
}
"""Rows of the suite's figures that say more than the field."""


def figures(suite: str, average: str, source: str = "") -> tuple[Published, ...]:
    """Return the printed rows that a suite holds, its average named as here."""
    return tuple(
        Published(
            name=PRINTED.get(row.name, row.name),
            source=row.source,
            scores={average if name == "Average" else name: score for name, score in row.scores.items()},
        )
        for row in suites[suite].published
        if source in row.source
    )


OF_SUITE = figures("multi-scidocs", f"Average, {GROUP}")


def pair(corpus: str, sampler: str = "specter") -> tuple[Row, Row]:
    """Return one CLS and three, trained on the same triplets."""
    own = CORPORA[corpus]
    names = {"specter": ("SPECTER", "Multi2SPE"), "scincl": ("SciNCL", "Multi2SPE on SciNCL's data")}
    one, three = (f"{name} ({own})" for name in names[sampler])
    base = Row(name=one, model=trained("specter", corpus, sampler)[0])
    return base, Row(name=three, model=trained("facets", corpus, sampler)[0], against=one)


def ablation(name: str, corpus: str, figures: str) -> Table:
    """Return the model of the paper, and what each choice changes."""
    shown = CORPORA[corpus]
    rows = [Row(name=DEFAULT, model=trained("facets", corpus)[0])]
    rows += [Row(name=VARIANTS[k][0], model=trained(k, corpus)[0], against=DEFAULT) for k in ABLATED]
    return Table(
        name=name,
        title=f"Lambda, the number of CLS tokens, and their maps ({shown})",
        rows=tuple(rows),
        groups=(GROUP,),
        form="errors",
        published=printed(f"{PAPER}, ablation", ABLATION, figures),
    )


TABLES = (
    Table(
        name="1",
        title="Trained on one field",
        rows=(*pair("cs"), *pair("cs", "scincl")),
        groups=(GROUP,),
        form="errors",
        published=tuple(row for row in OF_SUITE if row.name.endswith("(CS)")),
    ),
    Table(
        name="2",
        title="Trained on many fields",
        rows=(*pair(""), *pair("", "scincl")),
        groups=(GROUP,),
        form="errors",
        published=tuple(row for row in OF_SUITE if row.name.endswith("(multi-domain)")),
    ),
    ablation("3", "", MULTI),
    ablation("3-cs", "cs", SINGLE),
    Table(
        name="4",
        title="SciDocs",
        rows=(*pair("cs"), *pair("cs", "scincl"), *pair("medicine"), *pair(""), *pair("", "scincl")),
        groups=("SciDocs",),
        form="errors",
        published=figures("scidocs", "Average, SciDocs", source="Multi2SPE"),
    ),
    # Ours, after the question of the paper's section on domains.
    Table(
        name="M1",
        title="One CLS and three, and the untouched backbone",
        rows=(
            Row(name="backbone", model="backbone"),
            Row(name="1 CLS, as SPECTER", model="specter-cs", against="backbone"),
            Row(name="3 CLS", model="facets-cs", against="1 CLS, as SPECTER"),
        ),
        groups=(GROUP,),
        form="errors",
    ),
    Table(
        name="domains",
        title="As many triplets from 1, 4 and 17 fields: papers of one arXiv category, no citations",
        rows=tuple(
            Row(
                name=f"{title}, {count}",
                model=f"{variant}-{size}",
                against="" if size == "one-field" else f"{title}, {SIZES['one-field']}",
            )
            for variant, title in SIDES.items()
            for size, count in SIZES.items()
        ),
        groups=(GROUP,),
        form="errors",
    ),
)
BY_COSINE = tuple(
    replace(task, protocol=replace(task.protocol, distance="cosine"))
    if isinstance(task.protocol, Rerank)
    else task
    for task in SCIDOCS
)
THREE = tuple(task.name for task in TASKS)
NO_CITATIONS = (
    "arXiv papers with a category or an author in common, no citations; negatives of a query's field"
)
STAND_IN = {"SciDocs": "the tasks of Multi-SciDocs stand in for those of SciDocs"}
reproductions.register("multi2spe")(
    Reproduction(
        name="multi2spe",
        title=PAPER,
        tables={table.name: table for table in TABLES},
        models=MODELS,
        shapes={
            "multi-scidocs": Shape(
                suite=suites["multi-scidocs"],
                tasks=BY_COSINE,
                groups={GROUP: THREE, "SciDocs": tuple(task.name for task in BY_COSINE)},
                own=True,
                remarks={"SciDocs": "ranked by cosine, as the published commands do; SciDocs itself by L2"},
            ),
            "built": Shape(
                suite=suites["multi-scidocs"],
                groups={GROUP: THREE, "SciDocs": THREE},
                remarks=STAND_IN,
            ),
            "fields": Shape(
                suite=replace(suites["multi-scidocs"], name="multi-scidocs-fields", published=()),
                groups={GROUP: THREE, "SciDocs": THREE},
                remarks=STAND_IN | {GROUP: NO_CITATIONS},
            ),
            "open": Shape(
                suite=suites["open"],
                groups={
                    GROUP: ("mag-titles", "vis-citation", "vis-co-citation"),
                    "SciDocs": (
                        *("mag-titles", "ohsumed", "vis-citation", "vis-co-citation"),
                        *("acl-citation", "shared-keywords"),
                    ),
                },
                remarks={
                    GROUP: "citations and co-citations of visualisation, and fields of titles",
                    "SciDocs": "citations, co-citations, shared keywords, fields and diseases",
                },
            ),
        },
        samples={"5": "A training sample by fields"},
    )
)
