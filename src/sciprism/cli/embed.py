"""`sciprism embed`: papers from files into a collection that can be searched."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from sciprism.cli.columns import parse_columns
from sciprism.errors import InputError

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder
    from sciprism.papers import Paper, ReadReport
    from sciprism.store import EmbedReport, Layout
    from sciprism.store.matrix import Dtype

PLAIN_INTERVAL = 30.0
"""Seconds between lines of progress where standard error is no terminal."""
SHOWN = 20
"""Papers left out that are named; all are counted."""


def embed(
    files: Annotated[list[str], typer.Argument(help="Files or folders of papers; - is standard input.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="The collection: a new folder, or one to add to.")
    ],
    model: Annotated[str, typer.Option(help="A model: folder, packaged name or hub id.")] = "",
    pooling: Annotated[
        str, typer.Option(help="cls or mean, where the model's folder does not state it.")
    ] = "",
    precision: Annotated[str, typer.Option(help="Compute in float32, bfloat16 or float16.")] = "",
    formats: Annotated[str, typer.Option(help="Formats such as proximity,search; or all.")] = "",
    dtype: Annotated[str, typer.Option(help="Store float32, float16 or int8.")] = "",
    reader: Annotated[str, typer.Option(help="Name the input's format where it cannot be told.")] = "",
    columns: Annotated[list[str], typer.Option(help="A table's columns: field=header, repeatable.")] = [],  # noqa: B006
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Count and leave out papers that cannot be used.")
    ] = False,
    threads: Annotated[int, typer.Option(help="Processor cores to use; 0 is all.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
) -> None:
    """Encode papers into a collection; it can be searched at once.

    Stop it at any moment: the same command continues. With more files it encodes only what is new.

    Example: sciprism embed refs.bib more.ris -o vecs/
    """
    from sciprism.papers import ReadReport
    from sciprism.store.embed import embed as store

    _use_threads(threads)
    source = _Input(files, reader or None, parse_columns(columns), skip_bad)
    encoder = _encoder(output, model, pooling, precision)
    layout = _layout(encoder, formats, dtype)
    total, read = source.count(), ReadReport()  # last: it may read for minutes
    with _Progress(total) as tell:
        papers = source.papers(read)
        report = store(papers, encoder, output, layout=layout, skip_bad=skip_bad, progress=tell)
    _complain(read, report)
    print(json.dumps(_as_json(read, report), indent=1) if as_json else _summary(output, read, report))


@dataclass(frozen=True, slots=True)
class _Input:
    """The files, and how they are read."""

    files: list[str]
    reader: str | None
    columns: dict[str, str]
    skip_bad: bool

    def papers(self, report: ReadReport) -> Iterator[Paper]:
        """Read all papers."""
        from sciprism.papers import read_papers
        from sciprism.papers.source import ReadOptions

        options = ReadOptions(columns=self.columns)
        return read_papers(
            self.files, reader=self.reader, options=options, skip_bad=self.skip_bad, report=report
        )

    def count(self) -> int | None:
        """Read everything once before the work: a bad record is found now, not after an hour of encoding."""
        from sciprism.papers import ReadReport

        if any(name == "-" or Path(name).is_fifo() for name in self.files):
            return None  # a pipe can be read once
        return sum(1 for _ in self.papers(ReadReport()))


def _use_threads(threads: int) -> None:
    if threads < 0:
        raise InputError(f"--threads {threads} is not a number of processor cores")
    if threads:
        import torch

        torch.set_num_threads(threads)


def _encoder(output: Path, model: str, pooling: str, precision: str) -> Encoder:
    """Load the model asked for, else the collection's, else the default; first check `output`."""
    from sciprism.encoders.encoder import Encoder
    from sciprism.store.layout import check_folder
    from sciprism.store.manifest import NAME, read_manifest

    check_folder(output)
    max_length = None
    if (output / NAME).exists():
        stored = read_manifest(output).encoder
        used = str(stored.options.get("precision", "float32"))
        if precision and precision != used:
            raise InputError(
                f"{output} was made in {used}, not {precision}; leave the option out to continue"
            )
        precision = used
        if not model:
            model, pooling = stored.name, pooling or str(stored.options.get("pooling", ""))
            max_length = cast("int | None", stored.options.get("max_length"))
    if model and Path(model).expanduser().is_dir():
        # the manifest keeps the name: a search may start elsewhere
        model = str(Path(model).expanduser().resolve())
    return Encoder.load(
        model or None, pooling=pooling or None, max_length=max_length, precision=precision or "float32"
    )


def _layout(encoder: Encoder, formats: str, dtype: str) -> Layout:
    from sciprism.store import Layout

    names = tuple(name.strip() for name in formats.split(",") if name.strip())
    if names == ("all",):
        names = tuple(encoder.formats)
    return Layout(formats=names or None, dtype=cast("Dtype | None", dtype or None))


class _Progress:
    """Papers, papers per second and time left: a bar on a terminal, else a line now and then."""

    def __init__(self, total: int | None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        console = Console(stderr=True)
        self._total = total
        self._plain = not console.is_terminal
        self._began = self._told = time.monotonic()
        rate = TextColumn("{task.fields[rate]:.1f} papers/s")
        self._bar = Progress(
            TextColumn("embedding"), BarColumn(), MofNCompleteColumn(), rate, TimeRemainingColumn(),
            console=console, disable=self._plain,
        )  # fmt: skip
        self._task = self._bar.add_task("", total=total, rate=0.0)

    def __enter__(self) -> _Progress:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def __call__(self, report: EmbedReport) -> None:
        now = time.monotonic()
        rate = report.encoded / max(now - self._began, 1e-9)
        self._bar.update(self._task, completed=report.done, rate=rate)
        if self._plain and now - self._told > PLAIN_INTERVAL:
            self._told = now
            of = f" of {self._total}" if self._total is not None else ""
            left = f", {_minutes((self._total - report.done) / rate)} left" if self._total and rate else ""
            print(f"{report.done}{of} papers, {rate:.1f} papers/s{left}", file=sys.stderr)


def _minutes(seconds: float) -> str:
    return f"{seconds / 3600:.1f} h" if seconds > 5400 else f"{seconds / 60:.0f} min"


def _complain(read: ReadReport, report: EmbedReport) -> None:
    """Name on standard error what was left out, and how files were read that are not plain UTF-8."""
    reasons = [*map(str, read.skipped), *report.reasons]
    for reason in reasons[:SHOWN]:
        print(f"left out: {reason}", file=sys.stderr)
    rest = read.skipped_count + report.bad - len(reasons[:SHOWN])
    if rest:
        print(f"left out: {rest} more", file=sys.stderr)
    for file in read.files:
        if file.note:
            print(f"{file.path}: {file.note}", file=sys.stderr)


def _summary(output: Path, read: ReadReport, report: EmbedReport) -> str:
    ignored = f"; {read.ignored} other files ignored" if read.ignored else ""
    return (
        f"read {report.read + read.skipped_count} papers: {report.new} new, {report.changed} with a changed "
        f"text, {report.updated} with changed details, {report.unchanged} unchanged, {report.duplicates} "
        f"duplicates skipped, {report.bad + read.skipped_count} left out{ignored}\n"
        f"{output} holds {report.papers} papers, {report.missing_abstracts} without abstract, and "
        f"{report.superseded} superseded rows"
    )


def _as_json(read: ReadReport, report: EmbedReport) -> dict[str, Any]:
    document = asdict(report)
    document["unreadable"] = read.skipped_count
    document["reasons"] = [*map(str, read.skipped), *report.reasons]
    document["ignored_files"] = read.ignored
    return document
