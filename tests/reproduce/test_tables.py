"""Every declared table, on every data that its paper has."""

import re

import pytest

from evidence.claims import claims
from sciprism.errors import InputError
from sciprism.evaluation.suites import suites
from sciprism.reproduce.papers import (
    GroupedSuite,
    ModelRow,
    PaperTable,
    Reproduction,
    TableModel,
    build_columns,
    describe_data,
    reproductions,
)
from sciprism.reproduce.run import find_published

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
        printed = {name for row in table.rows for name in (row.name, *row.published_names)}
        assert {row.name for row in table.published} <= printed
        assert all(row.scores.keys() <= names for row in table.published)
        if table.printed_as:
            unexplained = [
                (row.name, column.name)
                for row in table.rows
                if not row.ours
                for column in columns
                if not set(column.published_names) & explained_columns(find_published(table, row))
            ]
            assert not unexplained, "neither a published number nor a reason why there is none"
        else:
            assert not table.published


def explained_columns(row):
    """The columns of a published row with a number, or a reason why there is none."""
    return {*row.scores, *row.unreadable, *row.not_printed} if row else set()


def test_what_the_data_of_a_group_are():
    indus, multi2spe = reproductions["indus"].suites["open"], reproductions["multi2spe"].suites["built"]
    assert describe_data(indus, "climate entities").endswith("; 1 task of open-nlu: open-climate")
    assert describe_data(indus, "BEIR").startswith("no set of BEIR but SciFact: ")
    assert "by sciprism prepare multi-scidocs; 3 tasks of multi-scidocs" in describe_data(multi2spe, "Multi-SciDocs")
    quick = reproductions["scirepeval"].suites["open"].select_view("quick")
    assert describe_data(quick, "in-train regression") == "1 task of open/quick: vis-citation-count"
    whole = describe_data(reproductions["scirepeval"].suites["open"], "Average")
    assert whole.startswith("39 tasks of open: ") and whole.endswith(" and 27 more")
    assert describe_data(reproductions["indus"].suites["beir"], "classification") == "no task"


def test_a_row_of_the_table_on_averages_is_what_the_printed_averages_give():
    """Table 9 repeats Tables 3 to 5, 7 and 8: its published changes follow from their published averages."""
    paper = reproductions["scimult"]
    averages = {}
    for name in "34578":
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
    (column,) = build_columns(paper.tables["A8"], paper.suites["open"])
    assert column.name == "arxiv-categories (mean)"


@pytest.mark.parametrize("name", reproductions)
def test_declarations_name_rows_models_and_tasks_that_there_are(name):
    paper = reproductions[name]
    for table in paper.tables.values():
        rows = [row.name for row in table.rows]
        assert len({*rows}) == len(rows) and {row.against for row in table.rows} <= {*rows, ""}, table.name
        assert {row.model for row in table.rows} <= {*paper.models, ""}, table.name
    for suite in paper.suites.values():
        assert {task for tasks in suite.groups.values() for task in tasks} <= suite.tasks_by_name().keys()


def test_a_table_that_is_not_made_is_explained():
    table = PaperTable(name="1", title="", rows=(ModelRow(name="A", model="a"),), groups=("g",))
    suite = GroupedSuite(suite=suites["nasa-ir"], groups={"g": ("nasa-ir",)})
    models = {"a": TableModel(title="A")}
    paper = Reproduction(name="p", title="P", tables={"1": table}, models=models, suites={"own": suite})
    with pytest.raises(InputError, match=r"table 5 of SciRepEval .* is not made from scores: time and param"):
        reproductions["scirepeval"].table("5")
    with pytest.raises(InputError, match="p has no table '2' that is reproduced; known: 1"):
        paper.table("2")
    assert [column.name for column in build_columns(table, suite)][-1] == "Average, g"  # another paper: no code


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
