"""`sciprism disambiguate`: which author each name on a paper is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from sciprism.cli.options import PaperFiles, Reading, check_outputs
from sciprism.cli.output import ProgressDisplay, join_counts, print_result, print_skip_counts
from sciprism.errors import InputError


def disambiguate(
    files: PaperFiles,
    output: Annotated[Path, "The table to write, .csv.", "-o", "--output"],
    reading: Reading,
    known: Annotated[Path | None, "A table of earlier ids or ORCIDs; its ids stay."] = None,
) -> None:
    """Tell authors of one name apart: write an author id for each name on each paper.

    Names of the same initial and surname are compared. Each row has a probability and a reason.

    Example: sciprism disambiguate refs.bib more.ris -o authors.csv

    Example: sciprism disambiguate refs.bib new.ris --known authors.csv -o authors.csv
    """
    from sciprism.papers import ReadReport
    from sciprism.uses.disambiguation.authors import disambiguate as find
    from sciprism.uses.disambiguation.authors import read_authors, write_authors

    if output.suffix.lower() != ".csv":
        raise InputError(f"{output}: the name of the table must end with .csv")
    check_outputs([output], files)
    given = read_authors(known) if known else {}
    report = ReadReport()
    with ProgressDisplay("reading", "papers") as display:
        result = find(display.count(reading.read_files(files, report)), known=given, progress=display)
    print_skip_counts(report.files, error=True)
    if not result.rows:
        raise InputError(f"{', '.join(files)}: no paper has an author; nothing was written")
    others = write_authors(output, result.rows, given)
    facts = {"inputs": files, "output": str(output), "skipped": report.skipped_count, "known_of_other_papers": others}
    counts = {
        "names without letters, left out": result.unnamed,
        "papers of an id that was there before": result.repeated,
        "known signatures of other papers or positions, which stay in the table": others,
    }
    lines = [join_counts(result.count()), *filter(None, [join_counts(counts)])]
    lines += [f"too many to compare all, divided by given names: {block}" for block in result.divided]
    lines += [*map(str, result.conflicts), f"wrote {output}"]
    print_result("sciprism.disambiguate/1", facts | result.to_json(), "\n".join(lines))
