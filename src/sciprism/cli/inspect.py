"""`sciprism inspect`: what files of papers or labels hold."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from sciprism.papers import Paper
    from sciprism.papers.inspection import Inspection, LabelInspection
    from sciprism.papers.reading import FileReport, ReadReport

SHOWN = 10
"""Skipped records and languages that are named; all are counted."""
SHOWN_FILES = 30
PAPERS_PER_SECOND = 50.0
"""What a small encoder does on two cores of a laptop: an assumption, and printed as one."""
MEASURED = 64
"""Papers whose encoding is timed by --measure."""
NEAR = 0.8
BARS = 24
BAR_WIDTH = 40


def inspect(
    files: Annotated[list[str], typer.Argument(help="Files or folders of papers; - is standard input.")],
    labels: Annotated[bool, typer.Option("--labels", help="The files hold labels, not papers.")] = False,
    reader: Annotated[str, typer.Option(help="Name the input's format where it cannot be told.")] = "",
    columns: Annotated[list[str], typer.Option(help="A table's columns: field=header, repeatable.")] = [],  # noqa: B006
    near: Annotated[bool, typer.Option(help="Look for duplicates by their texts too.")] = True,
    papers_per_second: Annotated[float, typer.Option(help="Speed for the time needed.")] = PAPERS_PER_SECOND,
    measure: Annotated[bool, typer.Option("--measure", help="Measure it on 64 of these papers.")] = False,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Count and leave out bad records.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Count what files hold and lack: abstracts, languages, years, venues, duplicates.

    Skipped records are named on standard error.

    Example: sciprism inspect refs.bib more/*.ris
    """
    from sciprism.cli.columns import parse_columns
    from sciprism.papers import ReadReport, inspection, read_labels, read_papers
    from sciprism.papers.source import ReadOptions

    report = ReadReport()
    options = ReadOptions(columns=parse_columns(columns))
    found: Inspection | LabelInspection
    if labels:
        read = read_labels(files, reader=reader or None, options=options, skip_bad=skip_bad, report=report)
        found = inspection.inspect_labels(read, report)
    else:
        papers = read_papers(files, reader=reader or None, options=options, skip_bad=skip_bad, report=report)
        rate, papers = _measured(papers) if measure else (papers_per_second, papers)
        found = inspection.inspect(papers, report, near=NEAR if near else None, papers_per_second=rate)
    _tell_skipped(report)
    _print(found, as_json)


def _measured(papers: Iterator[Paper]) -> tuple[float, Iterator[Paper]]:
    """Time the default model on the first papers; return papers per second, and all papers again."""
    from sciprism.encoders.encoder import Encoder

    first = list(islice(papers, MEASURED))
    encoder = Encoder.load()
    encoder.encode(first[:4])
    start = time.perf_counter()
    encoder.encode(first)
    return max(len(first), 1) / (time.perf_counter() - start), chain(first, papers)


def _tell_skipped(report: ReadReport) -> None:
    for skipped in report.skipped[:SHOWN]:
        print(f"skipped: {skipped}", file=sys.stderr)
    rest = report.skipped_count - len(report.skipped[:SHOWN])
    if rest:
        print(f"skipped: {rest:,} more", file=sys.stderr)


def _print(found: Inspection | LabelInspection, as_json: bool) -> None:
    if as_json:
        import json

        print(json.dumps(found.to_json(), indent=1, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.table import Table

    from sciprism.papers.inspection import Inspection

    # A venue may hold brackets or numbers: nothing here is markup.
    console = Console(markup=False, highlight=False, emoji=False)
    console.print(_files_table(found.files), end="\n\n")
    rows = _paper_facts(found) if isinstance(found, Inspection) else _label_facts(found)
    facts = Table(box=None, show_header=False, pad_edge=False)
    for name, value in rows:
        facts.add_row(name, value)
    console.print(facts)


def _files_table(files: tuple[FileReport, ...]) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("file", overflow="fold")
    table.add_column("format")
    table.add_column("records", justify="right")
    table.add_column("skipped", justify="right")
    table.add_column("note")
    for file in files[:SHOWN_FILES]:
        table.add_row(file.path, file.format, f"{file.papers:,}", f"{file.skipped:,}", file.note)
    if len(files) > SHOWN_FILES:
        table.add_row(f"and {len(files) - SHOWN_FILES:,} more")
    return table


def _paper_facts(found: Inspection) -> Iterator[tuple[str, str]]:
    yield "papers", f"{found.papers:,}"
    yield from _left_out(found)
    for name, count in found.missing.items():
        yield f"without {name}", _share(count, found.papers)
    guessed = [f"{name} {_share(count, found.papers)}" for name, count in found.languages.items()]
    yield "language (a guess)", "\n".join(guessed[:SHOWN])
    yield "words in a text", _quantiles(found.words)
    yield "years", "\n".join(_bars(found.years))
    yield (
        f"venues ({found.venues:,})",
        "\n".join(f"{venue} {count:,}" for venue, count in found.top_venues.items()),
    )
    duplicates = found.duplicates
    reasons = ", ".join(f"{reason} {count:,}" for reason, count in duplicates.reasons().items())
    by = f" in {len(duplicates.groups):,} groups, found by: {reasons}" if duplicates.groups else ""
    yield "duplicates", f"{duplicates.surplus:,}{by}"
    if found.seconds is not None:
        yield "embedding takes", f"about {_duration(found.seconds)} at {found.papers_per_second:.3g} papers/s"


def _label_facts(found: LabelInspection) -> Iterator[tuple[str, str]]:
    yield "labels", f"{found.labels:,}"
    yield from _left_out(found)
    for name, count in found.missing.items():
        yield f"without {name}", _share(count, found.labels)
    yield "synonyms", f"{found.synonyms:,}"
    yield "words in a definition", _quantiles(found.words)
    yield "unknown broader labels", f"{found.unknown_broader:,}"
    yield "repeated ids", f"{found.repeated_ids:,}"
    yield "repeated names", f"{found.repeated_names:,}"


def _left_out(found: Inspection | LabelInspection) -> Iterator[tuple[str, str]]:
    yield "skipped records", f"{found.skipped:,}"
    if found.ignored_files:
        yield "other files ignored", f"{found.ignored_files:,}"


def _share(count: int, whole: int) -> str:
    return f"{count:,} ({count / whole:.1%})" if whole else f"{count:,}"


def _quantiles(values: dict[str, int]) -> str:
    return ", ".join(f"{name} {value:,}" for name, value in values.items())


def _bars(years: dict[int, int]) -> Iterator[str]:
    """Draw a histogram of the years, several in one bar where they are many."""
    if not years:
        return
    first, last = min(years), max(years)
    span = next(
        span for span in (1, 2, 5, 10, 20, 50, 100, 1000) if (last - first) // span < BARS or span == 1000
    )
    bins: dict[int, int] = {}
    for year, count in years.items():
        bins[year // span * span] = bins.get(year // span * span, 0) + count
    highest = max(bins.values())
    for start, count in bins.items():
        name = str(start) if span == 1 else f"{start}-{start + span - 1}"
        yield f"{name} {'█' * max(1, round(BAR_WIDTH * count / highest))} {count:,}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
