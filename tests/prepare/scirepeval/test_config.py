"""The training config: what is read of it, and one line for each thing that may be wrong, nothing written."""

import json

import pytest

from sciprism.errors import InputError
from sciprism.prepare.scirepeval.training_sources import prepare_scirepeval, read_config


def test_files_stand_beside_the_config_or_above_or_in_the_data(published, tmp_path):
    """The published config names labels from the folder above it, and data from a third place."""
    (published.folder / "deep").mkdir()
    config = published.folder / "deep" / "tasks.json"
    config.write_text(json.dumps(published.config))
    assert len(read_config(config)) == 6
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text(json.dumps(published.config[0]))
    assert len(read_config(elsewhere, published.folder)) == 1
    with pytest.raises(InputError, match=r"no file mesh/train\.jsonl; searched in"):
        read_config(elsewhere)


GONE = {"path": "allenai/scirepeval", "name": "gone"}
WRONG = [
    ({"type": "ranking"}, "task 'mesh': type: Input should be 'classification', 'regression', .*got 'ranking'"),
    ({"type": None}, "type: Field required"),
    ({"type": "ranking", "multi_label": "yes"}, "'mesh': type: .*; task 'mesh': multi_label: .*valid boolean"),
    ({"labels": "gone.txt"}, "labels: no file gone.txt; searched in"),
    ({"labels": "latin.txt"}, "latin.txt is not UTF-8"),
    ({"labels": None}, "labels is missing"),
    ({"data_files": {"train": "gone.jsonl"}}, "data_files.train.0: no file gone.jsonl"),
    ({"data_files": {"dev": "mesh/val.jsonl"}}, "give a dataset with a path, or data_files with train"),
    ({"data_files": None}, "give a dataset with a path, or data_files with train"),
    ({"data_files": {"train": "empty.jsonl"}}, "empty.jsonl: no record"),
    ({"data_files": {"train": "broken.jsonl"}}, "broken.jsonl, line 1: not valid JSON"),
    ({"labels_field": "descriptors"}, "train.jsonl, line 1: no field 'descriptors'; it has doc_id, title, abstract"),
    ({"labels_field": None}, "labels_field is missing"),
    ({"input_fields": ["title", "abtract"]}, "line 1: no field 'abtract'"),
    ({"input_fields": "title"}, "input_fields: Input should be a valid .*, got 'title'"),
    ({"ctrl_token": "[XYZ]"}, r"ctrl_token.query: Input should be '\[CLF\]', .*got '\[XYZ\]'"),
    ({"ctrl_token": {"query": "[QRY]"}}, "ctrl_token needs query and candidates"),
    ({"sample_size": "many"}, "sample_size.train: Input should be a valid integer.*got 'many'"),
    ({"sample_size": {"train": 0}}, "sample_size is 0; give"),
    ({"multi_label": "yes"}, "multi_label: Input should be a valid boolean, got 'yes'"),
    ({"multi_label": True}, "line 1: descriptor is not a list: 'Brain'"),
    ({"label_field": "x"}, "label_field: Extra inputs are not permitted"),
    ({"name": "a/b"}, "name: String should match pattern .*got 'a/b'"),
    ({"name": "cite"}, "two tasks have the name 'cite'"),
    ({"data_files": None, "dataset": GONE}, "allenai/scirepeval, config 'gone', split 'train': not in a local folder"),
]


@pytest.mark.parametrize(("change", "message"), WRONG, ids=[message[:30] for _, message in WRONG])
def test_what_is_wrong_is_told_in_a_line_and_nothing_is_written(published, tmp_path, change, message):
    (published.folder / "empty.jsonl").write_text("\n")
    (published.folder / "latin.txt").write_bytes("Möbel\n".encode("latin-1"))
    (published.folder / "broken.jsonl").write_text("{\n")
    mesh = {key: value for key, value in (published.config[0] | change).items() if value is not None}
    # the sound task comes first: it must not be written before the wrong one is seen
    config = published.write([published.config[2], mesh])
    with pytest.raises(InputError, match=message) as raised:
        prepare_scirepeval(tmp_path / "out", config)
    assert "\n" not in str(raised.value) and len(str(raised.value)) < 700
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("index", "row", "message"),
    [
        (3, {"query": "q"}, "line 1: no field 'candidates'; it has query"),
        (3, {"query": "q", "candidates": 3}, "line 1: candidates is 3, not a list"),
        (4, {"query": "q", "candidates": [{"title": "t", "abstract": ""}]}, "no field 'score'"),
        (4, {"query": "q", "candidates": ["a"]}, "expected an object, got 'a'"),
        (5, {"query": {"title": "t", "abstract": ""}, "pos": {}}, "no field 'neg'; it has query, pos"),
        (2, {"title": "t", "abstract": "a", "log_citations": "x"}, "log_citations: 'x' is not a number"),
    ],
)
def test_a_record_that_is_none_is_told_with_its_place(published, tmp_path, index, row, message):
    task = published.config[index]
    path = published.folder / task["data_files"]["train"]
    path.write_text(json.dumps(row) + "\n")
    task = {key: value for key, value in task.items() if key != "input_fields"}
    with pytest.raises(InputError, match=message) as raised:
        prepare_scirepeval(tmp_path / "out", published.write([task]))
    assert "\n" not in str(raised.value) and str(path) in str(raised.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("text", ["", "{", "[]", "[1]", '"tasks"'])
def test_a_file_that_is_no_config(tmp_path, text):
    path = tmp_path / "tasks.json"
    path.write_text(text)
    message = r"tasks\.json: (the file is empty|cannot be read as JSON|expected a list of tasks)"
    with pytest.raises(InputError, match=message):
        read_config(path)
    with pytest.raises(InputError, match="there is no"):
        read_config(tmp_path / "gone.json")
