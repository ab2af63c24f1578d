"""`sciprism reproduce`: a paper's table again, on its own data or on the open suite."""

from __future__ import annotations

import os
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sciprism.cli.evaluate import ScoringProgress, command_line
from sciprism.cli.options import DATA
from sciprism.cli.output import AS_JSON, print_result, table_width
from sciprism.errors import InputError
from sciprism.files import write_atomically, write_json

if TYPE_CHECKING:
    from sciprism.reproduce.papers import GroupedSuite, Reproduction
    from sciprism.reproduce.run import FilledTable, TablePlan

OTHER_DATA = ("open", "built", "fields")

Paper = Annotated[str, "scimult, scirepeval, multi2spe, indus; or prism, our own study."]


def reproduce(
    paper: Paper,
    table: Annotated[str, typer.Argument(help="The table's number in the paper: 3, A4, 1a for 1(a); see --list.")] = "",
    listed: Annotated[bool, "List the paper's tables and models, and stop.", "--list"] = False,
    models: Annotated[list[str] | None, "KEY=NAME, a model by folder or name; repeat a KEY for further seeds."] = None,
    only: Annotated[list[str] | None, "Only the rows of this KEY; repeatable."] = None,
    from_results: Annotated[bool, "Show stored results without scoring.", "--from-results"] = False,
    results: Annotated[Path | None, "The folder of results; else results/PAPER."] = None,
    output: Annotated[Path | None, "Write to this file: .md, or .json with everything.", "-o", "--output"] = None,
) -> None:
    """Make a table of a paper again: our numbers with 95 % intervals, next to the published ones.

    --data is the folder of the paper's data, or of the sample that Table 5 of multi2spe or 8 of scirepeval counts. It
    may also be open, open/quick (its quick view), built (the paper's tasks over other papers) or fields (over papers of
    all fields), in the folder of SCIPRISM_DATA.

    Missing models are listed before anything runs. A task without data has no number. The same command resumes.

    Example: sciprism reproduce scimult 9 --data open --only vanilla --models vanilla=RUN
    """
    from sciprism.reproduce.papers import reproductions
    from sciprism.reproduce.run import read_table

    chosen = reproductions[paper]
    if listed or not table:
        return _print_list(chosen)
    table, data = chosen.resolve_table(table), DATA.get()
    if table in {*chosen.other_tables, *chosen.sample_tables}:
        if models or only or from_results or results:
            raise InputError(f"table {table} is not made from scores: only --data and -o apply")
        return _print_counts(data, chosen, table, output)
    if from_results and models:
        raise InputError("--from-results shows models that were scored; it takes no --models")
    suite, folder = _select_data(chosen, data, is_read=not from_results)
    out = results or Path("results") / paper
    if from_results:
        return _print_table(chosen, read_table(chosen, table, suite, only or [], out), output)
    plan = _plan_table(chosen, table, suite, only or [], models or [], folder)
    return _print_table(chosen, _score(plan, out), output)


def _score(plan: TablePlan, results: Path) -> FilledTable:
    from sciprism.reproduce.run import score_table

    with ScoringProgress() as shown:
        return score_table(plan, results, command_line(), shown.on_task)


def _plan_table(
    paper: Reproduction, table: str, suite: GroupedSuite, only: list[str], models: list[str], data: Path | None
) -> TablePlan:
    """Return the plan of a table's rows; what is missing is an error before anything runs."""
    from sciprism.reproduce.run import choose_rows, plan_table, read_model_names

    rows = choose_rows(paper.table(table), suite, only)
    return plan_table(paper, rows, suite, read_model_names(models, paper.models), data, "float32")


def _select_data(paper: Reproduction, data: str, *, is_read: bool) -> tuple[GroupedSuite, Path | None]:
    """Return the data that a table is made on, and their folder where they are read."""
    root = os.environ.get("SCIPRISM_DATA", "")
    name, _, view = data.partition("/")
    if name in OTHER_DATA and view in ("", "quick"):
        if is_read and not root:
            raise InputError(f"--data {data}: set SCIPRISM_DATA to the folder of the data sets")
        if name not in paper.suites:
            raise InputError(f"--data {data}: {paper.name} has {', '.join(paper.suites)}")
        suite = paper.suites[name]
        return suite.select_view(view) if view else suite, Path(root) if root else None
    folder = data or root
    return next(iter(paper.suites.values())), Path(folder) if folder else None


def _print_counts(folder: str, paper: Reproduction, name: str, output: Path | None) -> None:
    if name not in paper.sample_tables or (name in paper.other_tables and not folder):
        return _print_published(paper, name, output)
    from sciprism.cli.output import format_cell
    from sciprism.evaluation.report.build import TextTable, format_markdown
    from sciprism.evaluation.task import read_paper
    from sciprism.prepare.citations import count_sample_by_field

    title = f"Table {name} of {paper.short_title}: {paper.sample_tables[name]}"
    sample = count_sample_by_field(Path(folder))
    published = read_paper(paper.name).get(name, ())
    table = sample.count_table("field")
    for column in dict.fromkeys(column for row in published for column in row.scores):
        table = table.with_column(f"{column} (published)", {row.name: int(row.scores[column]) for row in published})
    rows = tuple(tuple(map(format_cell, row)) for row in table.rows)
    block = TextTable(title, (*table.words, *table.counts), rows)
    values = {"title": title, **sample.to_json(), "published": {row.name: row.scores for row in published}}
    _write(output, format_markdown(block) + "\n", values)
    return None


def _print_published(paper: Reproduction, name: str, output: Path | None) -> None:
    """Print a table that is not made from scores: its published numbers, if it has any, and how ours are made."""
    from sciprism.evaluation.report.build import TextTable, format_markdown
    from sciprism.evaluation.task import read_paper

    title, note = f"Table {name} of {paper.short_title}, as published", paper.other_tables[name]
    scores = {row.name: row.scores for row in read_paper(paper.name).get(name, ())}
    columns = tuple(dict.fromkeys(column for row in scores.values() for column in row))
    cells = ([f"{of_row[name]:,.12g}" if name in of_row else "" for name in columns] for of_row in scores.values())
    rows = tuple((row, *of_row) for row, of_row in zip(scores, cells, strict=True))
    table = f"{format_markdown(TextTable(title, ('', *columns), rows))}\n\n" if rows else f"### {title}\n\n"
    _write(output, f"{table}- Not made from scores: {note}.\n", {"title": title, "rows": scores, "note": note})


def _print_table(paper: Reproduction, filled: FilledTable, output: Path | None) -> None:
    """Print a table, or write it to a file; the exit status is 1 where a task failed."""
    from sciprism.reproduce.printing import UNLIMITED_WIDTH, format_table, table_to_json

    title = f"{paper.caption(filled.table)} ({filled.suite.name})"
    page = format_table(filled, title, width=UNLIMITED_WIDTH if output else table_width())
    _write(output, page, table_to_json(filled, title))
    if filled.failed:
        raise typer.Exit(1)


def _write(output: Path | None, page: str, values: dict[str, Any]) -> None:
    """Print the page, or write it to a file; to a .json file, write the values."""
    if output is None or AS_JSON.get():
        print_result("sciprism.reproduce/1", values, page.removesuffix("\n"))
    if output is not None and output.suffix == ".json":
        write_json(output, values)
    elif output is not None:
        write_atomically(output, methodcaller("write", page.encode()))


def _print_list(paper: Reproduction) -> None:
    from sciprism.reproduce.run import model_keys

    tables = {table.name: paper.caption(table) for table in paper.tables.values()} | dict(paper.sample_tables)
    models = {key: model.title for key, model in paper.models.items()}
    lines = [f"{paper.title}\n\ntables"]
    for table in paper.tables.values():
        lines.append(f"  {table.name:12} {paper.caption(table)} [{', '.join(model_keys(table.rows))}]")
    for name, title in paper.sample_tables.items():
        lines.append(f"  {name:12} Table {name} of {paper.short_title}: {title} [--data FOLDER]")
    lines.append("\nmodels (--models KEY=NAME)")
    for key, model in paper.models.items():
        default = model.default or ", ".join(model.per_task.values()) or "no default"
        lines.append(f"  {key:28} {model.title} ({default})")
    document = {"paper": paper.title, "tables": tables, "models": models}
    print_result("sciprism.tables/1", document, "\n".join(lines))
