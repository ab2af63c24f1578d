"""`sciprism results`: what `evaluate` wrote, made small enough to keep."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

results = typer.Typer(no_args_is_help=True, help="Pack the results of `evaluate` into few files.")


@results.callback()
def _parts() -> None:
    """Pack the results of `evaluate` into few files."""


@results.command("pack")
def pack(
    folder: Annotated[Path, typer.Argument(help="The folder of results that `sciprism evaluate -o` wrote.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder for the packed results.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Pack results into two files per suite: SUITE.json (numbers, provenance), SUITE.parquet (items' scores).

    `compare`, `reproduce` and `evaluate` read packed results as they read the folder. Results of other
    systems and tasks that the output already holds stay in it. The folder itself is not changed.

    Example: sciprism results pack out/open -o results/open
    """
    from sciprism.evaluation.stored_results import pack as pack_results
    from sciprism.reproduce.tables.kept import read_models, write_models

    found = pack_results(folder, output)
    for base, target in {each.source: each.path.parent for each in found}.items():
        if models := read_models(base):
            write_models(target, models)
    if as_json:
        import json

        keys = ("path", "results", "systems", "size")
        print(json.dumps([{key: getattr(each, key) for key in keys} for each in found], default=str))
        return
    for each in found:
        print(f"{each.path}: {each.results:,} results of {each.systems:,} systems, {each.size / 1e6:.2f} MB")
