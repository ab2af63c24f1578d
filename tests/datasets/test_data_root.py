"""Data by name: a folder, the hub's cache, the hub; a server of our own speaks its protocol here."""

import gzip
import hashlib
import json
import os
import subprocess
import sys
import tracemalloc

import pyarrow as pa
import pytest
from huggingface_hub import get_session
from pyarrow import parquet

from build_servers import serve_hub
from sciprism import hub
from sciprism.datasets.data_root import CHUNK, DataRoot, as_id, select_files
from sciprism.encoders.checkpoints.names import locate
from sciprism.errors import InputError

ROWS = [{"doc_id": "1", "title": "Aß"}, {"doc_id": "2", "title": None}]


def write(path, rows=ROWS):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        parquet.write_table(pa.Table.from_pylist(rows), path)
        return path
    text = "".join(json.dumps(row) + "\n" for row in rows)
    if ".json" in path.suffixes:
        text = json.dumps(rows, indent=1)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.json", "a.json.gz", "a.parquet", "a.ndjson"])
def test_rows_of_every_kind_of_file_are_the_same(tmp_path, name):
    path, data_root = write(tmp_path / name), DataRoot(tmp_path)
    assert list(data_root.records(path)) == ROWS
    assert data_root.provenance() == {name: hashlib.sha256(path.read_bytes()).hexdigest()}


@pytest.mark.parametrize(("name", "mark"), [("a.csv", ","), ("a.tsv", "\t")])
def test_tables_are_read_by_their_header(tmp_path, name, mark):
    (tmp_path / name).write_text(f'pid{mark}listed\nx{mark}"1,2"\n', encoding="utf-8")
    assert list(DataRoot(tmp_path).records(tmp_path / name)) == [{"pid": "x", "listed": "1,2"}]


def test_a_file_left_in_the_middle_is_hashed_whole(tmp_path):
    path, data_root = write(tmp_path / "a.jsonl", ROWS * 100_000), DataRoot(tmp_path)
    rows = data_root.records(path)
    assert next(rows) == ROWS[0]
    rows.close()
    assert data_root.provenance() == {"a.jsonl": hashlib.sha256(path.read_bytes()).hexdigest()}


def test_an_object_keyed_by_id_is_walked_across_chunks(tmp_path):
    members = {f"p{i}": {"title": "é" * 997, "n": [i]} for i in range(2 * CHUNK // 1000)}
    (tmp_path / "m.json").write_text(json.dumps(members, ensure_ascii=False), encoding="utf-8")
    assert dict(DataRoot(tmp_path).members(tmp_path / "m.json")) == members


@pytest.mark.parametrize(("text", "message"), [("[]", "keyed by id"), ('{"a": 1', "before its object is closed")])
def test_a_broken_object_is_told_where(tmp_path, text, message):
    (tmp_path / "m.json").write_text(text)
    with pytest.raises(InputError, match=message):
        list(DataRoot(tmp_path).members(tmp_path / "m.json"))


def test_memory_stays_flat_whatever_the_file(tmp_path):
    text = "word " * 200
    members = {f"p{i}": {"doc_id": i, "title": text} for i in range(8_000)}
    (tmp_path / "members.json").write_text(json.dumps(members))
    write(tmp_path / "lines.jsonl", list(members.values()))
    write(tmp_path / "list.json", list(members.values()))
    write(tmp_path / "table.parquet", list(members.values()))
    del members
    data_root = DataRoot(tmp_path)
    for name in ("members.json", "lines.jsonl", "list.json", "table.parquet"):
        path = tmp_path / name
        tracemalloc.start()
        rows = data_root.members(path) if name.startswith("members") else data_root.records(path)
        assert sum(1 for _ in rows) == 8_000
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 6 << 20, f"{name}, 8 MB of text: {peak:,} bytes held"


def test_ids_become_texts(tmp_path):
    rows = [
        {"doc_id": 1, "score": 1, "query": {"corpus_id": 7.0}},
        {"doc_id": "2", "score": 2, "papers": [3, 4]},
        {"doc_id": 3, "candidates": [{"doc_id": 5}]},
    ]
    (tmp_path / "g/d/c").mkdir(parents=True)
    (tmp_path / "g/d/c/test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert list(DataRoot(tmp_path).rows("g/d", "c", split="test")) == [
        {"doc_id": "1", "score": 1, "query": {"corpus_id": "7"}},
        {"doc_id": "2", "score": 2, "papers": ["3", "4"]},
        {"doc_id": "3", "candidates": [{"doc_id": "5"}]},
    ]
    assert [as_id(value) for value in (None, 1.5, True, "x")] == ["", "1.5", "True", "x"]


@pytest.mark.parametrize("place", ["group/name/fos", "name/fos", "fos"])
@pytest.mark.parametrize(
    "files",
    [("test-00000-of-00002.parquet", "test-00001-of-00002.parquet"), ("test/0000.parquet", "test/0001.parquet")],
)
def test_a_local_folder_comes_first(tmp_path, place, files):
    for number, name in enumerate(files):
        write(tmp_path / place / name, [{"doc_id": str(number)}])
    data_root = DataRoot(tmp_path)
    assert [row["doc_id"] for row in data_root.rows("group/name", "fos", split="test")] == ["0", "1"]
    assert list(data_root.provenance()) == [f"{place}/{name}" for name in files]


def test_missing_parts_are_an_error():
    names = [f"c/test-0000{i}-of-00003.parquet" for i in (0, 2)]
    with pytest.raises(InputError, match="2 of 3 parts"):
        select_files(names, "c", "test")


def test_what_is_nowhere_is_told_how_to_fetch(tmp_path):
    with pytest.raises(
        InputError, match=r"hf download group/name --repo-type dataset --local-dir \S+/group/name --include 'fos/\*'"
    ):
        list(DataRoot(tmp_path).rows("group/name", "fos", split="test"))
    with pytest.raises(InputError, match=r"--include 'qrels/test.tsv', then pass --data"):
        DataRoot().file("group/name", "qrels/test.tsv")
    with pytest.raises(InputError, match=r"are not in .*; ask the authors"):
        DataRoot(tmp_path).local("scidocs", "ask the authors")


def packed(number):
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.Table.from_pylist([{"doc_id": number}]), sink)
    return sink.getvalue().to_pybytes()


BRANCHES = {
    "group/parquet": {
        "main": {
            "c/test-00000-of-00002.parquet": packed(1),
            "c/test-00001-of-00002.parquet": packed(2),
            "c/train-00000-of-00001.parquet": packed(3),
            "corpus.jsonl": b'{"_id": 1}\n',
            "loader.py": b"raise SystemExit('a script was run')",
        }
    },
    "group/script": {
        "main": {"script.py": b"raise SystemExit('a script was run')"},
        "refs/convert/parquet": {"c/test/0000.parquet": packed(4), "c/test/0001.parquet": packed(5)},
    },
}
SCRIPT = """
from sciprism.errors import InputError
from sciprism import hub
from sciprism.datasets.data_root import DataRoot

data_root = DataRoot()

def ids(*where):
    try:
        print([row["doc_id"] for row in data_root.rows(*where, split="test")])
    except InputError as error:
        print(error)

ids("group/parquet", "c")
ids("group/script", "c")
print(list(data_root.records(data_root.file("group/parquet", "corpus.jsonl"))))
print(*data_root.provenance())
"""
REFUSED = """
ids("group/parquet", "none")
ids("group/other", "c")
"""


def test_the_hub_is_asked_once_and_never_for_a_script(tmp_path):
    """In processes of their own: one that asks, then one that may not."""
    asked = []
    server = serve_hub(BRANCHES, asked)
    endpoint = {"HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}", "HF_HOME": str(tmp_path)}
    environment = {key: value for key, value in os.environ.items() if not key.startswith("HF_")} | endpoint

    def run(script, **more):
        words = [sys.executable, "-c", script]
        done = subprocess.run(words, env=environment | more, capture_output=True, text=True, timeout=100)
        return (done.stdout + done.stderr).splitlines()

    online, offline = run(SCRIPT + SCRIPT + REFUSED), run(SCRIPT, HF_HUB_OFFLINE="1")
    server.shutdown()
    assert online[:3] == ["['1', '2']", "['4', '5']", "[{'_id': 1}]"]
    assert "group/parquet@c0ffee" in online[3] and "/c/test-00001-of-00002.parquet" in online[3]
    assert online[4:8] == online[:4] == offline
    assert len([name for name in asked if name.startswith("c/")]) == 4
    assert "c/train-00000-of-00001.parquet" not in asked
    assert not [name for name in asked if name.endswith(".py")]
    assert asked.index("c/test/0001.parquet") < asked.index("c/test/0000.parquet"), "0000 says that all are here"
    none, other = online[8:]
    assert "has no files for config 'none', split 'test'" in none
    assert other.startswith("group/other, config 'c', split 'test': not in a local folder, not in the hub's cache")


def test_a_hub_that_does_not_answer_is_tried_once(monkeypatch):
    """Its client tries a name again for half a minute; the second and third name cost nothing here."""
    tried = []

    def head(self, url, timeout):
        tried.append(url)
        raise OSError("no route to the hub")

    monkeypatch.setattr(type(get_session()), "head", head)
    hub._find_fault.cache_clear()
    try:
        for find in (
            lambda: DataRoot().file("owner/papers", "a.jsonl"),
            lambda: next(DataRoot().rows("owner/papers", "a", split="test")),
            lambda: locate("owner/model"),
        ):
            with pytest.raises(InputError, match="no route to the hub"):
                find()
    finally:
        hub._find_fault.cache_clear()
    assert len(tried) == 1
