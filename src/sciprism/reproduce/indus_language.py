"""INDUS's tables of language understanding (5, 6, 7): fine-tuned encoders, means of several runs."""

from __future__ import annotations

from sciprism.evaluation.suites import suites
from sciprism.reproduce.table import DOWNLOAD, ModelRow, PaperTable, TableModel, baseline_model

PAPER = suites["nasa-ir"].reference
SIX = ("entities", "pico", "relations", "similarity", "documents", "questions")
"""Groups of BLURB's tasks; its score, here "macro", is the mean of their means."""
CLIMATE, GEOSCIENCE = "climate entities", "questions on the Earth"
TRAIN = "; or train it: sciprism train recipes/indus/{0}.toml -o RUN"


def released_encoder(key: str, title: str, name: str, recipe: str) -> tuple[str, TableModel]:
    """Return the key and model of a published encoder, which a recipe trains again."""
    how = DOWNLOAD.format(name, key) + TRAIN.format(recipe)
    return key, TableModel(title, name, pooling="cls", obtain=how)


BASELINES = {
    "roberta": ("RoBERTa-base", "FacebookAI/roberta-base"),
    "scibert": ("SciBERT", "allenai/scibert_scivocab_uncased"),
    "pubmedbert": ("PubMedBERT", "microsoft/BiomedNLP-BiomedBERT-base-uncased-abstract"),
    "biolinkbert": ("BioLinkBERT-base", "michiyasunaga/BioLinkBERT-base"),
    "tinybert": ("TinyBERT", "huawei-noah/TinyBERT_General_4L_312D"),
    "minilm-encoder": ("MiniLM", "nreimers/MiniLM-L6-H384-uncased"),
}
"""Encoders of others: key -> title and name; their pooling does not matter under a trained head."""
MODELS = {key: baseline_model(key, title, name) for key, (title, name) in BASELINES.items()} | dict(
    [
        released_encoder("encoder-base", "the encoder", "nasa-impact/nasa-smd-ibm-v0.1", "base"),
        released_encoder("encoder-small", "the small encoder", "nasa-impact/nasa-smd-ibm-distil-v0.1", "small"),
    ]
)


def runs_table(name: str, title: str, suite: str, groups: tuple[str, ...], *more: ModelRow) -> PaperTable:
    """Return a table of means and standard deviations over runs: base size, further rows, small size."""
    return PaperTable(
        name=name,
        printed_as=f"Table {name}",
        title=title,
        rows=(
            ModelRow("RoBERTa-base", "roberta"),
            ModelRow("SciBERT", "scibert"),
            *more,
            ModelRow("INDUS-base", "encoder-base", against="RoBERTa-base"),
            ModelRow("TinyBERT", "tinybert"),
            ModelRow("MiniLM", "minilm-encoder"),
            ModelRow("INDUS-small", "encoder-small", against="MiniLM"),
        ),
        groups=groups,
        form="runs",
        average=False,
        overall=len(groups) > 1,
        published=tuple(row for row in suites[suite].published if row.source == PAPER),
    )


TABLES = (
    runs_table(
        "5",
        "BLURB, fine-tuned",
        "blurb",
        SIX,
        ModelRow("PubMedBERT", "pubmedbert"),
        ModelRow("BioLinkBERT-base", "biolinkbert"),
    ),
    runs_table("6", "entities of climate science, fine-tuned", "climate-ner", (CLIMATE,)),
    runs_table("7", "questions on the Earth, fine-tuned", "nasa-qa", (GEOSCIENCE,)),
)


PUBLISHED = tuple(suites[name] for name in ("blurb", "climate-ner", "nasa-qa"))
OPEN = (suites["open-nlu"],)
PAPER_GROUPS = {
    **{group: tuple(task.name for task in suites["blurb"].tasks if task.group == group) for group in SIX},
    CLIMATE: tuple(task.name for task in suites["climate-ner"].tasks),
    GEOSCIENCE: tuple(task.name for task in suites["nasa-qa"].tasks[:1]),
}
OTHER_ENTITIES = ("open-climate", "open-planetary")
"""Entities that are not biomedical: the first is in Table 6, the second in none."""
OPEN_GROUPS = {
    **{
        group: tuple(
            task.name
            for task in suites["open-nlu"].tasks
            if task.group == {"documents": "texts"}.get(group, group) and task.name not in OTHER_ENTITIES
        )
        for group in SIX
    },
    CLIMATE: ("open-climate",),
    GEOSCIENCE: ("open-covid-qa",),
}
OPEN_REMARKS = {
    "entities": "mentions in biomedicine: other copies of BLURB's five sets, and four more",
    "pico": "another copy of EBM PICO, trained on what was its dev part",
    "relations": "other copies of DDI and GAD, and ChemProt without unrelated pairs",
    "similarity": "another copy of BIOSSES",
    "documents": "another copy of Hallmarks of Cancer, and two sets of citation intent",
    "questions": "other copies of PubMedQA and BioASQ",
    CLIMATE: "25 articles of climate science, other types than the paper's",
    GEOSCIENCE: "answers in articles on COVID-19 replace them",
}
"""Group -> what its data are on the open suite; of copies only some counts are known to agree."""
