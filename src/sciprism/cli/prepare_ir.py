"""`sciprism prepare ir`: a retrieval set of annotated questions, hidden among abstracts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sciprism.cli.sources import plain_console, print_dropped, print_skipped

if TYPE_CHECKING:
    from sciprism.prepare.retrieval.prepare import Prepared

Questions = Annotated[
    Path, typer.Argument(help="Rows with paragraph and question (or questions): JSON lines, a table; SQuAD.")
]
Papers = Annotated[list[Path], typer.Argument(help="Papers in any format, whose abstracts are the fillers.")]


def ir(
    questions: Questions,
    papers: Papers,
    out: Annotated[Path, typer.Option("--output", "-o", help="The folder to write.")],
    fillers: Annotated[int, typer.Option(help="Abstracts beside the annotated paragraphs.")],
    dev: Annotated[float, typer.Option(help="The share that is judged in dev, not in test.")] = 0.2,
    by: Annotated[
        str, typer.Option(help="paragraph; or question, as NASA-IR: dev then knows documents of the test.")
    ] = "paragraph",
    seed: Annotated[int, typer.Option(help="Of what is drawn by chance.")] = 0,
) -> None:
    """Make a retrieval set as NASA-IR is built: annotated questions, their paragraphs among random abstracts.

    Writes BEIR's files (corpus.jsonl, queries.jsonl, qrels/dev.tsv, qrels/test.tsv), tasks.toml for
    `sciprism evaluate --tasks`, and ir.json: what was kept, dropped and why.

    Example: sciprism prepare ir questions.jsonl works.jsonl -o ir --fillers 20000 --seed 1
    """
    from sciprism.prepare.retrieval.prepare import Settings, prepare_ir

    made = Settings(fillers=fillers, dev=dev, by=by, seed=seed)  # type: ignore[arg-type]
    print_set(prepare_ir(questions, papers, out, made), out)


def print_set(done: Prepared, out: Path) -> None:
    """Print what the set holds, what was dropped, and how it is scored."""
    console = plain_console()
    judged = ", ".join(f"{count:,} questions in {part}" for part, count in done.questions.items())
    print(f"{done.paragraphs:,} paragraphs and {done.fillers:,} fillers; {judged}")
    print(f"fillers are drawn from {done.able:,} abstracts of {done.seen:,} papers")
    print_dropped(console, "questions", done.pairs)
    print_dropped(console, "papers", done.papers)
    print_skipped(done.report.files)
    print(f"score it: sciprism evaluate MODEL --tasks {out / 'tasks.toml'} -o RESULTS")
