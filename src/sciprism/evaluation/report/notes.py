"""The notes of a report: what is missing, what does not compare, how differences were tested."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from sciprism.encoders.provenance import describe_untrained, untrained_stage
from sciprism.evaluation.report.lines import ReportLine, SystemResults
from sciprism.evaluation.report.model import LEVEL, LineResult, ReportRow
from sciprism.evaluation.task import Suite, read_sizes

NAMED = 8  # tasks that a note names; the tables show all

LineResults = Sequence[tuple[ReportLine, list[LineResult]]]  # lines with the result of each system


def build_notes(
    systems: Sequence[SystemResults], baseline: int, results: LineResults, rows: Sequence[ReportRow]
) -> list[str]:
    """Return the notes under the tables, the method first."""
    return [
        *_method(systems, baseline, rows),
        *_untrained(systems),
        *_incomplete(rows),
        *_without_number(systems),
        *_uninformative(systems),
        *(
            f"warning: {system.name}, {result.task}: {warning}"
            for system in systems
            for result in system.results
            for warning in result.details.get("warnings", ())
        ),
        *_other_sizes(systems),
        *_not_comparable(systems, results),
        *_seeds(systems),
        *_fingerprints(systems),
        *_dropped(systems),
        *(
            f"{system.name}: {count:,} cached vectors were damaged, and were computed again"
            for system in systems
            if (count := sum(result.details.get("damaged vectors", 0) for result in system.results))
        ),
    ]


def collect_remarks(suites: Mapping[str, Suite], results: LineResults) -> dict[str, str]:
    """Return what declarations say about the data: of each suite with results, then of its tasks."""
    remarks: dict[str, str] = {}
    for line, _ in results:
        name, task = line.task[0], line.declared
        if name in suites and suites[name].remark:
            remarks[name] = suites[name].remark
        if task and task.remark and task.key == line.result.key:
            remarks[f"{name}/{task.name}"] = task.remark
    return remarks


def shorten_remarks(remarks: Mapping[str, str]) -> list[str]:
    """Return the remarks as notes; of many tasks, only where they are."""
    tasks = [name for name in remarks if "/" in name]
    shown = [name for name in remarks if len(tasks) <= NAMED or name not in tasks]
    more = [f"what the data of these {len(tasks)} tasks are: docs/benchmarks.md, or `sciprism compare -o PAGE.html`"]
    return [f"{name}: {remarks[name]}" for name in shown] + more * (len(tasks) > NAMED)


def _method(systems: Sequence[SystemResults], baseline: int, rows: Sequence[ReportRow]) -> Iterator[str]:
    cells = [cell for row in rows for cell in row.cells]
    if any(cell.score and cell.score.low is not None for cell in cells):
        yield (
            "Numbers are times 100; in brackets: 95% interval over test items (Wilson's with the effective number "
            "of items and Student's t; method and coverage: docs/benchmarks.md)."
        )
    else:
        yield "Numbers are times 100."
    if any(cell.score and cell.score.sd is not None for cell in cells):
        yield "± is the standard deviation over seeds; intervals and tests are about items, not about seeds."
    tested = sum(cell.difference is not None for row in rows if row.kind != "part" for cell in row.cells)
    if tested:
        yield (
            f"Differences are to {systems[baseline].name}, paired by item. * : the 95% interval excludes 0 "
            f"(Student's t, p < {LEVEL}); ** : also after Holm's correction over the {tested} differences shown. Read "
            "* for one comparison that was chosen before looking, ** to find in the tables where systems differ."
        )
        yield (
            "Intervals and marks are about test items alone: where a probe, a head or an encoder is trained, "
            "another sample of training papers or another seed moves a number further."
        )
    elif len(systems) > 1:
        yield f"No difference is shown: {_explain_untested(systems, baseline, rows)}."
    if any(cell.difference and cell.difference.apart for cell in cells):
        yield "† marks means over seeds that are more than two standard deviations apart, the larger of both."
    if any(cell.status == "left out" for cell in cells):
        yield "Averages are over tasks that all systems have; one that has no number on some has no average."


def _explain_untested(systems: Sequence[SystemResults], baseline: int, rows: Sequence[ReportRow]) -> str:
    """Return why no difference to the baseline is tested."""
    name = systems[baseline].name
    if not any(run.folder for system in systems for runs in system.runs.values() for run in runs):
        return "`sciprism compare RESULTS` computes and tests differences"
    if not any(row.cells[baseline].score for row in rows):
        return f"{name} has no number; name another system with --baseline"
    others = [i for i in range(len(systems)) if i != baseline]
    if not any(row.cells[baseline].score and any(row.cells[i].score for i in others) for row in rows):
        return f"no other system has a number where {name} has one; name another with --baseline"
    return f'the numbers of others and of {name} are not paired by item; the lines "not compared" below say why'


def _untrained(systems: Sequence[SystemResults]) -> Iterator[str]:
    """Yield the systems whose model is the start of its training."""
    for system in systems:
        for stage in dict.fromkeys(untrained_stage(result.system) for result in system.results):
            if stage:
                yield f"{system.name}: {describe_untrained(stage)}."


def _incomplete(rows: Sequence[ReportRow]) -> Iterator[str]:
    lacking: dict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
    for row in rows:
        if row.lacking:
            lacking[row.suite, row.lacking].append(row.name)
    for (suite, tasks), names in lacking.items():
        yield f"incomplete in {suite}: {', '.join(names)}: without {_first_names(tasks)}"


def _without_number(systems: Sequence[SystemResults]) -> Iterator[str]:
    absent: dict[str, dict[str, None]] = defaultdict(dict)
    for system in systems:
        reasons: dict[str, list[str]] = defaultdict(list)
        for result in system.results:
            if result.status == "not here":
                absent[result.reason][result.task] = None
            elif result.status != "done":
                reasons[f"{result.status}: {result.reason}"].append(result.task)
        for reason, tasks in reasons.items():
            yield f"{system.name}, {_first_names(dict.fromkeys(tasks))}: {reason.removesuffix(': ')}"
    for reason, names in absent.items():
        yield f"{_first_names(names)}: not here: {reason}"


def _uninformative(systems: Sequence[SystemResults]) -> Iterator[str]:
    """Yield the metrics of tasks that their data cannot inform, each once."""
    yield from dict.fromkeys(
        f"{result.task}: no {metric}: {reason}"
        for system in systems
        for result in system.results
        for metric, reason in result.details.get("without number", {}).items()
    )


SIZES = {
    "papers": ("train", "test"),
    "silver": ("train",),
    "gold": ("test",),
    "queries": ("queries", "submissions"),
    "pairs": ("pairs",),
}
"""Column of SciRepEval's table of sizes -> the details of a result that add up to it."""


def _other_sizes(systems: Sequence[SystemResults]) -> Iterator[str]:
    """Yield the tasks of SciRepEval whose data have another size than the paper prints (Table 1), each once."""
    published = read_sizes("scirepeval/1")
    yield from dict.fromkeys(
        f"{result.task}: {ours:,} {counted}, where SciRepEval's Table 1 has {printed:,}"
        for system in systems
        for result in system.results
        if result.suite.startswith("scirepeval") and result.status == "done"
        for counted, printed in published.get(result.task, {}).items()
        if (ours := sum(result.details.get(name, 0) for name in SIZES.get(counted, ()))) not in (0, printed)
    )


def _not_comparable(systems: Sequence[SystemResults], results: LineResults) -> Iterator[str]:
    remarks: dict[tuple[str, str], list[str]] = defaultdict(list)
    for line, some in results:
        for system, result in zip(systems, some, strict=True):
            if result.remark:
                remarks[system.name, result.remark].append(line.task[1])
    for (name, remark), tasks in remarks.items():
        yield f"not compared: {name}, {_first_names(dict.fromkeys(tasks))}: {remark}"


def _seeds(systems: Sequence[SystemResults]) -> Iterator[str]:
    used: dict[tuple[int, ...], list[str]] = defaultdict(list)
    for system in systems:
        for seeds in dict.fromkeys(
            tuple(run.result.seed for run in system.done(task)) for task in system.runs if system.done(task)
        ):
            used[seeds].append(system.name)
    if len(used) > 1:
        parts = (f"{', '.join(map(str, seeds))}: {', '.join(names)}" for seeds, names in used.items())
        yield f"seeds differ; differences are over the seeds that both systems have. Seeds {'; '.join(parts)}"


def _fingerprints(systems: Sequence[SystemResults]) -> Iterator[str]:
    """Yield the systems whose runs have different weights: other trainings, or other models."""
    for system in systems:
        fingerprints = {str(result.system.get("fingerprint", "")) for result in system.results}
        if len(fingerprints) > 1:
            yield f"{system.name}: its results are of {len(fingerprints)} different models (fingerprints)"


def _dropped(systems: Sequence[SystemResults]) -> Iterator[str]:
    """Yield what was dropped, a line for each reason and count: with its tasks, and its systems if not all."""
    tasks_by_reason: dict[tuple[str, str, int, str], dict[str, None]] = defaultdict(dict)
    listed: dict[str, str] = {}
    for system in systems:
        for result in system.results:
            listed.setdefault(result.task, result.details.get("dropped by the data", ""))
            for reason, entry in result.dropped.items():
                first = ", ".join(map(str, entry["first"][:3]))
                tasks_by_reason[result.task, reason, entry["count"], first][system.name] = None
    lines: dict[tuple[str, str], list[str]] = defaultdict(list)
    for (task, reason, count, first), names in tasks_by_reason.items():
        of = "" if len(names) == len(systems) else f" ({', '.join(names)})"
        more = ", ..." if count > 3 else ""
        file = "; all ids: SYSTEM/SUITE/dropped/TASK.csv" if count > 3 and listed[task] else ""
        lines[f"{count:,} x {reason} ({first}{more}){file}", of].append(task)
    for (line, of), tasks in lines.items():
        yield f"{_first_names(tasks)}{of}: {line}"


def _first_names(names: Iterable[str]) -> str:
    first = list(names)
    more = f" and {len(first) - NAMED} more" if len(first) > NAMED else ""
    return ", ".join(first[:NAMED]) + more
