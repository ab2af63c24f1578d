"""SciMult's tables: its five models and its ablations, on its own data and on the open suite."""

from __future__ import annotations

from dataclasses import replace

from sciprism.evaluation.protocols.label import LabelProtocol
from sciprism.evaluation.published import parse_published
from sciprism.evaluation.suites import suites
from sciprism.evaluation.task import Published, Task
from sciprism.reproduce.table import (
    BACKBONE,
    DOWNLOAD,
    AlternativeInstruction,
    GroupedSuite,
    ModelRow,
    PaperTable,
    Reproduction,
    TableModel,
    averages_table,
    baseline_model,
    paired_rows,
)

PAPER = suites["scimult"].reference
COUNTED = suites["open"].tasks_of("all")

RELEASED = "yuz9yuz/SciMult"
TRAIN = "it is not released; train it: sciprism train recipes/scimult-{0}.toml -o RUN, then --models {0}=RUN"
FIVE = ("fine", "coarse", "retrieval", "reranking", "search")


def trained_model(key: str, title: str) -> TableModel:
    """Return an unpublished model."""
    return TableModel(title, obtain=TRAIN.format(key))


def released_model(key: str, title: str, file: str) -> TableModel:
    """Return a model with a published checkpoint."""
    return TableModel(title, default=f"{RELEASED}/{file}", obtain=DOWNLOAD.format(f"{RELEASED} {file}", key))


def fine_tuned_model(key: str, title: str) -> TableModel:
    """Return an encoder fine-tuned for patients, one model per task."""
    how = f"fine-tune it for each task, then --models {key}:patients-par=RUN --models {key}:patients-ppr=RUN"
    return TableModel(title, obtain=how)


MODELS = {
    "vanilla": released_model("vanilla", "Vanilla", "scimult_vanilla.ckpt"),
    "mha-expert": released_model("mha-expert", "MHAExpert", "scimult_moe.ckpt"),
    "ffn-expert": trained_model("ffn-expert", "FFNExpert"),
    "prefix": trained_model("prefix", "Prefix"),
    "instruction": trained_model("instruction", "Instruction"),
    "vanilla-no-hard-negatives": trained_model(
        "vanilla-no-hard-negatives", "Vanilla without hard negatives of classification"
    ),
    "vanilla-paper": TableModel(
        "Vanilla with the paper's settings at laptop size",
        obtain="train it: sciprism train recipes/laptop/scimult-vanilla-paper.toml -o RUN, "
        "then --models vanilla-paper=RUN",
    ),
    "mha-expert-no-warm-up": trained_model("mha-expert-no-warm-up", "MHAExpert without warm-up"),
    "citation-only": trained_model("citation-only", "a single encoder of citations alone"),
    "backbone": BACKBONE,
    "bm25": TableModel("BM25", "bm25", fixed=True),
    "specter": baseline_model("specter", "SPECTER", "allenai/specter"),
    "scincl": baseline_model("scincl", "SciNCL", "malteos/scincl"),
    "specter2": baseline_model("specter2", "SPECTER 2.0", "allenai/specter2"),
    "pubmedbert": baseline_model("pubmedbert", "PubMedBERT", "microsoft/BiomedNLP-BiomedBERT-base-uncased-abstract"),
    "dpr-mha-expert": TableModel(
        "MHAExpert fine-tuned for patients",
        per_task={f"patients-{task}": f"{RELEASED}/scimult_moe_pmcpatients_{task}.ckpt" for task in ("par", "ppr")},
        obtain=fine_tuned_model("dpr-mha-expert", "").obtain,
    ),
    "dpr-specter": fine_tuned_model("dpr-specter", "SPECTER fine-tuned for patients"),
    "dpr-pubmedbert": fine_tuned_model("dpr-pubmedbert", "PubMedBERT fine-tuned for patients"),
    "dpr-biolinkbert": fine_tuned_model("dpr-biolinkbert", "BioLinkBERT fine-tuned for patients"),
}

OTHERS = (ModelRow("SPECTER", "specter"), ModelRow("SciNCL", "scincl"), ModelRow("SPECTER 2.0", "specter2"))
VARIANTS = (
    ModelRow("MHAExpert", "mha-expert", against="Vanilla"),
    ModelRow("FFNExpert", "ffn-expert", against="Vanilla"),
    ModelRow("Prefix", "prefix", against="Vanilla"),
    ModelRow("Instruction", "instruction", against="Vanilla"),
)
OUR_ROWS = (ModelRow("Vanilla", "vanilla"), *VARIANTS)
BM25 = ModelRow("BM25", "bm25")
# Rows whose checkpoint the paper does not state: published scores only.
PRINTED = tuple(ModelRow(name) for name in ("SciBERT", "SentBERT", "LinkBERT", "BioLinkBERT", "OAG-BERT"))
PUBMEDBERT = ModelRow("PubMedBERT", "pubmedbert")

STEM = "Find a pair of scientific papers that"
CITE = AlternativeInstruction(key="cite", text=f"{STEM} one paper cites the other.")
CO_VIEW = AlternativeInstruction(key="co-view", text=f"{STEM} are co-viewed frequently.")
CO_READ = AlternativeInstruction(key="co-read", text=f"{STEM} are co-read frequently.")
CO_CITE = AlternativeInstruction(key="co-cite", text=f"{STEM} are co-cited frequently.")
RELATED = AlternativeInstruction(key="related", text=f"{STEM} one paper is related to the other.")


def instruction_row(instruction: AlternativeInstruction) -> ModelRow:
    """Return the row of Instruction with an instruction, compared with the trained one."""
    base = f"{CITE.key} instruction" if instruction != CITE else ""
    name = f"{instruction.key} instruction"
    return ModelRow(name, "instruction", instruction=instruction, against=base)


AVERAGES = tuple(f"Average, {group}" for group in FIVE)
RERANKED = tuple(f"rerank-{name} map" for name in ("co-view", "co-read", "cite", "co-cite"))
DEFINED = ("fine-cs-conference", "fine-chemistry-mesh")
WITH_DEFINITIONS = tuple(f"{name} recall@{k}" for name in DEFINED for k in (20, 50, 100))

HARD_NEGATIVES = """
Vanilla: 60.31/75.51/48.49/91.19/66.48
Vanilla without hard negatives of classification: 59.89/77.44/45.90/90.88/65.87
"""
WARM_UP = """
MHAExpert: 62.21/76.28/50.46/91.25/67.05
MHAExpert without warm-up: 59.98/76.08/47.59/90.89/62.34
"""
INSTRUCTIONS = """
co-view instruction: 81.16/83.38/92.47/87.49
co-read instruction: 81.47/83.63/92.78/88.05
cite instruction: 82.13/84.14/92.63/89.27
co-cite instruction: 82.08/84.29/93.11/88.83
"""
LINK_INSTRUCTIONS = """
cite instruction: 48.95/90.32
co-cite instruction: 49.35/90.31
related instruction: 49.28/90.35
"""
DEFINITIONS = """
SPECTER 2.0, names: 48.14/53.93/58.98 35.73/42.19/46.96
SPECTER 2.0, names and definitions: 48.63/55.09/60.68 36.17/43.06/48.26
MHAExpert, names: 52.57/61.27/67.84 37.83/46.47/52.59
MHAExpert, names and definitions: 54.02/65.49/75.07 39.41/50.92/59.59
"""
CHANGES = """
MHAExpert: 3.15/1.02/4.06/0.07/0.86
FFNExpert: -0.95/0.33/4.91/-0.37/-9.28
Prefix: -0.51/1.50/3.46/-0.08/-1.25
Instruction: 0.68/0.93/0.95/-0.95/-3.32
"""

DEPARTURES = {
    "backbone": ("all-MiniLM-L6-v2, a finished retriever", "PubMedBERT, which is none"),
    "similarity": ("cosine", "dot product"),
    "temperature": ("0.05", "1"),
    "pooling": ("mean", "first token"),
    "known positives of a query among its negatives": ("masked", "not masked"),
    "separator of title and abstract": ("space", "[SEP]"),
    "warm-up": ("10% of the steps", "5%"),
    "peak learning rate": ("5e-5", "3e-4"),
}


def published_rows(table: str) -> tuple[Published, ...]:
    """Return the published rows of a table that the suite declares."""
    source = f"{PAPER}, Table {table}"
    return tuple(row for row in suites["scimult"].published if row.source == source)


def published_ablation(table: str, columns: tuple[str, ...], rows: str) -> tuple[Published, ...]:
    """Return the published rows of an ablation."""
    return parse_published(f"{PAPER}, Table {table}", columns, rows)


def names_and_definitions(name: str, model: str) -> tuple[ModelRow, ModelRow]:
    """Return a model's rows with label names only, and with definitions too, compared."""
    names = ModelRow(f"{name}, names", model, variant="names-only")
    return names, ModelRow(f"{name}, names and definitions", model, against=names.name)


def group_table(name: str, title: str, rows: tuple[ModelRow, ...], group: str, *, average: bool = True) -> PaperTable:
    """Return a table of one group's tasks, with the suite's published rows."""
    return PaperTable(
        name=name,
        printed_as=f"Table {name}",
        title=title,
        rows=rows,
        groups=(group,),
        average=average,
        published=published_rows(name),
    )


TABLES = (
    group_table(
        "3",
        "fine classification, labels whose name is in the paper first",
        (*PRINTED, PUBMEDBERT, *OTHERS, *OUR_ROWS),
        "fine",
    ),
    group_table(
        "A3",
        "fine classification, by the vectors alone",
        (BM25, *PRINTED, PUBMEDBERT, *OTHERS, *OUR_ROWS),
        "fine without names",
    ),
    group_table(
        "4",
        "coarse classification, by a linear model and by the nearest label",
        (ModelRow("BM25"), *PRINTED, PUBMEDBERT, *OTHERS, *OUR_ROWS),
        "coarse",
    ),
    group_table("5", "links among all papers", (BM25, *PRINTED, PUBMEDBERT, *OTHERS, *OUR_ROWS), "retrieval"),
    group_table(
        "6",
        "patients, with fine-tuned models",
        (
            ModelRow("DPR(MHAExpert)", "dpr-mha-expert"),
            BM25,
            ModelRow("SentBERT"),
            ModelRow("DPR(SPECTER)", "dpr-specter"),
            ModelRow("DPR(PubMedBERT)", "dpr-pubmedbert"),
            ModelRow("DPR(BioLinkBERT)", "dpr-biolinkbert"),
            ModelRow("Contriever"),
        ),
        "patients",
        average=False,
    ),
    group_table(
        "7",
        "reranking of linked papers and of recommendations",
        (
            *(ModelRow("Citeomatic"), ModelRow("Kanakia et al."), *PRINTED, PUBMEDBERT),
            *(*OTHERS, *OUR_ROWS),
        ),
        "reranking",
    ),
    group_table("8", "search", (BM25, *PRINTED, PUBMEDBERT, *OTHERS, *OUR_ROWS), "search"),
    PaperTable(
        name="9",
        printed_as="Table 9",
        title="relative change against Vanilla, per group",
        rows=(ModelRow("Vanilla", "vanilla", ours=True), *VARIANTS),
        groups=FIVE,
        form="relative",
        published=published_ablation("9", AVERAGES, CHANGES),
    ),
    averages_table(
        "A4",
        "Vanilla with and without hard negatives of classification",
        paired_rows(
            ("Vanilla without hard negatives of classification", "vanilla-no-hard-negatives", "Vanilla", "vanilla")
        ),
        FIVE,
        published_ablation("A4", AVERAGES, HARD_NEGATIVES),
        printed_as="Table A4",
    ),
    averages_table(
        "A5",
        "MHAExpert with and without the warm-up from Vanilla",
        paired_rows(("MHAExpert without warm-up", "mha-expert-no-warm-up", "MHAExpert", "mha-expert")),
        FIVE,
        published_ablation("A5", AVERAGES, WARM_UP),
        printed_as="Table A5",
    ),
    PaperTable(
        name="A6",
        printed_as="Table A6",
        title="reranking under other instructions",
        rows=tuple(map(instruction_row, (CO_VIEW, CO_READ, CITE, CO_CITE))),
        groups=("reranking",),
        metrics=("map",),
        average=False,
        published=published_ablation("A6", RERANKED, INSTRUCTIONS),
    ),
    averages_table(
        "A7",
        "links under other instructions",
        tuple(map(instruction_row, (CITE, CO_CITE, RELATED))),
        ("retrieval", "reranking"),
        published_ablation("A7", AVERAGES[2:4], LINK_INSTRUCTIONS),
        printed_as="Table A7",
    ),
    PaperTable(
        name="A8",
        printed_as="Table A8",
        title="labels by name, and by name and definition",
        rows=(
            *names_and_definitions("SPECTER 2.0", "specter2"),
            *names_and_definitions("MHAExpert", "mha-expert"),
        ),
        groups=("fine with definitions",),
        average=False,
        published=published_ablation("A8", WITH_DEFINITIONS, DEFINITIONS),
    ),
    # Three of ours: S1 and S4 are named after the claims that they serve; the paper has their scores in several tables.
    averages_table(
        "S1",
        "Vanilla, its untouched backbone, and citations alone",
        (
            ModelRow("backbone", "backbone"),
            ModelRow("citations alone", "citation-only", against="backbone"),
            ModelRow("Vanilla", "vanilla", against="backbone"),
        ),
        (*FIVE, "fine without names"),
    ),
    averages_table(
        "settings",
        "Vanilla with the settings of the laptop recipes, and with the paper's",
        paired_rows(("Vanilla", "vanilla", "Vanilla, the paper's settings", "vanilla-paper")),
        FIVE,
    ),
    PaperTable(name="S4", title="domains without training papers", rows=OUR_ROWS, groups=("out of train",)),
)


def names_only_task(task: Task) -> Task:
    """Return a task whose labels are represented by their names alone."""
    assert isinstance(task.protocol, LabelProtocol)
    return replace(
        task,
        name=f"{task.name}-names-only",
        protocol=replace(task.protocol, text="name"),
        reference=f"{PAPER}, Table A8",
    )


def open_groups() -> dict[str, tuple[str, ...]]:
    """Return the open suite's tasks in the paper's groups; links replace patients, which it lacks."""
    known = {task.name for task in suites["open"].tasks}
    found = {group: tuple(t.name for t in COUNTED if t.group == group) for group in FIVE}
    first = (f"{name}-names-first" for name in found["fine"])
    return found | {
        "fine": tuple(name for name in first if name in known),
        "fine without names": found["fine"],
        "fine with definitions": ("arxiv-categories",),
        "patients": found["retrieval"],
        "out of train": tuple(t.name for t in COUNTED if t.group in FIVE and t.in_train is False),
    }


PAPER_GROUPS = {name.replace("-", " "): names for name, names in suites["scimult"].views.items()} | {
    "fine with definitions": DEFINED,
    "out of train": ("fine-geography", "fine-psychology"),
}

REPRODUCTION = Reproduction(
    name="scimult",
    title=PAPER,
    tables={table.name: table for table in TABLES},
    models=MODELS,
    suites={
        "scimult": GroupedSuite(
            suite=suites["scimult"],
            groups=PAPER_GROUPS,
            tasks=tuple(names_only_task(task) for task in suites["scimult"].tasks_of("fine")[:2]),
            original=True,
        ),
        "open": GroupedSuite(
            suite=suites["open"],
            groups=open_groups(),
            remarks={
                "patients": "no patients; links among all papers replace them",
                "vanilla-paper": "all of the paper's settings but the backbone, the size and the learning rate",
            },
            departures=DEPARTURES,
        ),
    },
)
