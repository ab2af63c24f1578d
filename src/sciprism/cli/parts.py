"""`sciprism embed --part`, `sciprism merge`, `sciprism status`: one collection by many workers."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sciprism.cli.options import AsJson
from sciprism.cli.output import ProgressDisplay, format_duration, join_counts, print_json, print_skipped, print_table
from sciprism.cli.wanted_model import WantedModel, explain_interruption, find_stored_encoder
from sciprism.errors import InputError

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder
    from sciprism.papers.division import PartNumber
    from sciprism.store.parts import MergeReport, PartInput, PartsStatus
    from sciprism.store.parts.status import PartStatus
    from sciprism.store.parts.worker import PartReport, Step

Part = Annotated[
    str, typer.Option(help="Embed part i/n of the input, such as 2/8, into a new folder; `merge` makes one of all.")
]
PartsFolder = Annotated[Path, typer.Argument(metavar="OUT", help="The folder that `embed --part` writes.")]
SHOWN_PARTS = 30
"""Parts that `status` lists, those that are not done first; --json has all."""


def refuse_rules(rules: Mapping[str, bool]) -> None:
    """Raise InputError for options, replace and prune, that need a collection with papers."""
    for name, given in rules.items():
        if given:
            raise InputError(
                f"--{name} is for a collection that has papers; parts make a new one: embed into it once it is merged"
            )


def embed_one_part(
    source: PartInput, output: Path, part: str, wanted: WantedModel, rules: Mapping[str, bool], as_json: bool
) -> None:
    """Embed one part of an input, and print its counts."""
    from sciprism.papers.division import PartNumber
    from sciprism.papers.read import list_paper_files
    from sciprism.store.parts import embed_part
    from sciprism.store.parts.state import part_folder

    refuse_rules(rules)
    number = PartNumber.parse(part)
    list_paper_files(source.paths, reader=source.reader, options=source.options)  # before a model is loaded
    with interrupted_by_termination(), explain_interruption(part_folder(output, number)):
        encoder = load_encoder(output, wanted)
        with ProgressDisplay("reading", "papers") as display:
            layout = wanted.choose_layout(encoder)

            def show(step: Step) -> None:
                display.show(step.work, "papers", step.done, step.total, rated=step.rated)

            report = embed_part(source, encoder, output, number, layout=layout, progress=show)
    if as_json:
        document = {**asdict(report), "part": number.number, "parts": number.count, "output": str(output)}
        print_json("sciprism.embed-part/1", document)
    else:
        _print_part(output, number, report)


@contextmanager
def interrupted_by_termination() -> Iterator[None]:
    """Let a signal that ends the job (SLURM, Kubernetes) save what is computed, as Ctrl-C does."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def load_encoder(output: Path, wanted: WantedModel) -> Encoder:
    """Load the model; in the precision of the plan, if another worker has written it meanwhile."""
    known = find_stored_encoder(output)
    encoder = wanted.load(output)
    plan = None if known else find_stored_encoder(output)
    if plan and plan.options.get("precision") != encoder.options.get("precision"):
        return wanted.load(output)
    return encoder


def _print_part(output: Path, part: PartNumber, report: PartReport) -> None:
    print_skipped(report.reasons, report.counts.get("bad", 0) + report.counts.get("unreadable", 0))
    if report.merged:
        print(f"all parts of {output} are merged, it holds {report.papers:,} papers: nothing to do")
        return
    counts = {
        "new": report.counts["new"],
        "stored before": report.counts["unchanged"],
        "repeated": report.counts["duplicates"],
        "skipped": report.counts["bad"] + report.counts["unreadable"],
        "without abstract and skipped": report.counts["without_abstract_skipped"],
    }
    done = "was done before" if report.finished_before else "is done"
    print(
        f"part {part} {done}: read {report.counts['read'] + report.counts['unreadable']:,} papers, "
        f"{join_counts(counts) or 'none'}\n"
        f"when all {part.count:,} parts are done: sciprism merge {output}"
    )


def merge(
    folder: PartsFolder,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Count papers that have the id of another; the first is used.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make one collection of all parts; no vectors are copied, and an interruption loses nothing.

    A paper that several parts have is stored once, as the first of the input has it.

    Example: sciprism merge vecs/
    """
    from sciprism.store.parts import merge as merge_parts

    report = merge_parts(folder, skip_bad=skip_bad)
    if as_json:
        print_json("sciprism.merge/1", {"collection": str(folder), **asdict(report)})
        return
    print_merge(folder, report)


def print_merge(folder: Path, report: MergeReport) -> None:
    """Print the counts of a merged collection."""
    if report.merged_before:
        print(f"{folder} is merged already; it holds {report.papers:,} papers")
        return
    print_skipped(report.reasons, len(report.reasons))
    counts = {
        "repeated": report.duplicates,
        "skipped": report.bad + report.unreadable,
        "without abstract": report.missing_abstracts,
    }
    print(
        f"merged {report.parts:,} parts: {folder} holds {report.papers:,} papers of {report.read:,} read\n"
        f"{join_counts(counts) or 'none skipped'}"
    )


def status(folder: PartsFolder, as_json: AsJson = False) -> None:
    """Print how far the parts of a collection are: done, running, failed, papers a second, time left.

    A part is stopped where no process holds its lock; run it again, and it continues.

    Example: sciprism status vecs/
    """
    from sciprism.store.parts import read_status

    found = read_status(folder)
    if as_json:
        totals = {"total": found.total, "rate": found.rate, "seconds_left": found.seconds_left, **found.count()}
        print_json("sciprism.status/1", {"collection": str(folder), **asdict(found), "summary": totals})
        return
    if found.stage in ("merged", "collection"):
        made = "is merged" if found.stage == "merged" else "was made without parts"
        print(f"{folder} {made} and holds {found.papers:,} papers")
        return
    _print_status(folder, found)


def _print_status(folder: Path, found: PartsStatus) -> None:
    order = sorted(found.parts, key=lambda each: (each.stage == "done", each.part))
    rows = [_describe_part(each) for each in order[:SHOWN_PARTS]]
    print_table(("part", "state", "host"), ("papers", "of", "papers/s", "left"), rows)
    if more := len(order) - SHOWN_PARTS:
        print(f"{max(more, 0):,} more parts, see --json" if more > 0 else "", end="\n" if more > 0 else "")
    for each in order:
        if each.error:
            print(f"part {each.part} failed: {each.error}")
    total = f" of {found.total:,}" if found.total is not None else ""
    rate = f", {found.rate:,.1f} papers/s" if found.rate else ""
    left = f", {format_duration(found.seconds_left)} left" if found.rate and found.seconds_left is not None else ""
    print(f"{join_counts(found.count())} of {len(found.parts):,} parts; {found.papers:,}{total} papers{rate}{left}")
    if found.stage == "merging":
        print(f"a merge was begun; continue it with: sciprism merge {folder}")
    elif found.count()["done"] == len(found.parts):
        print(f"all parts are done: sciprism merge {folder}")


def _describe_part(each: PartStatus) -> list[str]:
    papers = f"{each.papers:,}" if each.papers is not None else "-"
    rate = f"{each.rate:,.1f}" if each.rate else "-"
    left = format_duration(each.seconds_left) if each.seconds_left is not None and each.stage != "done" else "-"
    return [str(each.part), each.stage, each.host or "-", f"{each.done:,}", papers, rate, left]
