"""INDUS's tables: retrieval, seconds per query, the ablation, what each choice is worth, fine-tuning.

Its tables of tokens (2, 3) are made by `sciprism tokenizer compare`.
"""

from __future__ import annotations

from dataclasses import replace

from sciprism.evaluation.protocols.retrieve import Retrieve
from sciprism.evaluation.suites.nasa_ir import PAPER
from sciprism.evaluation.suites.open import COUNTED
from sciprism.evaluation.suites.printed import printed
from sciprism.evaluation.suites.registry import suites
from sciprism.evaluation.task import Published, Task
from sciprism.reproduce.tables import indus_language as language
from sciprism.reproduce.tables.declared import Model, Reproduction, Row, Shape, Table
from sciprism.reproduce.tables.registry import reproductions

TRAIN = "train it: sciprism train recipes/indus/{0} -o RUN, then --models {1}=RUN"
ARM = "train it: recipes/indus/{0}.toml with {2}, the same data and steps, then --models {1}=RUN"
FETCH = "where there is a network: hf download {0}; or --models {1}=FOLDER"
NASA, BEIR = "NASA-IR", "BEIR"
BOTH = (NASA, BEIR)


def released(key: str, title: str, name: str) -> Model:
    """Return a retriever that the authors gave, which its recipe trains again."""
    return Model(
        title=title, default=name, obtain=f"{FETCH.format(name, key)}; or {TRAIN.format(f'{key}.toml', key)}"
    )


def other(key: str, title: str, name: str) -> Model:
    """Return somebody else's encoder, which states its own pooling."""
    return Model(title=title, default=name, fixed=True, obtain=FETCH.format(name, key))


def arm(key: str, title: str, change: str) -> tuple[str, Model]:
    """Return a retriever whose recipe differs in one thing; the key begins with the recipe's."""
    recipe = next(name for name in ("retriever-base", "retriever-small") if key.startswith(name))
    return key, Model(title=title, obtain=ARM.format(recipe, key, change))


MODELS = {
    "bm25": Model(title="BM25", default="bm25", fixed=True),
    "roberta-base": Model(
        title="RoBERTa-base, trained by the same recipe",
        obtain=TRAIN.format(
            "retriever-base.toml --set model.backbone=FacebookAI/roberta-base", "roberta-base"
        ),
    ),
    "bge-base": other("bge-base", "BGE-base", "BAAI/bge-base-en-v1.5"),
    "retriever-base": released("retriever-base", "the retriever", "nasa-impact/nasa-smd-ibm-st-v2"),
    "minilm": other("minilm", "all-MiniLM-L6-v2", "all-MiniLM-L6-v2"),
    "bge-small": other("bge-small", "BGE-small", "BAAI/bge-small-en-v1.5"),
    "retriever-small": released("retriever-small", "the small retriever", "nasa-impact/nasa-ibm-st.38m"),
    **dict(
        [
            arm("retriever-base-contrast", "the objective without three of the sums", 'objective "contrast"'),
            arm("retriever-base-once", "the pair in one of the sums", "objective.twice = false"),
            arm("retriever-base-cls", "the first token's vector", 'pooling = "cls"'),
            arm("retriever-base-retromae", "begun with auto-encoding", "a stage of auto-encoding before"),
            arm("retriever-small-no-retromae", "not begun with auto-encoding", "no stage of auto-encoding"),
            arm("retriever-small-staged", "distilled in stages", "unsupervised pairs first, then supervised"),
            arm("retriever-small-mean", "the mean of the tokens", 'pooling = "mean"'),
            arm("retriever-small-minilm", "taught by all-MiniLM-L6-v2", "that model as the teacher"),
        ]
    ),
    "encoder": Model(
        title="the encoder before contrast",
        default="nasa-impact/nasa-smd-ibm-v0.1",
        obtain=FETCH.format("nasa-impact/nasa-smd-ibm-v0.1", "encoder"),
    ),
    "encoder-general": Model(
        title="an encoder of general vocabulary and text",
        obtain="name one that is as large, --models encoder-general=NAME",
    ),
}

MAIN = """
RoBERTa-base, same recipe: 66 37
BGE-base: 67 52
INDUS-retriever-base: 71 41
MiniLM-v2: 62 39
BGE-small: 66 51
INDUS-retriever-small: 73 42
"""
STAGES = """
in one stage: 73 42
in stages: 72 41
"""
SECONDS = {
    "RoBERTa-base, same recipe": 1.20,
    "BGE-base": 1.18,
    "INDUS-retriever-base": 1.19,
    "MiniLM-v2": 0.24,
    "BGE-small": 0.42,
    "INDUS-retriever-small": 0.26,
}
AVERAGES = tuple(f"Average, {group}" for group in BOTH)
ROWS = (
    Row(name="BM25", model="bm25", always=True),  # which the paper leaves out
    Row(name="RoBERTa-base, same recipe", model="roberta-base"),
    Row(name="BGE-base", model="bge-base"),
    Row(name="INDUS-retriever-base", model="retriever-base", against="RoBERTa-base, same recipe"),
    Row(name="MiniLM-v2", model="minilm"),
    Row(name="BGE-small", model="bge-small"),
    Row(name="INDUS-retriever-small", model="retriever-small", against="INDUS-retriever-base"),
)


def of_beir() -> tuple[Published, ...]:
    """Return the printed rows of the twelve sets, the average named as here."""
    return tuple(
        replace(row, scores={AVERAGES[1] if name == "Average" else name: n for name, n in row.scores.items()})
        for row in suites["beir"].published
        if row.source == PAPER
    )


def pairs(*arms: tuple[str, str, str, str]) -> tuple[Row, ...]:
    """Return rows in pairs: name and model, then name and model of what is held against it."""
    rows = []
    for base, base_model, changed, model in arms:
        rows += [Row(name=base, model=base_model), Row(name=changed, model=model, against=base)]
    return tuple(rows)


TABLES = (
    Table(
        name="8",
        title="Retrieval: NASA-IR, BEIR, seconds per query",
        rows=ROWS,
        groups=BOTH,
        form="groups",
        published=printed(PAPER, AVERAGES, MAIN),
        timed="timed",
        seconds=SECONDS,
    ),
    Table(
        name="beir",
        title="Retrieval, set by set",
        rows=ROWS,
        groups=(BEIR, "by example"),
        published=of_beir(),
    ),
    Table(
        name="ablation",
        title="The small retriever, distilled in one stage and in several",
        rows=(
            Row(name="in stages", model="retriever-small-staged"),
            Row(name="in one stage", model="retriever-small", against="in stages"),
        ),
        groups=BOTH,
        form="groups",
        published=printed(f"{PAPER}, ablation", AVERAGES, STAGES),
    ),
    # Ours, after the choices that the paper states without figures.
    Table(
        name="I2",
        title="Vocabulary and text of the domain, and general ones",
        rows=pairs(
            ("general retriever", "roberta-base", "retriever", "retriever-base"),
            ("general encoder", "encoder-general", "encoder", "encoder"),
        ),
        groups=(*BOTH, "classification"),
        form="groups",
    ),
    Table(
        name="I4",
        title="Four sums, and plain contrast within the batch",
        rows=(
            Row(name="contrast", model="retriever-base-contrast"),
            Row(name="four sums", model="retriever-base", against="contrast"),
            Row(name="four sums, the pair once", model="retriever-base-once", against="contrast"),
        ),
        groups=BOTH,
        form="groups",
    ),
    Table(
        name="I5",
        title="With and without masked auto-encoding",
        rows=pairs(
            ("base", "retriever-base", "base, auto-encoded", "retriever-base-retromae"),
            ("small", "retriever-small-no-retromae", "small, auto-encoded", "retriever-small"),
        ),
        groups=BOTH,
        form="groups",
    ),
    Table(
        name="pooling",
        title="The mean of the tokens, and the first",
        rows=pairs(
            ("base, first", "retriever-base-cls", "base, mean", "retriever-base"),
            ("small, mean", "retriever-small-mean", "small, first", "retriever-small"),
        ),
        groups=BOTH,
        form="groups",
    ),
    Table(
        name="teachers",
        title="Two teachers and their students",
        rows=(
            Row(name="MiniLM-v2", model="minilm"),
            Row(name="taught by it", model="retriever-small-minilm", against="MiniLM-v2"),
            Row(name="INDUS-retriever-base", model="retriever-base"),
            Row(name="INDUS-retriever-small", model="retriever-small", against="INDUS-retriever-base"),
        ),
        groups=BOTH,
        form="relative",
        timed="timed",
    ),
)

OPEN = {task.name: task for task in COUNTED}


def titles(name: str, *metrics: str) -> Task:
    """Return the search of abstracts by titles, by other metrics."""
    protocol = Retrieve(metrics=metrics)
    return replace(OPEN["title-to-abstract"], name=name, protocol=protocol, reference=PAPER)


FOUND = titles("title-to-abstract-found", "recall@10")
RANKED = titles("title-to-abstract-ranked", "ndcg@10")
ONE_EACH = replace(suites["nasa-ir"].tasks[0], numbers="first")  # Recall@10 alone

reproductions.register("indus")(
    Reproduction(
        name="indus",
        title=PAPER,
        tables={table.name: table for table in (*language.TABLES, *TABLES)},
        models=MODELS | language.MODELS,
        shapes={
            "beir": Shape(
                suite=suites["beir"],
                tasks=(ONE_EACH,),
                others=language.PUBLISHED,
                groups={
                    NASA: (ONE_EACH.name,),
                    BEIR: tuple(task.name for task in suites["beir"].tasks),
                    "by example": (),
                    "classification": (),
                    "timed": ("beir-nq",),
                    **language.OF_THE_PAPER,
                },
                own=True,
            ),
            "open": Shape(
                suite=suites["open"],
                tasks=(FOUND, RANKED),
                others=language.OPEN,
                groups={
                    NASA: (FOUND.name,),
                    BEIR: ("scifact", "cranfield", "cacm", "npl", RANKED.name),
                    "by example": ("csfcube",),
                    "classification": tuple(t.name for t in COUNTED if t.format == "classification"),
                    "timed": ("cranfield", "scifact"),
                    **language.OF_OPEN_DATA,
                },
                remarks={
                    NASA: "titles find their abstracts among others, Recall@10; each has one, as there",
                    BEIR: "SciFact, Cranfield, CACM, NPL and titles to abstracts stand for the twelve sets",
                    "roberta-base": "in benchmarks/indus.py all-MiniLM-L6-v2 stands for it, with its own "
                    "words, no masked-LM stage, the same stage of contrast: our encoder began with its "
                    "layers too, but it was a finished retriever",
                    language.CLIMATE: "25 articles of climate science, other types than the paper's",
                    language.GEOSCIENCE: "answers in articles on COVID-19 stand for them",
                },
            ),
        },
        elsewhere={
            name: "it is made by sciprism tokenizer compare TOKENIZERS --texts DOMAIN=FILE" + more
            for name, more in (("2", ""), ("3", " --sentence TEXT"))
        },
    )
)
