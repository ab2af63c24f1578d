"""`sciprism results`: pack what `evaluate` wrote into few small files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sciprism.cli.json_documents import print_json
from sciprism.cli.options import AsJson

results = typer.Typer(no_args_is_help=True, help="Pack the results of `evaluate` into few files.")


@results.command("pack")
def pack(
    folder: Annotated[Path, typer.Argument(help="The folder of results that `sciprism evaluate -o` wrote.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder for the packed results.")],
    as_json: AsJson = False,
) -> None:
    """Pack results into two files per suite: SUITE.json (numbers, provenance), SUITE.parquet (item scores).

    `compare`, `reproduce` and `evaluate` read packed results as they read the folder. Results of other
    systems and tasks that the output already holds stay in it. The folder itself is not changed.

    Example: sciprism results pack out/open -o results/open
    """
    from sciprism.evaluation.stored_results import pack_results
    from sciprism.reproduce.tables.result_folder import read_models, write_models

    found = pack_results(folder, output)
    for base, target in {each.source: each.path.parent for each in found}.items():
        if models := read_models(base):
            write_models(target, models)
    if as_json:
        keys = ("results", "systems", "size")
        packs = [{"path": str(p.path), **{key: getattr(p, key) for key in keys}} for p in found]
        print_json("sciprism.results-pack/1", {"packs": packs})
        return
    for each in found:
        print(f"{each.path}: {each.results:,} results of {each.systems:,} systems, {each.size / 1e6:.2f} MB")
