"""`sciprism screen`: decide which records of a review to include, the likeliest first; replay finished reviews."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sciprism.cli.options import AsJson, DefaultCommandGroup, Reading, check_outputs, with_settings
from sciprism.cli.output import describe_source, print_facts, print_json, print_skipped, print_table, table_width
from sciprism.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from sciprism.papers import Paper
    from sciprism.uses.screening.session import Screening
    from sciprism.uses.screening.simulation import SimulatedReview

KEYS = {"i": "include", "e": "exclude", "r": "exclude", "u": "unsure"}
HELP = "i include, e exclude, r exclude with a reason, u unsure, z undo, q quit"
VERDICTS = {"included": "include", "excluded": "exclude", "unsure": "unsure", "conflict": "conflict"}
LABELS = {"include": ("1", "ASReview_relevant; "), "exclude": ("0", "ASReview_irrelevant; ")}
"""Verdict -> what ASReview reads in a table, in RIS."""
BATCH_COLUMNS: tuple[str, ...] = ("id", "title", "decision", "reason", "screener", "authors", "year", "abstract")
OUTPUT_COLUMNS = ("id", "title", "authors", "year", "venue", "doi", "abstract", "decision", "reason", "included")

screen = typer.Typer(
    cls=DefaultCommandGroup,
    no_args_is_help=True,
    help="Screen the records of a review: sciprism screen RECORDS. Simulate it on a finished one.",
)
Records = Annotated[list[str], typer.Argument(help="Files of records: RIS, CSV, PubMed, BibTeX ...")]


@dataclass(frozen=True, kw_only=True)
class StoppingTest(Reading):
    """How records and their labels are read, and the test on recall."""

    labels: Annotated[str, "The column of labels in the file, 1 and 0; else found by its name."] = ""
    target: Annotated[float, "The recall that the advice on stopping is about."] = 0.95
    risk: Annotated[float, "The p-value below which the test advises to stop."] = 0.05

    def read(self, records: list[str]) -> list[Paper]:
        """Check the numbers and read all records; say which cannot be used."""
        from sciprism.papers.read import ReadReport, read_papers

        if not (0 < self.target < 1 and 0 < self.risk < 1):
            raise InputError("--target and --risk are between 0 and 1, such as 0.95 and 0.05")
        report = ReadReport()
        options = {"reader": self.reader, "options": self.build(), "skip_bad": self.skip_bad}
        papers = list(read_papers(records, report=report, **options))  # type: ignore[arg-type]
        print_skipped(report.skipped, report.skipped_count)
        return papers


@dataclass(frozen=True, kw_only=True)
class ScreenOptions(StoppingTest):
    """What is screened, by whom, and what is written."""

    decisions: Annotated[
        tuple[Path, ...], "A table of decisions; new ones go to the first; repeatable. Else RECORDS.decisions.csv."
    ] = ()
    criteria: Annotated[str, "What relevant records are about, to begin with."] = ""
    screener: Annotated[str, "Your name, where there are several."] = ""
    double: Annotated[bool, "Show records that only others decided, too.", "--double"] = False
    next: Annotated[int, "Write so many next records to -o, to decide in a spreadsheet."] = 0
    only: Annotated[str, "Write these alone: included, excluded, unsure or conflict."] = ""
    seed: Annotated[int, "Seed of the order before anything is included."] = 0

    def check(self, output: Path | None, inputs: list[str | Path]) -> None:
        """Raise InputError for a file that cannot be written so."""
        if ((self.next or self.only) and output is None) or self.only not in ("", *VERDICTS):
            raise InputError(f"--next and --only need a file, -o FILE; --only is one of {', '.join(VERDICTS)}")
        if output is not None:
            if output.suffix.lower() not in (".csv", ".ris")[: 1 if self.next else 2]:
                raise InputError(f"{output}: its name must end with .csv{'' if self.next else ' or .ris'}")
            check_outputs([output], inputs)


@screen.command("records")
@with_settings
def records(
    records: Records,
    settings: ScreenOptions,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write records with decisions, .csv or .ris, and end.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Screen records one by one, by keys: each decision is stored at once, and the likeliest ones come first.

    Duplicates are decided once. With -o or --json nothing is asked. `sciprism screen RECORDS` is the same.

    Example: sciprism screen records refs.ris --decisions anna.csv
    """
    from sciprism.uses.screening.session import Screening

    files = settings.decisions or (Path(records[0]).with_suffix(".decisions.csv"),)
    settings.check(output, [*records, *files])
    papers = settings.read(records)
    session = Screening(papers, files, criteria=settings.criteria, column=settings.labels, seed=settings.seed)
    for note in session.notes:
        print(note, file=sys.stderr)
    if output is not None:
        _write(output, session, settings)
    elif not as_json:
        _open_desk(session, settings)
    stopping = {"target": settings.target, "risk": settings.risk, "p": session.p_value(settings.target)}
    report = session.report() | {"stopping": stopping}
    if as_json:
        print_json("sciprism.screen/1", {"decisions": [*map(str, files)], "output": output and str(output)} | report)
    else:
        _print_report(report)


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
            print(f"undone: {undone}" if undone else "nothing to undo")
        elif key in KEYS:
            session.decide(session.paper(queue.pop(0)).id, KEYS[key], reason=reason, screener=screener)
            decided += 1
        else:
            print(HELP)
    print("no record is left to decide")


def _ask(session: Screening, record: int) -> tuple[str, str]:
    """Show a record; return the key and the text after it, q at the end of the input."""
    paper, width = session.paper(record), table_width()
    source = f"{describe_source(paper.authors, paper.venue, paper.year)}[{paper.id}]"
    verdicts = [*map(session.verdict, session.records)]
    progress = f"{verdicts.count('include'):,} included, {verdicts.count(''):,} not screened"
    texts = [fill(text, width) for text in (paper.title or "(no title)", source, paper.abstract or "(no abstract)")]
    print("-" * width, *texts, f"{progress}. {HELP}", sep="\n\n")
    if sys.stdin.isatty():
        key = typer.getchar().lower()
        return key, input("reason: ").strip() if key == "r" else ""
    line = sys.stdin.readline()
    return (line.strip()[:1].lower(), line.strip()[1:].strip()) if line else ("q", "")


def _write(output: Path, session: Screening, settings: ScreenOptions) -> None:
    """Write the next records to decide, or those with decisions, by the suffix of the file."""
    from sciprism.files import join_cells, write_lines
    from sciprism.papers.bibliography_entries import find_doi, format_ris

    if settings.next:
        chosen = session.rank(settings.screener, double=settings.double)[: settings.next]
        columns, judged = BATCH_COLUMNS, [(session.paper(row), "", "") for row in chosen]
    else:
        only = VERDICTS.get(settings.only)
        chosen = [row for row in session.records if only in (None, session.verdict(row))]
        judged = [(session.paper(row), session.verdict(row), session.reasons(row)) for row in chosen]
        columns = OUTPUT_COLUMNS
    if output.suffix.lower() == ".ris":
        notes = ((paper, f"{LABELS.get(verdict, ('', ''))[1]}{verdict}; {reason}") for paper, verdict, reason in judged)
        write_lines(output, format_ris(notes), errors="replace")
    else:
        rows: list[dict[str, object]] = [
            {name: getattr(paper, name) for name in ("id", "title", "year", "venue", "abstract")}
            | {"authors": "; ".join(paper.authors), "doi": find_doi(paper), "screener": settings.screener}
            | {"decision": verdict, "reason": reason, "included": LABELS.get(verdict, ("", ""))[0]}
            for paper, verdict, reason in judged
        ]
        cells = [[" ".join(str(row[name] or "").split()) for name in columns] for row in rows]
        write_lines(output, map(join_cells, [columns, *cells]), errors="replace")
    print(f"wrote {len(judged):,} records to {output}", file=sys.stderr)


def _print_report(report: dict[str, Any]) -> None:
    shown = {name: count for name, count in report["counts"].items() if count or name == "included"}
    shown |= {f"excluded: {reason}": count for reason, count in report["reasons"].items()}
    print_facts({name: f"{count:,}" for name, count in shown.items()})
    if report["unknown"]:
        print(f"unknown ids, whose decisions stay in their file: {', '.join(report['unknown'][:5])}", file=sys.stderr)
    for pair, kappa in report["agreement"].items():
        print(f"agreement of {pair}: Cohen's kappa {'is not defined' if kappa is None else f'{kappa:.2f}'}")
    for row in report["conflicts"]:
        print(f"conflict: [{row['id']}] {row['screener'] or '(no name)'}: {row['decision']} {row['reason']}".rstrip())
    target, risk, p = report["stopping"].values()
    if p is None:
        print("stopping: nothing is included yet, so there is no advice")
    elif p < risk:
        print(f"stopping: the test rejects a recall below {target:.0%} (p = {p:.3f}); you may consider to stop.")
        print("Relevant records may still be missing: the test is repeated, and takes all decisions for right.")
    else:
        print(f"stopping: go on; a recall of {target:.0%} is not established (p = {p:.3f}, not below {risk:g})")


@screen.command("simulate")
@with_settings
def simulate(
    records: Records,
    reading: StoppingTest,
    seeds: Annotated[int, typer.Option(help="Starts, each of one included and one excluded record.", min=1)] = 10,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Draw the curves of recall: .png or .svg.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Replay a finished review: how many records are screened until its included ones are found.

    Example: sciprism screen simulate labelled.csv -o recall.png
    """
    from sciprism.uses.screening.session import Screening
    from sciprism.uses.screening.simulation import simulate as replay

    if output is not None and output.suffix.lower() not in (".png", ".svg"):
        raise InputError(f"{output}: its name must end with .png or .svg")
    session = Screening(reading.read(records), column=reading.labels)
    rows = [row for row in session.records if session.labels.get(row) in ("include", "exclude")]
    labels = [session.labels[row] == "include" for row in rows]
    reviews = replay([*map(session.text, rows)], labels, seeds=seeds, target=reading.target, risk=reading.risk)
    if output is not None:
        _draw(reviews, output)
    scores = [review.to_json() for review in reviews]
    mean = {name: sum(score[name] for score in scores) / seeds for name in ("needed", "wss", "atd")}
    counts = {"records": len(rows), "included": sum(labels), "without label": len(session.records) - len(rows)}
    if as_json:
        print_json("sciprism.screen-simulate/1", {"counts": counts, "mean": mean, "starts": scores})
        return
    print_facts({name: f"{count:,}" for name, count in counts.items()})
    heads = ["records until 95 %", "WSS@95, %", "ATD, %", "test advised stop at", "recall there, %"]
    print_table(
        ["start"], heads, ([str(name), *_format_work(work)] for name, work in [*enumerate(scores), ("mean", mean)])
    )


def _format_work(work: dict[str, Any]) -> list[str]:
    stop, recall = work.get("stop"), work.get("recall at stop")
    cells = [f"{work['needed']:,.0f}", f"{100 * work['wss']:.1f}", f"{100 * work['atd']:.1f}"]
    return [*cells, *(["", ""] if stop is None or recall is None else [f"{stop:,}", f"{100 * recall:.1f}"])]


def _draw(reviews: list[SimulatedReview], output: Path) -> None:
    """Draw the recall of each replay over the records screened."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("train", "a drawing") from error
    from sciprism.files import write_atomically

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.add_subplot(xlabel="records screened", ylabel="included records found")
    for review in reviews:
        axes.plot([sum(review.found[:done]) for done in range(len(review.found) + 1)], color="C0", alpha=0.4)
    axes.plot([0, len(reviews[0].found)], [0, sum(reviews[0].found)], ":", color="0.5", label="random order")
    axes.axhline(0.95 * sum(reviews[0].found), color="0.8", label="95 %")
    axes.legend(loc="lower right")
    write_atomically(output, lambda file: figure.savefig(file, format=output.suffix.lower()[1:], dpi=150))
