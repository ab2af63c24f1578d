"""`sciprism prepare ir`: a retrieval set of annotated questions, with random abstracts as distractors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sciprism.cli.options import AsJson, OutputFolder, Seed
from sciprism.cli.output import print_preparation


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
    as_json: AsJson = False,
) -> None:
    """Make a retrieval test set of annotated questions.

    As in NASA-IR, their paragraphs are among random abstracts. Writes BEIR's files (corpus.jsonl,
    queries.jsonl, qrels/dev.tsv, qrels/test.tsv), tasks.toml for `sciprism evaluate --tasks`, and ir.json:
    counts, and what was dropped and why.

    Example: sciprism prepare ir questions.jsonl works.jsonl -o ir --distractors 20000 --seed 1
    """
    from sciprism.prepare.ir import RetrievalSettings, prepare_ir

    settings = RetrievalSettings(distractors=distractors, dev=dev, split_by=split_by, seed=seed)  # type: ignore[arg-type]
    print_preparation(prepare_ir(questions, papers, out, settings), as_json)
