"""What somebody sends to the service, over HTTP: it is read as its bytes, bounded, and without waiting for others."""

import errno
import io
import json
import os
import signal
import socket
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi")

from multiprocessing import active_children

from starlette.testclient import TestClient

from build_service import start, wait_for_upload
from five_papers import PAPERS
from sciprism.service import reading
from sciprism.store import embed

ADA, BOB = ({"authorization": f"Bearer {token * 4}"} for token in ("of-ada", "of-bob"))
BIB = "@misc{a, title={Dark matter halos}}"


@pytest.fixture(scope="module")
def place(tmp_path_factory, tiny_encoder) -> Path:
    place = tmp_path_factory.mktemp("sent")
    embed(PAPERS, tiny_encoder, place / "five")
    (place / "tokens").write_text(f"ada: {'of-ada' * 4}\nbob: {'of-bob' * 4}\n")
    (place / "secret.jsonl").write_text('{"id": "s", "title": "A secret"}\n')
    return place


@pytest.fixture(scope="module")
def client(place) -> Iterator[TestClient]:
    settings = {"workspace": place / "work", "token_file": place / "tokens"}
    with start([place / "five"], follow_redirects=True, **settings) as client:
        yield client


@pytest.fixture(scope="module")
def listener() -> Iterator[socket.socket]:
    """Listen, and accept nothing: who asks it waits."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0)
        yield listener


def upload(client: TestClient, content: bytes | str, name: str = "refs.bib", who: dict[str, str] = ADA) -> str:
    answer = client.post("/workspace/collections", params={"filename": name}, content=content, headers=who)
    assert answer.status_code == 202, answer.text
    return answer.json()["id"]


def entries(url: str) -> str:
    return json.dumps({"entries": [{"url": url}]})


def pack_workbook(parts: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return packed.getvalue()


OTHERS = "names other files"
ENTITY = '<!DOCTYPE a [<!ENTITY x SYSTEM "{path}">]>'
HOSTILE = {
    "absolute path": ("x.json", entries("{path}"), OTHERS),
    "relative path": ("x.json", entries("../../../secret.jsonl"), OTHERS),
    "file address": ("x.json", entries("file://{path}"), OTHERS),
    "web": ("x.json", entries("http://127.0.0.1:{port}/a.jsonl"), OTHERS),
    "bucket": ("x.json", entries("s3://a/b.jsonl"), OTHERS),
    "list": ("x.json", '{"files": ["http://127.0.0.1:{port}/a.gz"]}', OTHERS),
    "difference": ("x.json", '{"start_release": "a", "diffs": [{"update_files": ["{path}"]}]}', OTHERS),
    "entity": ("x.xml", ENTITY + "<PubmedArticleSet><PubmedArticle>&x;</PubmedArticle></PubmedArticleSet>", "entity"),
    "definition elsewhere": (
        "x.xml",
        '<!DOCTYPE a SYSTEM "http://127.0.0.1:{port}/a.dtd"><PubmedArticleSet></PubmedArticleSet>',
        "no record",
    ),
    "workbook with links": (
        "x.xlsx",
        pack_workbook({"xl/externalLinks/a.xml": b"<a href='{path}'/>", "secret.zip": pack_workbook({"a": b"a"})}),
        "not a workbook",
    ),
    "bomb": ("x.xlsx", pack_workbook({"xl/worksheets/a.xml": bytes(40_000_000)}), "unpacks to"),
    "columns of others": ("x.csv", "title\n" + "=HYPERLINK({path})," * 20, None),
    "long record": ("x.bib", "@misc{a, title={A}, abstract={%s}}" % ("gene " * 1_000_000), "characters in a line"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_what_was_sent_leads_to_nothing_else(client, place, listener, case):
    name, content, words = HOSTILE[case]
    if isinstance(content, str):
        port = listener.getsockname()[1]
        content = content.replace("{path}", str(place / "secret.jsonl")).replace("{port}", str(port))
    found = wait_for_upload(client, upload(client, content, name), ADA)
    if words is None:
        assert found["state"] == "ready"
    else:
        assert found["state"] == "failed" and words in found["error"] and "secret" not in found["error"]
    with pytest.raises(BlockingIOError):
        listener.accept()
    assert str(place) not in json.dumps(found)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("v.jsonld", '{"@context": "http://127.0.0.1:{port}/c", "@id": "a"}', "is not fetched"),
        ("v.rdf", ENTITY + "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'/>", "in another file"),
        ("v.jsonl", '{"files": ["http://127.0.0.1:{port}/a"]}', "no id"),
        ("v.csv", "SQLite format 3\0", "compressed or a database"),
    ],
)
def test_a_vocabulary_leads_to_nothing_else(client, place, listener, name, text, words):
    text = text.replace("{path}", str(place / "secret.jsonl")).replace("{port}", str(listener.getsockname()[1]))
    body = {"collection": "five", "k": 2, "vocabulary": {"name": name, "text": text}}
    id = client.post("/workspace/tag-reviews", json=body, headers=ADA).json()["id"]
    assert words in wait_for_failure(client, id)
    with pytest.raises(BlockingIOError):
        listener.accept()


def wait_for_failure(client: TestClient, id: str) -> str:
    state = client.app.state.service
    item = state.workspace.find("ada", id)
    while not (described := state.background.describe(item))["error"]:
        time.sleep(0.01)
    assert described["ready"] is False and not [*state.workspace.folder.rglob(".result*")]
    return described["error"]


@pytest.mark.parametrize("part", ["submissions", "reviewers"])
def test_files_of_a_match_lead_to_nothing_else(client, place, part):
    """Nor is a folder of what was sent a collection, whatever one of its files says."""
    (item,) = [path for path in (place / "five").iterdir() if path.name == "manifest.json"]
    for name, text in (("x.json", entries(str(place / "secret.jsonl"))), ("manifest.json", item.read_text())):
        good = [{"name": "ann.bib", "text": BIB}]
        body = {"per_paper": 1, "submissions": good, "reviewers": good}
        body[part] = [*good, {"name": name, "text": text}]
        id = client.post("/workspace/matches", json=body, headers=ADA).json()["id"]
        error = wait_for_failure(client, id)
        assert f"{part}/{name}" in error and str(place) not in error


def test_one_persons_silence_is_ended_and_holds_nobody(client, place, monkeypatch):
    """A pipe that nobody writes stands for a file whose reading never ends."""
    monkeypatch.setattr(reading, "LATEST", 4.0)
    workspace, background = client.app.state.service.workspace, client.app.state.service.background
    silent = [workspace.create("ada", "upload", "silent", {"papers.bib": b"x"}) for _ in range(2)]
    for item in silent:
        (item.folder / "papers.bib").unlink()
        os.mkfifo(item.folder / "papers.bib")
        background.start(item)
    assert wait_for_upload(client, upload(client, BIB, who=BOB), BOB)["state"] == "ready"
    assert client.get(f"/workspace/collections/{silent[0].id}", headers=ADA).json()["state"] == "working"
    assert "ended after 4 s" in wait_for_upload(client, silent[0].id, ADA)["error"]
    monkeypatch.setattr(reading, "LATEST", 60.0)
    while not active_children():
        time.sleep(0.01)
    os.kill(active_children()[0].pid, signal.SIGKILL)
    assert "broke off" in wait_for_upload(client, silent[1].id, ADA)["error"]
    assert not (silent[1].folder / "collection").exists()
    assert wait_for_upload(client, upload(client, BIB), ADA)["state"] == "ready"


def test_a_repeated_id_is_told_without_the_workspace(client, place):
    found = wait_for_upload(client, upload(client, BIB + "@misc{a, title={Proteins fold}}"), ADA)
    assert found["papers"] == 1 and "papers.bib, record 2" in found["reasons"][0] and str(place) not in str(found)


def test_a_full_disk_says_so_and_leaves_no_draft(client, place, monkeypatch):
    def fail(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    id = upload(client, BIB, who=BOB)
    assert wait_for_upload(client, id, BOB)["state"] == "ready"
    desk = client.post(f"/library/{id}/screening", data={"title": "mine"}, headers=BOB, follow_redirects=False)
    before = sorted((place / "work" / "owner-bob").iterdir())
    with monkeypatch.context() as patch:
        patch.setattr("sciprism.service.workspace.write_json", fail)
        patch.setattr("os.fsync", fail)
        full = [
            client.post("/workspace/collections", params={"filename": "a.bib"}, content=BIB, headers=BOB),
            client.post(f"/library/{id}/screening", data={"title": "more"}, headers=BOB, follow_redirects=False),
            client.post(desk.headers["location"], data={"decision": "include", "id": "a"}, headers=BOB),
        ]
    assert [answer.status_code for answer in full] == [507] * 3 and "delete" in full[0].text
    assert sorted((place / "work" / "owner-bob").iterdir()) == before
    assert "0 of 1" in client.get(desk.headers["location"], headers=BOB | {"accept": "text/html"}).text
