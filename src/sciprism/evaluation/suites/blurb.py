"""BLURB: thirteen biomedical data sets of six tasks, for fine-tuning.

The files are those that BLURB's package makes, or LinkBERT's copy of them; other copies differ in sentences,
types or splits and are in `open-nlu`. Epochs and lengths are LinkBERT's, one for each data set; rates and
batch sizes are the grid of the PubMedBERT paper, chosen on dev with the first seed.
"""

from __future__ import annotations

from functools import partial

from sciprism.datasets.layouts.language.hallmarks import HallmarkAbstracts
from sciprism.datasets.layouts.language.parts import PartFiles
from sciprism.datasets.layouts.language.texts import PAIR_COLUMNS, TEXT_COLUMNS, LabelledTexts
from sciprism.datasets.layouts.language.words import WordTags
from sciprism.evaluation.protocols.pair import PairProtocol
from sciprism.evaluation.protocols.tag import TagProtocol
from sciprism.evaluation.suites.published import parse_published
from sciprism.evaluation.suites.registry import register_suite
from sciprism.evaluation.task import Average, Task
from sciprism.evaluation.tuning.settings import Tuning

PAPER = "BLURB (Gu et al., ACM HEALTH 2021)"
SEEDS = 10
"""As INDUS; the paper has five, and ten for the three smallest sets."""
OBTAIN = (
    "make it with https://microsoft.github.io/BLURB/sample_code/data_generation.tar.gz, or unpack LinkBERT's "
    "data.zip (github.com/michiyasunaga/LinkBERT); either may lie in a folder blurb or linkbert"
)


def files(*folders: str) -> PartFiles:
    """Return the files of a set, in the folder of BLURB's package or of LinkBERT's copy."""
    return PartFiles(folders=folders, obtain=OBTAIN)


def tuning(epochs: int) -> Tuning:
    """Return the grid of the paper with LinkBERT's number of epochs."""
    return Tuning(rates=(1e-5, 3e-5, 5e-5), batches=(16, 32), epochs=(epochs,), seeds=SEEDS)


task = partial(Task, format="classification", reference=PAPER)


def entities(name: str, folder: str, epochs: int, *, merged: bool = False) -> Task:
    """Return a set of tagged mentions."""
    return task(
        name=name,
        group="entities",
        data=WordTags(files=files(folder, f"{folder}_hf"), merged=merged),
        protocol=TagProtocol(metric="entity_f1", length=512, tuning=tuning(epochs)),
    )


def relations(name: str, folder: str, epochs: int) -> Task:
    """Return a set of pairs of entities, most of them unrelated."""
    return task(
        name=name,
        group="relations",
        data=LabelledTexts(files=files(folder, f"{folder}_hf"), columns=TEXT_COLUMNS, negative="false"),
        protocol=PairProtocol(metric="f1_micro", negative="false", length=256, tuning=tuning(epochs)),
    )


PUBMEDQA = PartFiles(
    folders=("pubmedqa", "pubmedqa_hf"),
    train=("pqal_fold0/train_set", "train"),
    dev=("pqal_fold0/dev_set", "dev"),
    test=("test_set", "test"),
    obtain=OBTAIN,
)
TASKS = (
    entities("bc5-chem", "BC5CDR-chem", 20),
    entities("bc5-disease", "BC5CDR-disease", 8),
    entities("ncbi-disease", "NCBI-disease", 20),
    entities("bc2gm", "BC2GM", 50),
    entities("jnlpba", "JNLPBA", 5, merged=True),
    task(
        name="ebm-pico",
        group="pico",
        data=WordTags(files=files("ebmnlp", "ebmnlp_hf")),
        protocol=TagProtocol(metric="word_f1_macro", length=512, tuning=tuning(1)),
    ),
    relations("chemprot", "chemprot", 10),
    relations("ddi", "DDI", 5),
    task(
        name="gad",
        group="relations",
        data=LabelledTexts(files=files("GAD", "GAD_hf"), columns=TEXT_COLUMNS),
        protocol=PairProtocol(metric="f1_binary", positive="1", length=256, tuning=tuning(10)),
    ),
    task(
        name="hoc",
        group="documents",
        data=HallmarkAbstracts(files=files("HoC", "HoC_hf")),
        protocol=PairProtocol(metric="f1_micro", length=512, tuning=tuning(40)),
    ),
    task(
        name="pubmedqa",
        group="questions",
        data=LabelledTexts(files=PUBMEDQA, pairs=True),
        protocol=PairProtocol(metric="accuracy", length=512, tuning=tuning(30)),
    ),
    task(
        name="bioasq",
        group="questions",
        data=LabelledTexts(
            files=files("BioASQ", "bioasq", "bioasq_hf"),
            columns=("id", "question", "context", "answer"),
            pairs=True,
        ),
        protocol=PairProtocol(metric="accuracy", length=512, tuning=tuning(20)),
    ),
    task(
        name="biosses",
        group="similarity",
        data=LabelledTexts(files=files("BIOSSES", "BIOSSES_hf"), columns=PAIR_COLUMNS, pairs=True, target="number"),
        protocol=PairProtocol(metric="pearson", length=512, tuning=tuning(30)),
    ),
)
NAMES = tuple(task.name for task in TASKS)

# Means of ten seeds. The macro average printed for MiniLM does not follow from its cells, which give 60.0.
INDUS_TABLE = """
RoBERTa-base: 90.3(0.2) 81.5(0.3) 87.6(0.6) 82.1(0.3) 79.1(0.2) 72.3(0.3) 50.4(28.2) 78.6(1.5)
    80.0(1.1) 82.2(0.7) 53.1(3.3) 69.1(4.8) 79.8(6.3) 75.9(3.7) 74.9(3.7)
SciBERT: 91.4(0.2) 83.7(0.3) 87.6(0.4) 82.3(0.2) 78.2(0.2) 72.4(0.3) 73.9(0.7) 80.1(1.0)
    81.6(1.2) 83.1(0.6) 54.3(3.8) 74.6(4.5) 86.3(3.5) 79.2(1.3) 78.2(1.6)
PubMedBERT: 93.2(0.1) 85.4(0.3) 88.2(0.6) 84.3(0.3) 79.3(0.2) 72.9(0.3) 77.2(0.6) 80.6(1.1)
    82.4(1.2) 84.5(0.4) 55.2(5.5) 84.3(5.5) 92.2(1.1) 81.5(1.3) 80.9(1.4)
BioLinkBERT-base: 93.3(0.2) 85.3(0.3) 88.2(0.5) 84.7(0.2) 78.9(0.2) 73.4(0.2) 77.9(0.4) 81.2(0.6)
    82.1(1.5) 84.4(0.5) 59.1(6.2) 84.9(10.5) 91.1(2.6) 81.9(1.8) 81.2(3.9)
INDUS-base: 93.3(0.2) 85.2(0.3) 88.3(0.4) 84.0(0.3) 80.3(0.2) 73.1(0.2) 76.9(0.5) 81.7(0.5)
    79.4(5.6) 83.7(0.5) 58.2(6.7) 69.6(5.8) 72.2(9.5) 78.9(2.4) 76.4(3.2)
TinyBERT: 84.6(0.2) 74.0(0.4) 81.2(0.4) 74.7(0.4) 70.3(0.2) 67.4(0.2) 56.2(3.2) 39.3(5.3)
    76.4(1.3) 41.6(6.8) 50.3(1.4) 74.3(3.6) 88.2(1.1) 67.6(1.9) 65.6(2.4)
MiniLM: 86.1(0.3) 77.4(0.3) 83.1(0.5) 77.1(0.2) 73.4(0.3) 70.3(0.1) 55.9(2.1) 51.5(2.9)
    77.3(1.0) 62.8(4.7) 51.6(1.7) 66.7(2.3) 26.6(8.7) 66.1(1.9) 60.6(3.0)
INDUS-small: 90.7(0.1) 81.3(0.3) 85.6(0.6) 79.7(0.3) 75.7(0.2) 73.1(0.2) 71.7(0.9) 69.0(1.2)
    81.3(0.7) 80.2(0.6) 56.1(1.4) 75.4(3.3) 70.4(3.3) 76.2(1.0) 74.3(1.3)
"""
PUBMEDBERT = "PubMedBERT: 93.33 85.62 87.82 84.52 79.10 73.38 77.24 82.36 83.96 82.32 55.84 87.56 92.30 81.16"
OTHERS = """
BERT-base uncased: 76.11
RoBERTa-base: 76.46
BioBERT: 80.34
SciBERT uncased: 78.86
SciBERT cased: 78.14
ClinicalBERT: 77.29
BlueBERT: 76.27
"""
LINKBERT_TABLE = """
PubMedBERT: 81.10
BioLinkBERT-base: 83.39
BioLinkBERT-large: 84.30
"""

register_suite(
    "blurb",
    tasks=TASKS,
    averages=(
        Average(name="micro", tasks=NAMES),
        Average(name="macro", tasks=NAMES, by_group=True),
    ),
    views={"entities": NAMES[:5], "small": ("biosses", "pubmedqa", "bioasq")},
    published=(
        *parse_published(PAPER, (*NAMES, "macro"), PUBMEDBERT),
        *parse_published(PAPER, ("macro",), OTHERS),
        *parse_published("INDUS (Bhattacharjee et al., EMNLP 2024)", (*NAMES, "micro", "macro"), INDUS_TABLE),
        *parse_published("LinkBERT (Yasunaga et al., ACL 2022)", ("macro",), LINKBERT_TABLE),
    ),
    reference=f"{PAPER}; the BLURB score is the average `macro`",
)
