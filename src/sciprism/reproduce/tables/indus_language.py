"""INDUS's tables of language understanding (5, 6, 7): encoders fine-tuned, means of several runs."""

from __future__ import annotations

from sciprism.evaluation.suites.nasa_ir import PAPER
from sciprism.evaluation.suites.registry import suites
from sciprism.reproduce.tables.declared import Model, Row, Table

SIX = ("entities", "pico", "relations", "similarity", "documents", "questions")
"""BLURB's tasks; its score, here "macro", is the mean of their means."""
CLIMATE, GEOSCIENCE = "climate entities", "questions on the Earth"
FETCH = "where there is a network: hf download {0}; or --models {1}=FOLDER"
TRAIN = "; or train it: sciprism train recipes/indus/{0}.toml -o RUN"


def other(key: str, title: str, name: str) -> tuple[str, Model]:
    """Return an encoder of others; its pooling is of no account where a head is trained."""
    return key, Model(title=title, default=name, pooling="cls", fixed=True, obtain=FETCH.format(name, key))


def ours(key: str, title: str, name: str, recipe: str) -> tuple[str, Model]:
    """Return an encoder that the authors gave and a recipe trains again."""
    how = FETCH.format(name, key) + TRAIN.format(recipe)
    return key, Model(title=title, default=name, pooling="cls", obtain=how)


MODELS = dict(
    [
        other("roberta", "RoBERTa-base", "FacebookAI/roberta-base"),
        other("scibert", "SciBERT", "allenai/scibert_scivocab_uncased"),
        other("pubmedbert", "PubMedBERT", "microsoft/BiomedNLP-BiomedBERT-base-uncased-abstract"),
        other("biolinkbert", "BioLinkBERT-base", "michiyasunaga/BioLinkBERT-base"),
        ours("encoder-base", "the encoder", "nasa-impact/nasa-smd-ibm-v0.1", "base"),
        other("tinybert", "TinyBERT", "huawei-noah/TinyBERT_General_4L_312D"),
        other("minilm-encoder", "MiniLM", "nreimers/MiniLM-L6-H384-uncased"),
        ours("encoder-small", "the small encoder", "nasa-impact/nasa-smd-ibm-distil-v0.1", "small"),
    ]
)
BIOMEDICAL = (
    Row(name="PubMedBERT", model="pubmedbert"),
    Row(name="BioLinkBERT-base", model="biolinkbert"),
)


def rows(*more: Row) -> tuple[Row, ...]:
    """Return the rows of a table: those of base size, further ones, then those of small size."""
    return (
        Row(name="RoBERTa-base", model="roberta"),
        Row(name="SciBERT", model="scibert"),
        *more,
        Row(name="INDUS-base", model="encoder-base", against="RoBERTa-base"),
        Row(name="TinyBERT", model="tinybert"),
        Row(name="MiniLM", model="minilm-encoder"),
        Row(name="INDUS-small", model="encoder-small", against="MiniLM"),
    )


def table(name: str, title: str, suite: str, groups: tuple[str, ...], *more: Row) -> Table:
    """Return a table of means over runs and their standard deviations."""
    return Table(
        name=name,
        title=title,
        rows=rows(*more),
        groups=groups,
        form="runs",
        average=False,
        overall=len(groups) > 1,
        published=tuple(row for row in suites[suite].published if row.source == PAPER),
    )


TABLES = (
    table("5", "BLURB", "blurb", SIX, *BIOMEDICAL),
    table("6", "Entities of climate science", "climate-ner", (CLIMATE,)),
    table("7", "Questions on the Earth", "nasa-qa", (GEOSCIENCE,)),
)


PUBLISHED = tuple(suites[name] for name in ("blurb", "climate-ner", "nasa-qa"))
OPEN = (suites["open-nlu"],)
OF_THE_PAPER = {
    **{group: tuple(task.name for task in suites["blurb"].tasks if task.group == group) for group in SIX},
    CLIMATE: tuple(task.name for task in suites["climate-ner"].tasks),
    GEOSCIENCE: tuple(task.name for task in suites["nasa-qa"].tasks[:1]),
}
ELSEWHERE = ("open-climate", "open-planetary")
"""No biomedical entities: Table 6 has the first, the second is in none."""
OF_OPEN_DATA = {
    **{
        group: tuple(
            task.name
            for task in suites["open-nlu"].tasks
            if task.group == {"documents": "texts"}.get(group, group) and task.name not in ELSEWHERE
        )
        for group in SIX
    },
    CLIMATE: ("open-climate",),
    GEOSCIENCE: ("open-covid-qa",),
}
