"""`sciprism prepare pairs`: pairs of texts out of papers, or out of rows that others publish."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sciprism.cli.sources import plain_console, print_dropped, print_table

if TYPE_CHECKING:
    from sciprism.prepare.pairs.prepare import Pairs

SHAPES = "title-abstract,citing-cited-abstracts,citing-cited-titles"


Shapes = Annotated[
    str,
    typer.Option(
        help="title-abstract, title-body, neighbour-sentences (of an abstract), citing-cited-abstracts, "
        'citing-cited-titles; or rows: files of ["a", "b"], {"set": []}, {"query", "pos", "neg"}.'
    ),
]
Edges = Annotated[Path | None, typer.Option(help="A table citing, cited; else papers' own references count.")]
Without = Annotated[
    list[Path] | None, typer.Option(help="Papers of tests, or a .txt with an id a line; they go. Repeatable.")
]
Data = Annotated[str, typer.Option(envvar="SCIPRISM_DATA", help="The open data: its test and dev papers go.")]


def pairs(
    files: Annotated[list[Path], typer.Argument(help="Papers, full texts, or rows of pairs.")],
    out: Annotated[Path, typer.Option("--output", "-o", help="The folder to write.")],
    shapes: Shapes = SHAPES,
    edges: Edges = None,
    without: Without = None,
    data: Data = "",
    dev: Annotated[float, typer.Option(help="The share of papers that is held out.")] = 0.01,
    seed: Annotated[int, typer.Option(help="Of what is drawn by chance.")] = 0,
) -> None:
    """Make pairs to train a retriever on: a title and its abstract, a paper and one that it cites.

    Writes train/SHAPE.jsonl, dev/SHAPE.jsonl (sources of a recipe; of rows one for each file, named as it is)
    and pairs.json: what was dropped and why. Other sources of the same folder stay.

    Example: sciprism prepare pairs works.jsonl -o pairs --shapes title-abstract,citing-cited-titles
    """
    from sciprism.prepare.pairs.prepare import Settings, prepare_pairs
    from sciprism.prepare.text.filters import Filters

    filters = Filters(without=tuple(without or ()), data=Path(data) if data else None)
    names = tuple(dict.fromkeys(name.strip() for name in shapes.split(",") if name.strip()))
    settings = Settings(shapes=names, citations=edges, dev=dev, seed=seed, filters=filters)
    print_pairs(prepare_pairs(out, files, settings))


def print_pairs(made: Pairs) -> None:
    """Print a row for each shape, and what was dropped of each."""
    from sciprism.prepare.pairs.shapes import shapes

    console = plain_console()
    rows = []
    for name, parts in made.parts.items():
        told = ["", "query", "query"]
        if name in shapes:
            told = [shapes[name].sheet, shapes[name].query, shapes[name].candidate]
        rows.append([name, *told, *(f"{parts[p].pairs:,}" if p in parts else "" for p in ("train", "dev"))])
    print_table(console, ("source", "sheet", "query", "candidate"), ("train", "dev"), rows)
    if made.dropped.ids:
        print_dropped(console, "papers and citations", made.dropped)
    for name, tally in made.lost.items():
        print_dropped(console, name, tally)
