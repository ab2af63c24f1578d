"""Which method should I take: the section of docs/evidence.md, from results/prism and the measured costs."""

from __future__ import annotations

from pathlib import Path

from evidence_figures import draw_cost, read_costs
from sciprism.reproduce.claims.arms import Arms
from sciprism.reproduce.claims.evidence_page import format_table
from sciprism.reproduce.tables.registry import reproductions
from sciprism.reproduce.tables.result_folder import MODELS_FILE, read_models
from sciprism.reproduce.tables.run import TableCell, read_table

TABLE = "choice"
COST_OF = {"prism-trained": "prism", "backbone": "single"}
"""Row -> the method whose cost at inference it has."""
TEXT = """## Which method should I take

Every method started from one encoder, saw the same papers in as many steps ([studies.md](studies.md)), and was
scored on the same tests. Differences are to one vector per paper, in points, with 95% intervals over tests and
seeds; in **bold** those that exclude 0. The cost is that of one paper, times a plain pass, for one format and for
all four ([formats.json](../results/formats.json)). A method in brackets is not tested: its best dev score is not
above the untouched encoder's. First compare with the untouched encoder, which costs no training.

![Cost and quality of the methods](pictures/methods.svg)

{table}

[All rows](../results/prism/table-{name}.md), [dev curves](../results/prism/runs.json). Take the cheapest row whose
interval suits your use: where a difference includes 0, this study saw none, and one vector is simpler."""


def format_choice(results: Path, picture: Path) -> str:
    """Return the section, "" without results of the table; draw the picture of cost and quality."""
    paper, folder = reproductions["prism"], results / "prism"
    known = read_models(folder) if (folder / MODELS_FILE).exists() else {}
    keys = [row.model for row in paper.table(TABLE).rows if row.model in known]
    if "single" not in keys or len(keys) == 1:
        return ""
    filled = read_table(paper, TABLE, paper.suites["open"], keys, folder)
    if not any(cell.above for cells in filled.cells for cell in cells):
        return ""
    arms = Arms(folder, paper.models)
    costs = [read_costs(results / "formats.json", {COST_OF.get(key, key) for key in keys}, what) for what in COSTS]
    rows, quality = [], {}
    for row, cells in zip(filled.table.rows, filled.cells, strict=True):
        arm = next(arms.find(row.model), None)
        paid = [f"{found[COST_OF.get(row.model, row.model)]:.2f}" for found in costs]
        name = f"({row.name})" if arm and arm.untested else row.name
        rows.append((name, *paid, str(len(arm.dev)) if arm else "", *map(_format_cell, cells)))
        if cells[0].above:
            quality[row.name] = tuple(
                100 * each for each in (cells[0].above.value, cells[0].above.low, cells[0].above.high)
            )
    names = {row.name: costs[1][COST_OF.get(row.model, row.model)] for row in filled.table.rows}
    draw_cost(quality, names, picture)
    heads = (
        "method",
        "one format",
        "all four",
        "seeds",
        *(column.name.removeprefix("Average, ") for column in filled.columns),
    )
    return TEXT.format(table=format_table(heads, rows), name=TABLE)


COSTS = ("one format", "all formats")


def _format_cell(cell: TableCell) -> str:
    """Return the difference to one vector, or the score of the row without one."""
    if cell.above:
        value, low, high = (100 * each for each in (cell.above.value, cell.above.low, cell.above.high))
        shown = f"{value:+.1f} [{low:+.1f}, {high:+.1f}]"
        return f"**{shown}**" if low > 0 or high < 0 else shown
    return f"{100 * cell.found.value:.1f}" if cell.found else cell.status
