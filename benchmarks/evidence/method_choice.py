"""Which method should I take: the section of docs/evidence.md, from results/prism and the measured costs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import fill

from evidence.figures import draw_cost, read_costs
from evidence.page import WIDTH, format_table
from evidence.records import ContrastEvaluator
from sciprism.reproduce.estimates import MODELS_FILE, Estimate, read_models
from sciprism.reproduce.papers import reproductions
from sciprism.reproduce.run import TableCell, read_table

TABLE = "P1"
COST_OF = {"prism-trained": "prism", "backbone": "single"}
"""Row -> the method whose cost at inference it has."""
TEXT = """## Which method should I take

Every method started from one encoder, saw the same papers in as many steps (adapter fusion in twice as many), and was
scored on the same tests ([decisions](decisions.md)). The first row is that encoder, untouched. The others are
differences to it in points, with 95% intervals over test items and seeds, in **bold** where they exclude 0. Costs
are in plain passes per paper, for one format and for all four ([formats.json](../results/formats.json)); differences
of a tenth are noise.

![Cost and quality of the methods](pictures/methods.svg)

{table}

{summary}

Take the cheapest method that is above the untouched encoder where you need it, else the untouched encoder.

These fall below the untouched encoder on a type of task that they train, and so are not tested:

{others}

Scores: `sciprism reproduce prism {name} --data open --from-results`; [dev curves](../results/prism/runs.json)."""


def format_choice(results: Path, picture: Path) -> str:
    """Return the section, "" without results of the table; draw the picture of cost and quality."""
    paper, folder = reproductions["prism"], results / "prism"
    known = read_models(folder) if (folder / MODELS_FILE).exists() else {}
    keys = [row.model for row in paper.table(TABLE).rows if row.model in known]
    if "backbone" not in keys or len(keys) == 1:
        return ""
    filled = read_table(paper, TABLE, paper.suites["open"], keys, folder)
    if not any(cell.above for row in filled.rows for cell in row.cells):
        return ""
    arms = ContrastEvaluator(paper, paper.suites["open"], folder)
    costs = [read_costs(results / "formats.json", {COST_OF.get(key, key) for key in keys}, what) for what in COSTS]
    rows, others, quality, tested, names = [], [], {}, {}, {}
    for row, cells in ((filled_row.row, filled_row.cells) for filled_row in filled.rows):
        arm = next(arms.judge_arms(row.model), None)
        paid = [found[COST_OF.get(row.model, row.model)] for found in costs]
        name = f"({row.name})" if arm and arm.untested else row.name
        shown = (f"{cost:.1f}" for cost in paid)
        line = (row.name, *shown, str(len(arm.dev)) if arm else "", *map(_format_cell, cells))
        rows.append(line) if name == row.name else others.append(line[:5])
        names[name] = paid[1]
        if above := cells[0].above:
            quality[name] = _to_points(above)
            if name == row.name:
                tested[name] = quality[name]
    draw_cost(quality, names, picture)
    heads = (
        "method",
        "one format",
        "all four",
        "seeds",
        *(column.name.removeprefix("Average, ") for column in filled.columns),
    )
    tables = {"table": format_table(heads, rows), "others": format_table(heads[:5], others)}
    return TEXT.format(**tables, name=TABLE, summary=fill(_summarize(tested), WIDTH))


def _summarize(quality: Mapping[str, tuple[float, float, float]]) -> str:
    """Return which methods are above and below the untouched encoder over all tasks, by their intervals."""
    above = [name for name, (_, low, _) in quality.items() if low > 0]
    below = [name for name, (_, _, high) in quality.items() if high < 0]
    lists = ("; ".join(names) or "none" for names in (above, below))
    return "Over all tasks, above the untouched encoder: {}. Below it: {}.".format(*lists)


COSTS = ("one format", "all formats")


def _to_points(found: Estimate) -> tuple[float, float, float]:
    return 100 * found.value, 100 * found.low, 100 * found.high


def _format_cell(cell: TableCell) -> str:
    """Return the difference to the untouched encoder, or the score of the row without one."""
    if cell.above:
        value, low, high = _to_points(cell.above)
        shown = f"{value:+.1f} [{low:+.1f}, {high:+.1f}]"
        return f"**{shown}**" if low > 0 or high < 0 else shown
    return f"{100 * cell.found.value:.1f}" if cell.found else cell.status
