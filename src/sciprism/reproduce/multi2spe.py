"""Multi2SPE's tables: one CLS and several, one field and many, ablations, and SciDocs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sciprism.evaluation.protocols.rerank import RerankProtocol
from sciprism.evaluation.published import parse_published, rename_columns
from sciprism.evaluation.suites import suites
from sciprism.evaluation.task import Published
from sciprism.reproduce.table import (
    BACKBONE,
    GroupedSuite,
    ModelRow,
    PaperTable,
    Reproduction,
    TableModel,
)

PAPER = suites["multi-scidocs"].reference
TRAIN = (
    "train it: sciprism train recipes/{recipe}.toml{sets} --sources TRIPLETS -o RUN, "
    "with TRIPLETS {triplets}, then --models {key}=RUN"
)
CORPORA = {"": "multi-domain", "cs": "CS", "medicine": "Medicine"}
S2ORC = "of `sciprism prepare citations S2ORC {} --dev 0.2 --hold-out queries --seed 321 -o TRIPLETS`"
RELEASED = (
    "of `sciprism prepare citations train_metadata.jsonl --triplets train_triples.csv --hold-out queries "
    "-o TRIPLETS` over SciNCL's release {}"
)
TRIPLETS = {
    ("", "specter"): S2ORC.format("--shard 11"),
    ("cs", "specter"): S2ORC.format("--field 'Computer Science'")
    + ", since the paper's are SPECTER's, published as pickles, which are not read here",
    ("medicine", "specter"): S2ORC.format("--shard 22 --shard 33 --shard 44 --field Medicine"),
    ("", "scincl"): RELEASED.format("without leakage (0.1-wol)"),
    ("cs", "scincl"): RELEASED.format("with leakage (0.1)"),
}
"""Corpus and sampler -> how to get the paper's triplets (its S2ORC is 20200705v1)."""
VARIANTS = {
    "specter": ("SPECTER", "specter", ""),
    "facets": ("Multi2SPE", "multi2spe", ""),
    "facets-published": ("published start", "multi2spe", "stages.0.options.start=published"),
    "facets-lambda-0": ("lambda 0", "multi2spe", "stages.0.objective.best_pair_weight=0"),
    "facets-lambda-05": ("lambda 0.5", "multi2spe", "stages.0.objective.best_pair_weight=0.5"),
    "facets-lambda-1": ("lambda 1", "multi2spe", "stages.0.objective.best_pair_weight=1"),
    "facets-1": ("1 CLS", "multi2spe", "stages.0.options.facets=1"),
    "facets-5": ("5 CLS", "multi2spe", "stages.0.options.facets=5"),
    "facets-no-maps": ("no maps between layers", "multi2spe", "stages.0.options.after=[]"),
    "facets-no-reparameterisation": (
        "no re-parameterisation",
        "multi2spe",
        "stages.0.options.reparameterise=false",
    ),
}
"""Key -> row, recipe, and its change."""
STARTED = "facets-published"
"""Of laptop recipes, whose maps start as the identity; the paper's own recipe is this one."""
ABLATED = tuple(key for key, (_, _, change) in VARIANTS.items() if change and key != STARTED)
DEFAULT = "3 CLS, lambda 0.1"
SIDES = {"specter": "1 CLS", "facets": "3 CLS"}
SIZES = {"one-field": "1 field", "few-fields": "4 fields", "all-fields": "17 fields"}
PAIRS = "of {} of arXiv, where papers of one category replace cited ones (benchmarks/multi2spe_data.py)"


def trained_model(variant: str, corpus: str, sampler: str = "specter") -> tuple[str, TableModel]:
    """Return the key and model of a variant, trained on a corpus's triplets by a sampler."""
    key = "-".join(filter(None, (variant, "" if sampler == "specter" else sampler, corpus)))
    title = f"{VARIANTS[variant][0]}, {sampler} triplets, {CORPORA[corpus]}"
    return key, TableModel(title, obtain=training_hint(key, variant, TRIPLETS[corpus, sampler]))


def training_hint(key: str, variant: str, triplets: str) -> str:
    """Return how to get a model. triplets: how to get its triplets."""
    _, recipe, change = VARIANTS[variant]
    return TRAIN.format(key=key, recipe=recipe, sets=f" --set {change}" if change else "", triplets=triplets)


MODELS = {
    **dict(
        [
            *(trained_model(key, corpus) for corpus in ("", "cs") for key in VARIANTS),
            *(trained_model(key, "medicine") for key in ("specter", "facets")),
            *(trained_model(key, corpus, "scincl") for corpus in ("", "cs") for key in ("specter", "facets")),
        ]
    ),
    "backbone": BACKBONE,
    **{
        f"{variant}-{size}": TableModel(
            f"{title}, {count} of arXiv, pairs of one category",
            obtain=training_hint(f"{variant}-{size}", variant, PAIRS.format(count)),
        )
        for variant, title in SIDES.items()
        for size, count in SIZES.items()
    },
}
GROUP = "Multi-SciDocs"
ABLATION = tuple(f"multi-{name}" for name in ("mag", "cite map", "cite ndcg", "co-cite map", "co-cite ndcg"))
MULTI = """
3 CLS, lambda 0.1: 81.36 84.08 - 71.79 - -
lambda 0: 81.06 84.09 - 71.90 - -
lambda 0.5: 80.70 83.05 - 71.46 - -
lambda 1: 79.78 83.69 - 71.18 - -
1 CLS: 80.32 83.32 - 70.30 - -
5 CLS: 80.83 84.03 - 72.59 - -
no maps between layers: 80.82 83.54 - 71.12 - -
no re-parameterisation: 80.89 83.79 - 71.11 - -
"""
SINGLE = """
3 CLS, lambda 0.1: 80.24 81.57 - 69.12 - -
lambda 0: 80.18 81.39 - 68.95 - -
lambda 0.5: 79.94 81.33 - 68.46 - -
lambda 1: 79.39 79.85 - 66.44 - -
1 CLS: 79.98 81.09 - 67.84 - -
5 CLS: 80.14 80.78 - 68.03 - -
no maps between layers: 80.09 80.70 - 67.67 - -
no re-parameterisation: 80.05 81.03 - 67.67 - -
"""
PRINTED = {
    "SPECTER (CS, mean of 4 seeds)": "SPECTER (CS)",
    "SciNCL (CS, their run)": "SciNCL (CS)",
    "SPECTER (medicine)": "SPECTER (Medicine)",
    "Multi2SPE (medicine)": "Multi2SPE (Medicine)",
}
"""Name of a published row of the suite -> name of the row here."""


def published_rows(suite: str, group: str, rows: Sequence[ModelRow]) -> tuple[Published, ...]:
    """Return a suite's published scores of some rows, with our names of rows and of the average."""
    found = (
        rename_columns(replace(row, name=PRINTED.get(row.name, row.name)), {"Average": f"Average, {group}"})
        for row in suites[suite].published
        if row.source.startswith(PAPER)
    )
    names = {row.name for row in rows}
    return tuple(row for row in found if row.name in names)


def row_pair(corpus: str, sampler: str = "specter") -> tuple[ModelRow, ModelRow]:
    """Return the rows of one CLS and of three, trained on the same triplets."""
    names = {"specter": ("SPECTER", "Multi2SPE"), "scincl": ("SciNCL", "Multi2SPE on SciNCL's data")}
    one, three = (f"{name} ({CORPORA[corpus]})" for name in names[sampler])
    base = ModelRow(one, trained_model("specter", corpus, sampler)[0])
    return base, ModelRow(three, trained_model("facets", corpus, sampler)[0], against=one)


def error_table(
    name: str,
    title: str,
    rows: tuple[ModelRow, ...],
    published: tuple[Published, ...] = (),
    *,
    group: str = GROUP,
    printed_as: str = "",
) -> PaperTable:
    """Return a table of scores with standard errors, and of changes of the error."""
    return PaperTable(
        name=name,
        printed_as=printed_as,
        title=title,
        rows=rows,
        groups=(group,),
        form="errors",
        published=published,
    )


def comparison_table(name: str, title: str, *pairs: tuple[ModelRow, ModelRow]) -> PaperTable:
    """Return a part of Table 1: one CLS and three, with the suite's published rows."""
    rows = tuple(row for pair in pairs for row in pair)
    published = published_rows("multi-scidocs", GROUP, rows)
    return error_table(name, title, rows, published, printed_as=f"Table {name[0]}({name[1]})")


def scidocs_table(name: str, part: str, title: str, *pairs: tuple[ModelRow, ModelRow]) -> PaperTable:
    """Return Table 4 or a part of it: SciDocs."""
    rows = tuple(row for pair in pairs for row in pair)
    published = published_rows("scidocs", "SciDocs", rows)
    return error_table(name, title, rows, published, group="SciDocs", printed_as=f"Table 4{part}")


def ablation_table(name: str, corpus: str, scores: str) -> PaperTable:
    """Return the paper's model and its ablations on one corpus."""
    rows = [ModelRow(DEFAULT, trained_model("facets", corpus)[0])]
    rows += [ModelRow(VARIANTS[k][0], trained_model(k, corpus)[0], against=DEFAULT) for k in ABLATED]
    title = f"Multi-SciDocs, changes of lambda, the number of CLS tokens, and their maps ({CORPORA[corpus]})"
    published = parse_published(f"{PAPER}, Table {name}", (*ABLATION, f"Average, {GROUP}"), scores)
    return error_table(name, title, tuple(rows), published, printed_as=f"Table {name}")


CS, CS_SCINCL = row_pair("cs"), row_pair("cs", "scincl")
MEDICINE = row_pair("medicine")
MANY, MANY_SCINCL = row_pair(""), row_pair("", "scincl")
TABLES = (
    comparison_table("1a", "Multi-SciDocs, trained on one field, computer science", CS, CS_SCINCL),
    comparison_table("1b", "Multi-SciDocs, trained on many fields", MANY, MANY_SCINCL),
    ablation_table("2", "", MULTI),
    ablation_table("3", "cs", SINGLE),
    scidocs_table("4", "(a) to (c)", "SciDocs", CS, CS_SCINCL, MEDICINE, MANY, MANY_SCINCL),
    scidocs_table("4a", "(a)", "SciDocs, trained on computer science", CS, CS_SCINCL),
    scidocs_table("4b", "(b)", "SciDocs, trained on medicine", MEDICINE),
    scidocs_table("4c", "(c)", "SciDocs, trained on many fields", MANY, MANY_SCINCL),
    # Ours, for the question of the paper's section on domains.
    error_table(
        "M1",
        "one CLS and three, and the untouched backbone",
        (
            ModelRow("backbone", "backbone"),
            ModelRow("1 CLS, as SPECTER", "specter-cs", against="backbone"),
            ModelRow("3 CLS", "facets-cs", against="1 CLS, as SPECTER"),
        ),
    ),
    error_table(
        "start",
        "three CLS whose maps begin as the identity or as published",
        (
            ModelRow("3 CLS", "facets-cs"),
            ModelRow("3 CLS, published start", f"{STARTED}-cs", against="3 CLS"),
        ),
    ),
    error_table(
        "domains",
        "equally many triplets from 1, 4 and 17 fields: papers of one arXiv category, no citations",
        tuple(
            ModelRow(
                f"{title}, {count}",
                f"{variant}-{size}",
                against="" if size == "one-field" else f"{title}, {SIZES['one-field']}",
            )
            for variant, title in SIDES.items()
            for size, count in SIZES.items()
        ),
    ),
)
BY_COSINE = tuple(
    replace(task, protocol=replace(task.protocol, distance="cosine"))
    if isinstance(task.protocol, RerankProtocol)
    else task
    for task in suites["scidocs"].tasks
)
THREE = tuple(task.name for task in suites["multi-scidocs"].tasks)
SUBSTITUTE = {"SciDocs": "the tasks of Multi-SciDocs replace those of SciDocs"}
BUILT = "citations, co-citations and fields of other papers, by sciprism prepare multi-scidocs"
REPRODUCTION = Reproduction(
    name="multi2spe",
    title=PAPER,
    tables={table.name: table for table in TABLES},
    models=MODELS,
    suites={
        "multi-scidocs": GroupedSuite(
            suite=suites["multi-scidocs"],
            tasks=BY_COSINE,
            groups={GROUP: THREE, "SciDocs": tuple(task.name for task in BY_COSINE)},
            original=True,
            remarks={"SciDocs": "ranked by cosine, as the published commands do; SciDocs itself by L2"},
        ),
        "built": GroupedSuite(
            suite=suites["multi-scidocs"],
            groups={GROUP: THREE, "SciDocs": THREE},
            remarks={**SUBSTITUTE, GROUP: BUILT},
            stand_ins=dict.fromkeys((GROUP, "SciDocs"), "other papers"),
        ),
        "fields": GroupedSuite(
            suite=replace(suites["multi-scidocs"], name="multi-scidocs-fields", published=()),
            groups={GROUP: THREE, "SciDocs": THREE},
            remarks={
                **SUBSTITUTE,
                GROUP: "arXiv papers with a common category or author, no citations; negatives of a query's field",
            },
            stand_ins=dict.fromkeys((GROUP, "SciDocs"), "arXiv pairs"),
        ),
        "open": GroupedSuite(
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
            stand_ins=dict.fromkeys((GROUP, "SciDocs"), "open tasks"),
        ),
    },
    sample_tables={"5": "a training sample by fields"},
    other_tables={"4d": "of its ablations the scores are not on file here"},
)
