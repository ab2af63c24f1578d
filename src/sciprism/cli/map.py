"""`sciprism map`: draw the papers of a collection as a page on which near papers lie together."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from sciprism.cli.options import CollectionFolder, check_outputs
from sciprism.cli.output import ProgressDisplay, echo, print_facts, print_result
from sciprism.errors import InputError

if TYPE_CHECKING:
    from sciprism.uses.mapping import PaperMap

SUFFIXES = (".html", ".parquet")


@dataclass(frozen=True, kw_only=True)
class MapOptions:
    """Which layout is retained, and what is written besides the page."""

    layout: Annotated[Path | None, "The .parquet of an earlier map, whose papers stay; else that of -o."] = None
    neighbours: Annotated[Path | None, "Also write the nearest-neighbour graph, .csv."] = None
    title: Annotated[str, "Title of the page; else the collection's name."] = ""

    def check(self, collection: Path, output: Path, table: Path) -> None:
        """Raise InputError for settings that contradict each other, and names that cannot be written."""
        from sciprism.files import write_atomically

        for path, suffixes in ((output, SUFFIXES), (self.neighbours, [".csv"])):
            if path is not None and path.suffix.lower() not in suffixes:
                raise InputError(f"{path}: its name must end with {' or '.join(suffixes)}")
        if self.layout and not self.layout.is_file():
            raise InputError(f"--layout {self.layout}: no such file; without --layout a new one is drawn")
        check_outputs(filter(None, [output, table, self.neighbours]), [collection])
        for path in filter(None, [table, self.neighbours]):  # what fails does so now, not after minutes of work
            write_atomically(trial := path.with_name(f".{path.name}.trial"), bool)
            trial.unlink()


def map(
    collection: CollectionFolder,
    output: Annotated[Path, "The page, .html, and its layout, .parquet; or only a .parquet.", "-o", "--output"],
    settings: MapOptions,
) -> None:
    """Draw the papers of a collection as a map: an offline page with topics, search and filters.

    The layout is a Parquet file, which embedding-atlas reads too. A second run leaves papers where they are, and adds
    new ones.

    Example: sciprism map vecs/ -o map.html
    """
    from sciprism.store import StoredCollection
    from sciprism.uses.mapping import PAGE_PAPERS, draw_map, read_layout, write_neighbours, write_page, write_parquet

    is_page, neighbours = output.suffix.lower() == ".html", settings.neighbours
    table = output.with_suffix(".parquet") if is_page else output
    settings.check(collection, output, table)
    # All are read, also one that is only replaced: no file of another kind is lost.
    layouts = {path: read_layout(path) for path in (settings.layout, table) if path and path.is_file()}
    layout = next(iter(layouts), None)
    former = layouts[layout] if layout else None
    stored = StoredCollection.open(collection)
    with ProgressDisplay("reading") as display:
        drawn = draw_map(stored, former=former, progress=display)
        display("writing")
        write_parquet(drawn, stored, table)
        if is_page:
            write_page(drawn, stored, output, title=settings.title)
        pairs = write_neighbours(drawn, stored, neighbours) if neighbours else None
    outputs = {"output": str(output), "layout": str(table), "neighbours": neighbours and str(neighbours)}
    facts: dict[str, Any] = {
        "from_layout": layout and str(layout),
        "shown": min(len(drawn.ids), PAGE_PAPERS) if is_page else None,
        "size": output.stat().st_size if is_page else None,
    }
    facts = outputs | facts | {"pairs": pairs, "counts": drawn.counts, "levels": drawn.names}
    print_result("sciprism.map/1", facts, lambda: _print(drawn, facts))


def _print(drawn: PaperMap, facts: dict[str, Any]) -> None:
    print_facts({name: f"{count:,}" for name, count in drawn.counts.items() if count or name == "papers"})
    for number, level in enumerate(facts["levels"], 1):
        echo(f"topics of level {number} ({len(level):,}): {'; '.join(level[:5])}{' ...' if len(level) > 5 else ''}")
    layout = facts["from_layout"]
    echo(f"{f'layout of {layout}' if layout else 'new layout'}, stored in {facts['layout']}")
    if facts["size"]:
        sampled = f", a random {facts['shown']:,} of the papers" if facts["shown"] < len(drawn.ids) else ""
        echo(f"wrote {facts['output']} ({facts['size'] / 1e6:.1f} MB{sampled})")
    if facts["neighbours"]:
        echo(f"wrote {facts['pairs']:,} pairs of near papers to {facts['neighbours']}")
