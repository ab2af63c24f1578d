"""What version 0.1 wrote still opens: models, collections, sources, recipes, runs, results.

Names that have changed since may give a deprecation warning; that is no failure here.
"""

import json
import shutil
import tomllib
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pytest
import torch

from observe import (
    QUERIES,
    SEARCHES,
    observe_losses,
    observe_model,
    observe_search,
    observe_table,
    rankings_in,
    run_command,
    unpack,
)

pytestmark = pytest.mark.filterwarnings("ignore::sciprism.deprecation.RenamedWarning")

FOLDER = Path(__file__).parent / "version_0_1"
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
RECIPES = sorted((FOLDER / "recipes").glob("*.toml"))
MODELS = [name for name in EXPECTED["models"] if name not in EXPECTED["trained"]]
TRAIN = ("--sources", "sources", "--data", "sources/data", "--allow-overlap", "--device", "cpu")
FINE_TUNED = {"answers", "same", "same-but-other", "things"}
"""Tasks whose scores on two texts change with rounding errors."""
OLD_TASKS = ("--tasks", "inputs/tasks.toml", "-o", "results/tasks")

same_draws = pytest.mark.skipif(
    tuple(map(int, torch.__version__.split(".")[:2])) < (2, 11),
    reason="torch 2.6 draws other masks of dropout than 2.13, with which the losses were made",
)


@pytest.fixture
def work_folder(tmp_path, monkeypatch):
    """A working folder with what was written by hand; `open_fixture` adds archives."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SCIPRISM_DATA", raising=False)
    monkeypatch.setenv("SCIPRISM_CACHE", str(tmp_path / "cache"))
    for name in ("inputs", "recipes"):
        shutil.copytree(FOLDER / name, tmp_path / name)
    return tmp_path


@pytest.fixture
def open_fixture(work_folder):
    """Unpack archives into the working folder."""

    def unpack_all(*names):
        for name in names:
            unpack(FOLDER / f"{name}.zip", work_folder)
        return work_folder

    return unpack_all


def assert_same_model(found, wanted):
    assert (found["fingerprint"], found["distance"]) == (wanted["fingerprint"], wanted["distance"])
    assert_same_vectors(found["vectors"], wanted["vectors"])


def assert_same_vectors(found, wanted):
    assert found.keys() == wanted.keys()
    for format, rows in wanted.items():
        for row, other in zip(found[format], rows, strict=True):
            assert row == pytest.approx(other, abs=2e-3), format


def assert_same_rankings(found, wanted, tolerance=1e-3):
    """Check that ids are in the same order, except papers whose scores are within the tolerance."""
    assert len(found) == len(wanted)
    for ranking, other in zip(found, wanted, strict=True):
        assert [score for _, score in ranking] == pytest.approx([s for _, s in other], abs=tolerance)
        known = dict(other)
        for paper, score in ranking[:-1]:  # the last one may change with a tie
            assert known[paper] == pytest.approx(score, abs=tolerance)


def assert_same_losses(found, wanted):
    assert found.keys() == wanted.keys()
    for stage, rows in wanted.items():
        assert [step for step, _ in found[stage]] == [step for step, _ in rows]
        assert [loss for _, loss in found[stage]] == pytest.approx([loss for _, loss in rows], abs=2e-3)


def assert_same_table(found, wanted):
    """Check values; each is followed by the limits of its interval, which version 0.1 computed by percentiles."""
    assert found.keys() == wanted.keys()
    for name, rows in wanted.items():
        assert len(found[name]) == len(rows), name
        for row, other in zip(found[name], rows, strict=True):
            assert len(row) == len(other) and row[::3] == pytest.approx(other[::3], abs=0.02), name
            assert all(low <= value <= high for value, low, high in zip(*[iter(row)] * 3, strict=True)), name


@pytest.mark.parametrize("name", MODELS)
def test_models_load_with_the_same_fingerprint_and_vectors(name, open_fixture):
    open_fixture("models")
    assert_same_model(observe_model(f"models/{name}"), EXPECTED["models"][name])
    assert EXPECTED["models"][name]["fingerprint"] in run_command("describe", f"models/{name}", "--json")


def test_a_model_saved_again_keeps_fingerprint_and_vectors(open_fixture):
    from sciprism import Encoder

    open_fixture("models")
    Encoder.load("models/prism", device="cpu").save("models/again")
    assert_same_model(observe_model("models/again"), EXPECTED["models"]["prism"])


def test_a_model_grows_into_the_next_method(open_fixture):
    from sciprism import Encoder

    open_fixture("models")
    encoder = Encoder.start("models/adapters", method="adapter-fusion", device="cpu")
    assert encoder.formats == ("classification", "regression", "proximity", "search")


def test_the_module_of_an_exported_model_is_found(open_fixture):
    folder = open_fixture("models") / "models" / "exported"
    (module,) = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
    home, _, name = module["type"].rpartition(".")
    assert callable(getattr(import_module(home), name).load)


@pytest.mark.parametrize(("name", "mode"), [(name, mode) for name, modes in SEARCHES.items() for mode in modes])
def test_collections_are_searched_with_the_same_results(name, mode, open_fixture):
    open_fixture("models", "collections")
    found = observe_search(f"collections/{name}", mode)
    assert_same_rankings(found, EXPECTED["searches"][name][mode], tolerance=5e-3 if name == "int8" else 1e-3)


def test_a_collection_finds_similar_papers_and_takes_new_ones(open_fixture):
    work_folder = open_fixture("models", "collections")
    similar = ("similar", "collections/int8", "-k", 4, "--no-why", "--json", "--to")
    assert_same_rankings(rankings_in(run_command(*similar, "p1")), EXPECTED["similar"], tolerance=5e-3)
    papers = (work_folder / "inputs" / "papers.jsonl").read_text(encoding="utf-8")
    more = json.loads(papers.splitlines()[0]) | {"id": "new"}
    (work_folder / "more.jsonl").write_text(json.dumps(more) + "\n", encoding="utf-8")
    run_command("embed", "more.jsonl", "-o", "collections/int8")
    (ranking,) = rankings_in(run_command(*similar, "new"))
    assert ranking[0][0] == "p1" and ranking[0][1] > 0.99


def test_indexes_are_made_again_after_new_papers(open_fixture):
    work_folder = open_fixture("models", "collections")
    new = {"id": "new", "title": QUERIES[0], "abstract": ""}
    (work_folder / "more.jsonl").write_text(json.dumps(new) + "\n", encoding="utf-8")
    run_command("embed", "more.jsonl", "-o", "collections/plain")
    run_command("index", "collections/plain", "--lexical", "--approximate")
    for mode in SEARCHES["plain"]:
        search = ("search", "collections/plain", QUERIES[0], "--mode", mode, "--no-why", "--json")
        (ranking,) = rankings_in(run_command(*search))
        assert ranking[0][0] == "new", mode


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_recipes_are_read_with_all_their_numbers(path):
    from sciprism.training.recipe_file import read_recipe

    table = tomllib.loads(path.read_text(encoding="utf-8"))
    recipe = read_recipe(path)
    assert [stage.name for stage in recipe.stages] == [stage["name"] for stage in table["stages"]]
    lost = numbers_in(table) - numbers_in(recipe.model_dump(mode="json"))
    assert not lost, "numbers of the recipe that no key holds"


def numbers_in(value):
    """All numbers in a table, and in the tables and lists inside."""
    if isinstance(value, dict | list | tuple):
        return set().union(*map(numbers_in, value.values() if isinstance(value, dict) else value), set())
    return {value} if isinstance(value, int | float) and not isinstance(value, bool) else set()


@same_draws
def test_a_run_on_old_sources_by_an_old_recipe(open_fixture):
    work_folder = open_fixture("sources")
    run_command("train", "recipes/run.toml", "-o", "runs/new", *TRAIN)
    assert_same_losses(observe_losses(work_folder / "runs" / "new"), EXPECTED["losses"])
    for name in EXPECTED["trained"]:
        made = observe_model(name.replace("finished", "new"))
        assert_same_vectors(made["vectors"], EXPECTED["models"][name]["vectors"])


def test_a_finished_run_is_left_as_it_is(open_fixture):
    work_folder = open_fixture("sources", "runs")
    before = {path: path.read_bytes() for path in (work_folder / "runs" / "finished").rglob("*") if path.is_file()}
    printed = run_command("train", "recipes/run.toml", "-o", "runs/finished", *TRAIN)
    assert Path(printed.strip()) == Path("runs/finished/formats/model")
    assert all(path.read_bytes() == content for path, content in before.items())
    for name in EXPECTED["trained"]:
        assert_same_model(observe_model(name), EXPECTED["models"][name])


@same_draws
def test_an_interrupted_run_is_resumed_with_the_same_losses(open_fixture):
    run = open_fixture("sources", "runs") / "runs" / "interrupted"
    assert_same_losses(observe_losses(run), EXPECTED["interrupted"])
    run_command("train", "recipes/run.toml", "-o", "runs/interrupted", *TRAIN)
    assert_same_losses(observe_losses(run), EXPECTED["losses"])
    made = observe_model(run / "formats" / "model")
    assert_same_vectors(made["vectors"], EXPECTED["models"]["runs/finished/formats/model"]["vectors"])


def comparison():
    """The numbers that `compare` prints of the results."""
    command = ("compare", "results/tasks", "--baseline", "single", "--format", "markdown")
    return observe_table(run_command(*command), list(EXPECTED["compare"]))


def test_results_are_compared_with_the_same_numbers(open_fixture):
    open_fixture("results")
    assert_same_table(comparison(), EXPECTED["compare"])


@pytest.mark.skipif(version("bm25s") < "0.3", reason="the old results of BM25 are of bm25s 0.3")
def test_evaluate_continues_among_old_results_of_old_tasks(open_fixture):
    """A later version scores them again; numbers, and what they compare with, stay.

    Probes of numbers have other defaults now; with those of version 0.1, even the key of the task stays.
    """
    tasks = open_fixture("models", "results") / "inputs" / "tasks.toml"
    written = tasks.read_text(encoding="utf-8")
    former = '"kendall_tau"\nintercept = false\nstandardize_targets = false'
    tasks.write_text(written.replace('"kendall_tau"', former), encoding="utf-8")
    run_command("evaluate", "models/single", "bm25", "random", *OLD_TASKS)
    options = ("--task", "find-papers", "--as-format", "proximity", "--seed", 1)
    run_command("evaluate", "models/prism", *OLD_TASKS, *options)
    found, wanted = comparison(), EXPECTED["compare"]
    assert all(len(found[name]) == len(wanted[name]) for name in FINE_TUNED)
    stable = wanted.keys() - FINE_TUNED
    assert_same_table({name: found[name] for name in stable}, {name: wanted[name] for name in stable})


def test_a_table_is_reproduced_from_old_results(open_fixture):
    open_fixture("results")
    table = ("scimult", 5, "--data", "open", "--quick", "--only", "vanilla", "--results", "results/scimult")
    assert_same_table(observe_table(run_command("reproduce", *table, "--kept"), ["Vanilla"]), EXPECTED["reproduce"])


def test_a_table_is_reproduced_with_the_models_of_a_finished_run(open_fixture, monkeypatch):
    open_fixture("sources", "runs")
    monkeypatch.setenv("SCIPRISM_DATA", "sources/data")
    table = ("scimult", 5, "--data", "open", "--quick", "--only", "vanilla", "--results", "results/new")
    printed = run_command("reproduce", *table, "--models", "vanilla=runs/finished")
    assert observe_table(printed, ["Vanilla"])["Vanilla"]
