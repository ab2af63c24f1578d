"""What goes wrong in a push or a search of a database is one clear line, and nothing is lost."""

from __future__ import annotations

import errno
import json
import signal
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import pytest

from build_commands import run
from build_databases import ENCODER, SERVERS, WordSumEncoder, build_collection, local_address, random_papers
from sciprism.databases import RemoteCollection, push
from sciprism.databases.address import open_database, parse_address
from sciprism.errors import InputError, RunFailedError
from sciprism.index import lexical
from sciprism.papers.records import Paper
from sciprism.store import CollectionLayout, StoredCollection, delete, embed

KEY = "sk-never-printed"


@pytest.fixture(params=[pytest.param(kind, marks=[pytest.mark.slow] * (kind == "milvus")) for kind in sorted(SERVERS)])
def kind(request: pytest.FixtureRequest) -> str:
    pytest.importorskip({"qdrant": "qdrant_client", "milvus": "pymilvus"}[request.param])
    return str(request.param)


@pytest.fixture
def address(kind: str, tmp_path: Path) -> str:
    return local_address(kind, tmp_path / "there")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    build_collection(tmp_path / "here", random_papers(30), formats=("search",))
    return tmp_path / "here"


def list_ids(address: str) -> list[str]:
    with RemoteCollection(address) as remote:
        return sorted(hit.id for hit in remote.rank(ENCODER, ["word1"], 99, why=False)[0].hits)


def test_a_server_that_cannot_be_reached(kind: str, folder: Path) -> None:
    address = f"{kind}://127.0.0.1:9/papers"
    for call in (lambda: push(folder, address), lambda: RemoteCollection(address)):
        with pytest.raises(RunFailedError, match="cannot be reached") as caught:
            call()
        assert str(caught.value).startswith(f"{address} cannot be reached") and "\n" not in str(caught.value)


class FakeServer(BaseHTTPRequestHandler):
    """Answers every request with one status, and remembers the keys that it saw."""

    status, body = 403, b'{"status": {"error": "forbidden"}}'
    keys: ClassVar[set[str | None]] = set()

    def answer(self) -> None:
        self.keys.add(self.headers.get("api-key"))
        self.rfile.read(int(self.headers.get("content-length") or 0))
        self.send_response(self.status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    do_GET = do_PUT = do_POST = answer  # noqa: N815 (http.server names them)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


@pytest.fixture
def fake_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    pytest.importorskip("qdrant_client")
    monkeypatch.setenv("QDRANT_API_KEY", KEY)
    server = ThreadingHTTPServer(("127.0.0.1", 0), FakeServer)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"qdrant://127.0.0.1:{server.server_port}/papers"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (401, "refuses the key"),
        (403, "refuses the key"),
        (500, "failed with status 500"),
        (507, "the disk is full"),
    ],
)
def test_a_server_that_refuses(
    status: int, message: str, fake_server: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(FakeServer, "status", status)
    code, printed, error = run(monkeypatch, capsys, "push", folder, "--to", fake_server)
    assert (code, printed) == (2 if status < 500 else 1, "") and message in error
    assert len(error.strip().splitlines()) == 1 and KEY not in error and FakeServer.keys == {KEY}
    code, _, error = run(monkeypatch, capsys, "search", "--in", fake_server, "-q", "word1")
    assert code and message in error and KEY not in error


def test_a_milvus_server_that_refuses_the_key(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    pytest.importorskip("pymilvus")
    import grpc

    keys = set()

    class Refusal(grpc.GenericRpcHandler):  # type: ignore[misc]
        def service(self, call: Any) -> Any:
            keys.add(dict(call.invocation_metadata)["authorization"])

            def refuse(_: Any, context: Any) -> None:
                context.abort(grpc.StatusCode.UNAUTHENTICATED, "auth check failure, please check api key is correct")

            return grpc.unary_unary_rpc_method_handler(refuse)

    monkeypatch.setenv("MILVUS_TOKEN", KEY)
    server = grpc.server(ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers([Refusal()])
    address = f"milvus://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}/papers"
    server.start()
    code, printed, error = run(monkeypatch, capsys, "push", folder, "--to", address)
    server.stop(None).wait()
    assert (code, printed) == (2, "") and "refuses the key" in error and "MILVUS_TOKEN" in error
    assert len(error.strip().splitlines()) == 1 and KEY not in error
    assert keys == {b64encode(KEY.encode()).decode()}


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("papers", "is no address"),
        ("postgres://localhost/papers", "unknown kind of database 'postgres'; known: milvus, qdrant"),
        (f"qdrant://me:{KEY}@host/papers", "no user, key or options"),
        (f"qdrant://host/papers?api_key={KEY}", "no user, key or options"),
        ("qdrant://host:port/papers", "is not of the form"),
        ("qdrant://host/a/b", "is not of the form"),
        ("qdrant://host", "the name '' at its end"),
        ("qdrant:///folder/1-bad", "the name '1-bad' at its end"),
        ("qdrant:///papers", "names no folder"),
        ("milvus:///tmp/folder/papers", "must end with .db"),
    ],
)
def test_a_wrong_address(address: str, message: str, folder: Path) -> None:
    with pytest.raises(InputError) as caught:
        push(folder, address)
    assert message in str(caught.value) and KEY not in str(caught.value)


def test_addresses_are_printed_as_they_are_written() -> None:
    for text in ("qdrant://host:6333/papers", "milvus://[::1]:19530/p", "qdrant://host/p", "milvus:///a b/c.db/p"):
        assert str(parse_address(text)) == text


def test_a_key_with_other_characters_is_not_printed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("qdrant_client")
    monkeypatch.setenv("QDRANT_API_KEY", f"{KEY}\nmore")
    with pytest.raises(InputError, match="characters that no key has") as caught:
        push(folder, "qdrant://localhost/papers")
    assert KEY not in str(caught.value)


SLOW_PUSH = """
import sys, time
from importlib import import_module

module = import_module("sciprism.databases.push")
module.BATCH = 16

def show(work, done, total):
    print(work, done, flush=True)
    time.sleep(0.05)

module.push(*sys.argv[1:], on_papers=show)
"""


@pytest.mark.slow
def test_a_push_that_is_killed_continues(address: str, folder: Path, tmp_path: Path) -> None:
    build_collection(folder, random_papers(120), formats=("search",))
    process = subprocess.Popen([sys.executable, "-c", SLOW_PUSH, str(folder), address], stdout=-1, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if line.split()[-1] == "48":
            break
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    with RemoteCollection(address) as remote:
        assert not remote.record.complete and 48 <= len(remote) < 120
    report = push(folder, address).spaces[0]
    assert report.unchanged >= 48 and report.new == 120 - report.unchanged and report.changed == 0
    with RemoteCollection(address) as remote:
        assert remote.record.complete and len(remote) == 120


def test_a_push_that_fails_at_every_write_continues(
    address: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each attempt gets one write further, also with an older push there, other papers, and an approximate index."""
    push(folder, address)
    build_collection(folder, random_papers(5, edition=4), formats=("search",))
    delete(folder, ["paper/20"])
    kind = type(open_closed(address))
    left = 0

    def fail_later(method: Callable[..., Any]) -> Callable[..., Any]:
        def write(*arguments: Any) -> Any:
            nonlocal left
            if left == 0:
                raise RunFailedError("the connection is lost")
            left -= 1
            return method(*arguments)

        return write

    for name in ("write_texts", "delete_texts", "create", "set_approximate", "upsert", "delete"):
        monkeypatch.setattr(kind, name, fail_later(getattr(kind, name)))
    monkeypatch.setattr(import_module("sciprism.databases.push"), "BATCH", 7)
    for attempt in range(30):
        left = attempt
        try:
            report = push(folder, address, approximate=True)
            break
        except RunFailedError as error:
            assert str(error) == "the connection is lost"
    assert attempt > 3 and report.papers == report.spaces[0].check.papers == 29
    monkeypatch.undo()
    assert push(folder, address, approximate=True).spaces[0].unchanged == 29


def open_closed(address: str) -> Any:
    """A connection that is closed again, for its class."""
    _, database = open_database(address)
    with database:
        return database


def test_a_new_table_that_stayed_empty(address: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise RunFailedError("the connection is lost")

    with monkeypatch.context() as patch, pytest.raises(RunFailedError, match="the connection is lost"):
        patch.setattr(type(open_closed(address)), "upsert", fail)
        push(folder, address)
    assert push(folder, address).spaces[0].new == 30


@pytest.mark.slow
def test_a_table_of_milvus_whose_indexes_are_not_all_there(folder: Path, tmp_path: Path, monkeypatch: Any) -> None:
    """The client creates a table, then one index after the other; a push that stops between them is continued."""
    client, address = pytest.importorskip("pymilvus").MilvusClient, local_address("milvus", tmp_path / "there")
    create, left = client.create_index, 0

    def create_some(self: Any, table: str, indexes: Any, **more: Any) -> None:
        nonlocal left
        for index in indexes:
            if not left:
                raise ConnectionError("the connection is lost")
            left -= 1
            one = type(indexes)()
            one.append(index)
            create(self, table, one, **more)

    monkeypatch.setattr(client, "create_index", create_some)
    for allowed in (0, 1, 1):  # of the record's table, of the papers' none, then the first
        left = allowed
        with pytest.raises(RunFailedError, match="the connection is lost"):
            push(folder, address)
    monkeypatch.undo()
    assert push(folder, address).spaces[0].new == 30 and len(list_ids(address)) == 30


def test_another_encoder_is_refused(address: str, folder: Path, tmp_path: Path) -> None:
    push(folder, address)
    build_collection(tmp_path / "other", random_papers(30), WordSumEncoder("else", "f1", dim=64), ("search",))
    with pytest.raises(InputError, match=r"fingerprint f0.*fingerprint f1.*push to another name"):
        push(tmp_path / "other", address)
    with RemoteCollection(address) as remote, pytest.raises(InputError, match="fingerprint f0"):
        remote.rank(WordSumEncoder("else", "f1", dim=64), ["word1"])
    assert len(list_ids(address)) == 30


def test_papers_whose_record_was_lost_are_sent_again(address: str, folder: Path, tmp_path: Path) -> None:
    """Without the record nothing says of which encoder the vectors there are, but their versions do."""
    push(folder, address)
    drop_table(address, "papers_sciprism")
    other = WordSumEncoder("else", "f1", dim=64)
    stored = build_collection(tmp_path / "other", random_papers(30), other, ("search",))
    assert push(tmp_path / "other", address).spaces[0].changed == len(stored) == 30


def test_another_collection_deletes_nothing_unasked(address: str, folder: Path, tmp_path: Path) -> None:
    push(folder, address)
    build_collection(tmp_path / "other", random_papers(30, first=20), formats=("search",))
    before = list_ids(address)
    with pytest.raises(InputError, match=r"has 30 papers, of which .*other lacks 20: .*nothing was changed"):
        push(tmp_path / "other", address)
    assert list_ids(address) == before
    assert push(tmp_path / "other", address, prune=True).spaces[0].deleted == 20
    assert list_ids(address) == sorted(f"paper/{number}" for number in range(20, 50))


def drop_table(address: str, table: str) -> None:
    place, database = open_database(address)
    with database:
        client: Any = database._client  # type: ignore[attr-defined]
        (client.drop_collection if place.kind == "milvus" else client.delete_collection)(table)


def make_other(address: str, table: str, with_words: bool) -> None:
    """Make a table as other software would: of other numbers of dimensions, or without lexical weights."""
    place, database = open_database(address)
    with database:
        client: Any = database._client  # type: ignore[attr-defined]
        if place.kind == "milvus":
            client.create_collection(table, dimension=7)
            return
        from qdrant_client import models

        dense = models.VectorParams(size=7, distance=models.Distance.COSINE)
        words = {"words": models.SparseVectorParams()} if with_words else None
        client.create_collection(table, vectors_config={"vector": dense}, sparse_vectors_config=words)


@pytest.mark.parametrize("with_words", [True, False])
def test_a_changed_schema_is_refused(address: str, folder: Path, with_words: bool) -> None:
    table = push(folder, address).spaces[0].table
    drop_table(address, table)
    with pytest.raises(InputError, match=f"lacks the collection {table}; push again"):
        RemoteCollection(address)
    make_other(address, table, with_words)
    for call in (lambda: push(folder, address), lambda: RemoteCollection(address)):
        with pytest.raises(InputError, match=rf"the collection {table} (has|lacks) .*another name"):
            call()
    drop_table(address, table)
    assert push(folder, address).spaces[0].new == 30
    assert len(list_ids(address)) == 30


def test_without_a_lexical_index(address: str, tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    embed(random_papers(12), ENCODER, folder, layout=CollectionLayout(formats=("proximity", "classification")))
    assert not push(folder, address).lexical
    with RemoteCollection(address) as remote:
        assert len(remote.rank(ENCODER, ["word1"])[0].hits) == 10
        for mode in ("lexical", "hybrid"):
            with pytest.raises(InputError, match=r"no lexical weights; run: sciprism index .* push again"):
                remote.rank(ENCODER, ["word1"], mode=mode)
    lexical.build(StoredCollection.open(folder))
    report = push(folder, address)
    assert report.lexical and {each.changed for each in report.spaces} == {0, 12}
    with RemoteCollection(address) as remote:
        assert remote.rank(None, ["word1"], mode="lexical", why=False)[0].hits
    embed(random_papers(1, first=12), ENCODER, folder)
    with pytest.raises(InputError, match=r"lexical index .* is out of date"):
        push(folder, address)


def test_nothing_was_pushed(address: str) -> None:
    with pytest.raises(InputError, match="holds no collection; run: sciprism push"):
        RemoteCollection(address)


def test_a_full_disk(address: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    push(folder, address)
    build_collection(folder, random_papers(5, edition=3), formats=("search",))
    full = OSError(errno.ENOSPC, "No space left on device")
    if address.startswith("qdrant"):
        from qdrant_client import QdrantClient as Client
    else:
        from pymilvus import MilvusClient as Client

    def fail(*_: Any, **__: Any) -> None:
        raise full

    with monkeypatch.context() as patch:
        patch.setattr(Client, "upsert", fail)
        with pytest.raises(RunFailedError, match=r"the disk is full .*run the same command again"):
            push(folder, address)
    assert len(list_ids(address)) == 30
    assert push(folder, address).spaces[0].changed >= 5


def test_one_process_at_a_time(address: str, folder: Path) -> None:
    push(folder, address)
    script = f"from sciprism.databases import RemoteCollection\nwith RemoteCollection({address!r}): print(1); input()"
    process = subprocess.Popen([sys.executable, "-uc", script], stdin=-1, stdout=-1, text=True)
    assert process.stdin is not None and process.stdout is not None
    assert process.stdout.readline() == "1\n"
    with pytest.raises(InputError, match=r"process"):
        push(folder, address)
    process.communicate("\n")
    assert push(folder, address).spaces[0].unchanged == 30


def test_records_that_are_too_long_are_counted(address: str, tmp_path: Path) -> None:
    papers = [
        Paper(id="many", title="Many references", references=tuple(f"reference {i}" for i in range(9000))),
        Paper(id="book", title="A whole book", abstract="word " * 20_000),
        Paper(id="short", title="A short paper"),
    ]
    build_collection(tmp_path / "here", papers, formats=("search",))
    assert push(tmp_path / "here", address).shortened == 2
    with RemoteCollection(address) as remote:
        found = {hit.id: hit.paper for hit in remote.rank(ENCODER, ["word"], 3, why=False)[0].hits}
    assert not found["many"].references and found["many"].title == "Many references"
    assert 1000 < len(found["book"].abstract) < 60_000 and found["short"] == papers[2]


def test_the_extra_is_named(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in list(sys.modules):
        if module.split(".")[0] in ("qdrant_client", "pymilvus"):
            monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, {"qdrant": "qdrant_client", "milvus": "pymilvus"}[kind], None)
    with pytest.raises(InputError, match=f'needs the "{kind}" extra'):
        push(folder, f"{kind}://localhost/papers")


def test_the_commands(
    kind: str, tmp_path: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "papers.jsonl").write_text("".join(json.dumps(paper.to_json()) + "\n" for paper in random_papers(20)))
    address = local_address(kind, tmp_path / "there")

    def command(*words: Any) -> tuple[int, str, str]:
        return run(monkeypatch, capsys, *words)

    assert command("embed", "papers.jsonl", "-o", "here", "--model", tiny_model, "--pooling", "mean")[0] == 0
    assert command("index", "here", "--lexical")[0] == 0
    status, printed, error = command("push", "here", "--to", address)
    assert status == 0 and "20 new, 0 changed, 0 unchanged, 0 deleted" in printed and "recall@10 of 20" in printed
    status, printed, _ = command("push", "here", "--to", address, "--json")
    document = json.loads(printed)
    assert document["schema"] == "sciprism.push/1" and document["spaces"][0]["unchanged"] == 20
    for words in (
        ["word3", "word5"],
        ["-q", "word3 word5", "-q", "word7", "--mode", "hybrid", "--year", "1960-", "--field", "physics"],
        ["--mode", "lexical", "word3", "--no-why"],
    ):
        _, here, _ = command("search", "here", *words, "--json")
        status, there, error = command("search", "--in", address, *words, "--json")
        ours, theirs = json.loads(here), json.loads(there)
        assert (status, error) == (0, "") and theirs["collection"] == address and ours["rankings"]
        for our, their in zip(ours["rankings"], theirs["rankings"], strict=True):
            for hit, other in zip(our["hits"], their["hits"], strict=True):
                assert other.pop("score") == pytest.approx(hit.pop("score"), rel=1e-4, abs=1e-5)
                assert other == hit
    assert "venue" in command("search", "--in", address, "word3", "--venue", "nowhere")[2]
    assert command("search")[0] == 2


def test_a_push_of_an_earlier_version_is_refused(
    address: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    record = import_module("sciprism.databases.record")
    with open_database(address)[1] as database:
        database.write_texts(record.record_table("papers"), {record.RECORD: '{"layout": 1}'})
    for words in (("search", "--in", address, "-q", "word1"), ("push", folder, "--to", address)):
        code, _, error = run(monkeypatch, capsys, *words)
        assert code == 2 and "has layout 1, and this version of sciprism reads 2; push to another name" in error
