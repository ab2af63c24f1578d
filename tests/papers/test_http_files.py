"""Files of web servers: whatever the connection does, the same papers; else one line that says what to do."""

import gzip
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from build_servers import FileServer, serve_files, use_environment
from fake_encoder import some_papers
from sciprism.errors import InputError, MissingExtraError
from sciprism.papers import Paper, ReadReport, read_papers
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.remote.objects import TRIES, RemoteObject, find_remote, open_store

PAPERS = [replace(paper, keywords=("k",)) for paper in some_papers(700)]
LINES = "".join(json.dumps(paper.to_json()) + "\n" for paper in PAPERS).encode()


@pytest.fixture(scope="module")
def server() -> Iterator[FileServer]:
    with serve_files() as running, use_environment(), pytest.MonkeyPatch.context() as patch:
        patch.setattr("sciprism.papers.remote.objects.BACKOFF", 0.0)
        yield running


def read(*addresses: str, **options: Any) -> list[Paper]:
    return list(read_papers(addresses, **options))


@settings(max_examples=40)
@given(st.lists(st.integers(0, len(LINES)), max_size=TRIES - 1), *[st.booleans()] * 4)
def test_any_cut_of_the_connection_yields_the_same_papers(server, drops, packed, ranges, tags, lengths) -> None:
    """A block that is cut is asked for again; so is a whole file, where the server sends no ranges."""
    content = gzip.compress(LINES) if packed else LINES
    server.restart({"/a": content}, drops=drops, ranges=ranges, tags=tags, lengths=lengths)
    assert read(f"{server.address}/a") == PAPERS


def test_reading_continues_with_the_block_that_was_cut(server: FileServer) -> None:
    server.restart({"/a.jsonl": LINES})
    (found,) = find_remote(f"{server.address}/a.jsonl")
    assert isinstance(found, RemoteObject)
    with found.open() as stream:
        assert stream.read(1000) == LINES[:1000]
        server.restart(drops=[500, 0, 60_000])
        assert stream.read() == LINES[1000:]
    starts = [int(span.removeprefix("bytes=").partition("-")[0]) for _, span in server.requests]
    assert starts[0] > 60_000 and starts == [starts[0]] * 4, "what had come is not asked for again"


@pytest.mark.parametrize("status", [500, 503, 429, 408])
def test_errors_of_the_server_are_tried_again(server: FileServer, status: int) -> None:
    server.restart({"/a.jsonl": LINES}, statuses=[status] * 3 + [200, status, 200] + [status] * (TRIES - 1))
    assert read(f"{server.address}/a.jsonl") == PAPERS


def test_a_server_that_asks_for_a_pause_gets_it(server: FileServer, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("sciprism.papers.remote.objects.time.sleep", pauses.append)
    server.restart({"/a.jsonl": LINES}, statuses=[503, 429], headers={"Retry-After": "7"})
    assert read(f"{server.address}/a.jsonl") == PAPERS and pauses == [7.0, 7.0]


def test_a_connection_that_stays_broken_is_an_error_with_the_byte(server: FileServer) -> None:
    server.restart({"/a.jsonl": LINES})
    (found,) = find_remote(f"{server.address}/a.jsonl")
    assert isinstance(found, RemoteObject)
    with found.open() as stream:
        stream.read(1000)
        server.restart(drops=[0] * TRIES)
        message = rf"a.jsonl: cannot be read beyond byte \d\d,\d+ of {len(LINES):,} \(.*\), {TRIES} times; try again"
        with pytest.raises(InputError, match=message):
            stream.read()
    assert len(server.requests) == TRIES


@pytest.mark.parametrize(("ranges", "tags"), [(True, True), (True, False), (False, True)])
def test_a_file_that_changes_meanwhile_is_refused(server: FileServer, ranges: bool, tags: bool) -> None:
    server.restart({"/a.jsonl": LINES}, tags=tags, ranges=ranges)
    (found,) = find_remote(f"{server.address}/a.jsonl")
    assert isinstance(found, RemoteObject)
    other = LINES[::-1] if tags else LINES + b"\n"
    if not ranges:  # it is copied when it is opened
        server.files["/a.jsonl"] = other
    message = r"a.jsonl has changed while it was read; run the command again"
    with pytest.raises(InputError, match=message), found.open() as stream:
        assert stream.read(1000) == LINES[:1000]
        server.files["/a.jsonl"] = other
        stream.read()


@pytest.mark.parametrize(
    ("path", "behaviour", "message"),
    [
        ("/none.jsonl", {}, r"/none.jsonl: no such file, folder or bucket; check the address"),
        ("/a.jsonl", {"statuses": [401]}, r"/a.jsonl: the request is refused \(status 401\); put user and password in"),
        ("/a.jsonl?X-Amz-Signature=SECRET", {"statuses": [403]}, r"403\); .* fetch a new one: .*the same command"),
        ("/a.jsonl?id=3", {"statuses": [418]}, r"/a.jsonl\?id=3: the request is refused \(status 418\)"),
        ("/*.xml", {}, r"/\*.xml: no object or folder matches this pattern"),
        ("/*.xml", {"statuses": [403]}, r"/\*.xml: the request is refused \(status 403\)"),
        ("/nothing/", {}, r"/nothing/: no such file, folder or bucket"),
    ],
)
def test_what_cannot_be_read_is_one_line(server: FileServer, path: str, behaviour, message: str) -> None:
    server.restart({"/a.jsonl": LINES}, **behaviour)
    address = server.address.replace("//", "//me:SECRET@")
    with pytest.raises(InputError, match=message) as caught:
        read(address + path)
    assert "SECRET" not in str(caught.value) and "\n" not in str(caught.value)


def test_user_and_signature_are_sent_and_not_shown(server: FileServer) -> None:
    server.restart({"/a.jsonl": LINES})
    report = ReadReport()
    papers = read(f"{server.address.replace('//', '//me:SECRET@')}/a.jsonl?id=1&token=SECRET", report=report)
    assert papers == PAPERS and server.requests[-1][0] == "/a.jsonl?id=1&token=SECRET"
    assert all(each.startswith("Basic ") for each in server.authorizations)
    place = papers[5].place
    assert place is not None and str(place) == f"{server.address}/a.jsonl?id=1, record 6 (line 6)"
    assert report.files[0].path == f"{server.address}/a.jsonl?id=1"


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for scheme, module in (("s3", "s3fs"), ("gs", "gcsfs"), ("https", "aiohttp")):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, module, None)
            patch.delitem(sys.modules["fsspec.registry"]._registry, scheme, raising=False)
            open_store.cache_clear()
            with pytest.raises(MissingExtraError, match=rf'reading {scheme}:// addresses needs the "scale" extra'):
                read(f"{scheme}://host/a.jsonl")


@pytest.mark.parametrize("name", sorted(paper_readers.keys() - {"zotero"}))
@pytest.mark.parametrize("ranges", [True, False])
def test_each_format_is_read_as_a_local_file_is(server, samples, name: str, ranges: bool) -> None:
    content, sample = samples[name].read_bytes(), samples[name].name
    server.restart({f"/in/{sample}": content, f"/in/{sample}.gz": gzip.compress(content)}, ranges=ranges)
    local, remote = ReadReport(), ReadReport()
    papers = list(read_papers(samples[name], report=local))
    assert read(f"{server.address}/in/{sample}", f"{server.address}/in/{sample}.gz", report=remote) == 2 * papers
    for each in remote.files:
        assert (each.format, each.papers, each.note) == (local.files[0].format, len(papers), local.files[0].note)


def test_folders_and_patterns_of_pages(server: FileServer, tmp_path: Path) -> None:
    names = ["b/part_1.jsonl", "b-c/part_0.jsonl", "b/part_0.jsonl", "b/README", "b/c/d e.jsonl", "other.txt"]
    files = {"/works/b/_EMPTY": b""}
    for number, name in enumerate(names):
        content = LINES[: LINES.index(b"\n", number * 3000) + 1] if name.endswith("jsonl") else b"read me"
        files[f"/works/{name}"] = content
        (tmp_path / "works" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "works" / name).write_bytes(content)
    server.restart(files)
    for pattern in ("works/", "works/*/part_*.jsonl", "works/b/part_[1-9].jsonl", "works/**/*.jsonl"):
        local, remote = ReadReport(), ReadReport()
        papers = list(read_papers(tmp_path / pattern, report=local))
        assert read(f"{server.address}/{pattern}", report=remote) == papers and papers
        short = [[each.path.rpartition("/works/")[2] for each in report.files] for report in (local, remote)]
        assert short[0] == [name.replace("%20", " ") for name in short[1]]


def test_of_a_parquet_file_only_the_needed_ranges_are_fetched(server: FileServer, tmp_path: Path) -> None:
    """A column of vectors is not fetched; a server that ignores ranges sends the file whenever it is opened."""
    columns = {name: [getattr(paper, name) for paper in PAPERS] for name in ("id", "title", "abstract")}
    vectors = pa.array(list(np.random.default_rng(0).normal(size=(len(PAPERS), 2000)).astype(np.float32)))
    table = pa.table(columns | {"v": vectors})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=300)
    content = (tmp_path / "a.parquet").read_bytes()
    for ranges, most in ((True, len(content) // 3), (False, 5 * len(content))):
        server.restart({"/a.parquet": content}, ranges=ranges)
        assert [paper.title for paper in read(f"{server.address}/a.parquet")] == [paper.title for paper in PAPERS]
        assert server.sent <= most
