"""The published training data as sources: what is kept of each, how it reads, how much is taken."""

import gzip
import json
from collections import Counter

import pytest

from sciprism.errors import InputError
from sciprism.papers import Paper
from sciprism.prepare.scirepeval.training_sources import LIMITS, prepare_scirepeval
from sciprism.training.examples import read_examples


def read(folder, name, part="train", query="paper"):
    return list(read_examples(folder / part / f"{name}.jsonl", query=query, candidate="paper"))


def facts(folder):
    return {source["name"]: source for source in json.loads((folder / "sources.json").read_text())["sources"]}


@pytest.fixture
def prepared_folder(published, tmp_path):
    prepare_scirepeval(tmp_path / "out", published.write())
    return tmp_path / "out"


def test_classes_in_the_order_of_their_file(prepared_folder):
    sources = facts(prepared_folder)
    assert sources["mesh"]["labels"] == ["Brain", "Liver", "Lung"] and sources["mesh"]["format"] == "classification"
    assert sources["fos"]["labels"] == ["Art", "Law", "Physics"] and sources["fos"]["multi_label"] is True
    mesh, fos = read(prepared_folder, "mesh"), read(prepared_folder, "fos")
    assert mesh[0].query == Paper(id="d0", title="Title 0", abstract="About 0.") and mesh[0].positives == ()
    assert Counter(e.answers for e in mesh) == {("Brain",): 20, ("Liver",): 10}
    assert Counter(e.answers for e in fos) == {("Physics",): 14, ("Law", "Art"): 13}
    train = sources["mesh"]["parts"]["train"]
    assert train["examples"] == train["queries"] == 30
    assert train["dropped"] == {"no label of the list": {"count": 10, "first": [f"d{n}" for n in range(3, 40, 4)]}}
    assert "requested" not in train
    assert sources["mesh"]["records"] == {"read": 45, "published": 2_328_179}
    assert sources["s2and"]["records"] == {"read": 60, "published": 76_489} and "records" not in sources["cite"]


def test_lists_become_triplets_that_pair_as_published(prepared_folder):
    found = read(prepared_folder, "s2and")[:3]
    pairs = [(e.query.id, e.positives[0].id, e.negatives[0].id) for e in found]
    assert pairs == [("d0", "d0.0", "d0.4"), ("d0", "d0.2", "d0.3"), ("d0", "d0.0", "d0.1")]
    sources = facts(prepared_folder)
    assert (sources["s2and"]["format"], sources["s2and"]["query"]) == ("proximity", "paper")
    assert sources["s2and"]["parts"]["train"]["queries"] == 40 and sources["s2and"]["parts"]["train"]["pairs"] == 120
    assert sources["specter"]["parts"]["train"]["negatives"] == {"as published": 40}
    (first, *_) = read(prepared_folder, "specter")
    assert [first.query.id, first.positives[0].id, first.negatives[0].id] == ["d0", "d0+", "d0-"]


def test_a_search_asks_with_words_and_reads_venue_and_year(prepared_folder):
    sources = facts(prepared_folder)["search"]
    assert (sources["format"], sources["query"], sources["candidate"]) == ("search", "query", "paper")
    first = read(prepared_folder, "search", query="query")[0]
    assert first.query == "words 0" and first.positives[0].title == "Title 0.1"
    assert first.positives[0].abstract == "About 0.1. [SEP] V [SEP] 1991"
    assert first.negatives[0].id == "d0.3"


def test_a_proximity_task_takes_words_as_a_paper_and_a_search_a_paper_as_words(published, tmp_path):
    by = {task["name"]: task for task in published.config}
    codes = by["search"]["ctrl_token"], by["s2and"]["ctrl_token"]
    by["s2and"]["ctrl_token"], by["search"]["ctrl_token"] = codes
    prepare_scirepeval(tmp_path, published.write([by["search"], by["s2and"]]))
    assert read(tmp_path, "s2and", query="query")[0].query == "Title 0 About 0."
    assert read(tmp_path, "search")[0].query == Paper(id="", title="words 0")


def test_the_first_of_numbers_triplets_and_lists_are_taken(published, tmp_path):
    tasks = [task | {"sample_size": {"train": 12, "dev": 6}} for task in published.config]
    prepared = prepare_scirepeval(tmp_path, published.write(tasks))
    assert [e.query.id for e in read(tmp_path, "cite")] == [f"d{n}" for n in range(12)]
    assert [e.query.id for e in read(tmp_path, "specter", "dev")] == [f"d{n}" for n in range(6)]
    # a fifth as many lists, 2 and 1
    assert [e.query for e in read(tmp_path, "search", query="query")] == ["words 0"] * 3 + ["words 1"] * 3
    assert {e.query.id for e in read(tmp_path, "s2and", "dev")} == {"d0"}
    # 8 of 20 Brain, 4 of 10 Liver; 12 of 27 in shares
    assert Counter(e.answers for e in read(tmp_path, "mesh")) == {("Brain",): 8, ("Liver",): 4}
    assert Counter(e.answers for e in read(tmp_path, "fos")) == {("Physics",): 6, ("Law", "Art"): 6}
    assert not prepared.warnings


def test_too_few_are_used_whole_and_told_and_the_caps_hold_beside_the_sizes(published, tmp_path, monkeypatch):
    tasks = [task | {"sample_size": {"train": 1000, "dev": -1}} for task in published.config]
    prepared = prepare_scirepeval(tmp_path, published.write(tasks))
    assert prepared.warnings == [
        f"{task['name']}, train: {records} records, fewer than 1,000 examples need: all are used"
        for task, records in zip(tasks, (30, 27, 40, 40, 40, 40), strict=True)
    ]
    assert len(read(tmp_path, "cite")) == 40 and facts(tmp_path)["cite"]["parts"]["train"]["requested"] == 1000
    monkeypatch.setitem(LIMITS, "train", 10)
    monkeypatch.setitem(LIMITS, "dev", 5)
    assert not prepare_scirepeval(tmp_path, published.write(tasks)).warnings
    parts = {name: source["parts"] for name, source in facts(tmp_path).items()}
    sizes = {name: tuple(found[part]["examples"] for part in ("train", "dev")) for name, found in parts.items()}
    assert sizes == dict.fromkeys(("mesh", "fos", "cite", "specter"), (10, 5)) | dict.fromkeys(
        ("search", "s2and"), (6, 3)
    )


def test_json_lists_gzip_and_parquet_of_the_hub_give_the_same(published, tmp_path, monkeypatch):
    import pyarrow
    from pyarrow import parquet

    prepare_scirepeval(tmp_path / "one", published.write())
    data = tmp_path / "hub"
    for task in published.config:
        folder = data / "allenai/scirepeval" / task["name"]
        folder.mkdir(parents=True)
        for part, split in (("train", "train"), ("dev", "validation")):
            path = published.folder / task["data_files"][part]
            rows = [json.loads(line) for line in path.read_text().splitlines()]
            if task["name"] == "cite":  # an S3 copy keeps its own names
                name = "val" if part == "dev" else part
                (folder / f"{name}.jsonl.gz").write_bytes(gzip.compress(path.read_bytes()))
            elif task["name"] == "mesh":
                (folder / f"{split}.json").write_text(json.dumps(rows))
            else:
                table = pyarrow.Table.from_pylist(rows)
                parquet.write_table(table, folder / f"{split}-00000-of-00001.parquet")
        task["dataset"] = {"path": "allenai/scirepeval", "name": task["name"]}
        del task["data_files"]
    prepare_scirepeval(tmp_path / "two", published.write(), data=data)
    for part in ("train", "dev"):
        for task in published.config:
            one, two = (tmp_path / out / part / f"{task['name']}.jsonl" for out in ("one", "two"))
            assert one.read_bytes() == two.read_bytes()
    assert facts(tmp_path / "two")["fos"]["data"] == "allenai/scirepeval, fos"


def test_a_source_without_examples_is_left_out(published, tmp_path):
    tasks = [published.config[0] | {"labels": ["Unheard of"]}, published.config[2]]
    prepared = prepare_scirepeval(tmp_path, published.write(tasks))
    assert prepared.not_made.keys() == {"mesh"}
    assert prepared.not_made["mesh"].startswith("no example remains; ")
    assert not (tmp_path / "train" / "mesh.jsonl").exists()
    with pytest.raises(InputError, match=r"no training source can be built\. mesh: no example remains"):
        prepare_scirepeval(tmp_path, published.write(tasks[:1]))
