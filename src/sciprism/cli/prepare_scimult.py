"""`sciprism prepare scimult`: SciMult's pre-training sources and test files."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from sciprism.cli.options import AsJson, OutputFolder, Seed
from sciprism.cli.output import print_preparation


def scimult(
    raw: Annotated[Path, typer.Argument(help="The folder with the published data, sub-folders by name.")],
    out: OutputFolder,
    seed: Seed = 12345,
    only: Annotated[str | None, typer.Option(help="pretrain or test: make these alone.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make SciMult's pre-training sources and test files.

    Sub-folders of published data, as far as they exist: maple, micol, mesh, scirepeval, scidocs, beir,
    recommendation, PMC-Patients-ReCDS. Prints Tables A1 and A2 next to the published figures, and what is
    missing.

    Example: sciprism prepare scimult raw -o data --only test
    """
    from sciprism.prepare.scimult.data_sets import prepare_scimult

    done = prepare_scimult(raw, out, seed=seed, only=only, on_start=partial(typer.echo, err=True))  # type: ignore[arg-type]
    print_preparation(done, as_json)
