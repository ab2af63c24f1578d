"""`sciprism reproduce`: a table of a paper again, on its own data or in its shape on the open suite."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sciprism.cli.scoring import Precision, command_line, teller
from sciprism.errors import InputError

if TYPE_CHECKING:
    from sciprism.evaluation.run import Run
    from sciprism.reproduce.tables.declared import Reproduction, Shape, Table
    from sciprism.reproduce.tables.run import Filled

STAND_INS = ("open", "built", "fields")

Paper = Annotated[
    str, typer.Argument(help="The paper: scimult, scirepeval, multi2spe, indus; or prism, our own study.")
]
Name = Annotated[str, typer.Argument(help="The table, as the paper numbers it: 3, 9, A4; see --list.")]
Listed = Annotated[bool, typer.Option("--list", help="Name the paper's tables and models, and stop.")]
Data = Annotated[
    str,
    typer.Option(
        help="The folder of the paper's data, or of the sample that multi2spe's Table 5 counts; or, in the "
        "folder of SCIPRISM_DATA: 'open' (the open suite), 'built' (the paper's tasks over other papers), "
        "'fields' (over papers of all fields)."
    ),
]
Models = Annotated[
    list[str] | None,
    typer.Option(help="KEY=NAME, a model by folder or name, again for another seed; or a .toml of such."),
]
Only = Annotated[list[str] | None, typer.Option(help="Only the rows of this model (KEY); repeatable.")]
Quick = Annotated[bool, typer.Option("--quick", help="Only the tasks of the open suite's quick view.")]
Recall = Annotated[
    bool,
    typer.Option("--kept", help="Show the results that are there: no model is loaded, nothing is scored."),
]
Results = Annotated[Path | None, typer.Option(help="The folder of results; results/PAPER.")]
Output = Annotated[
    Path | None, typer.Option("-o", "--output", help="Write to this file: .md, or .json with everything.")
]


def reproduce(
    paper: Paper,
    table: Name = "",
    listed: Listed = False,
    data: Data = "",
    models: Models = None,
    only: Only = None,
    quick: Quick = False,
    kept: Recall = False,
    results: Results = None,
    precision: Precision = "float32",
    output: Output = None,
) -> None:
    """Make a table of a paper again: ours with 95% intervals, the printed figures in columns of their own.

    What is missing, data or models, is listed before anything runs. A second run continues where the first
    stopped. Models with several seeds: repeat --models with the same key.

    Example: sciprism reproduce scimult 9 --data open --only mha-expert --models models.toml
    """
    from sciprism.evaluation.run import Run
    from sciprism.reproduce.tables.registry import reproductions

    chosen = reproductions[paper]
    if listed or not table:
        _print_list(chosen)
        return
    if table in chosen.samples:
        if models or only or quick or kept or results:
            raise InputError(f"table {table} counts a sample; it takes --data and -o alone")
        _show_sample(Path(data or "."), f"Table {table}: {chosen.samples[table]}", output)
        return
    shape, folder = _data(chosen, data, quick, looked_at=not kept)
    run = Run(out=results or Path("results") / paper, data=folder, command=command_line())
    filled = _filled(chosen, table, shape, only or [], models or [], run, precision, kept=kept)
    _show(filled, f"Table {table}: {filled.table.title} ({shape.name})", output)
    if filled.failed:
        raise typer.Exit(1)


def _filled(
    paper: Reproduction,
    table: str,
    shape: Shape,
    only: list[str],
    models: list[str],
    run: Run,
    precision: str,
    *,
    kept: bool,
) -> Filled:
    from sciprism.reproduce.tables.models import read_given
    from sciprism.reproduce.tables.run import chosen_rows, make, plan, recall

    if kept and models:
        raise InputError("--kept shows the results of models that were scored; it takes no --models")
    if kept:
        return recall(paper, table, shape, only, run.out)
    rows = chosen_rows(paper.table(table), shape, only)
    given = read_given(models, paper.models)
    return make(plan(paper, rows, shape, given, run.data, precision), run, teller())


def _data(paper: Reproduction, data: str, quick: bool, *, looked_at: bool) -> tuple[Shape, Path | None]:
    """Return the data that a table is made on, and the folder they lie in where they are looked at."""
    given = os.environ.get("SCIPRISM_DATA", "")
    if data in STAND_INS:
        if looked_at and not given:
            raise InputError(f"--data {data}: say where the data lie with SCIPRISM_DATA")
        if data not in paper.shapes:
            raise InputError(f"--data {data}: {paper.name} has {', '.join(paper.shapes)}")
        shape = paper.shapes[data]
        return shape.part("quick") if quick else shape, Path(given) if given else None
    if quick:
        raise InputError("--quick is a view of the open suite; add --data open")
    folder = data or given
    return next(iter(paper.shapes.values())), Path(folder) if folder else None


def _show_sample(folder: Path, title: str, output: Path | None) -> None:
    from sciprism.cli.prepare_citations import COUNTS, field_rows
    from sciprism.evaluation.report.grid import Block
    from sciprism.prepare.citations.sample import sample_in
    from sciprism.reproduce.tables.printing import markdown

    sample = sample_in(folder)
    block = Block(title, ("field", *COUNTS), tuple(map(tuple, field_rows(sample))))
    _put(output, markdown(block) + "\n", {"title": title, **sample.to_json()})


def _show(filled: Filled, title: str, output: Path | None) -> None:
    import shutil

    from sciprism.reproduce.tables.printing import WIDE, text, to_json

    width = shutil.get_terminal_size((110, 24)).columns if sys.stdout.isatty() else 110
    page = text(filled, title, width=WIDE if output else width)
    _put(output, page, to_json(filled, title))


def _put(output: Path | None, page: str, values: dict[str, Any]) -> None:
    """Print the page, or write it or, to a file called .json, the values."""
    import json

    if output is None:
        print(page, end="")
        return
    output.parent.mkdir(parents=True, exist_ok=True)
    as_json = output.suffix == ".json"
    content = json.dumps(values, indent=1, ensure_ascii=False) + "\n" if as_json else page
    output.write_text(content, encoding="utf-8")


def _print_list(paper: Reproduction) -> None:
    print(f"{paper.title}\n\ntables")
    for table in paper.tables.values():
        print(f"  {table.name:4} {table.title}{_needs(table)}")
    for name, title in paper.samples.items():
        print(f"  {name:4} {title} [--data FOLDER]")
    print("\nmodels (--models KEY=NAME)")
    for key, model in paper.models.items():
        default = model.default or ", ".join(model.per_task.values()) or "no default"
        print(f"  {key:28} {model.title} ({default})")


def _needs(table: Table) -> str:
    from sciprism.reproduce.tables.models import keys_of

    return f" [{', '.join(keys_of(table.rows))}]"
