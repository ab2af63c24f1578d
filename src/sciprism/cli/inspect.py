"""`sciprism inspect`: what files of papers hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sciprism.cli.options import IdentifiedReading, PaperFiles, open_abstracts
from sciprism.cli.output import (
    MAX_SHOWN,
    ProgressDisplay,
    describe_joined,
    describe_missing,
    format_duration,
    format_share,
    print_facts,
    print_result,
    print_skipped,
    print_table,
)
from sciprism.drop_report import CONTAINERS, count_noun
from sciprism.errors import InputError, RunFailedError

if TYPE_CHECKING:
    from sciprism.papers import ReadReport
    from sciprism.papers.duplicates import IdClash
    from sciprism.papers.inspection import PaperInspection
    from sciprism.papers.read import AbstractReport

MAX_FILES = 30  # files that are listed; all are counted
PAPERS_PER_SECOND = 50.0  # what a small encoder does on two cores of a laptop: an assumption, and printed as one
MAX_PLACES = 3  # papers of one id whose places are named
MAX_TITLE = 60  # characters of a title that are shown
MODEL_LIMIT = "the model that ships knows English alone"


def inspect(files: PaperFiles, reading: IdentifiedReading) -> None:
    """Count abstracts, languages, years, venues, duplicates and ambiguous ids of papers in files.

    Unusable records are named, and make the exit status 1 unless --skip-bad is set.

    Example: sciprism inspect refs.bib more/*.ris
    """
    from sciprism.papers import ReadReport, read_papers
    from sciprism.papers.inspection import inspect_papers

    report = ReadReport()
    read: dict[str, Any] = {"reader": reading.reader, "options": reading.build(), "skip_bad": True, "report": report}
    with open_abstracts(reading.abstracts) as completion, ProgressDisplay("reading", "records") as display:
        papers = display.count(completion.complete(read_papers(files, **read)))
        inspected = inspect_papers(papers, report, display)
    with _naming_bad_records(report, reading.skip_bad):
        joined = completion.report if reading.abstracts else None
        document = inspected.to_json() | ({"abstracts": joined.to_json()} if joined else {})
        print_result("sciprism.inspect/2", document, lambda: _print(inspected, joined))


@contextmanager
def _naming_bad_records(report: ReadReport, skip_bad: bool) -> Iterator[None]:
    """Name bad records before what is printed; after it they are a failure, and before it where no record is good."""
    if report.skipped and not report.papers and not skip_bad:
        raise InputError(report.skipped[0])
    print_skipped(report.skipped, report.skipped_count)
    yield
    if report.skipped and not skip_bad:
        records = count_noun(report.skipped_count, "record")
        raise RunFailedError(f"{records} cannot be used (see above); correct them, or embed with --skip-bad")


def _print(result: PaperInspection, abstracts: AbstractReport | None) -> None:
    shown = result.files[:MAX_FILES]
    rows = [[file.path, file.format, f"{file.papers:,}", f"{file.skipped:,}"] for file in shown]
    if more := len(result.files) - len(shown):
        rows.append([f"and {more:,} more"])
    print_table(["file", "reader"], ["records", "skipped"], rows)
    notes = [f"{file.path}: {file.note}" for file in shown if file.note]
    print_facts(dict(_paper_facts(result, abstracts)) | ({"notes": "\n".join(notes)} if notes else {}))


def _paper_facts(result: PaperInspection, abstracts: AbstractReport | None) -> Iterator[tuple[str, str]]:
    yield "papers", f"{result.papers:,}"
    yield from _counts({"deletions": sum(file.deletions for file in result.files)})
    yield from _counts({"skipped records": result.skipped, "other files ignored": result.ignored_files})
    for name, count in result.missing.items():
        if count:
            yield f"without {name}", format_share(count, result.papers)
    yield from _unread_columns(result)
    if abstracts:
        yield "abstracts joined", "\n".join([describe_joined(abstracts), *describe_missing(abstracts)])
    guessed = [f"{name} {format_share(count, result.papers)}" for name, count in result.languages.items()]
    yield "language (a guess)", "\n".join(guessed[:MAX_SHOWN])
    if result.not_english:
        yield (
            "not in English",
            "\n".join([f"{format_share(result.not_english, result.papers)}; {MODEL_LIMIT}", *_other_languages(result)]),
        )
    yield "words in a text", _quantiles(result.words)
    decades = Counter[int]()
    for year, count in sorted(result.years.items()):
        decades[year // 10 * 10] += count
    yield "years", ", ".join(f"{decade}s {count:,}" for decade, count in decades.items())
    yield (f"venues ({result.venues:,})", "\n".join(f"{venue} {count:,}" for venue, count in result.top_venues.items()))
    found = result.duplicates
    if groups := found.groups:
        yield "duplicates", f"{found.removed:,}, of {count_noun(len(groups), 'paper')}; `sciprism dedupe` merges them"
    yield from _counts({"maybe duplicates, pairs": len(found.uncertain), "preprint and article": len(found.versions)})
    if clashes := result.clashes:
        yield "ids of several papers", "\n".join(_clashes(clashes))
    yield from _counts({CONTAINERS: len(found.containers)})
    time = format_duration(result.papers / PAPERS_PER_SECOND)
    yield "embedding takes", f"about {time} at {PAPERS_PER_SECOND:.3g} papers/s"


def _unread_columns(result: PaperInspection) -> Iterator[tuple[str, str]]:
    """Name the columns of tables that are of no field of a paper."""
    files = [file for file in result.files if file.unread_columns]
    named = [", ".join(file.unread_columns) for file in files]
    if len(result.files) > 1:
        named = [f"{file.path}: {columns}" for file, columns in zip(files, named, strict=True)]
    more = [f"{len(named) - MAX_SHOWN:,} more files"] if len(named) > MAX_SHOWN else []
    if named:
        yield "columns not read", "\n".join(named[:MAX_SHOWN] + more)


def _other_languages(result: PaperInspection) -> Iterator[str]:
    for paper in result.other_languages[:MAX_SHOWN]:
        yield f"{paper.language}: {paper.id}, {paper.title[:MAX_TITLE]!r}" + (
            f" ({paper.place})" if paper.place else ""
        )
    if more := result.not_english - len(result.other_languages[:MAX_SHOWN]):
        yield f"{more:,} more"


def _clashes(clashes: Sequence[IdClash]) -> Iterator[str]:
    """Say how many ids clash, and name the first ones with the places of their papers."""
    yield f"{len(clashes):,}; `sciprism embed` needs other ids: --ids-per-file, or a correction"
    for clash in clashes[:MAX_SHOWN]:
        places = "; ".join(str(place) for place in clash.places[:MAX_PLACES])
        more = len(clash.places) - MAX_PLACES
        yield f"{clash.id!r}: {places}" + (f"; {more:,} more" if more > 0 else "")


def _counts(counts: dict[str, int]) -> Iterator[tuple[str, str]]:
    return ((name, f"{count:,}") for name, count in counts.items() if count)


def _quantiles(values: dict[str, int]) -> str:
    return ", ".join(f"{name} {value:,}" for name, value in values.items())
