"""`sciprism compare`, `sciprism results pack`: results of several systems side by side, or in few small files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sciprism.cli.options import AsJson, check_outputs
from sciprism.cli.output import echo, plain_console, print_json
from sciprism.errors import InputError
from sciprism.files import write_atomically

if TYPE_CHECKING:
    from sciprism.evaluation.report.model import Report


Results = Annotated[list[Path], typer.Argument(help="Folders of results made by `sciprism evaluate`.")]
Baseline = Annotated[
    str,
    typer.Option(help="The system that others are compared with; else the first named, of folders and in evaluate."),
]
OutputFormat = Annotated[str, typer.Option(help="terminal, markdown, latex, json or html; else by the file's suffix.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", help="Write to this file, not to standard output.")]
Figures = Annotated[
    Path | None,
    typer.Option(
        help='Write figures for a paper to this folder (SVG, PDF; LaTeX and CSV of their numbers). Extra "bench".'
    ),
]
Costs = Annotated[
    Path | None,
    typer.Option(help="For --figures: CSV with system, and papers_per_second or cost (times one pass); or label."),
]


def compare(
    results: Results,
    baseline: Baseline = "",
    output_format: OutputFormat = "",
    output: Output = None,
    figures: Figures = None,
    costs: Costs = None,
    as_json: AsJson = False,
) -> None:
    """Compare systems: tasks, averages, differences to the first named, with 95 % intervals and tests.

    Only results of the same task declarations, data and seeds are compared. The others are named below the
    tables, as are tasks without a number and papers without a text.
    --figures draws, with intervals: a panel of bars for each task type; the average against papers per second and
    against cost, where --costs has them; and how tasks agree, from 8 systems on. What cannot be drawn is named.

    Example: sciprism compare results/ --baseline all-MiniLM-L6-v2 -o report.html
    """
    from sciprism.evaluation.report.build import build_report
    from sciprism.evaluation.report.lines import choose_baseline, group_by_system, read_stored_results
    from sciprism.evaluation.suites import suites

    if costs and not figures:
        raise InputError("--costs is for --figures FOLDER; name both")
    named_format, output_format = output_format, _choose_format(output, output_format, as_json)
    if output and output.suffix == ".json":  # results are such files: a report among them would be one, or replace one
        check_outputs([output], results)
    systems = group_by_system(read_stored_results(results))
    names = [system.name for system in systems]
    if baseline and baseline not in names:
        raise InputError(f"--baseline {baseline!r} is none of these systems: {', '.join(names)}")
    chosen = names.index(baseline) if baseline else choose_baseline(systems)
    report = build_report(systems, suites, baseline=chosen)
    drawn = _write_figures(report, figures, costs) if figures else None
    if as_json:
        print_json("sciprism.compare/1", report.to_json() | ({"figures": drawn} if drawn else {}))
    elif drawn and not output and not named_format:
        echo("\n".join([*(f"wrote {path}" for path in drawn["files"]), *(f"- {note}" for note in drawn["notes"])]))
    else:
        _write(report, output_format, output)


def _write_figures(report: Report, folder: Path, costs: Path | None) -> dict[str, list[str]]:
    """Write the figures; return their files, and what was left out and why."""
    from sciprism.evaluation.report.figures import read_costs, write_figures

    files, notes = write_figures(report, folder, read_costs(costs) if costs else [])
    return {"files": [str(path) for path in files], "notes": notes}


def _choose_format(output: Path | None, named: str, as_json: bool) -> str:
    """Return the output format: as named, else by the file's suffix."""
    from sciprism.evaluation.report import SUFFIXES, outputs

    if output and not named and output.suffix.lower() not in SUFFIXES:
        raise InputError(f"{output}: end its name in {', '.join(SUFFIXES)}, or name one with --output-format")
    chosen = named or SUFFIXES[output.suffix.lower() if output else ".txt"]
    if as_json and (output or chosen != "terminal"):
        raise InputError("--json prints the document; write it to a file with -o NAME.json alone")
    if chosen not in outputs:
        raise InputError(f"unknown output format {chosen!r}; known: {', '.join(outputs)}")
    return chosen


def _write(report: Report, output_format: str, output: Path | None) -> None:
    from sciprism.evaluation.report import outputs
    from sciprism.evaluation.report.text_tables import show

    if output is not None:
        content = outputs[output_format](report).encode()
        write_atomically(output, lambda file: file.write(content))
        echo(f"wrote {output}")
    elif output_format == "terminal":
        show(report, plain_console())
    else:
        echo(outputs[output_format](report), end="")


results = typer.Typer(no_args_is_help=True, help="Pack the results of `evaluate` into few files.")


@results.command("pack")
def pack(
    folder: Annotated[Path, typer.Argument(help="The folder of results that `sciprism evaluate -o` wrote.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder for the packed results.")],
    as_json: AsJson = False,
) -> None:
    """Pack results into two files per suite: SUITE.results.jsonl.gz (numbers, provenance), SUITE.items.parquet.

    `compare`, `reproduce` and `evaluate` read packed results as they read the folder. Results of other
    systems and tasks that the output already holds stay in it. The folder itself is not changed.

    Example: sciprism results pack out/open -o results/open
    """
    from sciprism.evaluation.results import pack_results
    from sciprism.reproduce.result_folder import read_models, write_models

    packed = pack_results(folder, output)
    for base, target in {pack.source: pack.path.parent for pack in packed}.items():
        if models := read_models(base):
            write_models(target, models)
    if as_json:
        keys = ("results", "systems", "size")
        packs = [{"path": str(p.path), **{key: getattr(p, key) for key in keys}} for p in packed]
        print_json("sciprism.results-pack/1", {"packs": packs})
        return
    for pack in packed:
        echo(f"{pack.path}: {pack.results:,} results of {pack.systems:,} systems, {pack.size / 1e6:.2f} MB")
