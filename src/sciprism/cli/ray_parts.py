"""`sciprism embed --ray`: all parts on a cluster, and the merge."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sciprism.cli.output import ProgressDisplay, join_counts, print_json, print_skipped
from sciprism.cli.parts import interrupted_by_termination, load_encoder, print_merge, refuse_rules
from sciprism.cli.wanted_model import WantedModel, explain_interruption
from sciprism.errors import InputError, RunFailedError

if TYPE_CHECKING:
    from sciprism.store.parts import MergeReport, PartInput, PartsStatus
    from sciprism.store.parts.ray_run import RayReport

RayAddress = Annotated[
    str,
    typer.Option(
        metavar="ADDRESS",
        help="Embed in parts on a Ray cluster: auto (RAY_ADDRESS, this machine's), local, HOST:PORT, ray://HOST:PORT.",
    ),
]
PartCount = Annotated[int, typer.Option(help="With --ray: parts of the input; 0 is two for each that runs at once.")]
GpusPerPart = Annotated[float, typer.Option(help="With --ray: a GPU for each part, 1, or a share of one, such as 0.5.")]
NoMerge = Annotated[bool, typer.Option("--no-merge", help="With --ray: leave the parts to `sciprism merge`.")]


@dataclass(frozen=True, slots=True)
class WantedCluster:
    """What a command line says of a cluster, and of what parts take of it."""

    address: str
    parts: int
    threads: int
    gpus: float
    no_merge: bool

    def is_asked(self, part: str) -> bool:
        """Return whether a cluster is to work. Raises InputError for options that exclude each other."""
        if self.address and part:
            raise InputError("--ray runs all parts, --part one of them; leave one of the two out")
        if self.address and self.parts < 0:
            raise InputError(f"--parts {self.parts} is no number of parts")
        given = {"--parts": self.parts, "--gpus-per-part": self.gpus, "--no-merge": self.no_merge}
        if not self.address and (name := next((name for name, value in given.items() if value), "")):
            raise InputError(f"{name} is for a run on a Ray cluster; name one with --ray, such as --ray local")
        return bool(self.address)


def embed_on_cluster(
    source: PartInput,
    output: Path,
    wanted: WantedModel,
    cluster: WantedCluster,
    rules: Mapping[str, bool],
    as_json: bool,
) -> None:
    """Embed all parts of an input on a Ray cluster, merge them, and print the counts of both."""
    from sciprism.store.parts import merge
    from sciprism.store.parts.ray_cluster import RayCluster
    from sciprism.store.parts.ray_run import embed_with_ray

    refuse_rules(rules)
    place = RayCluster(address=cluster.address, cores=cluster.threads or 1, gpus=cluster.gpus)
    merged = None
    with ExitStack() as stack:
        stack.enter_context(interrupted_by_termination())
        stack.enter_context(explain_interruption(output))
        display = stack.enter_context(ProgressDisplay("checking the cluster"))
        report = embed_with_ray(
            source,
            partial(load_encoder, output, wanted),
            output,
            cluster.parts or None,
            cluster=place,
            choose_layout=wanted.choose_layout,
            progress=_PartsDisplay(display).show,
        )
        if not report.failed and not cluster.no_merge:
            display.begin("merge")
            merged = merge(output, skip_bad=source.skip_bad)
    _print_run(output, report, merged, as_json)


class _PartsDisplay:
    """Shows the papers of all parts, and prints why a part failed."""

    def __init__(self, display: ProgressDisplay) -> None:
        self._display = display
        self._first: int | None = None
        self._printed: set[str] = set()

    def show(self, status: PartsStatus, failed: Mapping[int, str]) -> None:
        """Show how far the parts are."""
        self._first = status.papers if self._first is None else self._first
        counts, rated = status.count(), max(status.papers - self._first, 0)
        facts = f"{counts['done']:,} of {len(status.parts):,} parts done"
        self._display.show("embedding", "papers", status.papers, status.expected, rated=rated, facts=facts)
        for part, reason in failed.items():
            if reason not in self._printed:
                self._printed.add(reason)
                print(f"part {part} failed: {reason}", file=sys.stderr)


def _print_run(output: Path, report: RayReport, merged: MergeReport | None, as_json: bool) -> None:
    """Print what became of the parts. Raises RunFailedError where some failed."""
    counts = sum((Counter(each.counts) for each in report.reports), Counter[str]())
    reasons = [reason for each in report.reports for reason in each.reasons]
    if as_json:
        document = {"collection": str(output), "parts": report.parts, "done_before": report.done_before}
        more = {"counts": counts, "reasons": reasons, "failed": report.failed}
        print_json("sciprism.embed-ray/1", document | more | {"merge": asdict(merged) if merged else None})
    else:
        print_skipped(reasons, counts["bad"] + counts["unreadable"])
        parts = {"done now": len(report.reports), "done before": report.done_before, "failed": len(report.failed)}
        print(f"{report.parts:,} parts: {join_counts(parts)}")
        if merged:
            print_merge(output, merged)
    if report.failed:
        numbers = ", ".join(map(str, sorted(report.failed)))
        raise RunFailedError(
            f"{len(report.failed):,} of {report.parts:,} parts failed ({numbers}), nothing is merged; the same command "
            "continues, and so does `sciprism embed --part`"
        )
    if not merged and not as_json:
        print(f"make one collection of them: sciprism merge {output}")
