"""INDUS's tables: the rows that are always there, and claims from the results."""

import re
from pathlib import Path

import pytest

from evidence.claims import claims
from evidence.measurements import add_findings, compare_speed
from evidence.records import decide_claim
from sciprism.evaluation.suites import suites
from sciprism.files import write_json
from sciprism.reproduce.papers import GroupedSuite, build_columns, reproductions
from sciprism.reproduce.printing import format_table
from sciprism.reproduce.run import choose_rows, plan_table, read_table, score_table
from sciprism.training.recipe_file import read_recipe

INDUS = reproductions["indus"]
RECIPES = Path(__file__).parents[2]
OPEN = INDUS.suites["open"]
SMALL = GroupedSuite(suite=suites["open"], groups={"NASA-IR": ("cranfield",), "BEIR": ("cranfield",)})


def filled(data, out, models, name="8", suite=SMALL, only=("retriever-small",)):
    table = choose_rows(INDUS.table(name), suite, only)
    return score_table(plan_table(INDUS, table, suite, models, data), out)


def test_columns_on_either_data():
    names = [column.name for column in build_columns(INDUS.table("8"), OPEN)]
    assert names == ["Average, titles to abstracts (for NASA-IR)", "Average, open searches (for BEIR)"]
    nasa, beir = build_columns(INDUS.table("8"), INDUS.suites["beir"])
    assert [number.metrics for number in nasa.scores] == [("recall@10",)] and len(beir.scores) == 12
    assert {number.metrics for number in beir.scores} == {("ndcg@10",)}
    names = [column.name for column in build_columns(INDUS.table("11"), OPEN)]
    assert (names[0], names[4:6]) == (
        "scifact ndcg@10",
        ["title-to-abstract-ranked ndcg@10", "Average, open searches (for BEIR)"],
    )


def test_recipes_that_rows_name_are_there():
    """With the changes that the row states."""
    commands = [
        word for model in INDUS.models.values() for word in re.findall(r"sciprism train (\S+.*?) -o", model.obtain)
    ]
    for path, *changes in map(str.split, commands):
        read_recipe(RECIPES / path, [change for change in changes if change != "--set"])
    assert len(commands) == 5


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    """No vector is there yet."""
    monkeypatch.setenv("SCIPRISM_CACHE", str(tmp_path / "cache"))
    return tmp_path


def test_the_small_retriever_is_compared_with_its_teacher(open_data, runs, empty_cache):
    models = {"retriever-base": (str(runs["plain"]),), "retriever-small": (str(runs["short"]),)}
    done = filled(open_data, empty_cache / "out", models)
    against = {row.name: row.against for row in done.table.rows}
    assert against == {"BM25": "", "INDUS-retriever-base": "", "INDUS-retriever-small": "INDUS-retriever-base"}
    page = format_table(done, "Table 8")
    assert format_table(read_table(INDUS, "8", SMALL, ("retriever-small",), empty_cache / "out"), "Table 8") == page
    own = GroupedSuite(suite=SMALL.suite, groups=SMALL.groups, original=True)
    done = filled(open_data, empty_cache / "own", {"minilm": (str(runs["plain"]),)}, suite=own, only=("minilm",))
    assert "MiniLM-v2 0.24" in format_table(done, "Table 8")


PAIR = ("retriever-base", "retriever-base-contrast")


def test_claims_are_drawn_from_its_results(open_data, runs, empty_cache):
    """A model is not below itself, and without a margin not above itself."""
    results, models = empty_cache / "out", {}
    for key in (*PAIR, *(f"{key}-sharp" for key in PAIR), "retriever-base-once"):
        models[key] = (str(runs["plain"]),)
    assert decide_claim(claims["I4"], INDUS, SMALL, results) is None
    filled(open_data, results, models, "I4", only=())
    runs_of = {f"{key}, seed 0": {"dev_of_backbone": 0.5, "dev_best": 0.6} for key in (*models, "retriever-small")}
    write_json(results / "runs.json", {"runs": runs_of})
    found = decide_claim(claims["I4"], INDUS, SMALL, results)
    assert found.verdict == "undecided" and len(found.findings) == 8 and not found.lacking
    assert {finding.value for finding in found.findings} == {0.0}
    models = {"retriever-base": (str(runs["plain"]),), "retriever-small": (str(runs["plain"]),)}
    filled(open_data, results, models)
    found = decide_claim(claims["I3"], INDUS, SMALL, results)
    assert found.verdict == "not tested"
    assert len(found.lacking) == 3  # the other teacher has no results, and speed was not measured
    add_findings(results, "I3", [compare_speed([1, 1], [4, 4], 3)], "timed")
    assert decide_claim(claims["I3"], INDUS, SMALL, results).verdict == "held"
