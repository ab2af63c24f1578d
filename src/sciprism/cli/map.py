"""`sciprism map`: draw the papers of a collection as a page on which near papers lie together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sciprism.cli.options import AsJson, CollectionFolder, Seed, check_outputs
from sciprism.cli.output import ProgressDisplay, print_facts, print_json
from sciprism.errors import InputError

SUFFIXES = (".html", ".parquet")


def map(
    collection: CollectionFolder,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="The page, .html, with its layout beside it; or a .parquet alone.")
    ],
    layout: Annotated[
        Path | None, typer.Option(help="The .parquet of an earlier map, whose papers stay; else the one beside -o.")
    ] = None,
    new_layout: Annotated[
        bool, typer.Option("--new-layout", help="Lay out all papers anew, though there is a layout.")
    ] = False,
    neighbours: Annotated[
        Path | None, typer.Option(help="Write the graph of nearest papers too, .csv or .graphml.")
    ] = None,
    title: Annotated[str, typer.Option(help="Title of the page; else the collection's name.")] = "",
    sample: Annotated[
        int, typer.Option(help="Papers to lay out; of more, the others are placed by their neighbours.", min=100)
    ] = 100_000,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Draw the papers of a collection as a map: one page, which needs no network, with topics, search and filters.

    The layout is stored beside the page as Parquet, which embedding-atlas reads too. The same command then leaves
    papers where they are, and places new ones among them.

    Example: sciprism map vecs/ -o map.html
    """
    from sciprism.store import StoredCollection
    from sciprism.uses.mapping import draw_map, read_layout, write_neighbours, write_page, write_parquet
    from sciprism.uses.mapping.map_files import GRAPHS

    for path, suffixes in ((output, SUFFIXES), (neighbours, GRAPHS)):
        if path is not None and path.suffix.lower() not in suffixes:
            raise InputError(f"{path}: its name must end with {' or '.join(suffixes)}")
    if layout and new_layout:
        raise InputError("--layout names a layout to retain, and --new-layout draws another; leave one out")
    if layout and not layout.is_file():
        raise InputError(f"--layout {layout}: no such file; without --layout a new one is drawn")
    stored = StoredCollection.open(collection)
    table = output.with_suffix(".parquet")
    check_outputs(filter(None, [output, table, neighbours]), [collection])
    found = layout or (table if table.is_file() else None)
    former = read_layout(found) if found else None  # with --new-layout too: no file of another kind is replaced
    if new_layout:
        found = former = None
    with ProgressDisplay("reading") as display:
        drawn = draw_map(stored, former=former, seed=seed, sample=sample, progress=display.show)
        display.begin("writing")
        write_parquet(drawn, stored, table)
        page = write_page(drawn, stored, output, title=title) if output.suffix.lower() == ".html" else None
        pairs = write_neighbours(drawn, stored, neighbours) if neighbours else None
    names = [[topic.name for topic in topics] for topics in drawn.levels]
    if as_json:
        outputs = {"output": str(output), "layout": str(table), "neighbours": neighbours and str(neighbours)}
        facts = {"from_layout": found and str(found), "shown": page and page.shown, "size": page and page.size}
        print_json("sciprism.map/1", outputs | facts | {"counts": drawn.counts, "pairs": pairs, "levels": names})
        return
    print_facts({name: f"{count:,}" for name, count in drawn.counts.items() if count or name == "papers"})
    for number, level in enumerate(names, 1):
        print(f"level {number}, {len(level):,} topics: {'; '.join(level[:5])}{' ...' if len(level) > 5 else ''}")
    print(f"{'layout of ' + str(found) if former else 'new layout'}, stored in {table}")
    if page:
        sampled = f", a random {page.shown:,} of the papers" if page.shown < len(drawn.ids) else ""
        print(f"wrote {output} ({page.size / 1e6:.1f} MB{sampled})")
    if neighbours:
        print(f"wrote {pairs:,} pairs of near papers to {neighbours}")
