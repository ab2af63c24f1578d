"""`sciprism disambiguate`: which author each name on a paper is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sciprism.cli.options import AsJson, PaperFiles, Reading, check_outputs, with_settings
from sciprism.cli.output import ProgressDisplay, echo, join_counts, print_json, print_skip_counts
from sciprism.errors import InputError

if TYPE_CHECKING:
    from sciprism.uses.disambiguation.authors import Disambiguation


@with_settings
def disambiguate(
    files: PaperFiles,
    output: Annotated[Path, typer.Option("-o", "--output", help="The table to write, .csv.")],
    reading: Reading,
    known: Annotated[Path | None, typer.Option(help="A table of ids given before, or of ORCIDs; the ids stay.")] = None,
    as_json: AsJson = False,
) -> None:
    """Tell authors of one name apart: a table with an author id for each name on each paper.

    Names of one initial and surname are compared; each row has a probability and a reason. Ids of --known stay.

    Example: sciprism disambiguate refs.bib more.ris -o authors.csv
    Example: sciprism disambiguate refs.bib new.ris --known authors.csv -o authors.csv
    """
    from sciprism.papers import ReadReport, read_papers
    from sciprism.uses.disambiguation.authors import disambiguate as find
    from sciprism.uses.disambiguation.authors import read_authors, write_authors

    if output.suffix.lower() != ".csv":
        raise InputError(f"{output}: the name of the table must end with .csv")
    check_outputs([output], files)
    given = read_authors(known) if known else {}
    report = ReadReport()
    read = read_papers(files, reader=reading.reader, options=reading.build(), skip_bad=reading.skip_bad, report=report)
    with ProgressDisplay("reading", "papers") as display:
        result = find(display.count(read), known=given, progress=display.show)
    print_skip_counts(report.files, error=True)
    if not result.rows:
        raise InputError(f"{', '.join(files)}: no paper has an author; nothing was written")
    others = write_authors(output, result.rows, given)
    if as_json:
        facts = {"inputs": files, "output": str(output), "skipped": report.skipped_count}
        print_json("sciprism.disambiguate/1", facts | {"known_of_other_papers": others} | result.to_json())
    else:
        _print(result, output, others)


def _print(result: Disambiguation, output: Path, others: int) -> None:
    echo(join_counts(result.count()))
    counts = {
        "names without letters, left out": result.unnamed,
        "papers of an id that was there before": result.repeated,
        "known signatures of other papers or positions, which stay in the table": others,
    }
    if any(counts.values()):
        echo(join_counts(counts))
    for block in result.divided:
        echo(f"too many to compare all, divided by given names: {block}")
    for conflict in result.conflicts:
        echo(conflict)
    echo(f"wrote {output}")
