"""`sciprism prepare`: make benchmark data out of what others publish."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

prepare = typer.Typer(no_args_is_help=True, help="Make benchmark data out of published files.")


@prepare.callback()
def _parts() -> None:
    """Make benchmark data out of published files."""


@prepare.command("s2and-mini")
def s2and_mini(
    folder: Annotated[Path, typer.Argument(help="The folder with S2AND's sources, one folder each.")],
    out: Annotated[Path, typer.Option("--output", "-o", help="The folder to write.")],
    rule: Annotated[
        str, typer.Option(help="alphabetical (as the public script) or largest: which blocks stay.")
    ] = "alphabetical",
) -> None:
    """Make S2AND-mini: of six sources at most 1,000 blocks of at most 500 author mentions.

    Prints what stays of each source.

    Example: sciprism prepare s2and-mini s2and -o s2and_mini
    """
    from sciprism.tasks.s2and_mini import make_mini, total

    kept = make_mini(folder, out, rule=rule)  # type: ignore[arg-type]
    parts = ("blocks", "signatures", "clusters", "papers")
    print(f"{'source':<12}" + "".join(f"{part:>24}" for part in parts))
    rows = {
        one.source: {key: getattr(one, key) for part in parts for key in (part, f"all_{part}")}
        for one in kept
    }
    for name, row in (rows | {"all": total(kept)}).items():
        cells = (f"{row[part]:,} of {row[f'all_{part}']:,}" for part in parts)
        print(f"{name:<12}" + "".join(f"{cell:>24}" for cell in cells))
