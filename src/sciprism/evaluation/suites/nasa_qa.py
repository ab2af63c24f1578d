"""NASA-QA: questions on Earth science whose answers are in a paragraph.

29 paragraphs with 145 questions to train on, 10 with 50 to test. The paper adds SQuAD-2's articles on Oxygen,
the Amazon rainforest and Geology and counts 686 paragraphs and 5,081 questions, 2,264 of them impossible. An
article there has about forty paragraphs, so three are not all of it; results count what they gave. There is
no dev part, hence one setting.
"""

from __future__ import annotations

from sciprism.datasets.layouts.language.parts import PartFiles
from sciprism.datasets.layouts.language.questions import SquadFiles
from sciprism.evaluation.protocols.span import SpanProtocol
from sciprism.evaluation.suites.published import parse_published
from sciprism.evaluation.suites.registry import register_suite
from sciprism.evaluation.task import Task
from sciprism.evaluation.tuning.settings import Tuning

PAPER = "INDUS (Bhattacharjee et al., EMNLP 2024)"
FILES = PartFiles(
    repo="nasa-impact/nasa-smd-qa-benchmark",
    train=("es_qa_sq2format_train.v2.json",),
    dev=(),
    test=("es_qa_sq2format_val.v2.json",),
)
TABLE = """
RoBERTa-base: 66.8(3.1)
SciBERT: 63.5(1.9)
INDUS-base: 68.2(2.9)
TinyBERT: 43.2(2.3)
MiniLM: 59.2(3.9)
INDUS-small: 47.4(1.8)
"""


def task(name: str, topics: tuple[str, ...], reference: str) -> Task:
    """Return the questions, with articles of SQuAD-2 to train on or without."""
    return Task(
        name=name,
        format="classification",
        protocol=SpanProtocol(
            length=384, stride=128, tuning=Tuning(rates=(3e-5,), batches=(16,), epochs=(15,), seeds=3)
        ),
        data=SquadFiles(files=FILES, topics=topics),
        group="questions",
        numbers="first",
        reference=reference,
    )


register_suite(
    "nasa-qa",
    tasks=(
        task("nasa-qa", ("Oxygen", "Amazon rainforest", "Geology"), f"{PAPER}: 15 epochs, three seeds"),
        task("nasa-qa-alone", (), "NASA-QA without the articles of SQuAD-2"),
    ),
    views={"augmented": ("nasa-qa",), "alone": ("nasa-qa-alone",)},
    published=parse_published(PAPER, ("nasa-qa f1",), TABLE),
    reference=PAPER,
)
