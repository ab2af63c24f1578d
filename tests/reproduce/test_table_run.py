"""A table from end to end on a small copy of the open data: found missing, scored, filled, continued."""

import shutil

import numpy as np
import pytest

from build_methods import build_encoder, perturb_weights
from build_systems import TextVectorEncoder
from sciprism import Encoder
from sciprism.errors import InputError
from sciprism.evaluation.suites import suites
from sciprism.evaluation.systems import DenseSystem, EncodingInput
from sciprism.evaluation.task import Published
from sciprism.reproduce.estimates import read_models
from sciprism.reproduce.papers import GroupedSuite, ModelRow, PaperTable, Reproduction, TableModel, reproductions
from sciprism.reproduce.printing import format_table, table_to_json
from sciprism.reproduce.run import (
    InstructedEncoder,
    TablePlan,
    choose_rows,
    plan_table,
    read_model_names,
    resolve_run,
    score_table,
)

SCIMULT = reproductions["scimult"]
QUICK = SCIMULT.suites["open"].select_view("quick")
SHOWN = SCIMULT, SCIMULT.table("9"), QUICK
CO_VIEW, _, CITE, _ = (row.instruction for row in SCIMULT.table("A6").rows)


def given(runs, **names):
    return {key.replace("_", "-"): tuple(str(runs[name]) for name in some) for key, some in names.items()}


def run_table(name, data, out, models, only):
    tables = choose_rows(SCIMULT.table(name), QUICK, only)
    planned = plan_table(SCIMULT, tables, QUICK, models, data)
    progress = []
    filled = score_table(planned, out, progress=lambda s, t, r: progress.append((s.name, t.name, r is None)))
    return filled, [each for each in progress if each[2]]


def test_relative_changes_on_the_open_suite(open_data, runs, tmp_path):
    models = given(runs, vanilla=["plain", "short"], mha_expert=["first", "end"])
    filled, begun = run_table("9", open_data, tmp_path, models, ["mha-expert"])
    assert [row.name for row in filled.table.rows] == ["Vanilla", "MHAExpert"] and not filled.failed
    groups = [f"Average, {group}" for group in ("fine", "coarse", "retrieval", "reranking", "search")]
    assert [column.name for column in filled.columns] == groups
    assert len(begun) == 4 * 7  # four models, seven tasks
    for base, mine in zip(*[row.cells for row in filled.rows], strict=True):
        change = mine.found.value / base.found.value - 1
        assert mine.above.value == pytest.approx(change) and mine.above.seeds == (2, 2)
        assert mine.above.low < mine.above.value < mine.above.high and mine.published is None
    again, begun = run_table("9", open_data, tmp_path, models, ["mha-expert"])
    assert not begun and again == filled
    assert read_models(tmp_path)["mha-expert"] == ("first", "end")
    page = format_table(again, "Table 9")
    assert "(published)" not in page and "MHAExpert: first, end." in page
    assert "its numbers are not comparable" in page
    assert table_to_json(again, "Table 9")["rows"][1]["cells"][groups[0]]["above"]["seeds"] == (2, 2)


def test_standard_errors_and_changes_of_the_error(open_data, runs, tmp_path):
    paper = reproductions["multi2spe"]
    models = given(runs, backbone=["plain"], specter_cs=["short", "end"], facets_cs=["plain", "first"])
    quick = paper.suites["open"].select_view("quick")
    planned = plan_table(paper, paper.table("M1"), quick, models, open_data)
    filled = score_table(planned, tmp_path)
    assert len(filled.columns) == 4 and filled.columns[-1].name == "Average, open tasks (for Multi-SciDocs)"
    backbone, one, three = [row.cells for row in filled.rows]
    for base, mine in zip(one, three, strict=True):
        if base.found.value < 1:  # else there is no error to be less
            change = (1 - mine.found.value) / (1 - base.found.value) - 1
            assert mine.above.value == pytest.approx(change)
    assert any(base.found.value < 1 for base in one)
    page = format_table(filled, "Table M1")
    assert "### Table M1: relative change of the error, %" in page and "the error, 100 - score" in page
    average = three[-1].found
    assert average.error and f"{100 * average.value:.2f} +-{100 * average.error:.2f} [" in page
    assert f"{100 * backbone[-1].found.value:.2f} [" in page


def test_other_tasks_get_the_code_of_searches_from_its_queries(open_data, tiny_model, tmp_path):
    perturb_weights(build_encoder(tiny_model, "control-codes"), size=0.3).save(tmp_path / "codes")
    rows = tuple(ModelRow(name=name, model="vanilla", encoded_format=name) for name in ("", "search", "proximity"))
    table = PaperTable(name="4", title="Each other's vectors", rows=rows, groups=("coarse", "search"))
    models = {"vanilla": (str(tmp_path / "codes"),)}
    filled = score_table(plan_table(SCIMULT, table, QUICK, models, open_data), tmp_path / "out")
    own, search, proximity = ([cell.found.value for cell in row.cells] for row in filled.rows)
    assert search[0] != proximity[0], "coarse: the codes of search and of proximity"
    assert search[-1] == own[-1], "a search itself has its documents as they are"


def test_another_paper_is_declarations_alone_and_its_figures_have_their_own_columns(open_data, runs, tmp_path):
    rows = ModelRow(name="Ours", model="ours", ours=True), *map(ModelRow, ("Theirs", "Others"))
    cranfield, average = "cranfield", "Average, words"
    printed = {"scores": {cranfield: 40.0}, "spreads": {cranfield: 1.5}, "not_printed": (average,)}
    others = Published(name="Others", source="Other", scores={average: 51.0}, unreadable=(cranfield,))
    published = Published(name="Theirs", source="Other", **printed), others
    form = {"groups": ("words",), "form": "runs", "notes": ("A note.",)}
    table = PaperTable(name="1", title="Words", rows=rows, published=published, **form)
    said = {"remarks": {"words": "laws"}, "trained_on": {cranfield: "ours trains on it"}}
    suite = GroupedSuite(suite=suites["open"], groups={"words": (cranfield,)}, original=True, **said)
    models = {"ours": TableModel(title="Ours", default=str(runs["plain"]))}
    other = Reproduction(name="other", title="Other", tables={"1": table}, models=models, suites={"own": suite})
    planned = plan_table(other, choose_rows(table, suite), suite, {}, open_data)
    filled = score_table(planned, tmp_path)
    found = [[cell.published for cell in row.cells] for row in filled.rows]
    assert found == [[None] * 2, [40.0, None], [None, 51.0]]
    gaps = [["", ""], ["", "not printed"], ["unreadable", ""]]
    assert [[cell.gap for cell in row.cells] for row in filled.rows] == gaps
    assert filled.rows[1].cells[0].found is None and [row.models for row in filled.rows] == [("plain",), (), ()]
    page = format_table(filled, "Table 1")
    head, _, *rows = (line for line in page.splitlines() if line.startswith("|"))
    printed = [[cell.strip() for cell in line.strip("|").split("|")] for line in (head, *rows)]
    assert [cells[2] for cells in printed][::3] == ["cranfield ndcg@10 †", ""]
    assert [cells[3] for cells in printed] == ["cranfield ndcg@10 † (published)", "", "40 (1.5)", "unreadable"]
    assert [cells[5] for cells in printed] == ["Average, words † (published)", "", "-", "51"]
    notes = page.splitlines()
    for note in (
        "words: laws; 1 task of open: cranfield.",
        "† cranfield: ours trains on it.",
        "Columns marked (published) are the paper's numbers.",
        "A note.",
        "unreadable: the paper prints a number, which its text as we have it lacks.",
        "A dash under (published): the paper prints no number.",
        "Ours: not in the paper's table.",
    ):
        assert f"- {note}" in notes


def test_missing_models_are_said_before_anything_runs(tmp_path, runs):
    with pytest.raises(InputError) as caught:
        run_table("9", tmp_path / "data", tmp_path / "out", {"vanilla": ("no/where/at/all",)}, ["ffn-expert"])
    said = str(caught.value)
    assert said.startswith("table 9 of SciMult") and "on open/quick" in said.splitlines()[0]
    assert "model vanilla (Vanilla): no/where/at/all: " in said
    assert "model ffn-expert (FFNExpert): it is not released; train it" in said
    assert "nothing was run" in said and not (tmp_path / "out").exists()


def test_rows_of_models_that_are_chosen():
    table = SCIMULT.table("7")
    own, other = SCIMULT.suites["scimult"], SCIMULT.suites["open"]
    assert choose_rows(table, own).rows[1].name == "Kanakia et al."
    assert "Kanakia et al." not in [row.name for row in choose_rows(table, other).rows]
    assert [row.name for row in choose_rows(table, own, ["prefix"]).rows] == ["Vanilla", "Prefix"]
    with pytest.raises(InputError, match="no row of the model 'bm25'; it has kanakia"):
        choose_rows(table, own, ["bm25"])


def test_models_are_named_by_word():
    found = read_model_names(["vanilla=seed-0", "vanilla=another", "dpr-specter:patients-par=x"], SCIMULT.models)
    assert found == {"vanilla": ("seed-0", "another"), "dpr-specter:patients-par": ("x",)}
    for word, said in (("vanilla", "is not KEY=NAME"), ("moon=x", "unknown model 'moon'")):
        with pytest.raises(InputError, match=said):
            read_model_names([word], SCIMULT.models)


def test_one_model_is_no_two_seeds(runs):
    row = SCIMULT.table("9").rows[0]
    models = {"vanilla": (str(runs["plain"]), f"{runs['plain']}/")}
    with pytest.raises(InputError, match="are identical"):
        TablePlan(*SHOWN, models).load(row, "cranfield")


def test_the_folder_of_a_run_is_its_last_stage(tmp_path, runs):
    run = tmp_path / "vanilla-0"
    run.mkdir()
    (run / "recipe.json").write_text('{"stages": [{"name": "one"}, {"name": "two"}]}')
    with pytest.raises(InputError, match="not finished: it has no two/model"):
        resolve_run(str(run))
    for stage, name in (("one", "model"), ("two", "model"), ("two", "best")):
        shutil.copytree(runs["plain"], run / stage / name)
    assert resolve_run(str(run)) == (str(run / "two" / "model"), "vanilla-0")
    assert resolve_run(str(run / "one" / "model"))[1] == "vanilla-0-one"
    assert resolve_run(str(run / "two" / "best"))[1] == "vanilla-0-two-best"
    assert resolve_run("owner/model") == ("owner/model", "")
    [half] = TablePlan(*SHOWN, {"vanilla": (str(run),)}, None, "bfloat16").load(SCIMULT.table("9").rows[0], "cranfield")
    assert half.fingerprint.endswith("-bfloat16"), "other results than those in float32"
    [system] = TablePlan(*SHOWN, {"vanilla": (str(run),)}).load(SCIMULT.table("9").rows[0], "cranfield")
    assert system.name == system.encoder.name == "vanilla-0"
    (run / "recipe.json").write_text("[]")
    with pytest.raises(InputError, match="not the recipe of a run"):
        resolve_run(str(run))


class InstructionEncoder(TextVectorEncoder):
    """An encoder that takes instructions: its vectors are the lengths of text and instruction."""

    name = "instructed"

    def describe(self):
        return {"name": self.name}

    def encode(self, items, *, format, role, fields, instruction=None):
        return np.array([[len(item), len(instruction or "")] for item in items], np.float32)


def test_another_instruction_is_another_system():
    cite, view = (InstructedEncoder(InstructionEncoder(), instruction) for instruction in (CITE, CO_VIEW))
    assert cite.fingerprint != view.fingerprint != InstructionEncoder.fingerprint
    assert cite.path("proximity", "paper") != view.path("proximity", "paper")
    assert cite.space("proximity", "paper") != view.space("proximity", "paper")
    assert cite.encode(["abc"]).tolist() == [[3, len(CITE.text)]] and cite.name == "instructed (cite instruction)"
    assert view.describe()["instruction"].startswith("Find a pair of scientific papers that are co-viewed")


def test_other_instructions_on_the_open_suite(open_data, tiny_model, tmp_path):
    encoder = Encoder.start(tiny_model, method="instruction", pooling="cls")
    encoder.save(tmp_path / "instructed")
    models = {"instruction": (str(tmp_path / "instructed"),)}
    filled, _ = run_table("A6", open_data, tmp_path / "out", models, [])
    assert [column.name for column in filled.columns] == ["vis-citation map", "vis-co-citation map"]
    names = [row.name for row in filled.table.rows]
    assert names == [f"{key} instruction" for key in ("co-view", "co-read", "cite", "co-cite")]
    assert len({row.cells[0].found.value for row in filled.rows}) > 1  # the words are heard
    assert [row.cells[0].above is None for row in filled.rows] == [False, False, True, False]
    known = read_models(tmp_path / "out")
    assert known["instruction+co-view"] == ("instructed-co-view-instruction",)
    plain = DenseSystem(encoder, tmp_path / "cache")
    instructed = DenseSystem(InstructedEncoder(encoder, CITE), tmp_path / "cache")
    texts = EncodingInput(items=["galaxy study"], format="proximity")
    assert np.allclose(plain.encode(texts), instructed.encode(texts), atol=1e-6)  # it is trained with these words


def test_an_encoder_without_instructions_is_said_to_have_none(tiny_encoder):
    with pytest.raises(InputError, match="take an instruction"):
        InstructedEncoder(tiny_encoder, CITE)

    class EncoderWithoutInstructions(InstructionEncoder):
        def encode(self, items, *, format, role, fields):
            return np.zeros((len(items), 2), np.float32)

    with pytest.raises(InputError, match="takes no instructions"):
        InstructedEncoder(EncoderWithoutInstructions(), CITE)
