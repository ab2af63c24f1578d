"""What commands print: JSON documents, tables and counts, and how far they are."""

from __future__ import annotations

import json
import math
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from functools import wraps
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from sciprism.parallel import Item, show_each

if TYPE_CHECKING:
    from rich.console import Console

    from sciprism.papers.read import AbstractCompletion, AbstractReport, FileReport

SCHEMAS: dict[str, tuple[str, str]] = {
    "sciprism.inspect/2": ("inspect", "files, and counts of papers: missing, years, languages, duplicates"),
    "sciprism.dedupe/1": (
        "dedupe",
        "output, review, counts, sources; groups, columns, preprints and uncertain pairs by record",
    ),
    "sciprism.disambiguate/1": (
        "disambiguate",
        "output, counts, conflicts, divided blocks; signatures: author, ORCID, probability, reason",
    ),
    "sciprism.embed/1": ("embed", "counts of papers read and stored, reasons of skips, abstracts"),
    "sciprism.merge/1": ("merge", "also of `embed --ray`; collection, parts, papers, counts, reasons"),
    "sciprism.index/1": ("index", "collection, built, papers"),
    "sciprism.search/1": ("search", "collection, mode, rankings: hits by query"),
    "sciprism.similar/1": ("similar", "collection, mode, rankings: hits by paper"),
    "sciprism.calibrate/1": ("calibrate", "collection, curves: base rate, scores, probabilities by relation"),
    "sciprism.push/2": ("push", "collection, address, counts of papers, recall of sampled searches"),
    "sciprism.recommend/1": ("recommend", "inputs, output, model, counts, interests, hits with reasons, skipped"),
    "sciprism.map/1": ("map", "output, layout, neighbours, from_layout, shown, size, counts, pairs, topics by level"),
    "sciprism.match/1": (
        "match",
        "output, audit_file, conflicts_file, details_file, audit; assignments: score, bid, reason",
    ),
    "sciprism.match-explain/1": ("match explain", "submission, assigned, next, forbidden; or for a pair why, why not"),
    "sciprism.match-report/1": ("match report", "output; submissions, reviewers: numbers of pages"),
    "sciprism.delete/1": ("delete", "collection, deleted, unknown ids, papers left"),
    "sciprism.describe/1": ("describe", "a model's method, formats, spaces, pooling, template, fingerprint; speed"),
    "sciprism.models/1": ("models", "models: name, method, formats, size, here"),
    "sciprism.export/1": ("export", "output, kind"),
    "sciprism.verify/1": ("verify", "path, kind, files: name, state"),
    "sciprism.tag/1": ("tag", "labels, trained, threshold; papers: of each its tags; or output, counts"),
    "sciprism.tag-train/1": ("tag train", "output, counts, threshold, tags: used and unknown; notes"),
    "sciprism.tag-feedback/1": ("tag feedback", "output, papers, accepted, rejected, unknown tags, missing papers"),
    "sciprism.tag-report/1": ("tag report", "scores; labels most often suggested wrongly, most often missed"),
    "sciprism.screen/1": ("screen", "decisions, output, counts, reasons, agreement, conflicts, unknown ids, stopping"),
    "sciprism.screen-simulate/1": (
        "screen simulate",
        "counts; mean, starts: needed, last, wss, atd, stop, recall at stop",
    ),
    "sciprism.train/1": ("train", "model: the last stage's folder; stages: step, dev, untouched, unpaid (why)"),
    "sciprism.plan/1": ("train --plan", "recipe, seed, device, stages: steps, tokens, seconds, memory"),
    "sciprism.recipes/1": ("train --list", "recipes: path, name, reference, comment"),
    "sciprism.evaluate/1": ("evaluate", "results: as in their files"),
    "sciprism.suites/1": ("evaluate --list", "suites: views, reference, tasks with format and data"),
    "sciprism.compare/1": ("compare", "baseline, systems, rows, published numbers, notes"),
    "sciprism.reproduce/1": ("reproduce", "title, suite, columns, rows; for a sample, counts"),
    "sciprism.tables/1": ("reproduce --list", "paper, tables, models"),
    "sciprism.overlap/1": ("overlap", "papers, training, tasks: findings; unread"),
    "sciprism.data-fetch/1": ("data fetch", "folder, missing (count), data: status, detail, rows, trusted"),
    "sciprism.data-list/1": ("data list", "folder, data: origin, licence, tasks, files, here"),
    "sciprism.prepare/1": ("prepare", "files, record, dropped, not_made, skipped, notes, warnings"),
    "sciprism.tokenizer-train/1": ("tokenizer train", "output, tokens"),
    "sciprism.tokenizer-compare/1": ("tokenizer compare", "tokenizers: size, terms, counts by domain, splits"),
    "sciprism.results-pack/1": ("results pack", "packs: path, results, systems, size"),
    "sciprism.error/1": ("failed commands, on one line of standard error", "error, exit"),
}
"""Schema -> the command that prints it, and its keys. A key may be added; a changed or removed one is a new version."""
AS_JSON: ContextVar[bool] = ContextVar("json", default=False)  # whether the command has --json
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
PIPED_WIDTH = 80  # columns of a table in a file or pipe
GAP, SHOWN_AUTHORS = 2, 3  # columns between those of a table; authors in the terminal, while JSON has all of them
MAX_SHOWN, PLAIN_INTERVAL = 10, 30.0  # skipped records that are named; seconds between lines of progress in a file


def escape_controls(text: str) -> str:
    """Return a text in which characters that would steer a terminal, or reorder its text, are visible escapes."""
    return _STEERING.sub(lambda character: character[0].encode("unicode_escape").decode(), text)


def echo(*texts: object, error: bool = False, sep: str = " ", end: str = "\n") -> None:
    """Print texts as `print` does, without what would steer the terminal; error: to standard error.

    Commands print through this and `plain_console` alone: a title, an id, a path is what others wrote.
    """
    print(escape_controls(sep.join(map(str, texts))), end=end, file=sys.stderr if error else sys.stdout)


def print_json(schema: str, document: Mapping[str, Any], *, error: bool = False) -> None:
    """Print one JSON document with its schema; an error as one line, on standard error."""
    assert schema in SCHEMAS, schema
    text = json.dumps({"schema": schema, **document}, indent=None if error else 1, ensure_ascii=False)
    echo(_STEERING.sub(lambda character: f"\\u{ord(character[0]):04x}", text), error=error)


def print_result(schema: str, document: Mapping[str, Any], text: str | Callable[[], object]) -> None:
    """Print what a command found: with --json its document, else a text, or what a function prints."""
    if AS_JSON.get():
        print_json(schema, document)
    elif isinstance(text, str):
        echo(text)
    else:
        text()


def is_json_requested() -> bool:
    """Return whether the command line has --json, before any command has read it."""
    words = sys.argv[1:]
    return "--json" in (words[: words.index("--")] if "--" in words else words)


def table_width() -> int:
    """Return the columns that a table may take: the terminal's, or 80 in a file or pipe."""
    return shutil.get_terminal_size((PIPED_WIDTH, 24)).columns if sys.stdout.isatty() else PIPED_WIDTH


def plain_console(*, error: bool = False) -> Console:
    """Return a console that prints texts as they are, but for what would steer the terminal.

    Titles and ids may hold brackets and numbers. error: to standard error.
    """
    from rich.console import Console
    from rich.segment import Segment

    class PlainConsole(Console):
        def render(self, *arguments: Any, **options: Any) -> Iterator[Segment]:
            """Yield the segments of something; those of text without controls, while the console's own have some."""
            for segment in super().render(*arguments, **options):
                yield segment if segment.control else segment._replace(text=escape_controls(segment.text))

    width = None if error else table_width()
    return PlainConsole(markup=False, highlight=False, emoji=False, width=width, stderr=error)


def print_table(words: Sequence[str], numbers: Sequence[str], rows: Iterable[Iterable[str]]) -> None:
    """Print a table; one that is too wide has heads of several lines, else is a list of its rows.

    words, numbers: heads of its columns; those of numbers are aligned right.
    """
    from rich.table import Table

    console, cells = plain_console(), [list(map(escape_controls, row)) for row in rows]
    columns = [[row[place] for row in cells if place < len(row)] for place in range(len(words) + len(numbers))]
    for heads in (numbers, [name.replace(" ", "\n") for name in numbers]):
        table, room = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0)), console.width + GAP
        for place, name in enumerate([*words, *heads]):
            is_number, texts = place >= len(words), [name, *columns[place]]
            least = max((len(part) for text in texts for part in text.split("\n" if is_number else None)), default=0)
            justify: Any = "right" if is_number else "left"
            table.add_column(name, justify=justify, overflow="fold", min_width=least)
            room -= least + GAP
        for row in cells:
            table.add_row(*row)
        if room >= 0:
            return console.print(table, end="\n\n")
    for row in cells:
        parts = (f"{name} {cell}" for name, cell in zip(numbers, row[len(words) :], strict=False))
        echo("\n".join(wrap("  ".join(row[: len(words)]), console.width)))
        echo(
            "\n".join(wrap("; ".join(parts), console.width, initial_indent="    ", subsequent_indent="    ")),
            end="\n\n",
        )
    return None


def print_hits(hits: Iterable[tuple[Any, Iterable[tuple[str, str]]]]) -> None:
    """Print ranked papers with rank, score and source, and below each its notes: texts with their style."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2), expand=False)
    for justify in ("right", "right", "left"):
        table.add_column(justify=justify, overflow="fold")
    for hit, notes in hits:
        text = Text(hit.title or "(no title)", "bold")
        source = f"{describe_source(hit.authors, hit.venue, hit.year)}[{hit.id}]"
        for note, style in ((source, "not bold dim"), *notes):
            text.append(f"\n{note}", style)
        table.add_row(str(hit.rank), f"{hit.score:.4f}", text)
    plain_console().print(table)


def print_entries(entries: Mapping[str, Iterable[str]], end: str = "") -> None:
    """Print names, and below each its texts, indented, and a last line; long words stay whole."""
    for name, texts in entries.items():
        echo(name)
        for text in filter(None, texts):
            for line in wrap(text, table_width() - 4, break_long_words=False, break_on_hyphens=False):
                echo(f"    {line}")
    if end:
        echo(end)


def print_facts(facts: Mapping[str, str]) -> None:
    """Print names and values below each other; a long value continues under itself, its long words whole."""
    indent = max(map(len, facts)) + 2
    for name, value in facts.items():
        parts, width = escape_controls(value).splitlines() or [""], max(table_width() - indent, 20)
        lines = [line for part in parts for line in wrap(part, width, break_long_words=False, break_on_hyphens=False)]
        echo(f"{name:<{indent}}" + f"\n{' ' * indent}".join(lines))


def format_cell(cell: str | int | float) -> str:
    """Return a cell of a table of counts as text, 12345 as "12,345"."""
    if isinstance(cell, str):
        return cell
    return f"{cell:,}" if isinstance(cell, int) else f"{cell:,.2f}"


def print_skip_counts(files: Iterable[FileReport], *, error: bool = False) -> None:
    """Print of each file how many records could not be used; error: to standard error."""
    for file in files:
        if file.skipped:
            share = f"{file.skipped:,} of {file.papers + file.skipped:,} records cannot be used"
            echo(f"{file.path}: {share}; `sciprism inspect` says why", error=error)


def print_skipped(records: Sequence[object], count: int) -> None:
    """Name the first of `count` skipped records on standard error, and count the others."""
    for record in records[:MAX_SHOWN]:
        echo(f"skipped: {record}", error=True)
    if more := count - len(records[:MAX_SHOWN]):
        echo(f"skipped: {more:,} more", error=True)


def describe_source(authors: Sequence[str], venue: str, year: int | None) -> str:
    """Return authors, venue and year as "A. One, B. Two et al.; Nature, 1953  "; "" where none is known."""
    names = ", ".join(authors[:SHOWN_AUTHORS]) + (" et al." if len(authors) > SHOWN_AUTHORS else "")
    source = "; ".join(filter(None, (names, ", ".join(filter(None, (venue, str(year or "")))))))
    return f"{source}  " if source else ""


def warn_unfinished(place: object, papers: int, command: str) -> None:
    """Warn on standard error that a collection is unfinished, and name the command to run again."""
    echo(f"{place} is unfinished: {papers:,} papers so far; run its `sciprism {command}` again", error=True)


def describe_joined(report: AbstractReport) -> str:
    """Return by what abstracts were joined, "3 (doi 2, title 1)"."""
    counts = ", ".join(f"{by} {count:,}" for by, count in report.joined.most_common())
    return f"{report.joined.total():,}" + (f" ({counts})" if counts else "")


def describe_missing(report: AbstractReport) -> Iterator[str]:
    """Yield why papers stay without abstract, "2 not in the file of abstracts: smith2020, jones1999"."""
    for reason, names in report.missing.ids.items():
        count = report.missing.count(reason)
        yield f"{count:,} {reason}: {', '.join(names)}" + (" ..." if count > len(names) else "")


def print_abstracts(completion: AbstractCompletion) -> None:
    """Print on standard error what was joined, what stayed missing, and what was skipped."""
    report = completion.report
    if completion.joins:
        echo(f"abstracts joined: {describe_joined(report)}", error=True)
    if completion.joins or report.skipped:
        for text in describe_missing(report):
            echo(f"{'skipped, ' * bool(report.skipped)}without abstract: {text}", error=True)


_PLURAL = re.compile(r"^(\w+[^s\W])s\b( are)?")  # the noun that a name begins with


def join_counts(counts: Mapping[str, int]) -> str:
    """Return counts as "3 papers, 1 duplicate merged", of names in the plural; those that are zero are not in it."""
    one = {name: _PLURAL.sub(lambda noun: f"{noun[1]}{' is' * bool(noun[2])}", name) for name in counts}
    return ", ".join(f"{count:,} {one[name] if count == 1 else name}" for name, count in counts.items() if count)


def format_share(count: int, total: int) -> str:
    """Return a count and its share, "61 (12.0 %)"; the count alone of a total of 0."""
    return f"{count:,} ({100 * count / total:.1f} %)" if total else f"{count:,}"


def format_duration(seconds: float) -> str:
    """Return a time as "45 s", "12 min" or "1.5 h"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


class ProgressDisplay:
    """What is done of a piece of work: a bar on a terminal, which moves all the time; else a line where it is counted.

    unit: of what is counted, "" where nothing is. The bar vanishes when the work ends.
    """

    def __init__(self, work: str, unit: str = "", total: int | None = None) -> None:
        from rich import progress
        from rich.text import Text

        describe_rate = self.describe_rate

        class RateColumn(progress.ProgressColumn):
            def render(self, _task: progress.Task) -> Text:
                """Return the rate of the display's task."""
                return Text(describe_rate())

        name, bar = progress.TextColumn("{task.description}", markup=False), progress.BarColumn(bar_width=20)
        columns = (progress.SpinnerColumn(), name, bar, progress.MofNCompleteColumn(), progress.TimeElapsedColumn())
        self._bar = progress.Progress(*columns, RateColumn(), console=plain_console(error=True), transient=True)
        self._bar.add_task(work, total=total)
        (self._task,) = self._bar.tasks
        self._total, self._unit, self._facts, self._printed, self._before = total, unit, "", time.monotonic(), 0
        self._in_lines = not sys.stderr.isatty()

    def __enter__(self) -> ProgressDisplay:
        if not self._in_lines:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if not self._in_lines:
            self._bar.stop()

    def __call__(
        self, work: str, unit: str = "", done: int = 0, total: int | None = None, /, *, facts: str = ""
    ) -> None:
        """Show how many of a piece of work are done; the rate of another than before begins anew. facts: shown too."""
        self._unit, self._facts = unit, facts
        if work != self._task.description:
            self._bar.refresh()  # short work is seen too
            self._bar.reset(self._task.id, description=work)
            self._task.total, self._before = total, done
        self._bar.update(self._task.id, total=total, completed=done)
        if self._in_lines and time.monotonic() - self._printed >= PLAIN_INTERVAL:
            self._printed = time.monotonic()
            echo(self.describe(), error=True)

    def count(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield items, and show how many."""
        return show_each(items, self, self._task.description, self._unit, self._total)

    def describe_rate(self) -> str:
        """Return further facts, the rate and the time left, "12.5 papers/s, 2 min left"."""
        task = self._task
        rate = task.speed or (task.completed - self._before) / (task.elapsed or math.inf)  # the former of the last 30 s
        parts = [self._facts, f"{rate:,.1f} {self._unit}/s" if rate else ""]
        if rate and task.remaining is not None:
            parts.append(f"{format_duration(task.remaining / rate)} left")
        return ", ".join(filter(None, parts))

    def describe(self) -> str:
        """Return the state as a line, "embedding: 1,200 of 4,000 papers, 12.5 papers/s, 4 min left"."""
        task, rate = self._task, self.describe_rate()
        of = f" of {task.total:,.0f}" if task.total is not None else ""
        counted = f"{task.completed:,.0f}{of} {self._unit}" if self._unit else ""
        since = "" if rate else f"{format_duration(task.elapsed or 0)} so far"
        return f"{task.description}: " + ", ".join(filter(None, [counted, rate, since]))


def show_work(work: str, command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that shows for how long it has worked."""

    @wraps(command)
    def run(**options: object) -> None:
        with ProgressDisplay(work):
            command(**options)

    return run
