"""NASA-QA: questions on Earth science whose answers stand in a paragraph.

29 paragraphs with 145 questions to train on, 10 with 50 to test. The paper adds SQuAD-2's articles on Oxygen,
the Amazon rainforest and Geology and counts 686 paragraphs and 5,081 questions, 2,264 of them impossible. An
article there has some forty paragraphs, so three cannot be all of it; a result counts what they gave. There
is no dev, hence one setting.
"""

from __future__ import annotations

from sciprism.datasets.layouts.language.parts import PartFiles
from sciprism.datasets.layouts.language.questions import SquadFiles
from sciprism.evaluation.protocols.span import Span
from sciprism.evaluation.suites.printed import printed
from sciprism.evaluation.suites.registry import suites
from sciprism.evaluation.task import Suite, Task
from sciprism.evaluation.tuning.settings import Tuning

PAPER = "INDUS (Bhattacharjee et al., EMNLP 2024)"
REPO = "nasa-impact/nasa-smd-qa-benchmark"
TOPICS = ("Oxygen", "Amazon rainforest", "Geology")
FILES = PartFiles(
    repo=REPO,
    train=("es_qa_sq2format_train.v2.json",),
    dev=(),
    test=("es_qa_sq2format_val.v2.json",),
)
TABLE = """
RoBERTa-base: 66.8
SciBERT: 63.5
INDUS-base: 68.2
TinyBERT: 43.2
MiniLM: 59.2
INDUS-small: 47.4
"""


def task(name: str, topics: tuple[str, ...], reference: str) -> Task:
    """Return the questions, with articles of SQuAD-2 to train on or without."""
    return Task(
        name=name,
        format="classification",
        protocol=Span(
            length=384, stride=128, tuning=Tuning(rates=(3e-5,), batches=(16,), epochs=(15,), seeds=3)
        ),
        data=SquadFiles(files=FILES, topics=topics),
        group="questions",
        numbers="first",
        reference=reference,
    )


suites.register("nasa-qa")(
    Suite(
        name="nasa-qa",
        tasks=(
            task("nasa-qa", TOPICS, f"{PAPER}: 15 epochs, three seeds"),
            task("nasa-qa-alone", (), "NASA-QA without the articles of SQuAD-2"),
        ),
        views={"augmented": ("nasa-qa",), "alone": ("nasa-qa-alone",)},
        published=printed(PAPER, ("nasa-qa f1",), TABLE),
        reference=PAPER,
    )
)
