"""INDUS's tables: retrieval, seconds per query, ablations, fine-tuning.

Its tables of tokens (2, 3) are made by `sciprism tokenizer compare`.
"""

from __future__ import annotations

from dataclasses import replace

from sciprism.evaluation.protocols.retrieve import RetrieveProtocol
from sciprism.evaluation.published import parse_published, rename_columns
from sciprism.evaluation.suites import suites
from sciprism.evaluation.task import Task
from sciprism.reproduce import indus_domain as domain
from sciprism.reproduce import indus_language as language
from sciprism.reproduce.table import (
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

PAPER = suites["nasa-ir"].reference
COUNTED = suites["open"].tasks_of("all")
TRAIN = "train it: sciprism train recipes/indus/{0} -o RUN, then --models {1}=RUN"
ABLATION = "train it: recipes/indus/{0}.toml with {2}, the same data and steps, then --models {1}=RUN"
NASA, BEIR = "NASA-IR", "BEIR"
BOTH = (NASA, BEIR)


def released_model(key: str, title: str, name: str) -> TableModel:
    """Return a published retriever, which its recipe trains again."""
    return TableModel(
        title, default=name, obtain=f"{DOWNLOAD.format(name, key)}; or {TRAIN.format(f'{key}.toml', key)}"
    )


def ablated_model(key: str, title: str, change: str) -> tuple[str, TableModel]:
    """Return the key and model of a retriever with one change; the key starts with the recipe's."""
    recipe = next(name for name in ("retriever-base", "retriever-small") if key.startswith(name))
    return key, TableModel(title, obtain=ABLATION.format(recipe, key, change))


MODELS = {
    "bm25": TableModel("BM25", "bm25", fixed=True),
    "roberta-base": TableModel(
        "RoBERTa-base, trained by the same recipe",
        obtain=TRAIN.format("retriever-base.toml --set model.backbone=FacebookAI/roberta-base", "roberta-base"),
    ),
    "bge-base": baseline_model("bge-base", "BGE-base", "BAAI/bge-base-en-v1.5", pooling=""),
    "retriever-base": released_model("retriever-base", "the retriever", "nasa-impact/nasa-smd-ibm-st-v2"),
    "minilm": baseline_model("minilm", "all-MiniLM-L6-v2", "all-MiniLM-L6-v2", pooling=""),
    "bge-small": baseline_model("bge-small", "BGE-small", "BAAI/bge-small-en-v1.5", pooling=""),
    "retriever-small": released_model("retriever-small", "the small retriever", "nasa-impact/nasa-ibm-st.38m"),
    **dict(
        [
            ablated_model("retriever-base-contrast", "the objective without three of the sums", 'objective "contrast"'),
            ablated_model("retriever-base-sharp", "at a temperature of 0.02", "objective.temperature = 0.02"),
            ablated_model(
                "retriever-base-contrast-sharp",
                "the objective without three of the sums, at a temperature of 0.02",
                'objective "contrast" and its temperature 0.02',
            ),
            ablated_model("retriever-base-once", "the pair counted once", "objective.count_pair_twice = false"),
            ablated_model("retriever-base-cls", "the first token's vector", 'pooling = "cls"'),
            ablated_model("retriever-base-retromae", "initialized by auto-encoding", "a stage of auto-encoding before"),
            ablated_model(
                "retriever-small-no-retromae", "not initialized by auto-encoding", "no stage of auto-encoding"
            ),
            ablated_model("retriever-small-staged", "distilled in stages", "unsupervised pairs first, then supervised"),
            ablated_model("retriever-small-mean", "the mean of the tokens", 'pooling = "mean"'),
            ablated_model("retriever-small-minilm", "distilled from all-MiniLM-L6-v2", "that model as the teacher"),
        ]
    ),
    "encoder": TableModel(
        "the encoder before contrast",
        default="nasa-impact/nasa-smd-ibm-v0.1",
        obtain=DOWNLOAD.format("nasa-impact/nasa-smd-ibm-v0.1", "encoder"),
    ),
    "encoder-general": TableModel(
        "an encoder of general vocabulary and text",
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
NO_NUMBER = "The table's number in the paper is not on file here."
AVERAGES = tuple(f"Average, {group}" for group in BOTH)
ROWS = (
    ModelRow("BM25", "bm25", always_shown=True, ours=True),
    ModelRow("RoBERTa-base, same recipe", "roberta-base"),
    ModelRow("BGE-base", "bge-base"),
    ModelRow("INDUS-retriever-base", "retriever-base", against="RoBERTa-base, same recipe"),
    ModelRow("MiniLM-v2", "minilm"),
    ModelRow("BGE-small", "bge-small"),
    ModelRow("INDUS-retriever-small", "retriever-small", against="INDUS-retriever-base"),
)


TABLES = (
    PaperTable(
        name="8",
        printed_as="Table 8",
        title="retrieval by average, and seconds per query",
        rows=ROWS,
        groups=BOTH,
        form="groups",
        published=parse_published(PAPER, AVERAGES, MAIN),
        timed_group="timed",
        seconds={
            "RoBERTa-base, same recipe": 1.20,
            "BGE-base": 1.18,
            "INDUS-retriever-base": 1.19,
            "MiniLM-v2": 0.24,
            "BGE-small": 0.42,
            "INDUS-retriever-small": 0.26,
        },
    ),
    PaperTable(
        name="beir",
        printed_as="BEIR table",
        title="retrieval, set by set",
        rows=ROWS,
        groups=(BEIR, "by example"),
        published=tuple(
            rename_columns(row, {"Average": AVERAGES[1]}) for row in suites["beir"].published if row.source == PAPER
        ),
        notes=(NO_NUMBER,),
    ),
    averages_table(
        "ablation",
        "the small retriever, distilled in one stage and in several",
        paired_rows(("in stages", "retriever-small-staged", "in one stage", "retriever-small")),
        BOTH,
        parse_published(f"{PAPER}, ablation", AVERAGES, STAGES),
        printed_as="Ablation table",
        notes=(NO_NUMBER,),
    ),
    # Ours, for choices that the paper states without numbers.
    averages_table(
        "I2",
        "vocabulary and text of the domain, and general ones",
        paired_rows(
            ("general retriever", "roberta-base", "retriever", "retriever-base"),
            ("general encoder", "encoder-general", "encoder", "encoder"),
        ),
        (*BOTH, "classification"),
    ),
    averages_table(
        "I4",
        "four sums, and plain contrast within the batch",
        (
            ModelRow("contrast", "retriever-base-contrast"),
            ModelRow("four sums", "retriever-base", against="contrast"),
            ModelRow("four sums, the pair once", "retriever-base-once", against="contrast"),
            ModelRow("contrast, 0.02", "retriever-base-contrast-sharp"),
            ModelRow("four sums, 0.02", "retriever-base-sharp", against="contrast, 0.02"),
        ),
        BOTH,
    ),
    averages_table(
        "I5",
        "with and without masked auto-encoding",
        paired_rows(
            ("base", "retriever-base", "base, auto-encoded", "retriever-base-retromae"),
            ("small", "retriever-small-no-retromae", "small, auto-encoded", "retriever-small"),
        ),
        BOTH,
    ),
    averages_table(
        "pooling",
        "the mean of the tokens, and the first",
        paired_rows(
            ("base, first", "retriever-base-cls", "base, mean", "retriever-base"),
            ("small, mean", "retriever-small-mean", "small, first", "retriever-small"),
        ),
        BOTH,
    ),
    PaperTable(
        name="teachers",
        title="two teachers and their students",
        rows=paired_rows(
            ("MiniLM-v2", "minilm", "taught by it", "retriever-small-minilm"),
            ("INDUS-retriever-base", "retriever-base", "INDUS-retriever-small", "retriever-small"),
        ),
        groups=BOTH,
        form="relative",
        timed_group="timed",
    ),
)

OPEN = {task.name: task for task in COUNTED}


def title_search(name: str, *metrics: str) -> Task:
    """Return the title-to-abstract search task with other metrics."""
    protocol = RetrieveProtocol(metrics=metrics)
    return replace(OPEN["title-to-abstract"], name=name, protocol=protocol, reference=PAPER)


FOUND = title_search("title-to-abstract-found", "recall@10")
RANKED = title_search("title-to-abstract-ranked", "ndcg@10")
TITLES = (
    "no questions on space and Earth: 1,500 titles of arXiv records of 2019, from 17 fields, retrieve their abstracts "
    "among the 1,500, Recall@10; one is right, as there"
)
SEARCHES = (
    "no set of BEIR but SciFact: claims (SciFact, 300), questions on aerodynamics (Cranfield, 225), computing "
    "(CACM, 52) and physics (NPL, 93), and the titles above replace the twelve sets, nDCG@10"
)
QUESTIONS = (
    "398 of 498 questions, three on each of 166 paragraphs (the other 100, on the same paragraphs, are the dev part), "
    "Recall@10; the rest of the documents are abstracts of ADS: 26,839 by the paper's first version, about 268,000 in "
    "the released files"
)
TRAINED_ON = {
    "beir-nq": "both INDUS retrievers train on pairs of this set",
    **dict.fromkeys(("beir-hotpotqa", "beir-fever"), "the small INDUS retriever trains on pairs of this set"),
    "beir-climate-fever": "its documents are those of FEVER, which the small INDUS retriever trains on",
}
"""Task -> which of the scored models train on its data; of BGE and MiniLM our sources do not say."""
ONE_EACH = replace(suites["nasa-ir"].tasks[0], numbers="first")  # Recall@10 alone

REPRODUCTION = Reproduction(
    name="indus",
    title=PAPER,
    tables={
        table.name: table
        for table in (*language.TABLES, *TABLES, *domain.domain_tables((*BOTH, "classification"), language.CLIMATE))
    },
    models=MODELS | language.MODELS | domain.MODELS,
    suites={
        "beir": GroupedSuite(
            suite=suites["beir"],
            tasks=(ONE_EACH,),
            other_suites=language.PUBLISHED,
            groups={
                NASA: (ONE_EACH.name,),
                BEIR: tuple(task.name for task in suites["beir"].tasks),
                "by example": (),
                "classification": (),
                "timed": ("beir-nq",),
                **language.PAPER_GROUPS,
            },
            original=True,
            remarks={NASA: QUESTIONS, BEIR: "the test queries of the twelve sets, nDCG@10"},
            trained_on=TRAINED_ON,
        ),
        "open": GroupedSuite(
            suite=suites["open"],
            tasks=(FOUND, RANKED),
            other_suites=language.OPEN,
            groups={
                NASA: (FOUND.name,),
                BEIR: ("scifact", "cranfield", "cacm", "npl", RANKED.name),
                "by example": ("csfcube",),
                "classification": tuple(t.name for t in COUNTED if t.format == "classification"),
                "timed": ("cranfield", "scifact"),
                **language.OPEN_GROUPS,
            },
            remarks={
                NASA: TITLES,
                BEIR: SEARCHES,
                "by example": "papers like a given one (CSFCube); in no set of the paper",
                "classification": "classes of papers by a linear model; in no table of the paper",
                "roberta-base": "in benchmarks/indus.py all-MiniLM-L6-v2 replaces it, with its own "
                "vocabulary, no masked-LM stage, the same contrastive stage: our encoder is initialized "
                "from its layers too, but it was a finished retriever",
                **language.OPEN_REMARKS,
            },
            stand_ins={NASA: "titles to abstracts", BEIR: "open searches"},
            trained_on=dict.fromkeys(
                (FOUND.name, RANKED.name), "our retrievers train on titles and abstracts of other papers"
            ),
        ),
    },
    other_tables={
        name: "it is made by sciprism tokenizer compare TOKENIZERS --texts DOMAIN=FILE" + more
        for name, more in (("2", ""), ("3", " --sentence TEXT"))
    },
)
