"""Training sources of the open data: train papers only, nothing that the suite keeps out of train."""

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from open_sources import SHARED, write_open_data
from sciprism.cli.main import app
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.open_data import UNNAMED, SplitTable, list_paper_keys, read_entries
from sciprism.evaluation.suites import suites
from sciprism.papers import Paper
from sciprism.prepare import open as module
from sciprism.prepare.filters import find_leaks
from sciprism.prepare.open import ARXIV_FIELDS, KINDS, TRAINING_SETS, prepare_open
from sciprism.training.examples import Example, read_examples

OPEN = suites["open"]

BY_NAME = {each.name: each for each in TRAINING_SETS}


@pytest.fixture
def data_root(tmp_path):
    write_open_data(tmp_path / "data")
    return DataRoot(tmp_path / "data")


NOT_MADE = {"summaries", "mag-fields", "mag-classes", "citation-count-numbers", "vis-citation-count-numbers"}
"""Out of train, or of too few papers in the made data."""


def read(folder, part, name):
    _, query, candidate = KINDS[BY_NAME[name].kind]
    return list(read_examples(folder / part / f"{name}.jsonl", query=query, candidate=candidate))


def written(prepared, part="train"):
    """The sets with a file of a part."""
    return [each for each in TRAINING_SETS if f"{part}/{each.name}.jsonl" in prepared.files]


def papers_in(examples):
    for example in examples:
        for item in (example.query, *example.positives, *example.negatives):
            if isinstance(item, Paper):
                yield item


def parts_in(data_root, data, examples):
    table = SplitTable.load(data_root)
    return {table.part(*list_paper_keys(paper, data)) for paper in papers_in(examples)}


def test_train_files_hold_train_papers_and_dev_files_dev_queries(data_root, tmp_path):
    prepared = prepare_open(data_root, tmp_path / "out")
    assert {each.name for each in written(prepared)} == {*BY_NAME} - NOT_MADE
    for each in written(prepared):
        data = each.data
        found = read(tmp_path / "out", "train", each.name)
        assert found and parts_in(data_root, data, found) <= {"train"} and not find_leaks(data_root, found)
        assert SHARED.casefold() not in {e.query.casefold() for e in found if isinstance(e.query, str)}
        if each in written(prepared, "dev"):
            found = read(tmp_path / "out", "dev", each.name)
            queries = [Example(e.query, ()) for e in found]
            assert parts_in(data_root, data, queries) <= {"dev"}
            assert parts_in(data_root, data, found) <= {"train", "dev"}
    with_dev = {each.name for each in written(prepared, "dev")}
    assert with_dev >= {"arxiv-categories", "arxiv-titles", "vis-citations", "same-author"}
    assert not with_dev & {"mesh-headings", "search-clicks"}  # too few queries


def test_answers_are_what_the_records_say(data_root, tmp_path):
    """Names of classes, frequent terms, and numbers from 0 to 1 in the order of the years."""
    prepare_open(data_root, tmp_path)
    fields = {entry.paper.id: entry.row["field"] for entry in read_entries(data_root, "arxiv_multidomain")}
    years = {entry.paper.id: entry.row["year"] for entry in read_entries(data_root, "arxiv_multidomain")}
    classes = read(tmp_path, "train", "arxiv-classes")
    assert classes and all(e.answers == (dict(ARXIV_FIELDS)[fields[e.query.id]],) for e in classes)
    names = [e.answers for e in classes]
    assert names != sorted(names)  # the first examples are not all of one class
    numbers = read(tmp_path, "train", "arxiv-year-numbers")
    by_year = sorted((years[e.query.id], *e.answers) for e in numbers)
    shares = [share for _, share in by_year]
    assert shares == sorted(shares) and shares[0] == 0.0 and shares[-1] <= 1.0
    assert all(e.answers and not e.positives for e in read(tmp_path, "train", "mesh-classes"))


def test_no_set_of_a_kind_that_the_suite_keeps_out_of_train(data_root, tmp_path):
    in_train = {task.name: task.in_train for task in OPEN.tasks}
    prepared = prepare_open(data_root, tmp_path)
    for each in written(prepared):
        assert all(in_train[task] for task in each.tasks)
    assert "summary-to-paper" in prepared.not_made["summaries"]
    assert "cls_mag_titles does not exist" in prepared.not_made["mag-fields"]
    missing = prepared.record["not_in_split"]
    assert "ir_scifact" in missing and prepared.warnings[0].startswith(f"{len(missing)} data sets missing: ")
    assert not (tmp_path / "train" / "summaries.jsonl").exists()


def test_files_are_the_same_for_any_processes_and_say_what_they_hold(data_root, tmp_path, monkeypatch, two_processes):
    prepare_open(data_root, tmp_path / "one", seed=5, max_queries=30)
    whole = contents(tmp_path / "one")
    some = [BY_NAME[name] for name in ("arxiv-categories", "vis-citations", "same-author")]  # each sampler once
    monkeypatch.setattr(module, "TRAINING_SETS", some)
    two_processes()
    prepare_open(data_root, tmp_path / "two", seed=5, max_queries=30)
    files = {f"{part}/{each.name}.jsonl" for part in ("train", "dev") for each in some} & whole.keys()
    assert len(files) > 3
    assert contents(tmp_path / "two").items() >= {name: whole[name] for name in files}.items()
    prepare_open(data_root, tmp_path / "two", seed=6, max_queries=30)
    assert contents(tmp_path / "two")["train/vis-citations.jsonl"] != whole["train/vis-citations.jsonl"]
    facts = json.loads((tmp_path / "one" / "sources.json").read_text())
    assert (facts["seed"], facts["max_queries"]) == (5, 30) and "citegraph_vis/papers.jsonl.gz" in facts["data"]
    for source in facts["sources"]:
        train = source["parts"]["train"]
        found = read(tmp_path / "one", "train", source["name"])
        assert train["file"] == f"train/{source['name']}.jsonl"
        assert train["queries"] == len(found) <= 30
        assert train["pairs"] == sum(len(e.positives) for e in found) == sum(train["negatives"].values())
    categories = next(s for s in facts["sources"] if s["name"] == "arxiv-categories")
    dropped = categories["parts"]["train"]["dropped"]
    assert dropped["train or dev paper that is in dev or test of another data set"]["first"] == ["arxiv:1.999"]


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.json*"))}


def test_the_command_prints_a_row_for_each_source(data_root, tmp_path):
    result = CliRunner().invoke(app, ["prepare", "open", "-o", str(tmp_path), "--data", str(data_root.folder)])
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    place = lines.index("vis-citations  proximity  paper  paper")
    counts = len(read(tmp_path, "train", "vis-citations"))
    assert lines[place + 1].startswith(f"    queries {counts}; pairs "), "80 columns hold no table: each row is a list"
    dropped = result.output.partition("\nvis-citations: dropped:")[2].split()
    assert " ".join(dropped).startswith("citation of or by an unknown paper")
    assert any(line.startswith("summaries: not made:") for line in lines)


def test_overlaps_are_found_by_id_title_and_query(data_root):
    gecko = Paper(id="mine", title=SHARED.upper())
    examples = [
        Example("an innocent query of five words", (gecko,)),
        Example(SHARED, (Paper(id="arxiv:1.1", title="x"),)),
        Example(Paper(id="10.1109/VIS.75"), (gecko,), (Paper(id="pl-00000095", abstract="Only that."),)),
        Example(Paper(id="20", title="Short"), (Paper(id=UNNAMED, abstract="Nothing is known of it."),)),
    ]
    found = find_leaks(data_root, examples)
    named = ("mine", repr(SHARED), "10.1109/VIS.75", "pl-00000095")
    assert [line.partition(" is in the test of ")[0] for line in found] == [f"paper {name}" for name in named]
    assert found[2].endswith("the test of citegraph_vis")
    assert all("ir_csfcube" in line for line in found[:2])


@pytest.mark.data
@pytest.mark.slow
def test_no_test_or_dev_paper_in_the_real_train_files(tmp_path):
    data_root = DataRoot(Path(os.environ["SCIPRISM_DATA"]))
    prepared = prepare_open(data_root, tmp_path, max_queries=1500)
    assert {each.name for each in written(prepared)} == {*BY_NAME} - {"summaries"}
    assert not prepared.warnings
    for each in written(prepared):
        found = read(tmp_path, "train", each.name)
        assert found and not find_leaks(data_root, found)
        assert parts_in(data_root, each.data, found) <= {"train", None}  # None: no title, no id there
        for example in found:
            asked = example.query if isinstance(example.query, Paper) else Paper(id="?", title=example.query)
            assert SplitTable.load(data_root).part(*list_paper_keys(asked)) in ("train", None)
