"""`sciprism compare`, `sciprism results pack`: results of several systems side by side, or in few small files."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sciprism.cli.options import check_outputs
from sciprism.cli.output import AS_JSON, echo, plain_console, print_result
from sciprism.errors import InputError
from sciprism.files import write_atomically

if TYPE_CHECKING:
    from sciprism.evaluation.report.model import Report


def compare(
    results: Annotated[list[Path], "Folders of results made by `sciprism evaluate`."],
    baseline: Annotated[str, "The system that others are compared with; else the first named."] = "",
    output: Annotated[Path | None, "Write to this file: .md, .tex, .json, .html or .txt.", "-o", "--output"] = None,
    figures: Annotated[
        Path | None,
        'Write figures to this folder (SVG, PDF; numbers as LaTeX, CSV). Needs the extra "bench".',
    ] = None,
    costs: Annotated[
        Path | None, "For --figures: CSV with system, and papers_per_second, cost (times one pass) or label."
    ] = None,
) -> None:
    """Compare systems by task and average, with 95 % intervals and tests of differences.

    Only results of the same task declarations, data and seeds are compared. Notes below the tables name the others,
    tasks without a number, and papers without a text. --figures draws bars for each task type; the average against
    papers per second and cost, if --costs has them; and from 8 systems on, how tasks agree.

    Example: sciprism compare results/ --baseline all-MiniLM-L6-v2 -o report.html
    """
    from sciprism.evaluation.report.build import build_report
    from sciprism.evaluation.report.figures import read_costs, write_figures
    from sciprism.evaluation.report.model import group_by_system, read_stored_results
    from sciprism.evaluation.suites import suites

    if costs and not figures:
        raise InputError("--costs is for --figures FOLDER; name both")
    output_format = _choose_format(output)
    if output and output.suffix == ".json":  # results are such files: a report among them would be one, or replace one
        check_outputs([output], results)
    systems = group_by_system(read_stored_results(results))
    names = [system.name for system in systems]
    if baseline and baseline not in names:
        raise InputError(f"--baseline {baseline!r} must be one of these systems: {', '.join(names)}")
    scored = (i for i, system in enumerate(systems) if any(map(system.done, system.runs)))
    report = build_report(systems, suites, baseline=names.index(baseline) if baseline else next(scored, 0))
    drawn: dict[str, list[str]] = {}
    if figures:
        files, notes = write_figures(report, figures, read_costs(costs) if costs else [])
        drawn = {"files": [*map(str, files)], "notes": notes}
    text: str | Callable[[], None] = partial(_write, report, output_format, output)
    if drawn and not output:
        text = "\n".join([*(f"wrote {path}" for path in drawn["files"]), *(f"- {note}" for note in drawn["notes"])])
    print_result("sciprism.compare/1", report.to_json() | ({"figures": drawn} if drawn else {}), text)


def _choose_format(output: Path | None) -> str:
    """Return the format of a file, by its suffix, or of the terminal."""
    from sciprism.evaluation.report import SUFFIXES

    if output and output.suffix.lower() not in SUFFIXES:
        raise InputError(f"{output}: end its name in {', '.join(SUFFIXES)}")
    if AS_JSON.get() and output:
        raise InputError("--json prints the document; write it to a file with -o NAME.json alone")
    return SUFFIXES[output.suffix.lower() if output else ".txt"]


def _write(report: Report, output_format: str, output: Path | None) -> None:
    from sciprism.evaluation.report import outputs
    from sciprism.evaluation.report.build import show

    if output is not None:
        content = outputs[output_format](report).encode()
        write_atomically(output, lambda file: file.write(content))
        echo(f"wrote {output}")
    else:
        show(report, plain_console())


results = typer.Typer(name="results", no_args_is_help=True, help="Pack the results of `evaluate` into few files.")


@results.command("pack")
def pack(
    folder: Annotated[Path, "A folder of results of `sciprism evaluate`."],
    output: Annotated[Path, "The folder for the packed results.", "--output", "-o"],
) -> None:
    """Pack results into two files per suite: SUITE.results.jsonl.gz (numbers, provenance), SUITE.items.parquet.

    `compare`, `reproduce` and `evaluate` read packed results. The output keeps its results of other systems and
    tasks.

    Example: sciprism results pack out/open -o results/open
    """
    from sciprism.evaluation.results import pack_results
    from sciprism.reproduce.estimates import read_models, write_models

    packed = pack_results(folder, output)
    for base, target in {pack.source: pack.path.parent for pack in packed}.items():
        if models := read_models(base):
            write_models(target, models)
    packs = [{"path": str(p.path), "results": p.results, "systems": p.systems, "size": p.size} for p in packed]
    lines = [f"{p.path}: {p.results:,} results of {p.systems:,} systems, {p.size / 1e6:.2f} MB" for p in packed]
    print_result("sciprism.results-pack/1", {"packs": packs}, "\n".join(lines))
