"""Every declared table, on every data that its paper has."""

import re

import pytest

from sciprism.errors import InputError
from sciprism.evaluation.suites.registry import suites
from sciprism.reproduce.claims.registry import claims
from sciprism.reproduce.tables.declared import Model, Reproduction, Row, Shape, Table, columns_of
from sciprism.reproduce.tables.registry import reproductions

ALL = [(p, t, s) for p, r in reproductions.items() for t in r.tables for s in r.shapes]


@pytest.mark.parametrize(("paper", "table", "shape"), ALL)
def test_every_table_has_columns_and_printed_figures_that_fit(paper, table, shape):
    declared, on = reproductions[paper].tables[table], reproductions[paper].shapes[shape]
    columns = columns_of(declared, on)
    assert columns and len({column.name for column in columns}) == len(columns)
    tasks = on.declared()
    for row in declared.rows:
        for column in columns:
            assert all(
                set(n.metrics) <= set(tasks[row.task(n.task)].protocol.metrics) for n in column.numbers
            )
    found = {metric for column in columns for n in column.numbers for metric in n.metrics}
    assert set(declared.metrics) <= found, "a metric that no task has"
    if on.own:
        names = {name for column in columns for name in column.printed}
        printed = {row.as_published or row.name for row in declared.rows}
        assert {row.name for row in declared.published} <= printed
        assert all(row.scores.keys() <= names for row in declared.published)


def test_a_row_of_the_table_on_averages_is_what_the_printed_averages_give():
    """Table 9 is Tables 3 to 7 over again: the printed changes follow from the printed averages."""
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
    own = reproductions["multi2spe"].shapes["multi-scidocs"].declared()
    for task in suites["scidocs"].tasks:
        if task.group == "reranking":
            assert (task.protocol.distance, own[task.name].protocol.distance) == ("euclidean", "cosine")
        else:
            assert own[task.name] == task


def test_a_quick_view_narrows_the_columns_or_says_that_none_is_left():
    paper = reproductions["scimult"]
    quick = paper.shapes["open"].part("quick")
    names = [column.name for column in columns_of(paper.tables["5"], quick)]
    assert names == ["vis-citation-retrieval (mean)", "Average, retrieval"]
    with pytest.raises(InputError, match="table A8: open/quick has no task"):
        columns_of(paper.tables["A8"], quick)
    assert [column.name for column in columns_of(paper.tables["A8"], paper.shapes["open"])] == [
        "arxiv-categories (mean)"
    ]


def test_declarations_check_themselves():
    row = Row(name="A", model="a", against="B")
    with pytest.raises(InputError, match="held against B, which is no row"):
        Table(name="1", title="", rows=(row,), groups=("g",))
    with pytest.raises(InputError, match="two rows have one name"):
        Table(name="1", title="", rows=(Row(name="A"), Row(name="A")), groups=("g",))
    table = Table(name="1", title="", rows=(Row(name="A", model="a"),), groups=("g",))
    shape = Shape(suite=suites["nasa-ir"], groups={"g": ("nasa-ir",)})
    with pytest.raises(InputError, match="models that are not declared: a"):
        Reproduction(name="p", title="", tables={"1": table}, models={}, shapes={"own": shape})
    paper = Reproduction(
        name="p", title="P", tables={"1": table}, models={"a": Model(title="A")}, shapes={"own": shape}
    )
    with pytest.raises(InputError, match=r"table 5 of SciRepEval .* is no table of scores: time and param"):
        reproductions["scirepeval"].table("5")
    with pytest.raises(InputError, match="p has no table '2' that is reproduced; there are 1"):
        paper.table("2")
    assert [column.name for column in columns_of(table, shape)][-1] == "Average, g"  # another paper: no code
    with pytest.raises(InputError, match="unknown tasks moon"):
        Shape(suite=suites["nasa-ir"], groups={"g": ("moon",)})


@pytest.mark.parametrize("name", [name for name in claims if claims[name].paper in reproductions])
def test_claims_ask_for_models_groups_and_tables_that_there_are(name):
    claim = claims[name]
    paper = reproductions[claim.paper]
    assert set(claim.tables) <= set(paper.tables)
    scored = {row.model for table in claim.tables for row in paper.tables[table].rows}
    for contrast in (c for question in claim.questions for c in question.contrasts):
        for side in (contrast.ours, contrast.other):
            assert re.split("[+@]", side.model)[0] in paper.models
            assert all(side.group in shape.groups for shape in paper.shapes.values())
    decisive = [c for question in claim.questions if question.decisive for c in question.contrasts]
    assert {re.split("[+@]", c.ours.model)[0] for c in decisive} <= scored
