"""`sciprism screen`: decide which records of a review to include, the likeliest first; replay finished reviews."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from textwrap import fill
from threading import Event
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sciprism.cli.options import DefaultCommandGroup, TableReading, check_outputs
from sciprism.cli.output import (
    AS_JSON,
    ProgressDisplay,
    describe_source,
    echo,
    print_facts,
    print_result,
    print_skipped,
    print_table,
    table_width,
)
from sciprism.errors import InputError, InterruptedRunError, import_extra

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sciprism.arrays import Floats
    from sciprism.papers import Paper
    from sciprism.uses.screening.session import Screening

BLOCK = 64  # records between two looks at whether the desk is closed
KEYS = {"i": "include", "e": "exclude", "r": "exclude", "u": "unsure"}
HELP = "i include, e exclude, r exclude with a reason, u unsure, z undo, q quit"
VERDICTS = {"included": "include", "excluded": "exclude", "unsure": "unsure", "conflict": "conflict"}
LABELS = {"include": ("1", "ASReview_relevant"), "exclude": ("0", "ASReview_irrelevant")}
"""Verdict -> what ASReview reads in a table, in RIS."""
COLUMNS = ("id", "title", "decision", "reason", "screener", "authors", "year", "venue", "doi", "abstract", "included")

screen = typer.Typer(
    name="screen",
    cls=DefaultCommandGroup,
    no_args_is_help=True,
    help="Screen the records of a review: sciprism screen RECORDS. Simulate it on a finished one.",
)
Records = Annotated[list[str], "Files of records: RIS, CSV, PubMed, BibTeX ..."]


@dataclass(frozen=True, kw_only=True)
class RecordReading(TableReading):
    """How records are read, and what encodes them."""

    model: Annotated[str, "A model, whose vectors weigh 1/20 against words; words: words alone."] = ""

    def read(self, records: list[str]) -> list[Paper]:
        """Read all records; say which cannot be used."""
        from sciprism.papers.read import ReadReport

        report = ReadReport()
        papers = list(self.read_files(records, report))
        print_skipped(report.skipped, report.skipped_count)
        return papers

    def encode(self, papers: list[Paper], closed: Event | None = None) -> Floats | None:
        """Return the vectors of records, None where words alone rank. closed: set where they are not awaited any more.

        The cache keeps those of each block.
        """
        from sciprism.encoders.cached_encoder import CachedEncoder
        from sciprism.encoders.encoder import Encoder

        if self.model == "words":
            return None
        cached = CachedEncoder(Encoder.load(self.model or None))
        encode = partial(cached.encode, format="proximity", role="paper")
        if closed is None:
            with ProgressDisplay("encoding", "records", len(papers)) as display:
                cached.watch(display, "encoding", "records")
                return encode(papers)
        for start in range(0, len(papers), BLOCK):
            if closed.is_set():
                return None
            encode(papers[start : start + BLOCK])
        return encode(papers)

    @contextmanager
    def encode_meanwhile(self) -> Iterator[Callable[[list[Paper]], Floats | None]]:
        """Give what returns the vectors of records once a thread has them, None before."""
        closed, made = Event(), None

        def ask(papers: list[Paper]) -> Floats | None:
            nonlocal made
            made = made or pool.submit(self.encode, papers, closed)
            return made.result() if made.done() else None

        with ThreadPoolExecutor(1) as pool:
            try:
                yield ask
            finally:
                closed.set()


@dataclass(frozen=True, kw_only=True)
class ScreenOptions(RecordReading):
    """What is screened, by whom, and what is written."""

    decisions: Annotated[
        tuple[Path, ...], "A table of decisions; new ones go to the first; repeatable; else RECORDS.decisions.csv."
    ] = ()
    criteria: Annotated[str, "What relevant records are about, for the first ranking."] = ""
    screener: Annotated[str, "Your name, for several screeners."] = ""
    double: Annotated[bool, "Also show records that only others decided."] = False
    next: Annotated[int, "Write this many next records to -o, for a spreadsheet."] = 0
    only: Annotated[str, "Write only these: included, excluded, unsure or conflict."] = ""

    def find_tables(self, records: list[str], output: Path | None) -> tuple[Path, ...]:
        """Return the tables of decisions. Raises InputError where there can be none, or -o cannot be written so."""
        place = Path(records[0])
        if not self.decisions and not (place.name and place.exists()):
            raise InputError(f"{place}: no such file, beside which decisions are stored; name it, or --decisions FILE")
        tables = self.decisions or (place.with_suffix(".decisions.csv"),)
        if missing := [table for table in tables[1:] if not table.is_file()]:
            raise InputError(f"--decisions {missing[0]}: no such file; only the first one may be new")
        if ((self.next or self.only) and output is None) or self.only not in ("", *VERDICTS):
            raise InputError(f"--next and --only need a file, -o FILE; --only is one of {', '.join(VERDICTS)}")
        suffixes = (".csv",) if self.next else (".csv", ".ris")
        if output is not None and output.suffix.lower() not in suffixes:
            raise InputError(f"{output}: its name must end with {' or '.join(suffixes)}")
        check_outputs([output] if output else [], [*records, *tables])
        return tables


@screen.command("records")
def decide(
    records: Records,
    settings: ScreenOptions,
    output: Annotated[
        Path | None, "Write records with decisions to a .csv or .ris, and stop.", "-o", "--output"
    ] = None,
) -> None:
    """Screen records one by one, by keys, the likeliest first. `sciprism screen RECORDS` is the same.

    Each decision is stored at once; duplicates need one. With -o or --json nothing is asked.

    Example: sciprism screen records refs.ris --decisions anna.csv
    """
    from sciprism.uses.screening.session import RISK, TARGET, Screening

    tables = settings.find_tables(records, output)
    if "-" in records and output is None and not AS_JSON.get():
        raise InputError("standard input holds the records, so that no keys can be read; name a file of records, or -o")
    with settings.encode_meanwhile() if output is None else nullcontext(settings.encode) as encode:
        session = Screening(settings.read(records), tables, criteria=settings.criteria, encode=encode)
        for note in session.notes:
            echo(note, error=True)
        if output is not None:
            _write(output, session, settings)
        elif not AS_JSON.get():
            try:
                _open_desk(session, settings)
            except KeyboardInterrupt:
                raise InterruptedRunError("every decision is stored; the same command goes on") from None
    stopping = {"target": TARGET, "risk": RISK, "p": session.p_value(TARGET)}
    report = session.report() | {"stopping": stopping}
    document = {"decisions": [*map(str, tables)], "output": output and str(output)} | report
    print_result("sciprism.screen/1", document, lambda: _print_report(report))


def _open_desk(session: Screening, settings: ScreenOptions) -> None:
    """Show one record after the other and store what the keys decide, until q or the end of the input."""
    queue, decided, screener = list[int](), 0, settings.screener
    while queue or (queue := session.rank(screener, double=settings.double)[: max(1, decided // 20)]):
        key, reason = _ask(session, queue[0])
        if key == "q":
            return
        if key == "z":
            undone = session.undo(screener)
            queue = [session.by_id[undone], *queue] if undone else queue
            echo(f"undone: {undone}" if undone else "nothing to undo")
        elif key in KEYS:
            session.decide(session.paper(queue.pop(0)).id, KEYS[key], reason=reason, screener=screener)
            decided += 1
        else:
            echo(f"{key!r} is not a key: {HELP}")
    echo("no record is left to decide")


def _ask(session: Screening, record: int) -> tuple[str, str]:
    """Show a record; return the key and the text after it, q at the end of the input."""
    paper, width = session.paper(record), table_width()
    source = f"{describe_source(paper.authors, paper.venue, paper.year)}[{paper.id}]"
    verdicts = [*map(session.verdict, session.records)]
    progress = f"{verdicts.count('include'):,} included, {verdicts.count(''):,} not screened"
    texts = [fill(text, width) for text in (paper.title or "(no title)", source, paper.abstract or "(no abstract)")]
    echo("-" * width, *texts, f"{progress}. {HELP}", sep="\n\n")
    try:
        if sys.stdin.isatty():
            key = typer.getchar().lower()
            return key, input("reason: ").strip() if key == "r" else ""
        key, _, reason = input().strip().partition(" ")
        return key.lower(), reason.strip()
    except EOFError:
        return "q", ""


def _write(output: Path, session: Screening, settings: ScreenOptions) -> None:
    """Write the next records to decide, or those with decisions, by the suffix of the file."""
    from sciprism.files import join_cells, write_lines
    from sciprism.papers.bibliography_entries import find_doi, format_ris

    if settings.next:  # what others decided is not in it
        chosen = session.rank(settings.screener, double=settings.double)[: settings.next]
        judged = [(session.paper(row), "", "") for row in chosen]
    else:
        only = VERDICTS.get(settings.only)
        chosen = [row for row in session.records if only in (None, session.verdict(row))]
        judged = [(session.paper(row), session.verdict(row), session.reasons(row)) for row in chosen]
    entries: list[tuple[Paper, str]] = []
    rows = [list[object](COLUMNS)]
    for paper, verdict, reason in judged:
        included, note = LABELS.get(verdict, ("", ""))
        entries.append((paper, "; ".join(filter(None, (note, verdict, reason)))))
        source = ("; ".join(paper.authors), paper.year or "", paper.venue, find_doi(paper))
        made_by = settings.screener if settings.next else ""
        rows.append([paper.id, paper.title, verdict, reason, made_by, *source, paper.abstract, included])
    cells = ([" ".join(str(cell).split()) for cell in row] for row in rows)
    lines = format_ris(entries) if output.suffix.lower() == ".ris" else map(join_cells, cells)
    write_lines(output, lines, errors="replace")
    echo(f"wrote {output} (records: {len(chosen):,})", error=True)


def _print_report(report: dict[str, Any]) -> None:
    shown = {name: count for name, count in report["counts"].items() if count or name == "included"}
    shown |= {f"excluded: {reason}": count for reason, count in report["reasons"].items()}
    print_facts({name: f"{count:,}" for name, count in shown.items()})
    if report["unknown"]:
        echo(f"unknown ids, whose decisions stay in their file: {', '.join(report['unknown'][:5])}", error=True)
    for pair, kappa in report["agreement"].items():
        echo(f"agreement of {pair}: Cohen's kappa {'is not defined' if kappa is None else f'{kappa:.2f}'}")
    for row in report["conflicts"]:
        echo(f"conflict: [{row['id']}] {row['screener'] or '(no name)'}: {row['decision']} {row['reason']}".rstrip())
    target, risk, p = report["stopping"].values()
    if p is None:
        echo("stopping: nothing is included yet, so there is no advice")
    elif p < risk:
        echo(f"stopping: the test rejects a recall below {target:.0%} (p = {p:.3f}); you may consider to stop.")
        echo("Relevant records may still be missing: the test is repeated, and takes all decisions for right.")
    else:
        echo(f"stopping: go on; a recall of {target:.0%} is not established (p = {p:.3f}, not below {risk:g})")


@screen.command("simulate")
def replay(
    records: Records,
    reading: RecordReading,
    seeds: Annotated[int, typer.Option(help="Replays, each from one included and one excluded record.", min=1)] = 10,
    output: Annotated[
        Path | None, "Draw the curves of recall, .png or .svg, or write the orders, .csv.", "-o", "--output"
    ] = None,
) -> None:
    """Replay a finished review: count the records screened until its included ones are found.

    Example: sciprism screen simulate labelled.csv -o recall.png
    """
    from sciprism.files import join_cells, write_lines
    from sciprism.uses.screening.session import Screening, find_stop, measure_work, simulate

    if output is not None and output.suffix.lower() not in (".csv", ".png", ".svg"):
        raise InputError(f"{output}: its name must end with .csv, .png or .svg")
    check_outputs([output] if output else [], records)
    session = Screening(reading.read(records))
    rows = [row for row in session.records if session.labels.get(row) in ("include", "exclude")]
    truth, papers = [session.labels[row] == "include" for row in rows], [*map(session.paper, rows)]
    texts = [f"{paper.title} {paper.abstract}" for paper in papers]
    orders = simulate(texts, truth, vectors=reading.encode(papers), seeds=seeds)
    replays = [[truth[row] for row in order] for order in orders]
    if output is not None and output.suffix.lower() == ".csv":
        cells = ([start, papers[row].id, int(truth[row])] for start, order in enumerate(orders) for row in order)
        write_lines(output, map(join_cells, [["start", "id", "included"], *cells]), errors="replace")
    elif output is not None:
        _draw(replays, output)
    scores = [measure_work(found) | find_stop(found) for found in replays]
    mean = {name: sum(score[name] for score in scores) / seeds for name in ("needed", "last", "wss", "atd")}
    counts = {"records": len(rows), "included": sum(truth), "without label": len(session.records) - len(rows)}
    counts["contradicting labels"] = session.contradictions
    document = {"counts": counts, "mean": mean, "starts": scores}
    print_result("sciprism.screen-simulate/1", document, lambda: _print_replays(counts, mean, scores))


def _print_replays(counts: dict[str, int], mean: dict[str, float], scores: list[dict[str, Any]]) -> None:
    print_facts({name: f"{count:,}" for name, count in counts.items()})
    heads = ["records until 95 %", "until 100 %", "WSS@95", "ATD", "test advised stop at", "recall there"]
    formats = {"needed": ",.0f", "last": ",.0f", "wss": ".1%", "atd": ".1%", "stop": ",", "recall at stop": ".1%"}
    cells = (
        [str(name), *("" if work.get(key) is None else format(work[key], form) for key, form in formats.items())]
        for name, work in [*enumerate(scores), ("mean", mean)]
    )
    print_table(["start"], heads, cells)


def _draw(replays: list[list[bool]], output: Path) -> None:
    """Draw the recall of each replay over the records screened."""
    with import_extra("train", "a drawing"):
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    from sciprism.files import write_atomically

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.add_subplot(xlabel="records screened", ylabel="included records found")
    for found in replays:
        axes.plot([*accumulate(found, initial=0)], color="C0", alpha=0.4)
    axes.plot([0, len(replays[0])], [0, sum(replays[0])], ":", color="0.5", label="random order")
    axes.axhline(0.95 * sum(replays[0]), color="0.8", label="95 %")  # as many are included in each
    axes.legend(loc="lower right")
    form = output.suffix.lower()[1:]
    dates = {"Date": None} if form == "svg" else None
    with rc_context({"svg.hashsalt": "sciprism"}):  # the same curves give the same bytes
        write_atomically(output, lambda file: figure.savefig(file, format=form, dpi=150, metadata=dates))
