"""Fetching data sets, from a server of our own that drops connections, changes files and refuses."""

import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile

import numpy as np
import pytest

from build_commands import run
from build_servers import serve_files, serve_hub, use_environment
from sciprism.datasets.converters import CONVERTERS
from sciprism.datasets.data_root import MANIFEST, DataRoot, list_needed_data, read_manifest, select_data
from sciprism.datasets.fetching import fetch_data, read_archive
from sciprism.datasets.open_data import OPEN_DATA_SETS
from sciprism.errors import InputError, InterruptedRunError
from sciprism.evaluation.suites import suites

NPL = {
    "npl/doc-text": b"1\nfast stores\n   /\n2\nwave guides\n   /\n",
    "npl/query-text": b"1\nWAVES\n/\n",
    "npl/rlv-ass": b"1\n   2\n   /\n",
}
LARGE = np.random.default_rng(0).bytes(3_500_000)  # of which a gigabyte could be made, so it is sent as it is


def pack_tar(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


ENTRY = """
[{name}]
what = "made for a test"
owner = "us"
home = "http://localhost"
licence = "none"
suites = ["open"]
converter = "{converter}"
members = ["npl/*"]
files = [{{ url = "{url}", checksum = "{checksum}"{size} }}]
"""
MANIFEST_END = """
[alone]
what = "a set that needs an agreement"
owner = "them"
home = "http://localhost"
licence = "after registration"
suites = ["open"]
by_hand = "register, and put it in DATA/alone"
"""


@pytest.fixture
def server():
    with serve_files() as running, use_environment(), pytest.MonkeyPatch.context() as patch:
        patch.setattr("sciprism.papers.remote.objects.BACKOFF", 0.0)
        yield running


@pytest.fixture
def manifest(server, tmp_path, monkeypatch):
    """Write a manifest with one data set at the server, and one that is got by hand."""

    def write(url="/npl.tar.gz", checksum="", size=None, name="ir_npl", converter="npl", more=""):
        path = tmp_path / f"manifest-{len(list(tmp_path.glob('manifest-*')))}.toml"
        url = f"{server.address}{url}"
        stated = "" if size is None else f", size = {size}"
        entry = ENTRY.format(name=name, url=url, checksum=checksum, size=stated, converter=converter)
        path.write_text(entry + more + MANIFEST_END)
        monkeypatch.setattr("sciprism.datasets.data_root.MANIFEST", path)
        return select_data([name])

    return write


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    return lambda *words: run(monkeypatch, capsys, *words)


def read_rows(path):
    with gzip.open(path, "rt") as file:
        return [json.loads(line) for line in file]


def test_published_files_are_fetched_converted_and_fetched_no_more(server, manifest, tmp_path):
    server.restart({"/npl.tar.gz": pack_tar(NPL)}, drops=[7, 0, 30])
    (done,) = fetch_data(manifest(), tmp_path / "data")
    assert (done.status, done.trusted, dict(done.rows)) == (
        "fetched",
        ("npl.tar.gz",),
        {"corpus.jsonl.gz": 2, "queries.jsonl.gz": 1, "qrels/test.tsv": 1},
    )
    folder = tmp_path / "data" / "ir_npl"
    assert [row["text"] for row in read_rows(folder / "corpus.jsonl.gz")] == ["fast stores", "wave guides"]
    assert (folder / "qrels" / "test.tsv").read_text() == "query-id\tcorpus-id\tscore\n1\t2\t1\n"
    assert not any((tmp_path / "data" / ".downloads").iterdir()) and not list(tmp_path.rglob("*.part"))
    server.restart()
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    (again,) = fetch_data(manifest(), tmp_path / "data")
    assert again.status == "complete" and not server.requests
    (folder / "queries.jsonl.gz").unlink()
    (mended,) = fetch_data(manifest(), tmp_path / "data")
    assert mended.status == "fetched" and mended.trusted == (), "its checksum is known from the first time"
    assert set(folder.rglob("*")) == before.keys()


@pytest.mark.parametrize(("ranges", "after"), [(True, LARGE), (False, LARGE), (True, LARGE[::-1])])
def test_an_interrupted_download_continues_at_its_byte_unless_the_file_changed(
    server, manifest, tmp_path, ranges, after
):
    server.restart({"/large.bin": LARGE}, ranges=ranges)
    data = manifest("/large.bin", name="large", converter="")

    def stop(_name, _unit="", done=0, _total=None):
        if done >= 1:
            raise KeyboardInterrupt

    with pytest.raises(InterruptedRunError, match="the same command continues"):
        fetch_data(data, tmp_path / "data", progress=stop)
    (part,) = (tmp_path / "data" / ".downloads" / "large").glob("*.part")
    assert part.stat().st_size == 1 << 20
    server.restart({"/large.bin": after}, ranges=ranges)
    (done,) = fetch_data(data, tmp_path / "data")
    assert done.status == "fetched" and (tmp_path / "data" / "large" / "large.bin").read_bytes() == after
    if ranges and after == LARGE:
        assert [span for _, span in server.requests][1].startswith(f"bytes={1 << 20}-")
        assert server.sent < len(LARGE) - (1 << 20) + 10


def test_a_changed_checksum_is_an_error_that_names_both(server, manifest, tmp_path):
    one, other = pack_tar(NPL), pack_tar(NPL | {"npl/README": b"changed"})
    sums = [f"sha256:{hashlib.sha256(content).hexdigest()}" for content in (one, other)]
    server.restart({"/npl.tar.gz": other})
    (wrong,) = fetch_data(manifest(checksum=sums[0]), tmp_path / "a")
    assert wrong.status == "failed" and all(text in wrong.detail for text in (*sums, "the manifest states"))
    assert not (tmp_path / "a" / "ir_npl").exists()
    (wrong,) = fetch_data(manifest(checksum=f"md5:{hashlib.md5(one).hexdigest()}"), tmp_path / "a")
    assert wrong.status == "failed" and hashlib.md5(other).hexdigest() in wrong.detail
    (wrong,) = fetch_data(manifest(size=str(len(one))), tmp_path / "a")
    assert wrong.status == "failed" and f"{len(other):,} bytes, but the manifest states {len(one):,}" in wrong.detail
    server.restart({"/npl.tar.gz": one})
    (right,) = fetch_data(manifest(checksum=sums[0], size=str(len(one))), tmp_path / "a")
    assert right.status == "fetched" and right.trusted == ()
    # Trust on first use: the first checksum is recorded, and another one is an error later.
    (first,) = fetch_data(manifest(), tmp_path / "b")
    assert first.trusted == ("npl.tar.gz",) and sums[0] in (tmp_path / "b" / "fetched.json").read_text()
    (tmp_path / "b" / "ir_npl" / "corpus.jsonl.gz").unlink()
    server.restart({"/npl.tar.gz": other})
    (wrong,) = fetch_data(manifest(), tmp_path / "b")
    assert wrong.status == "failed" and all(text in wrong.detail for text in (*sums, "first download, in fetched.json"))


def test_refusals_of_a_server(server, manifest, tmp_path):
    server.restart({"/npl.tar.gz": pack_tar(NPL)}, statuses=[429, 503, 429], headers={"Retry-After": "0"})
    assert fetch_data(manifest(), tmp_path / "a")[0].status == "fetched", "the server was busy three times"
    server.restart(statuses=[429] * 100)
    (busy,) = fetch_data(manifest(), tmp_path / "b")
    assert busy.status == "failed" and "429" in busy.detail and "try again later" in busy.detail
    known = {"url": f"{server.address}/npl.tar.gz", "checksum": "", "size": "", "converter": "npl"}
    manifest(name="gone", url="/none.zip", more=ENTRY.format(name="ir_npl", **known))
    server.restart()
    gone, there, alone = fetch_data(select_data(["open"]), tmp_path / "c")
    assert gone.status == "failed" and "no such file" in gone.detail
    assert there.status == "fetched" and (tmp_path / "c" / "ir_npl" / "corpus.jsonl.gz").is_file()
    assert alone.status == "manual" and alone.detail == "register, and put it in DATA/alone"
    server.restart({"/npl.tar.gz": b"<!doctype html><title>Moved</title>"})
    (wrong,) = fetch_data(manifest(), tmp_path / "d")
    assert wrong.status == "failed" and "an HTML page (Moved)" in wrong.detail
    server.restart({"/train.txt": b'{"text"'})
    (wrong,) = fetch_data(manifest("/train.txt", converter="labelled-texts"), tmp_path / "e")
    assert wrong.status == "failed" and "ir_npl: its form has changed" in wrong.detail


BOMB = b"\0" * 60_000_000
DAMAGED = {
    "tar out": (pack_tar(NPL | {"../../outside": b"x"}), "outside of it"),
    "tar bomb": (pack_tar(NPL | {"npl/zeros": BOMB}), "SCIPRISM_LIMITS=ratio="),
    "other files": (pack_tar({"other/file": b"x"}), "no file of the archive matches npl/"),
    "truncated": (pack_tar(NPL)[:-40], "damaged"),
    "a file less": (pack_tar({name: NPL[name] for name in NPL if "rlv" not in name}), "rlv-ass: 0 such files"),
    "an empty file": (pack_tar(NPL | {"npl/rlv-ass": b"\n"}), "no rows for qrels/test.tsv"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_an_archive_is_read_within_limits_and_never_unpacked(server, manifest, tmp_path, name):
    content, message = DAMAGED[name]
    server.restart({"/npl.tar.gz": content})
    (wrong,) = fetch_data(manifest(), tmp_path / "data")
    assert wrong.status == "failed" and message in wrong.detail
    assert not (tmp_path / "outside").exists() and not (tmp_path / "data" / "ir_npl").exists()


def test_links_of_an_archive_are_no_files(tmp_path):
    path = tmp_path / "links.tar"
    with tarfile.open(path, "w") as archive:
        link = tarfile.TarInfo("npl/doc-text")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
        archive.addfile(tarfile.TarInfo("npl/rlv-ass"))
    assert read_archive(path, ["npl/*"]) == {"npl/rlv-ass": b""}


def test_all_files_of_a_folder_are_fetched_as_they_are(server, manifest, tmp_path):
    files = {"/scidocs/mag/train.csv": b"pid,class_label\n", "/scidocs/recomm/a b.json": b"{}"}
    server.restart(dict(files), drops=[3, 1])
    data = manifest("/scidocs/", name="scidocs", converter="")
    (done,) = fetch_data(data, tmp_path / "data")
    assert done.status == "fetched" and len(done.trusted) == 2
    stored = {path.name: path.read_bytes() for path in (tmp_path / "data" / "scidocs").rglob("*") if path.is_file()}
    assert sorted(stored.values()) == sorted(files.values()) and (tmp_path / "data" / "scidocs" / "mag").is_dir()
    server.restart()
    assert fetch_data(data, tmp_path / "data")[0].status == "complete" and not server.requests


def test_what_a_person_put_there_is_left_alone(server, manifest, tmp_path):
    folder = tmp_path / "data" / "ir_npl"
    folder.mkdir(parents=True)
    (folder / "mine.txt").write_text("mine")
    server.restart({"/npl.tar.gz": pack_tar(NPL)})
    (done,) = fetch_data(manifest(), tmp_path / "data")
    assert done.status == "here" and not server.requests and [path.name for path in folder.iterdir()] == ["mine.txt"]
    (folder / "mine.txt").unlink()
    (done,) = fetch_data(manifest(), tmp_path / "data")
    assert done.status == "fetched", "an empty folder is none"
    (folder / "queries.jsonl.gz").write_bytes(b"changed")
    (done,) = fetch_data(manifest(), tmp_path / "data")
    assert done.status == "here" and done.detail == "changed since: queries.jsonl.gz"


def test_the_commands(server, manifest, command, tmp_path):
    server.restart({"/npl.tar.gz": pack_tar(NPL)})
    manifest()
    status, printed, _ = command("data", "fetch", "open", "-o", "data", "--dry-run")
    assert status == 0 and "ir_npl: would fetch" in printed and "1 would fetch, 1 manual" in printed
    assert not (tmp_path / "data").exists() and not server.requests
    status, printed, _ = command("data", "fetch", "open", "-o", "data")
    assert status == 1 and "data: 1 fetched, 1 manual" in printed and "register, and put it in DATA/alone" in printed
    assert "1 files have no stated checksum" in printed
    status, printed, _ = command("data", "fetch", "ir_npl", "-o", "data", "--json")
    assert status == 0 and [one["status"] for one in json.loads(printed)["data"]] == ["complete"]
    status, _, error = command("data", "fetch", "ir_nlp", "-o", "data")
    assert status == 2 and "did you mean ir_npl" in error
    status, printed, _ = command("data", "list", "open", "--data", "data", "--json")
    rows = {row["name"]: row for row in json.loads(printed)["data"]}
    assert status == 0 and rows["ir_npl"]["here"] == "complete" and rows["alone"]["here"] is None
    assert rows["ir_npl"]["tasks"] == {"open": ["npl"]}
    status, printed, _ = command("data", "list", "open", "--data", "data")
    assert "ir_npl: here, fetched" in printed and "alone: not here" in printed
    assert "1 of 2 data sets are in data" in printed


def test_a_suite_runs_on_the_part_that_was_fetched_and_says_which(server, manifest, command, monkeypatch):
    server.restart({"/npl.tar.gz": pack_tar(NPL)})
    manifest()
    assert command("data", "fetch", "ir_npl", "-o", "data")[0] == 0
    monkeypatch.setattr("sciprism.datasets.data_root.MANIFEST", MANIFEST)
    words = ["evaluate", "bm25", "--suite", "open", "--task", "npl", "--task", "cacm", "--data", "data", "-o", "out"]
    status, printed, error = command(*words)
    assert status == 0 and "npl" in printed
    assert "cacm: not here" in error and "sciprism data fetch ir_cacm -o data" in error
    assert "cacm (not here: bm25)" in " ".join(printed.split()) and "data set missing from the split" in printed


def test_a_message_about_missing_data_names_the_command(tmp_path):
    with pytest.raises(InputError, match=f"sciprism data fetch ir_cacm -o {tmp_path}"):
        DataRoot(tmp_path).local("ir_cacm/corpus.jsonl.gz")
    with pytest.raises(InputError, match="not published"):
        DataRoot(tmp_path).local("arxiv_multidomain")


SCRIPT = """
import sys
from pathlib import Path
from sciprism.datasets.fetching import fetch_data
from sciprism.datasets.data_root import PublishedData

data = PublishedData(name="group/set", what="", owner="", home="", licence="", suites=(), hub=True)
for _ in range(2):
    (done,) = fetch_data([data], Path(sys.argv[1]))
    print(done.status, done.detail)
"""


def test_data_sets_of_the_hub_are_fetched_by_its_client_without_scripts(tmp_path):
    server = serve_hub({"group/set": {"main": {"data/test.jsonl": b'{"a": 1}\n', "load.py": b"raise SystemExit"}}}, [])
    hub = {"HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}", "HF_HOME": str(tmp_path / "cache")}
    environment = {key: value for key, value in os.environ.items() if not key.startswith("HF_")} | hub
    words = [sys.executable, "-c", SCRIPT, str(tmp_path / "data")]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=100)
    server.shutdown()
    assert done.stdout.split() == ["fetched", "complete"], done.stderr
    files = {path.name for path in (tmp_path / "data" / "group" / "set").rglob("*") if path.is_file()}
    assert files == {"test.jsonl"} and not (tmp_path / "data" / ".downloads" / "group" / "set").exists()
    assert list(DataRoot(tmp_path / "data").rows("group/set", "default", split="test")) == [{"a": 1}]


def test_the_manifest_covers_what_the_suites_read():
    known = read_manifest()
    for data in known.values():
        assert set(data.suites) <= suites.keys(), data.name
        assert bool(data.files or data.hub) != bool(data.by_hand), data.name
        assert not data.converter or data.converter in CONVERTERS
        assert all(file.url.startswith(("https://", "http://", "s3://")) for file in data.files)
        kinds = [file.checksum.partition(":") for file in data.files if file.checksum]
        assert all((kind, len(digest)) in {("sha256", 64), ("md5", 32)} for kind, _, digest in kinds)
        assert set(data.needs) <= known.keys()
    for suite in suites.values():
        for task in suite.tasks:
            for found in list_needed_data(task.data):
                if suite.name != "blurb":  # its data sets have many names, and one origin
                    assert suite.name in known[found].suites, f"{suite.name}/{task.name}: {found}"
    assert {source.data for source in OPEN_DATA_SETS} <= {data.name for data in select_data(["open"])}
