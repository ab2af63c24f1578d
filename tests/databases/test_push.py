"""What goes wrong in a push or a search of a database is one clear line, and nothing is lost."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from build_commands import run
from build_databases import ENCODER, KINDS, WordSumEncoder, build_collection, new_address, random_papers, start_postgres
from build_servers import serve_files
from sciprism.databases import RemoteCollection, push, remote
from sciprism.databases.database import open_database
from sciprism.errors import InputError, RunFailedError
from sciprism.store import delete

KEY = "sk-never-printed"
ADDRESSES = {"qdrant": "qdrant://127.0.0.1:9/papers", "postgresql": "postgresql://127.0.0.1:9/mine/papers"}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    pytest.importorskip({"qdrant": "qdrant_client", "postgresql": "psycopg"}[request.param])
    return str(request.param)


@pytest.fixture
def address(kind: str, tmp_path: Path) -> str:
    return new_address(kind, tmp_path / "there")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    build_collection(tmp_path / "here", random_papers(30), formats=("search",))
    return tmp_path / "here"


def list_ids(address: str) -> list[str]:
    with RemoteCollection(address) as collection:
        return sorted(hit.id for hit in collection.rank(ENCODER, ["word1"], 99, "exact", None, False)[0].hits)


def read_refusal(address: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> str:
    """What the commands say of a database that cannot be used: one line each, without the password."""
    code, printed, error = run(monkeypatch, capsys, "push", folder, "--to", address)
    assert (code, printed) == (2, "") and len(error.strip().splitlines()) == 1 and KEY not in error
    code, printed, error_of_search = run(monkeypatch, capsys, "search", "--in", address, "-q", "word1")
    assert code and not printed and KEY not in error_of_search
    return error


def test_a_server_that_cannot_be_reached(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    error = read_refusal(ADDRESSES[kind], folder, monkeypatch, capsys)
    assert ADDRESSES[kind] in error and re.search("see that (it|the server) runs", error)


def test_a_server_that_refuses_the_key(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    pytest.importorskip("qdrant_client")
    monkeypatch.setenv("QDRANT_API_KEY", KEY)
    with serve_files() as server:
        address = f"{server.address.replace('http', 'qdrant')}/papers"
        answer = {"body": b'{"status": {"error": "forbidden"}}', "headers": {"Content-Type": "application/json"}}
        server.restart(statuses=[403] * 9, **answer)
        assert "refuses the key; set QDRANT_API_KEY" in read_refusal(address, folder, monkeypatch, capsys)
        assert set(server.authorizations) == {KEY}
        server.restart(statuses=[507] * 9, **answer)
        with pytest.raises(RunFailedError, match=r"507 .*; mend that, and run the same command again"):
            push(folder, address)


@pytest.mark.parametrize(
    ("user", "password", "database", "message"),
    [
        ("absent", "", "theirs", "cannot connect; .*PGPASSWORD"),
        ("reader", f"wrong {KEY}", "theirs", "cannot connect; .*PGPASSWORD are right .*password authentication failed"),
        ("reader", KEY, "theirs", "the user may not do this; .*permission denied"),
        ("halted", KEY, "theirs", "the user may not do this; .*read-only transaction"),
        ("writer", KEY, "bare", "pgvector is missing; .*CREATE EXTENSION vector"),
    ],
)
def test_a_user_of_postgresql_that_may_not(user, password, database, message, folder, monkeypatch, capsys) -> None:
    make_users()
    monkeypatch.setenv("PGUSER", user)
    monkeypatch.setenv("PGPASSWORD", password)
    assert re.search(message, read_refusal(f"postgresql:///{database}/papers", folder, monkeypatch, capsys))


@cache
def make_users() -> None:
    """Make users with a password, and two databases, of which one has pgvector."""
    psycopg = pytest.importorskip("psycopg")
    server = start_postgres()
    access = server.pgdata / "pg_hba.conf"
    access.write_text(f"local all reader,halted,writer scram-sha-256\n{access.read_text()}")
    with psycopg.connect(server.get_uri(), autocommit=True) as admin:
        for user in ("reader", "halted", "writer"):
            admin.execute(f"CREATE ROLE {user} LOGIN PASSWORD '{KEY}'")
        admin.execute("ALTER ROLE halted SET default_transaction_read_only = on")
        admin.execute("CREATE DATABASE theirs OWNER writer")
        admin.execute("CREATE DATABASE bare OWNER writer")
        admin.execute("SELECT pg_reload_conf()")
    with psycopg.connect(server.get_uri("theirs"), autocommit=True) as admin:
        admin.execute("CREATE EXTENSION vector")
    time.sleep(0.5)  # until all of the server has read the configuration


def test_a_key_with_other_characters_is_not_printed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("qdrant_client")
    monkeypatch.setenv("QDRANT_API_KEY", f"{KEY}\nmore")
    with pytest.raises(InputError, match="characters that no key has") as caught:
        push(folder, "qdrant://localhost/papers")
    assert KEY not in str(caught.value)


SLOW_PUSH = """
import sys, time
from sciprism.databases import remote

remote.BATCH = 16

def show(work, unit="", done=0, total=None):
    print(work, done, flush=True)
    time.sleep(0.05)

remote.push(*sys.argv[1:], progress=show)
"""


@pytest.mark.slow
def test_a_push_that_is_killed_continues(address: str, folder: Path) -> None:
    build_collection(folder, random_papers(120), formats=("search",))
    process = subprocess.Popen([sys.executable, "-c", SLOW_PUSH, str(folder), address], stdout=-1, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if line.split()[-1] == "48":
            break
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    with RemoteCollection(address) as collection:
        assert not collection.record.complete and 48 <= len(collection) < 120
    report = push(folder, address)
    assert report.unchanged >= 48 and report.new == 120 - report.unchanged and report.changed == 0
    with RemoteCollection(address) as collection:
        assert collection.record.complete and len(collection) == 120


def test_a_push_that_fails_at_every_write_continues(address: str, folder: Path, monkeypatch) -> None:
    """Each attempt gets one write further, also with an older push there, other papers, and an approximate index."""
    push(folder, address)
    build_collection(folder, random_papers(5, edition=4), formats=("search",))
    delete(folder, ["paper/20"])
    with open_database(address) as database:
        kind = type(database)
    left = 0

    def fail_later(method: Callable[..., Any]) -> Callable[..., Any]:
        def write(*arguments: Any) -> Any:
            nonlocal left
            if left == 0:
                raise RunFailedError("the connection is lost")
            left -= 1
            return method(*arguments)

        return write

    for name in ("write", "index", "upsert", "delete"):
        monkeypatch.setattr(kind, name, fail_later(getattr(kind, name)))
    monkeypatch.setattr(remote, "BATCH", 2)
    for attempt in range(30):
        left = attempt
        try:
            report = push(folder, address, approximate=True)
            break
        except RunFailedError as error:
            assert str(error) == "the connection is lost"
    assert attempt > 3 and report.papers == len(list_ids(address)) == 29
    monkeypatch.undo()
    assert push(folder, address, approximate=True).unchanged == 29


def test_another_encoder_is_refused(address: str, folder: Path, tmp_path: Path) -> None:
    push(folder, address)
    other = WordSumEncoder("else", "f1", dim=64)
    build_collection(tmp_path / "other", random_papers(30), other, ("search",))
    with pytest.raises(InputError, match=r"fingerprint f0.*fingerprint f1.*push to another name"):
        push(tmp_path / "other", address)
    build_collection(tmp_path / "more", random_papers(30), formats=("search", "classification"))
    with pytest.raises(InputError, match=r"spaces near\), .*more of .*spaces near, kind\); push to another name"):
        push(tmp_path / "more", address)
    with RemoteCollection(address) as collection, pytest.raises(InputError, match="fingerprint f0"):
        collection.rank(other, ["word1"], 10, "exact", None, True)
    assert len(list_ids(address)) == 30


def test_another_collection_deletes_nothing_unasked(address: str, folder: Path, tmp_path: Path) -> None:
    push(folder, address)
    build_collection(tmp_path / "other", random_papers(30, first=20), formats=("search",))
    before = list_ids(address)
    with pytest.raises(InputError, match=r"has 30 papers, of which .*other lacks 20: .*nothing was changed"):
        push(tmp_path / "other", address)
    assert list_ids(address) == before
    assert push(tmp_path / "other", address, prune=True).deleted == 20
    assert list_ids(address) == sorted(f"paper/{number}" for number in range(20, 50))


def test_what_other_software_made_or_changed(address: str, folder: Path) -> None:
    """Another table of the name is refused; rows that others wrote are found by the push, and one that was dropped."""
    name = address.rpartition("/")[2]

    def change(*words: Any) -> None:
        with open_database(address) as database:
            if address.startswith("postgresql"):
                database._run(words[0].format(name))  # type: ignore[attr-defined]
            else:
                getattr(database._client, words[1])(name, *words[2:])  # type: ignore[attr-defined]

    change("CREATE TABLE {} (a integer)", "create_collection", {})
    for call in (lambda: push(folder, address), lambda: RemoteCollection(address)):
        with pytest.raises(InputError, match="is not what this version of sciprism pushes; drop it there"):
            call()
    change("DROP TABLE {}", "delete_collection")
    with pytest.raises(InputError, match="holds no collection; run: sciprism push"):
        RemoteCollection(address)
    assert push(folder, address).new == 30
    with open_database(address) as database:
        database.delete([*database.read_versions()][:2])
    report = push(folder, address)
    assert (report.new, report.unchanged) == (2, 28)


def test_one_process_at_a_time(tmp_path: Path, folder: Path) -> None:
    address = new_address("qdrant", tmp_path / "there")
    push(folder, address)
    with RemoteCollection(address), pytest.raises(InputError, match=r"another process uses this folder"):
        push(folder, address)
    assert push(folder, address).unchanged == 30


def test_the_extra_is_named(kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    extra, package = {"qdrant": ("qdrant", "qdrant_client"), "postgresql": ("postgres", "psycopg")}[kind]
    monkeypatch.delitem(sys.modules, f"sciprism.databases.{extra}", raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match=f'needs the "{extra}" extra'):
        push(folder, ADDRESSES[kind])


def test_the_commands(address: str, tmp_path: Path, tiny_model: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "papers.jsonl").write_text("".join(json.dumps(paper.to_json()) + "\n" for paper in random_papers(20)))

    def command(*words: Any) -> tuple[int, str, str]:
        return run(monkeypatch, capsys, *words)

    assert command("embed", "papers.jsonl", "-o", "here", "--model", tiny_model, "--pooling", "mean")[0] == 0
    status, printed, error = command("push", "here", "--to", address)
    assert status == 0 and "20 new, 0 changed, 0 unchanged, 0 deleted" in printed and "recall@10 1.000" in printed
    status, printed, _ = command("push", "here", "--to", address, "--json")
    document = json.loads(printed)
    assert document["schema"] == "sciprism.push/2" and document["unchanged"] == 20
    for words in (["word3", "word5"], ["-q", "word3 word5", "-q", "word7", "--year", "1960-", "--field", "physics"]):
        _, here, _ = command("search", "here", *words, "--mode", "exact", "--json")
        status, there, error = command("search", "--in", address, *words, "--mode", "exact", "--json")
        ours, theirs = json.loads(here), json.loads(there)
        assert (status, error) == (0, "") and theirs["collection"] == address and ours["rankings"]
        for our, their in zip(ours["rankings"], theirs["rankings"], strict=True):
            for hit, other in zip(our["hits"], their["hits"], strict=True):
                assert other.pop("score") == pytest.approx(hit.pop("score"), rel=1e-4, abs=1e-5)
                assert other == hit
    assert "[paper/" in command("search", "--in", address, "word3", "--mode", "hybrid")[1]
    assert "no paper of" in command("search", "--in", address, "word3", "--venue", "nowhere")[2]
    assert "leave one out" in command("search", "--in", address, "word3", "--year", "2500")[2]
    assert command("search")[0] == 2
