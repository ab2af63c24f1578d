"""Climate-Change NER: thirteen types of entities in abstracts on climate change."""

from __future__ import annotations

from sciprism.datasets.layouts.language.parts import PartFiles
from sciprism.datasets.layouts.language.words import WordTags
from sciprism.evaluation.protocols.tag import TagProtocol
from sciprism.evaluation.suites.published import parse_published
from sciprism.evaluation.suites.registry import register_suite
from sciprism.evaluation.task import Task
from sciprism.evaluation.tuning.settings import Tuning

PAPER = "INDUS (Bhattacharjee et al., EMNLP 2024)"
TABLE = """
RoBERTa-base: 60.8(0.8)
SciBERT: 61.8(0.7)
INDUS-base: 64.0(1.0)
TinyBERT: 34.3(1.6)
MiniLM: 44.7(1.3)
INDUS-small: 54.8(0.8)
"""

# The paper states ten seeds only: rates and batch sizes are the grid of PubMedBERT, the epochs are ours.
register_suite(
    "climate-ner",
    tasks=(
        Task(
            name="climate-ner",
            format="classification",
            protocol=TagProtocol(metric="entity_f1", length=512, tuning=Tuning(epochs=(20,), seeds=10)),
            data=WordTags(
                files=PartFiles(
                    repo="ibm-research/Climate-Change-NER",
                    train=("en.train.txt",),
                    dev=("en.val.txt",),
                    test=("en.test.txt",),
                )
            ),
            group="entities",
            reference=PAPER,
        ),
    ),
    published=parse_published(PAPER, ("climate-ner",), TABLE),
    reference=f"{PAPER}, of ten seeds",
)
