"""Figures of a report: their numbers, what is left out and why, and the same bytes every time."""

import csv
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from sciprism.cli.main import app
from sciprism.errors import InputError
from sciprism.evaluation.report.figures import EncodingCost, read_costs, write_figures

ENDINGS = {".svg", "-dark.svg", ".pdf", ".csv", ".tex"}


def fill(lab, systems, tasks=("one", "two"), formats=("search", "regression"), rises=0.05):
    """Write results of some systems, each a little better than the one before."""
    random = np.random.default_rng(0)
    for task, form in zip(tasks, formats, strict=True):
        base = random.random(40) / 2
        for place, system in enumerate(systems):
            lab.add(system, task, {"map": base + place * rises}, format=form)
    return lab.report()


def rows(folder, name):
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_bars_have_the_scores_of_the_report_and_all_forms(lab, tmp_path):
    report = fill(lab, ["A $x$ & <b>", "B_2"])
    files, _ = write_figures(report, tmp_path)
    assert {path.name.removeprefix("own-task-types") for path in files} == ENDINGS
    average = next(row for row in report.rows if row.name == "format search")
    found = next(
        row for row in rows(tmp_path, "own-task-types") if (row["system"], row["task type"]) == ("B_2", "search")
    )
    score, difference = average.cells[1].score, average.cells[1].difference
    assert [float(found[key]) for key in ("score", "low", "high")] == [score.value, score.low, score.high]
    assert float(found["difference low"]) == difference.low
    light, dark = ((tmp_path / f"own-task-types{end}").read_text("utf-8") for end in (".svg", "-dark.svg"))
    assert "A $x$ &amp; &lt;b&gt;" in light and "<text" in light, "names are text, and no formula"
    texts = [re.findall(r">([^<]+)</text>", drawing) for drawing in (light, dark)]
    assert light != dark and texts[0] == texts[1] and "baseline" not in texts[0]
    tex = (tmp_path / "own-task-types.tex").read_text("utf-8")
    assert r"\toprule" in tex and r"B\_2" in tex and r"A \$x\$ \& \textless{}b" in tex
    assert (tmp_path / "own-task-types.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.slow
def test_the_same_report_gives_the_same_bytes(lab, tmp_path):
    report = fill(lab, ["A", "B"])
    costs = [EncodingCost(system=name, label=name, papers_per_second=rate) for name, rate in (("A", 9.0), ("B", 90.0))]
    for name in ("first", "second"):
        write_figures(report, tmp_path / name, costs)
    first = {path.name: path.read_bytes() for path in (tmp_path / "first").iterdir()}
    assert first == {path.name: path.read_bytes() for path in (tmp_path / "second").iterdir()}
    assert len(first) == 2 * len(ENDINGS)
    assert not [name for name, content in first.items() if re.search(rb"CreationDate|<dc:date>", content)]


def test_no_figure_is_an_error(lab, tmp_path):
    lab.write("A", "one", {}, status="failed", reason="OSError: disk")
    with pytest.raises(InputError, match="no figure can be drawn: own: no task type has an average"):
        write_figures(lab.report(), tmp_path)


@pytest.mark.slow
def test_the_front_has_what_none_beats_in_both(lab, tmp_path):
    report = fill(lab, ["A", "B", "C", "D"])  # each better than the one before
    prices = {"A": 4.0, "B": 2.0, "C": 3.0, "D": 1.0}
    speeds = [EncodingCost(system=name, label=name, papers_per_second=price) for name, price in prices.items()]
    write_figures(report, tmp_path / "speed", speeds)
    found = {row["system"]: row["on the front"] for row in rows(tmp_path / "speed", "own-speed-quality")}
    assert found == {"A": "True", "B": "False", "C": "True", "D": "True"}
    costs = [EncodingCost(system=name, label="same", cost=price) for name, price in prices.items()]
    write_figures(report, tmp_path / "cost", costs)
    found = {row["system"]: row["on the front"] for row in rows(tmp_path / "cost", "own-cost-quality")}
    assert found == {"A": "False", "B": "False", "C": "False", "D": "True"}


@pytest.mark.parametrize(
    "text, message",
    [
        ("system,cost,price\nA,1,2\n", "costs.csv, line 2: price: Unexpected keyword argument"),
        ("system,cost\nA,1\nB,fast\n", "line 3: cost: Input should be a valid number"),
        ("system,cost\nA,-1\n", "line 2: cost: Input should be greater than 0"),
        ("system,cost\n,1\n", "line 2: system: Field required"),
    ],
)
def test_a_wrong_table_of_costs_is_explained(tmp_path, text, message):
    path = tmp_path / "costs.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=re.escape(message)):
        read_costs(path)


def test_the_command_writes_figures_and_says_what_it_left_out(lab, tmp_path):
    fill(lab, ["A", "B"])
    costs = tmp_path / "costs.csv"
    costs.write_text("system,label,papers_per_second\nA,first,10\nB,,\n")
    done = CliRunner().invoke(
        app, ["compare", str(lab.folder), "--figures", str(tmp_path / "f"), "--costs", str(costs)]
    )
    assert done.exit_code == 0, done.output
    assert f"wrote {tmp_path / 'f' / 'own-task-types.svg'}" in done.stdout and "known of 1 system(s)" in done.stdout
    refused = CliRunner().invoke(app, ["compare", str(lab.folder), "--costs", str(costs)])
    assert isinstance(refused.exception, InputError) and "--figures FOLDER" in str(refused.exception)
