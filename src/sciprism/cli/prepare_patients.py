"""`sciprism prepare patients`: examples of PMC-Patients to fine-tune patient retrieval."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sciprism.cli.options import AsJson, OutputFolder, Seed
from sciprism.cli.output import print_preparation


def patients(
    folder: Annotated[Path, typer.Argument(help="The folder of PMC-Patients-ReCDS, or one that holds it.")],
    out: OutputFolder,
    task: Annotated[str, typer.Option(help="par: articles for a patient; ppr: similar patients.")] = "ppr",
    negatives: Annotated[str, typer.Option(help="bm25 (hard negatives) or random.")] = "bm25",
    pool: Annotated[
        int, typer.Option(help="Documents that negatives are sampled from; 0: all, at 20 kB of memory each.")
    ] = 50_000,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Make examples to fine-tune patient retrieval (PMC-Patients).

    They are for recipes/patients-TASK.toml. Writes train/patients-TASK.jsonl, dev/patients-TASK.jsonl (to
    choose checkpoints) and patients-TASK.json: counts, and what was dropped and why.

    Example: sciprism prepare patients PMC-Patients-ReCDS -o sources --task ppr
    """
    from sciprism.prepare.patients import PatientSettings, prepare_patients

    settings = PatientSettings(search=task, negatives=negatives, pool=pool, seed=seed)  # type: ignore[arg-type]
    print_preparation(prepare_patients(folder, out, settings), as_json)
