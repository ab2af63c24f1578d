"""SciMult's tables: its five models, its ablations, and the same questions put to the open suite."""

from __future__ import annotations

from dataclasses import replace

from sciprism.evaluation.protocols.label import LabelRanking
from sciprism.evaluation.suites.open import COUNTED
from sciprism.evaluation.suites.printed import printed
from sciprism.evaluation.suites.registry import suites
from sciprism.evaluation.suites.scimult import BY_GROUP, PAPER
from sciprism.evaluation.task import Published, Task
from sciprism.reproduce.tables.declared import Instruction, Model, Reproduction, Row, Shape, Table
from sciprism.reproduce.tables.registry import reproductions

RELEASED = "yuz9yuz/SciMult"
TRAIN = "it is not released; train it: sciprism train recipes/scimult-{0}.toml -o RUN, then --models {0}=RUN"
FETCH = "where there is a network: hf download {0}; or --models {1}=FOLDER"
FIVE = ("fine", "coarse", "retrieval", "reranking", "search")


def trained(key: str, title: str) -> Model:
    """Return a model that nobody can download."""
    return Model(title=title, obtain=TRAIN.format(key))


def released(key: str, title: str, file: str) -> Model:
    """Return a model of which the authors gave a checkpoint."""
    return Model(title=title, default=f"{RELEASED}/{file}", obtain=FETCH.format(f"{RELEASED} {file}", key))


def encoder(key: str, title: str, name: str) -> Model:
    """Return somebody else's encoder, with the pooling that the paper states for it."""
    return Model(title=title, default=name, pooling="cls", fixed=True, obtain=FETCH.format(name, key))


def fine_tuned(key: str, title: str) -> Model:
    """Return an encoder fine-tuned for patients; one model for each of the two tasks."""
    how = f"fine-tune it for each task, then --models {key}:patients-par=RUN --models {key}:patients-ppr=RUN"
    return Model(title=title, obtain=how)


MODELS = {
    "vanilla": released("vanilla", "Vanilla", "scimult_vanilla.ckpt"),
    "mha-expert": released("mha-expert", "MHAExpert", "scimult_moe.ckpt"),
    "ffn-expert": trained("ffn-expert", "FFNExpert"),
    "prefix": trained("prefix", "Prefix"),
    "instruction": trained("instruction", "Instruction"),
    "vanilla-no-hard-negatives": trained("vanilla-no-hard-negatives", "Vanilla without hard negatives"),
    "mha-expert-no-warm-up": trained("mha-expert-no-warm-up", "MHAExpert without warm-up"),
    "citation-only": trained("citation-only", "a single encoder of citations alone"),
    "backbone": Model(title="the untouched backbone", fixed=True, obtain="--models backbone=NAME"),
    "bm25": Model(title="BM25", default="bm25", fixed=True),
    "specter": encoder("specter", "SPECTER", "allenai/specter"),
    "scincl": encoder("scincl", "SciNCL", "malteos/scincl"),
    "specter2": encoder("specter2", "SPECTER 2.0", "allenai/specter2"),
    "pubmedbert": encoder("pubmedbert", "PubMedBERT", "microsoft/BiomedNLP-BiomedBERT-base-uncased-abstract"),
    "dpr-mha-expert": Model(
        title="MHAExpert fine-tuned for patients",
        per_task={
            f"patients-{task}": f"{RELEASED}/scimult_moe_pmcpatients_{task}.ckpt" for task in ("par", "ppr")
        },
        obtain=fine_tuned("dpr-mha-expert", "").obtain,
    ),
    "dpr-specter": fine_tuned("dpr-specter", "SPECTER fine-tuned for patients"),
    "dpr-pubmedbert": fine_tuned("dpr-pubmedbert", "PubMedBERT fine-tuned for patients"),
    "dpr-biolinkbert": fine_tuned("dpr-biolinkbert", "BioLinkBERT fine-tuned for patients"),
}

OTHERS = (
    Row(name="SPECTER", model="specter"),
    Row(name="SciNCL", model="scincl"),
    Row(name="SPECTER 2.0", model="specter2"),
)
VARIANTS = (
    Row(name="MHAExpert", model="mha-expert", against="Vanilla"),
    Row(name="FFNExpert", model="ffn-expert", against="Vanilla"),
    Row(name="Prefix", model="prefix", against="Vanilla"),
    Row(name="Instruction", model="instruction", against="Vanilla"),
)
OURS = (Row(name="Vanilla", model="vanilla"), *VARIANTS)
BM25 = Row(name="BM25", model="bm25")
# Rows of which the paper's text does not say which checkpoint they are, or that are no encoder: as printed.
PRINTED = tuple(Row(name=name) for name in ("SciBERT", "SentBERT", "LinkBERT", "BioLinkBERT", "OAG-BERT"))
PUBMEDBERT = Row(name="PubMedBERT", model="pubmedbert")

STEM = "Find a pair of scientific papers that"
CITE = Instruction(key="cite", text=f"{STEM} one paper cites the other.")
CO_VIEW = Instruction(key="co-view", text=f"{STEM} are co-viewed frequently.")
CO_READ = Instruction(key="co-read", text=f"{STEM} are co-read frequently.")
CO_CITE = Instruction(key="co-cite", text=f"{STEM} are co-cited frequently.")
RELATED = Instruction(key="related", text=f"{STEM} one paper is related to the other.")


def told(instruction: Instruction) -> Row:
    """Return Instruction under an instruction, held against the one that it was trained with."""
    base = f"{CITE.key} instruction" if instruction != CITE else ""
    name = f"{instruction.key} instruction"
    return Row(name=name, model="instruction", instruction=instruction, against=base)


AVERAGES = tuple(f"Average, {group}" for group in FIVE)
RERANKED = tuple(f"rerank-{name} map" for name in ("co-view", "co-read", "cite", "co-cite"))
DEFINED = ("fine-cs-conference", "fine-chemistry-mesh")
WITH_DEFINITIONS = tuple(f"{name} recall@{k}" for name in DEFINED for k in (20, 50, 100))

HARD_NEGATIVES = """
Vanilla: 60.31/75.51/48.49/91.19/66.48
Vanilla without hard negatives: 59.89/77.44/45.90/90.88/65.87
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


def of_suite(table: str) -> tuple[Published, ...]:
    """Return the printed rows that the suite holds already."""
    source = f"{PAPER}, Table {table}"
    return tuple(row for row in suites["scimult"].published if row.source == source)


def of_ablation(table: str, columns: tuple[str, ...], rows: str) -> tuple[Published, ...]:
    """Return the printed rows of an ablation."""
    return printed(f"{PAPER}, Table {table}", columns, rows)


def names_and_definitions(name: str, model: str) -> tuple[Row, Row]:
    """Return a model with both ways of writing a label, the definitions held against the bare names."""
    names = Row(name=f"{name}, names", model=model, variant="names-only")
    return names, Row(name=f"{name}, names and definitions", model=model, against=names.name)


TABLES = (
    Table(
        name="3",
        title="Fine classification, labels whose name is in the paper first",
        rows=(*PRINTED, PUBMEDBERT, *OTHERS, *OURS),
        groups=("fine",),
        published=of_suite("3"),
    ),
    Table(
        name="A3",
        title="Fine classification, by the vectors alone",
        rows=(BM25, *OTHERS, *OURS),
        groups=("fine without names",),
        published=of_suite("A3"),
    ),
    Table(
        name="4",
        title="Coarse classification",
        rows=(*OTHERS, *OURS),
        groups=("coarse",),
        published=of_suite("4"),
    ),
    Table(
        name="5",
        title="Links among all papers",
        rows=(BM25, *OTHERS, *OURS),
        groups=("retrieval",),
        published=of_suite("5"),
    ),
    Table(
        name="6",
        title="Links and recommendations, reranked",
        rows=(Row(name="Kanakia et al."), *OTHERS, *OURS),
        groups=("reranking",),
        published=of_suite("6"),
    ),
    Table(
        name="7",
        title="Search",
        rows=(BM25, *OTHERS, PUBMEDBERT, *OURS),
        groups=("search",),
        published=of_suite("7"),
    ),
    Table(
        name="8",
        title="Patients, with fine-tuned models",
        rows=(
            Row(name="DPR(MHAExpert)", model="dpr-mha-expert"),
            BM25,
            Row(name="DPR(SPECTER)", model="dpr-specter"),
            Row(name="DPR(PubMedBERT)", model="dpr-pubmedbert"),
            Row(name="DPR(BioLinkBERT)", model="dpr-biolinkbert"),
            Row(name="Contriever"),
        ),
        groups=("patients",),
        average=False,
        published=of_suite("8"),
    ),
    Table(
        name="9",
        title="Relative change against Vanilla, per group",
        rows=OURS,
        groups=FIVE,
        form="relative",
        published=of_ablation("9", AVERAGES, CHANGES),
    ),
    Table(
        name="A4",
        title="Vanilla with and without hard negatives",
        rows=(
            Row(name="Vanilla without hard negatives", model="vanilla-no-hard-negatives"),
            Row(name="Vanilla", model="vanilla", against="Vanilla without hard negatives"),
        ),
        groups=FIVE,
        form="groups",
        published=of_ablation("A4", AVERAGES, HARD_NEGATIVES),
    ),
    Table(
        name="A5",
        title="MHAExpert with and without the warm-up from Vanilla",
        rows=(
            Row(name="MHAExpert without warm-up", model="mha-expert-no-warm-up"),
            Row(name="MHAExpert", model="mha-expert", against="MHAExpert without warm-up"),
        ),
        groups=FIVE,
        form="groups",
        published=of_ablation("A5", AVERAGES, WARM_UP),
    ),
    Table(
        name="A6",
        title="Reranking under other instructions",
        rows=tuple(map(told, (CO_VIEW, CO_READ, CITE, CO_CITE))),
        groups=("reranking",),
        metrics=("map",),
        average=False,
        published=of_ablation("A6", RERANKED, INSTRUCTIONS),
    ),
    Table(
        name="A7",
        title="Links under other instructions",
        rows=tuple(map(told, (CITE, CO_CITE, RELATED))),
        groups=("retrieval", "reranking"),
        form="groups",
        published=of_ablation("A7", AVERAGES[2:4], LINK_INSTRUCTIONS),
    ),
    Table(
        name="A8",
        title="Labels by name, and by name and definition",
        rows=(
            *names_and_definitions("SPECTER 2.0", "specter2"),
            *names_and_definitions("MHAExpert", "mha-expert"),
        ),
        groups=("fine with definitions",),
        average=False,
        published=of_ablation("A8", WITH_DEFINITIONS, DEFINITIONS),
    ),
    # Two of ours, by the names of the claims they serve: the paper has their numbers in several tables.
    Table(
        name="S1",
        title="Vanilla, its untouched backbone, and citations alone",
        rows=(
            Row(name="backbone", model="backbone"),
            Row(name="citations alone", model="citation-only", against="backbone"),
            Row(name="Vanilla", model="vanilla", against="backbone"),
        ),
        groups=(*FIVE, "fine without names"),
        form="groups",
    ),
    Table(name="S4", title="Domains that no training paper is from", rows=OURS, groups=("out of train",)),
)


def names_only(task: Task) -> Task:
    """Return a task whose labels are their names alone."""
    assert isinstance(task.protocol, LabelRanking)
    return replace(
        task,
        name=f"{task.name}-names-only",
        protocol=replace(task.protocol, text="name"),
        reference=f"{PAPER}, Table A8",
    )


def open_groups() -> dict[str, tuple[str, ...]]:
    """Return the open suite's tasks in the paper's groups; it has no patients, so links stand for them."""
    known = {task.name for task in suites["open"].tasks}
    found = {group: tuple(t.name for t in COUNTED if t.group == group) for group in FIVE}
    found["fine without names"] = found["fine"]
    pairs = tuple(f"{name}-names-first" for name in found["fine"])
    found["fine"] = tuple(name for name in pairs if name in known)
    found["fine with definitions"] = ("arxiv-categories",)
    found["patients"] = found["retrieval"]
    counted = [task for task in COUNTED if task.group in FIVE]
    found["out of train"] = tuple(task.name for task in counted if task.in_train is False)
    return found


OWN = {group: tuple(task.name for task in tasks) for group, tasks in BY_GROUP.items()} | {
    "fine with definitions": DEFINED,
    "out of train": ("fine-geography", "fine-psychology"),
}
REMARKS = {"patients": "it has no patients, links among all papers stand for them"}

reproductions.register("scimult")(
    Reproduction(
        name="scimult",
        title=PAPER,
        tables={table.name: table for table in TABLES},
        models=MODELS,
        shapes={
            "scimult": Shape(
                suite=suites["scimult"],
                groups=OWN,
                tasks=tuple(names_only(task) for task in BY_GROUP["fine"][:2]),
                own=True,
            ),
            "open": Shape(suite=suites["open"], groups=open_groups(), remarks=REMARKS),
        },
    )
)
