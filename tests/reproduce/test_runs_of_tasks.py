"""Tables whose tasks are fine-tuned: several runs of one model, and their spread."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from build_words import segments
from sciprism import Encoder
from sciprism.evaluation.protocols.fine_tuning import PairProtocol
from sciprism.evaluation.task import Suite, Task
from sciprism.evaluation.tuning import Tuning
from sciprism.reproduce.papers import GroupedSuite, ModelRow, PaperTable, Reproduction, TableModel
from sciprism.reproduce.printing import format_table, table_to_json
from sciprism.reproduce.run import plan_table, score_table


@dataclass(frozen=True)
class SegmentData:
    """Texts that a small model learns."""

    def read(self, home):
        return segments(30)


def build_task(name, group):
    protocol = PairProtocol(tuning=Tuning(rates=(1e-2,), batches=(8,), epochs=(2,), seeds=2))
    return Task(name=name, format="classification", protocol=protocol, data=SegmentData(), group=group)


def test_a_table_of_runs(tiny_model, tmp_path):
    """Two tasks of one group and one of another: micro is the mean of three, macro that of two means."""
    tasks = tuple(build_task(name, group) for name, group in (("a", "x"), ("b", "x"), ("c", "y")))
    rows = ModelRow(name="short", model="short"), ModelRow(name="long", model="long", against="short")
    shape = {"groups": ("x", "y"), "form": "runs", "average": False, "overall": True}
    table = PaperTable(name="5", title="fine-tuned", rows=rows, **shape)
    suite = GroupedSuite(suite=Suite(name="build_task", tasks=tasks), groups={"x": ("a", "b"), "y": ("c",)})
    models = {name: TableModel(title=name) for name in ("short", "long")}
    paper = Reproduction(name="p", title="P", tables={"5": table}, models=models, suites={"own": suite})
    for name, length in (("short", 16), ("long", 64)):
        Encoder.load(tiny_model, pooling="cls", max_length=length).save(tmp_path / name)
    given = {name: (str(tmp_path / name),) for name in models}
    wanted = plan_table(paper, table, suite, given, None)
    filled = score_table(wanted, tmp_path / "results")
    assert [column.name for column in filled.columns] == ["a accuracy", "b accuracy", "c accuracy", "micro", "macro"]
    a, b, c, micro, macro = (cell.found.value for cell in filled.rows[0].cells)
    assert micro == pytest.approx((a + b + c) / 3) and macro == pytest.approx(((a + b) / 2 + c) / 2)
    assert all(cell.found.seeds == (2,) for cells in [row.cells for row in filled.rows] for cell in cells)
    folders = {path.name for path in Path(tmp_path / "results").iterdir() if path.is_dir()}
    assert folders == {"short", "short--seed-1", "long", "long--seed-1"}
    page = format_table(filled, "Table 5")
    assert "In brackets: the standard deviation over runs" in page
    cell = filled.rows[0].cells[0].found
    assert f"{100 * cell.value:.2f} ({100 * cell.spread:.2f})" in page
    assert table_to_json(filled, "Table 5")["rows"][0]["cells"]["macro"]["found"]["seeds"] == (2,)
