"""What commands that rank papers share: their options, and ranked papers for people or as JSON."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated

import typer

from sciprism.cli.json_documents import print_json
from sciprism.cli.printing import plain_console
from sciprism.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

    from sciprism.store import Filter, StoredCollection
    from sciprism.uses import Hit, Ranking

CollectionFolder = Annotated[Path, typer.Argument(help="A folder made by `sciprism embed`.")]
Year = Annotated[str, typer.Option(help="Only papers of these years: 1997, 1990-2000, 1990-, -2000.")]
Venue = Annotated[str, typer.Option(help="Only papers whose venue contains this.")]
Field = Annotated[str, typer.Option(help="Only papers of this field.")]
Model = Annotated[str, typer.Option(help="The folder of the collection's model, if it was moved.")]

MAX_REASON = 320
"""Characters of a reason in the terminal; JSON has all of it."""
SHOWN_AUTHORS = 3
"""Authors in the terminal; JSON has all of them."""


def build_filter(year: str, venue: str, field: str) -> Filter:
    """Build a filter from the options; years are `1997`, `1990-2000`, `1990-` or `-2000`."""
    from sciprism.store import Filter

    found = re.fullmatch(r"(\d+)|(\d*)-(\d*)", year.strip())
    if found is None or year.strip() == "-":
        if not year:
            return Filter(venue=venue, field=field)
        raise InputError(f"--year {year!r} is not a year or a span such as 1990-2000, 1990- or -2000")
    single, first, last = found.groups()
    year_from, year_to = (int(text) if text else None for text in (single or first, single or last))
    if year_from is not None and year_to is not None and year_from > year_to:
        raise InputError(f"--year {year!r} ends before it begins")
    return Filter(year_from=year_from, year_to=year_to, venue=venue, field=field)


def open_papers(folder: Path, filter: Filter) -> StoredCollection:
    """Open a collection; InputError where it is finished and empty, or where no paper can pass the filter.

    Warns on standard error of an unfinished one.
    """
    from sciprism.store import StoredCollection
    from sciprism.store.filters import check_filter

    collection = StoredCollection.open(folder)
    if len(collection):
        check_filter(collection, filter)
    elif collection.manifest.input is not None:
        raise InputError(f"{folder} holds no papers; add some with: sciprism embed FILES -o {folder}")
    if collection.manifest.input is None:
        warn_unfinished(folder, len(collection), "embed")
    return collection


def warn_unfinished(place: object, papers: int, command: str) -> None:
    """Warn on standard error of a collection that a command has not finished."""
    print(f"{place} is unfinished: {papers:,} papers so far; run its `sciprism {command}` again", file=sys.stderr)


def print_rankings(
    command: str, collection: str | Path, rankings: Sequence[Ranking], mode: str, *, as_json: bool
) -> None:
    """Print every ranking of `search` or `similar`. collection: where the papers are."""
    if as_json:
        found = [ranking.to_json() for ranking in rankings]
        print_json(f"sciprism.{command}/1", {"collection": str(collection), "mode": mode, "rankings": found})
        return
    from rich.text import Text

    console = plain_console()
    for number, ranking in enumerate(rankings):
        if len(rankings) > 1:
            console.print(Text(f"{'' if number == 0 else chr(10)}{ranking.query}", "bold"))
        if ranking.hits:
            console.print(_table(ranking.hits))
        else:
            console.print("no paper found")


def describe_source(authors: Sequence[str], venue: str, year: int | None) -> str:
    """Return authors, venue and year as "A. One, B. Two et al.; Nature, 1953  "; "" where none is known."""
    names = ", ".join(authors[:SHOWN_AUTHORS]) + (" et al." if len(authors) > SHOWN_AUTHORS else "")
    source = "; ".join(filter(None, (names, ", ".join(filter(None, (venue, str(year or "")))))))
    return f"{source}  " if source else ""


def _table(hits: Sequence[Hit]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2), expand=False)
    table.add_column(justify="right")
    table.add_column(justify="right")
    table.add_column(overflow="fold")
    for hit in hits:
        text = Text(hit.title or "(no title)", "bold")
        text.append(f"\n{describe_source(hit.authors, hit.venue, hit.year)}[{hit.id}]", "not bold dim")
        if hit.url and hit.id not in hit.url:
            text.append(f"\n{hit.url}", "not bold dim")
        if hit.why:
            text.append(f"\n“{shorten(hit.why, MAX_REASON, placeholder=' …')}”", "not bold italic")
        table.add_row(str(hit.rank), f"{hit.score:.4f}", text)
    return table
