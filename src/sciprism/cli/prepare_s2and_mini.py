"""`sciprism prepare s2and-mini`: the blocks of S2AND that SciRepEval tests on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sciprism.cli.options import OutputFolder

COUNTS = ("blocks", "signatures", "clusters", "papers")


def s2and_mini(
    folder: Annotated[Path, typer.Argument(help="The folder with S2AND's sources, one folder each.")],
    out: OutputFolder,
    rule: Annotated[
        str, typer.Option(help="Which blocks are selected: alphabetical (as the public script) or largest.")
    ] = "alphabetical",
) -> None:
    """Make S2AND-mini: of six sources at most 1,000 blocks of at most 500 author mentions.

    Prints what is selected of each source.

    Example: sciprism prepare s2and-mini s2and -o s2and_mini
    """
    from sciprism.prepare.s2and_mini import sum_counts, write_s2and_mini

    sources = write_s2and_mini(folder, out, rule=rule)  # type: ignore[arg-type]
    rows = {
        each.source: {key: getattr(each, key) for count in COUNTS for key in (count, f"all_{count}")}
        for each in sources
    }
    print(f"{'source':<12}" + "".join(f"{count:>24}" for count in COUNTS))
    for name, row in (rows | {"all": sum_counts(sources)}).items():
        cells = (f"{row[count]:,} of {row[f'all_{count}']:,}" for count in COUNTS)
        print(f"{name:<12}" + "".join(f"{cell:>24}" for cell in cells))
