"""`sciprism prepare`: make training and test data out of published files or your papers."""

from __future__ import annotations

from collections.abc import Callable

import typer

from sciprism.cli.output import show_work
from sciprism.cli.prepare_benchmarks import ir, lexical, multi_scidocs, s2and_mini, scimult
from sciprism.cli.prepare_training import citations, open_sets, pairs, patients, scirepeval, text

prepare = typer.Typer(no_args_is_help=True, help="Make training and test data.")
COMMANDS: dict[str, Callable[..., None]] = {
    "open": open_sets,
    "citations": citations,
    "pairs": pairs,
    "text": text,
    "patients": patients,
    "scirepeval": scirepeval,
    "scimult": scimult,
    "ir": ir,
    "multi-scidocs": multi_scidocs,
    "s2and-mini": s2and_mini,
    "lexical": lexical,
}
"""Training data, then test data, then a model."""


for name, command in COMMANDS.items():
    prepare.command(name, short_help=(command.__doc__ or "").partition("\n")[0])(show_work(f"prepare {name}", command))
