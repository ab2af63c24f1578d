"""Every declared table, on every data that its paper has."""

import re

import pytest

from sciprism.errors import InputError
from sciprism.evaluation.suites.registry import suites
from sciprism.reproduce.claims.registry import claims
from sciprism.reproduce.tables.registry import reproductions
from sciprism.reproduce.tables.table import (
    GroupedSuite,
    ModelRow,
    PaperTable,
    Reproduction,
    TableModel,
    build_columns,
)

ALL = [(p, t, s) for p, r in reproductions.items() for t in r.tables for s in r.suites]


@pytest.mark.parametrize(("paper", "table", "data"), ALL)
def test_every_table_has_columns_and_printed_figures_that_fit(paper, table, data):
    table, suite = reproductions[paper].tables[table], reproductions[paper].suites[data]
    columns = build_columns(table, suite)
    assert columns and len({column.name for column in columns}) == len(columns)
    tasks = suite.tasks_by_name()
    for row in table.rows:
        for column in columns:
            assert all(set(n.metrics) <= set(tasks[row.task(n.task)].protocol.metrics) for n in column.scores)
    found = {metric for column in columns for n in column.scores for metric in n.metrics}
    assert set(table.metrics) <= found, "a metric that no task has"
    if suite.original:
        names = {name for column in columns for name in column.published_names}
        printed = {row.published_name or row.name for row in table.rows}
        assert {row.name for row in table.published} <= printed
        assert all(row.scores.keys() <= names for row in table.published)


def test_a_row_of_the_table_on_averages_is_what_the_printed_averages_give():
    """Table 9 repeats Tables 3 to 7: its published changes follow from their published averages."""
    paper = reproductions["scimult"]
    averages = {}
    for name in "34567":
        for row in paper.tables[name].published:
            averages.setdefault(row.name, {}).update(row.scores)
    for row in paper.tables["9"].published:
        for column, change in row.scores.items():
            ours = 100 * (averages[row.name][column] / averages["Vanilla"][column] - 1)
            assert ours == pytest.approx(change, abs=0.02), (row.name, column)


def test_multi2spe_ranks_scidocs_by_cosine_and_scidocs_itself_by_the_euclidean_distance():
    own = reproductions["multi2spe"].suites["multi-scidocs"].tasks_by_name()
    for task in suites["scidocs"].tasks:
        if task.group == "reranking":
            assert (task.protocol.distance, own[task.name].protocol.distance) == ("euclidean", "cosine")
        else:
            assert own[task.name] == task


def test_a_quick_view_narrows_the_columns_or_says_that_none_is_left():
    paper = reproductions["scimult"]
    quick = paper.suites["open"].select_view("quick")
    names = [column.name for column in build_columns(paper.tables["5"], quick)]
    assert names == ["vis-citation-retrieval (mean)", "Average, retrieval"]
    with pytest.raises(InputError, match="table A8: open/quick has no task"):
        build_columns(paper.tables["A8"], quick)
    assert [column.name for column in build_columns(paper.tables["A8"], paper.suites["open"])] == [
        "arxiv-categories (mean)"
    ]


def test_declarations_check_themselves():
    row = ModelRow(name="A", model="a", against="B")
    with pytest.raises(InputError, match="compared with B, which is no row"):
        PaperTable(name="1", title="", rows=(row,), groups=("g",))
    with pytest.raises(InputError, match="two rows have one name"):
        PaperTable(name="1", title="", rows=(ModelRow(name="A"), ModelRow(name="A")), groups=("g",))
    table = PaperTable(name="1", title="", rows=(ModelRow(name="A", model="a"),), groups=("g",))
    suite = GroupedSuite(suite=suites["nasa-ir"], groups={"g": ("nasa-ir",)})
    with pytest.raises(InputError, match="models that are not declared: a"):
        Reproduction(name="p", title="", tables={"1": table}, models={}, suites={"own": suite})
    paper = Reproduction(
        name="p", title="P", tables={"1": table}, models={"a": TableModel(title="A")}, suites={"own": suite}
    )
    with pytest.raises(InputError, match=r"table 5 of SciRepEval .* is no table of scores: time and param"):
        reproductions["scirepeval"].table("5")
    with pytest.raises(InputError, match="p has no table '2' that is reproduced; known: 1"):
        paper.table("2")
    assert [column.name for column in build_columns(table, suite)][-1] == "Average, g"  # another paper: no code
    with pytest.raises(InputError, match="unknown tasks moon"):
        GroupedSuite(suite=suites["nasa-ir"], groups={"g": ("moon",)})


@pytest.mark.parametrize("name", [name for name in claims if claims[name].paper in reproductions])
def test_claims_ask_for_models_groups_and_tables_that_there_are(name):
    claim = claims[name]
    paper = reproductions[claim.paper]
    assert set(claim.tables) <= set(paper.tables)
    scored = {row.model for table in claim.tables for row in paper.tables[table].rows}
    for contrast in (c for question in claim.questions for c in question.contrasts):
        for side in (contrast.ours, contrast.other):
            assert re.split("[+@]", side.model)[0] in paper.models
            assert all(side.group in suite.groups for suite in paper.suites.values())
    decisive = [c for question in claim.questions if question.decisive for c in question.contrasts]
    assert {re.split("[+@]", c.ours.model)[0] for c in decisive} <= scored
