"""`sciprism prepare s2and-mini`: the blocks of S2AND that SciRepEval tests on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sciprism.cli.options import AsJson, OutputFolder
from sciprism.cli.output import print_preparation


def s2and_mini(
    folder: Annotated[Path, typer.Argument(help="The folder with S2AND's sources, one folder each.")],
    out: OutputFolder,
    rule: Annotated[
        str, typer.Option(help="Which blocks are selected: alphabetical (as the public script) or largest.")
    ] = "alphabetical",
    as_json: AsJson = False,
) -> None:
    """Make S2AND-mini, SciRepEval's blocks of author mentions.

    Of each source it has at most 1,000 blocks of at most 500 mentions. Prints what is selected of each
    source.

    Example: sciprism prepare s2and-mini s2and -o s2and_mini
    """
    from sciprism.prepare.s2and_mini import prepare_s2and_mini

    print_preparation(prepare_s2and_mini(folder, out, rule=rule), as_json)  # type: ignore[arg-type]
