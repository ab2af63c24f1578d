"""The options for papers without abstract, and what is said of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from sciprism.cli.output import print_skip_counts

if TYPE_CHECKING:
    from sciprism.papers.abstracts import AbstractCompletion, AbstractReport

AbstractFiles = Annotated[
    list[str] | None,
    typer.Option("--abstracts", help="A file with abstracts of papers that lack one, by DOI, id or title; repeatable."),
]
MissingAbstract = Annotated[
    str, typer.Option(help="Of a paper without abstract: use its title, skip it, or fail (title, skip, fail).")
]


@contextmanager
def open_abstracts(files: list[str] | None, missing: str = "title") -> Iterator[AbstractCompletion]:
    """Read the files of abstracts, and yield what joins them to papers."""
    from sciprism.papers.abstracts import AbstractCompletion, AbstractIndex

    completion = AbstractCompletion(missing=missing)  # refuses an unknown choice before files are read
    if not files:
        yield completion
        return
    with AbstractIndex(files) as index:
        print_skip_counts(index.files, error=True)
        yield AbstractCompletion(index, missing=missing)


def describe_joined(report: AbstractReport) -> str:
    """Return by what abstracts were joined, "3 (doi 2, title 1)"."""
    found = ", ".join(f"{by} {count:,}" for by, count in report.joined.most_common())
    return f"{report.joined.total():,}" + (f" ({found})" if found else "")


def describe_missing(report: AbstractReport) -> Iterator[str]:
    """Yield why papers stay without abstract, "2 not in the file of abstracts: smith2020, jones1999"."""
    for reason, names in report.missing.ids.items():
        count = report.missing.count(reason)
        yield f"{count:,} {reason}: {', '.join(names)}" + (" ..." if count > len(names) else "")


def print_abstracts(completion: AbstractCompletion) -> None:
    """Print on standard error what was joined, what stayed missing, and what was skipped."""
    report = completion.report
    if completion.joins:
        print(f"abstracts joined: {describe_joined(report)}", file=sys.stderr)
    if completion.joins or report.skipped:
        for text in describe_missing(report):
            print(f"{'skipped, ' * bool(report.skipped)}without abstract: {text}", file=sys.stderr)
