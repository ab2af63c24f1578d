"""One collection by many workers: `sciprism embed --part` and `--ray`, `sciprism merge`, `sciprism status`."""

from __future__ import annotations

import shlex
import signal
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

from sciprism.cli.options import AsJson
from sciprism.cli.output import (
    ProgressDisplay,
    echo,
    format_duration,
    join_counts,
    print_json,
    print_skipped,
    print_table,
)
from sciprism.errors import InputError, RunFailedError
from sciprism.parallel import DEVICE

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder
    from sciprism.papers.division import PartNumber
    from sciprism.store import CollectionLayout
    from sciprism.store.parts import MergeReport, PartInput, PartsStatus, RayReport
    from sciprism.store.parts.state import PartStatus
    from sciprism.store.parts.worker import PartReport

PartsFolder = Annotated[Path, typer.Argument(metavar="OUT", help="The folder that `embed --part` writes.")]
SHOWN_PARTS = 30  # parts that `status` lists, those that are not done first; --json has all


class ModelChoice(Protocol):
    """The model and the layout that a command line asks for."""

    def load(self, output: Path) -> Encoder:
        """Load the model for the parts of a folder."""

    def choose_layout(self, encoder: Encoder) -> CollectionLayout:
        """Return how vectors are stored."""


def embed_one_part(source: PartInput, output: Path, number: PartNumber, wanted: ModelChoice, as_json: bool) -> None:
    """Embed one part of an input, and print its counts."""
    from sciprism.papers.read import list_paper_files
    from sciprism.store.parts import embed_part

    list_paper_files(source.paths, reader=source.reader, options=source.options)  # before a model is loaded
    with interrupted_by_termination():
        encoder = wanted.load(output)
        with ProgressDisplay("reading", "papers") as display:
            layout = wanted.choose_layout(encoder)
            report = embed_part(source, encoder, output, number, layout=layout, progress=display.show)
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


def _print_part(output: Path, part: PartNumber, report: PartReport) -> None:
    print_skipped(report.reasons, report.counts.get("bad", 0) + report.counts.get("unreadable", 0))
    if report.merged:
        echo(f"all parts of {output} are merged, it holds {report.papers:,} papers: nothing to do")
        return
    counts = {
        "new": report.counts["new"],
        "stored before": report.counts["unchanged"],
        "repeated": report.counts["duplicates"],
        "skipped": report.counts["bad"] + report.counts["unreadable"],
        "without abstract and skipped": report.counts["without_abstract_skipped"],
    }
    done = "was done before" if report.finished_before else "is done"
    echo(
        f"part {part} {done}: read {report.counts['read'] + report.counts['unreadable']:,} papers, "
        f"{join_counts(counts) or 'none'}\n"
        f"when all {part.count:,} parts are done: sciprism merge {output}"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedCluster:
    """What a command line says of parts, of a cluster that embeds them, and of what each takes."""

    part: Annotated[str, "Embed part i/n of the input, such as 2/8, into a new folder; `merge` makes one of all."] = ""
    ray: Annotated[
        str, "Embed in parts on a Ray cluster: auto (RAY_ADDRESS, this machine's), local, HOST:PORT, ray://HOST:PORT."
    ] = ""
    parts: Annotated[int, "With --ray: parts of the input; 0 is two for each that runs at once."] = 0
    gpus_per_part: Annotated[float, "With --ray: a GPU for each part, 1, or a share of one, such as 0.5."] = 0.0
    no_merge: Annotated[bool, "With --ray: leave the parts to `sciprism merge`.", "--no-merge"] = False
    threads: Annotated[int, "Processor cores to use; 0 is all, and of a --ray part 1."] = 0

    def is_requested(self) -> bool:
        """Return whether a cluster is to work. Raises InputError for options that exclude each other."""
        if self.ray and self.part:
            raise InputError("--ray runs all parts, --part one of them; leave one of the two out")
        if self.ray and DEVICE.get():
            raise InputError("--device is of this machine; parts of --ray run where --gpus-per-part says")
        if self.ray and self.parts < 0:
            raise InputError(f"--parts {self.parts} is no number of parts")
        given = {"--parts": self.parts, "--gpus-per-part": self.gpus_per_part, "--no-merge": self.no_merge}
        if not self.ray and (name := next((name for name, value in given.items() if value), "")):
            raise InputError(f"{name} is for a run on a Ray cluster; name one with --ray, such as --ray local")
        return bool(self.ray)


def embed_on_cluster(
    source: PartInput, output: Path, wanted: ModelChoice, cluster: WantedCluster, as_json: bool
) -> None:
    """Embed all parts of an input on a Ray cluster, merge them, and print the counts of both."""
    from sciprism.store.parts import merge
    from sciprism.store.parts.ray_cluster import RayCluster
    from sciprism.store.parts.ray_run import embed_with_ray

    place = RayCluster(address=cluster.ray, cores=cluster.threads or 1, gpus=cluster.gpus_per_part)
    merged = None
    with ExitStack() as stack:
        stack.enter_context(interrupted_by_termination())
        display = stack.enter_context(ProgressDisplay("checking the cluster"))
        report = embed_with_ray(
            source,
            partial(wanted.load, output),
            output,
            cluster.parts or None,
            cluster=place,
            choose_layout=wanted.choose_layout,
            progress=_PartsDisplay(display).show,
        )
        if not report.failed and not cluster.no_merge:
            display.begin("merge")
            merged = merge(output, skip_bad=source.skip_bad)
    _print_ray_run(output, report, merged, as_json)


class _PartsDisplay:
    """Shows the papers of all parts, and prints why a part failed."""

    def __init__(self, display: ProgressDisplay) -> None:
        self._display = display
        self._first: int | None = None
        self._printed: set[str] = set()

    def show(self, status: PartsStatus, failed: Mapping[int, str]) -> None:
        """Show how many papers of all parts are embedded; name each part that failed, once."""
        self._first = status.papers if self._first is None else self._first
        counts, rated = status.count(), max(status.papers - self._first, 0)
        facts = f"{counts['done']:,} of {len(status.parts):,} parts done"
        self._display.show("embedding", "papers", status.papers, status.expected, rated=rated, facts=facts)
        for part, reason in failed.items():
            if reason not in self._printed:
                self._printed.add(reason)
                echo(f"part {part} failed: {reason}", error=True)


def _print_ray_run(output: Path, report: RayReport, merged: MergeReport | None, as_json: bool) -> None:
    """Print what became of the parts. Raises RunFailedError where some failed."""
    counts = sum((Counter(part_report.counts) for part_report in report.reports), Counter[str]())
    reasons = [reason for part_report in report.reports for reason in part_report.reasons]
    if as_json:
        document = {"collection": str(output), "parts": report.parts, "done_before": report.done_before}
        more = {"counts": counts, "reasons": reasons, "failed": report.failed}
        print_json("sciprism.embed-ray/1", document | more | {"merge": asdict(merged) if merged else None})
    else:
        print_skipped(reasons, counts["bad"] + counts["unreadable"])
        parts = {"done now": len(report.reports), "done before": report.done_before, "failed": len(report.failed)}
        echo(f"{report.parts:,} parts: {join_counts(parts)}")
        if merged:
            print_merge(output, merged)
    if report.failed:
        numbers = ", ".join(map(str, sorted(report.failed)))
        raise RunFailedError(
            f"{len(report.failed):,} of {report.parts:,} parts failed ({numbers}), nothing is merged; the same command "
            "continues, and so does `sciprism embed --part`"
        )
    if not merged and not as_json:
        echo(f"make one collection of them: sciprism merge {output}")


def merge(
    folder: Annotated[list[Path], typer.Argument(metavar="OUT", help="The folder that `embed --part` writes.")],
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

    if len(folder) > 1 or folder[0].is_file():
        raise InputError(
            "merge joins the parts of one collection, which `embed --part` wrote; to join files of papers, each paper "
            f"once: sciprism embed {shlex.join(map(str, folder))} -o LIBRARY; `sciprism inspect` counts duplicates"
        )
    report = merge_parts(folder[0], skip_bad=skip_bad)
    if as_json:
        print_json("sciprism.merge/1", {"collection": str(folder[0]), **asdict(report)})
        return
    print_merge(folder[0], report)


def print_merge(folder: Path, report: MergeReport) -> None:
    """Print the counts of a merged collection."""
    if report.merged_before:
        echo(f"{folder} is merged already; it holds {report.papers:,} papers")
        return
    print_skipped(report.reasons, len(report.reasons))
    counts = {
        "repeated": report.duplicates,
        "skipped": report.bad + report.unreadable,
        "without abstract": report.missing_abstracts,
    }
    echo(
        f"merged {report.parts:,} parts: {folder} holds {report.papers:,} papers of {report.read:,} read\n"
        f"{join_counts(counts) or 'none skipped'}"
    )


def status(folder: PartsFolder, as_json: AsJson = False) -> None:
    """Print how far the parts of a collection are: done, running, failed, papers a second, time left.

    A part is stopped where no process holds its lock; run it again, and it continues.

    Example: sciprism status vecs/
    """
    from sciprism.store.parts import read_status

    progress = read_status(folder)
    if as_json:
        totals = {name: getattr(progress, name) for name in ("total", "rate", "seconds_left")} | progress.count()
        print_json("sciprism.status/1", {"collection": str(folder), **asdict(progress), "summary": totals})
        return
    if progress.stage in ("merged", "collection"):
        made = "is merged" if progress.stage == "merged" else "was made without parts"
        echo(f"{folder} {made} and holds {progress.papers:,} papers")
        return
    _print_status(folder, progress)


def _print_status(folder: Path, status: PartsStatus) -> None:
    order = sorted(status.parts, key=lambda part: (part.stage == "done", part.part))
    rows = [_describe_part(part) for part in order[:SHOWN_PARTS]]
    print_table(("part", "state", "host"), ("papers", "of", "papers/s", "left"), rows)
    if (more := len(order) - SHOWN_PARTS) > 0:
        echo(f"{more:,} more parts, see --json")
    for part in order:
        if part.error:
            echo(f"part {part.part} failed: {part.error}")
    total = f" of {status.total:,}" if status.total is not None else ""
    rate = f", {status.rate:,.1f} papers/s" if status.rate else ""
    left = f", {format_duration(status.seconds_left)} left" if status.rate and status.seconds_left is not None else ""
    echo(f"{join_counts(status.count())} of {len(status.parts):,} parts; {status.papers:,}{total} papers{rate}{left}")
    if status.stage == "merging":
        echo(f"a merge was begun; continue it with: sciprism merge {folder}")
    elif status.count()["done"] == len(status.parts):
        echo(f"all parts are done: sciprism merge {folder}")


def _describe_part(part: PartStatus) -> list[str]:
    papers = f"{part.papers:,}" if part.papers is not None else "-"
    rate = f"{part.rate:,.1f}" if part.rate else "-"
    left = format_duration(part.seconds_left) if part.seconds_left is not None and part.stage != "done" else "-"
    return [str(part.part), part.stage, part.host or "-", f"{part.done:,}", papers, rate, left]
