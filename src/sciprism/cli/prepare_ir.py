"""`sciprism prepare ir`: a retrieval set of annotated questions, with random abstracts as distractors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sciprism.cli.options import OutputFolder, Seed
from sciprism.cli.printing import print_dropped, print_skip_counts

if TYPE_CHECKING:
    from sciprism.prepare.retrieval.prepare import PreparedRetrievalSet


def ir(
    questions: Annotated[
        Path,
        typer.Argument(help="Rows with paragraph and question (or questions): JSON lines, a table; SQuAD."),
    ],
    papers: Annotated[list[Path], typer.Argument(help="Papers in any format, whose abstracts are the distractors.")],
    out: OutputFolder,
    distractors: Annotated[int, typer.Option(help="Abstracts next to the annotated paragraphs.")],
    dev: Annotated[float, typer.Option(help="Share of dev; the rest is the test.")] = 0.2,
    split_by: Annotated[
        str, typer.Option(help="paragraph; or question, as NASA-IR: dev and test then share documents.")
    ] = "paragraph",
    seed: Seed = 0,
) -> None:
    """Make a retrieval set as NASA-IR is built: annotated questions, their paragraphs among random abstracts.

    Writes BEIR's files (corpus.jsonl, queries.jsonl, qrels/dev.tsv, qrels/test.tsv), tasks.toml for
    `sciprism evaluate --tasks`, and ir.json: counts, and what was dropped and why.

    Example: sciprism prepare ir questions.jsonl works.jsonl -o ir --distractors 20000 --seed 1
    """
    from sciprism.prepare.retrieval.prepare import RetrievalSettings, prepare_ir

    settings = RetrievalSettings(distractors=distractors, dev=dev, split_by=split_by, seed=seed)  # type: ignore[arg-type]
    print_set(prepare_ir(questions, papers, out, settings), out)


def print_set(done: PreparedRetrievalSet, out: Path) -> None:
    """Print what the set holds, what was dropped, and the command that scores it."""
    sampler = done.distractors
    questions = ", ".join(f"{count:,} questions in {part}" for part, count in done.questions.items())
    print(f"{done.paragraphs:,} paragraphs and {sampler.count:,} distractors; {questions}")
    print(f"distractors are sampled from {sampler.usable:,} abstracts of {sampler.seen:,} papers")
    print_dropped("questions", done.dropped)
    print_dropped("papers", sampler.dropped)
    print_skip_counts(done.report.files)
    print(f"to score it: sciprism evaluate MODEL --tasks {out / 'tasks.toml'} -o RESULTS")
