"""The service over HTTP, in process: what its addresses answer, whom it lets in, and what it refuses."""

import asyncio
import base64
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx2")  # of the test client

from fastapi import FastAPI, Request
from starlette.responses import Response
from starlette.testclient import TestClient

from build_service import TOKEN, start, wait_for_upload
from five_papers import PAPERS
from sciprism.errors import InputError
from sciprism.service import limits
from sciprism.service.limits import CLIENT, BoundedRoute
from sciprism.service.responses import Refusal, UnknownNameError, error_response
from sciprism.service.settings import ServeSettings
from sciprism.service.state import ServedCollections, ServiceState, build_library
from sciprism.service.workspace import Background, Workspace
from sciprism.store import delete, embed
from sciprism.uses.collection import Collection

PAGE = {"accept": "text/html"}
BEARER = {"authorization": f"Bearer {TOKEN}"}


@pytest.fixture(scope="module")
def guarded(folder, tmp_path_factory) -> Iterator[TestClient]:
    tokens = tmp_path_factory.mktemp("tokens") / "tokens"
    tokens.write_text(f"# whose\nada: {TOKEN}\n")
    with start([folder], token_file=tokens, max_body=0.001) as client, pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "PENALTY", 0)
        yield client


def test_search_has_the_document_of_the_command(client, folder, tiny_encoder):
    hits = Collection(folder).rank(tiny_encoder, ["dark matter"], 2, "exact", None, True)[0].to_json()["hits"]
    for answer in (
        client.get("/search", params={"q": "dark matter", "k": 2}),
        client.post("/search", json={"q": ["dark matter"], "k": 2}),
    ):
        document = answer.json()
        assert document.keys() == {"schema", "collection", "mode", "rankings"} and document["collection"] == "five"
        ranked = document["rankings"][0]["hits"]
        assert [hit["id"] for hit in ranked] == [hit["id"] for hit in hits]
        assert [hit["score"] for hit in ranked] == pytest.approx([hit["score"] for hit in hits], abs=1e-6)
        assert [hit["why"] for hit in ranked] == [hit["why"] for hit in hits]


def test_embeddings_have_the_shape_of_openai(client, tiny_encoder):
    texts = ["dark matter", "dna"]
    vectors = tiny_encoder.encode_document(texts, normalize_embeddings=True)
    model = client.get("/v1/models").json()["data"][0]["id"]
    answer = client.post("/v1/embeddings", json={"model": model, "input": texts}).json()
    assert answer["usage"] == {"prompt_tokens": 7, "total_tokens": 7} and answer["model"] == model
    assert [row["index"] for row in answer["data"]] == [0, 1]
    np.testing.assert_allclose([row["embedding"] for row in answer["data"]], vectors, atol=1e-6)
    packed = {"model": f"{model}-query", "input": "dna", "encoding_format": "base64", "dimensions": 32, "user": "x"}
    (row,) = client.post("/v1/embeddings", json=packed).json()["data"]
    query = tiny_encoder.encode_query("dna", normalize_embeddings=True)
    np.testing.assert_allclose(np.frombuffer(base64.b64decode(row["embedding"]), "<f4"), query, atol=1e-6)
    long = client.post("/v1/embeddings", json={"input": ["gene " * 600, "gene"]})
    assert long.headers["x-truncated-texts"] == "1"


def test_embeddings_and_rankings_of_text_embeddings_inference(client, tiny_encoder):
    for path in ("/embed", "/"):
        assert client.post(path, json={"inputs": "dna"}).json() == client.post(path, json={"inputs": ["dna"]}).json()
    raw = client.post("/embed", json={"inputs": "dna", "normalize": False}).json()
    np.testing.assert_allclose(raw, tiny_encoder.encode_document(["dna"]), atol=1e-6)
    body = {"query": "dark matter", "texts": ["dna", "dark matter halos"], "return_text": True}
    ranked = client.post("/rerank", json=body).json()
    assert [(row["index"], row["text"]) for row in ranked] == [(1, "dark matter halos"), (0, "dna")]
    cosine = tiny_encoder.similarity(tiny_encoder.encode_query("dark matter"), tiny_encoder.encode_document(["dna"]))
    assert ranked[1]["score"] == pytest.approx(cosine.item(), abs=1e-6)
    facts = client.get("/info").json()
    assert facts["max_input_length"] == 512 and facts["model_sha"] == tiny_encoder.fingerprint


def test_null_is_the_default_of_every_optional_field(client):
    """LiteLLM and Dify send null for what nobody stated."""
    optional = dict.fromkeys(("model", "encoding_format", "dimensions", "input_type", "format", "truncate"))
    for path, body, fields in (
        ("/v1/embeddings", {"input": ["frogs"]}, optional),
        ("/embed", {"inputs": ["frogs"]}, dict.fromkeys(("normalize", "prompt_name", "truncate", "dimensions"))),
        ("/rerank", {"query": "a", "texts": ["b"]}, dict.fromkeys(("raw_scores", "return_text", "truncate"))),
    ):
        plain, nulls = client.post(path, json=body), client.post(path, json=body | fields)
        assert nulls.status_code == 200 and nulls.content == plain.content


@pytest.mark.parametrize("stripped", [True, False], ids=["path taken off", "path left"])
def test_below_a_path_of_a_proxy_every_address_leads_there(folder, tmp_path, stripped):
    (tmp_path / "tokens").write_text(f"ada: {TOKEN}\n")
    words = {"token_file": tmp_path / "tokens", "workspace": tmp_path / "work", "root_path": "papers/"}
    with start([folder], **words) as client:
        before = "" if stripped else "/papers"
        assert client.get(f"{before}/ready").status_code == 200
        asked = client.get(f"{before}/library/five", headers=PAGE)
        assert asked.status_code == 303
        assert asked.headers["location"] == "/papers/sign-in?next=%2Fpapers%2Flibrary%2Ffive"
        form = {"token": TOKEN, "next": "/papers/library/five"}
        entered = client.post(f"{before}/sign-in", data=form, headers={"origin": "http://localhost:8000"})
        assert entered.headers["location"] == "/papers/library/five"
        assert client.get(f"{before}/", headers=PAGE).headers["location"] == "/papers/library/five"
        paths = ("library/five?q=ice", "library/five/papers/p1", "uploads", "matching", "docs", "library/five/tags")
        for path in paths:
            text = client.get(f"{before}/{path}", headers=PAGE).text
            addresses = re.findall(r'(?:href|src|action)="(/[^"]*)"', text)
            assert len(addresses) > 3 and not [found for found in addresses if not found.startswith("/papers/")], path
        assert client.get(f"{before}/static/style.css").status_code == 200
        assert client.head(f"{before}/health").status_code == client.head(f"{before}/").status_code - 103 == 200


def test_similar_papers_and_papers(client):
    near = client.get("/similar", params={"to": "crispr", "k": 1}).json()["rankings"][0]["hits"]
    assert [hit["id"] for hit in near] == ["editing"]
    new = {"papers": [{"id": "new", "abstract": "A guide RNA directs the enzyme."}], "k": 2, "why": False}
    given = client.post("/similar", json=new).json()["rankings"][0]
    assert given["query"] == "new" and {hit["id"] for hit in given["hits"]} == {"crispr", "editing"}
    assert client.get("/papers/halo").json()["paper"]["year"] == 1997
    assert client.get("/papers/halo", params={"format": "ris"}).text.startswith("TY  - JOUR\nID  - halo\n")


def test_pages_are_escaped_and_carry_a_policy(client):
    answer = client.get("/library/five", params={"q": "<script>x</script> matter"}, headers=PAGE)
    assert answer.status_code == 200 and "<script>" not in answer.text and "&lt;script&gt;" in answer.text
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    assert "access-control-allow-origin" not in answer.headers
    assert client.get("/library/fife", headers=PAGE).status_code == 404
    assert "POST /v1/embeddings" in client.get("/docs", headers=PAGE).text
    assert client.get("/", headers=PAGE).headers["location"] == "/library/five"


def test_other_computers_need_a_token(guarded):
    assert [guarded.get(path).status_code for path in ("/health", "/search?q=a", "/metrics")] == [200, 401, 401]
    assert guarded.get("/search?q=a", headers=BEARER).status_code == 200
    assert guarded.get("/search?q=a", headers={"authorization": "Bearer wrong"}).status_code == 401
    assert guarded.get("/search?q=a", headers=PAGE).headers["location"] == "/sign-in?next=%2Fsearch%3Fq%3Da"


def test_a_session_changes_nothing_for_another_sites_page(guarded):
    assert guarded.post("/sign-in", data={"token": "wrong"}).status_code == 401
    assert "five" not in guarded.get("/sign-in", headers=PAGE).text
    answer = guarded.post("/sign-in", data={"token": TOKEN, "next": "//evil.example"})
    cookie = answer.headers["set-cookie"]
    assert answer.headers["location"] == "/" and "HttpOnly" in cookie and "SameSite=lax" in cookie
    for headers, status in (
        ({}, 403),
        ({"origin": "https://evil.example"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"origin": "http://localhost:8000"}, 200),
        ({"sec-fetch-site": "same-origin"}, 200),
        (BEARER, 200),
    ):
        assert guarded.post("/search", json={"q": ["a"]}, headers=headers).status_code == status, headers
    guarded.cookies.clear()
    forged = {"cookie": f"{cookie.partition(';')[0]}0"}
    assert guarded.get("/search?q=a", headers=forged).status_code == 401


def test_foreign_hosts_origins_and_large_bodies_are_refused(client, guarded):
    assert client.get("/health", headers={"host": "evil.example"}).status_code == 400
    assert client.get("/health", headers={"host": "192.0.2.7:8000"}).status_code == 200
    for origin in ("https://evil.example", "http://[", "null"):
        assert client.post("/search", json={"q": ["a"]}, headers={"origin": origin}).status_code == 403
    chunks = (b"x" * 600 for _ in range(4))
    assert guarded.post("/search", content=chunks, headers=BEARER).status_code == 413


def test_a_browser_sees_a_page_for_every_refusal(client, guarded, monkeypatch):
    assert "<h1" in client.get("/health", headers={"host": "evil.example", **PAGE}).text
    large = guarded.post("/search", json={"q": ["a" * 2000]}, headers=BEARER | PAGE)
    assert large.status_code == 413 and "larger than 0.001 MB" in large.text and "<h1" in large.text
    monkeypatch.setattr(limits, "PENALTY", 2)
    pages = [guarded.post("/sign-in", data={"token": f"wrong {n}"}, headers=PAGE) for n in range(2)]
    assert pages[-1].status_code == 429 and int(pages[-1].headers["retry-after"]) >= 1 and "<h1" in pages[-1].text
    assert "default-src 'none'" in pages[-1].headers["content-security-policy"]


def test_settings_and_tokens_are_checked(tmp_path):
    with pytest.raises(InputError, match="--token-file, or pass --no-auth"):
        ServeSettings(host="0.0.0.0")
    for odd in ({"queue": 0}, {"quota": float("nan")}):
        with pytest.raises(InputError, match="give a positive number"):
            ServeSettings(**odd)
    for text in ("secret", f"{'ж' * 38}: {TOKEN}"):  # whose folder would have too long a name
        (tmp_path / "weak").write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match="line 1: write a token of at least 16"):
            ServiceState(ServeSettings(token_file=tmp_path / "weak"), ServedCollections([]))


def test_a_changed_collection_is_served_without_a_restart(tmp_path, tiny_encoder):
    embed(PAPERS[:2], tiny_encoder, tmp_path / "five")
    with start([tmp_path / "five"]) as client:
        assert client.get("/papers/crispr").status_code == 404
        embed(PAPERS, tiny_encoder, tmp_path / "five")
        assert client.get("/papers/crispr").status_code == 200
        delete(tmp_path / "five", ["crispr"])
        assert client.get("/papers/crispr").status_code == 404
        (tmp_path / "five" / "manifest.json").write_text("{")
        assert client.get("/papers/halo").status_code == 200


def test_metrics_count_requests_by_route(client):
    client.get("/papers/halo")
    text = client.get("/metrics").text
    assert re.search(r'sciprism_request_seconds_count\{method="GET",path="/papers/\{id:path\}",status="200"\}', text)
    assert "sciprism_queue_texts 0.0" in text
    client.request("BREW", "/papers/halo")
    text = client.get("/metrics").text
    assert 'method="other"' in text and "BREW" not in text  # else clients could fill the memory with labels


BIB = "@misc{a, title={Dark matter halos}}\n@misc{b, title={A guide RNA}}\n@misc{c}\n"


def test_an_upload_is_a_collection_of_its_owner(folder, tmp_path):
    (tmp_path / "tokens").write_text(f"ada: {TOKEN}\nbob: {TOKEN[::-1]}\n")
    ada, bob = BEARER, {"authorization": f"Bearer {TOKEN[::-1]}"}
    settings = {"workspace": tmp_path / "work", "token_file": tmp_path / "tokens", "quota": 0.02}
    with start([folder], **settings) as client:
        place = "/workspace/collections"
        answer = client.post(place, params={"filename": "../my refs.bib"}, content=BIB, headers=ada)
        assert answer.status_code == 202 and answer.json()["name"] == "../my refs.bib"
        id = answer.json()["id"]
        upload = wait_for_upload(client, id, ada)
        assert (upload["state"], upload["papers"], upload["skipped"]) == ("ready", 2, 1)
        assert "record 3" in upload["reasons"][0] and str(tmp_path) not in str(upload)
        query = {"q": "halos", "collection": id, "mode": "hybrid", "k": 1}
        assert client.get("/search", params=query, headers=ada).json()["rankings"][0]["hits"][0]["id"] == "a"
        assert client.get("/search", params=query, headers=bob).status_code == 404
        missing = client.get("/papers/c", params={"collection": id}, headers=ada).json()["error"]["message"]
        assert missing.startswith(f"{id} has no paper with the id 'c'")
        assert client.delete(f"{place}/{id}", headers=bob).status_code == 404
        assert client.get(place, headers=bob).json()["collections"] == []
        full = client.post(place, params={"filename": "b.bib"}, content=BIB, headers=ada)
        assert full.status_code == 507 and "0.0 of your 0.02 MB are free" in full.text
        assert client.delete(f"{place}/{id}", headers=ada).status_code == 204
        assert not [path for path in (tmp_path / "work").rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("refs.sqlite", b"x", "not of a kind that can be uploaded"),
        ("refs.bib", b"\x1f\x8b\x08", "compressed or a database"),
        ("refs.bib", b" ", "the file is empty"),
    ],
)
def test_uploads_that_are_refused(work_client, name, content, words):
    answer = work_client.post("/workspace/collections", params={"filename": name}, content=content)
    assert answer.status_code == 400 and words in answer.text


@pytest.fixture(scope="module")
def work_client(folder, tmp_path_factory) -> Iterator[TestClient]:
    with start([folder], workspace=tmp_path_factory.mktemp("work")) as client:
        yield client


def test_names_that_look_like_uploads(folder, tmp_path, work_client):
    for id in ("upload-%00", "upload-0123456789abcdef", "uploads"):
        assert work_client.get(f"/library/{id}").status_code == 404
        assert work_client.get(f"/workspace/collections/{id}").status_code == 404
    shutil.copytree(folder, tmp_path / "upload-five")
    with start([tmp_path / "upload-five"], workspace=tmp_path / "work") as client:
        assert client.get("/library/upload-five").status_code == 200


def test_simultaneous_uploads_stay_within_the_quota(tmp_path):
    workspace = Workspace(tmp_path, Background(), quota=0.03, expiry=3)

    def create(number):
        try:  # three blocks: the file, the record, the folder
            return workspace.create("ada", "notes", str(number), {"a.txt": b"a"})
        except Refusal:
            return None

    with ThreadPoolExecutor(8) as threads:
        created = [*filter(None, threads.map(create, range(8)))]
    assert len(created) == 2 and workspace.count_bytes("ada") <= 30_000


def test_the_workspace_forgets_what_expired_and_what_a_kill_left(tmp_path, monkeypatch):
    workspace = Workspace(tmp_path, Background(), quota=1, expiry=3)
    item, other = (workspace.create("ada", "notes", name, {"a.txt": b"a"}) for name in ("old", "new"))
    for name in (".draft-notes-1", ".draft-notes-2"):
        (tmp_path / "owner-ada" / name).mkdir()
    os.utime(tmp_path / "owner-ada" / ".draft-notes-1", (0, 0))  # of a service that was killed; 2 is being written
    os.utime(item.folder / "item.json", (0, 0))
    (tmp_path / "owner-ada" / ".gone-notes-1").mkdir()
    (tmp_path / "owner-ada" / "notes-without-record").mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(workspace, "list_items", lambda: [item, item])  # as if another request deleted it meanwhile
        workspace.clean()
    assert workspace.list_items("ada") == [other]
    for id in (item.id, "../owner-ada", ".gone-notes-1", "notes-without-record"):
        with pytest.raises(UnknownNameError):
            workspace.find("ada", id)
    names = {path.name for path in (tmp_path / "owner-ada").iterdir()}
    assert ".gone-notes-1" not in names and ".draft-notes-1" not in names and ".draft-notes-2" in names


def test_tags(folder, tmp_path, tiny_encoder):
    (tmp_path / "fields.csv").write_text("id,name\nsky,dark matter\nlife,enzyme\n")
    with start([folder], tagger=(tmp_path / "fields.csv",)) as client:
        body = {"papers": ["crispr", {"title": "Dark matter in a galaxy"}], "threshold": 0, "limit": 1}
        document = client.post("/tag", json=body).json()
        assert document.keys() == {"schema", "labels", "trained", "threshold", "papers"}
        first = [(paper["id"], paper["tags"][0]["uri"]) for paper in document["papers"]]
        assert first == [("crispr", "life"), ("paper", "sky")]
        assert client.post("/tag", json=body | {"tagger": "mesh"}).status_code == 404
        assert "crisp" in client.post("/tag", json=body | {"papers": ["crisp"]}).text


def test_a_full_queue_and_a_passed_deadline_have_their_status(client, monkeypatch):
    state = client.app.state.service
    batcher = state.find_batcher("")
    client.cookies.clear()  # of a page
    monkeypatch.setattr(batcher, "waiting", batcher.queue)
    full = client.post("/v1/embeddings", json={"input": "dna"})
    assert full.status_code == 429 and int(full.headers["retry-after"]) >= 1
    assert full.json()["error"]["type"] == "rate_limit_error"
    monkeypatch.undo()
    with start([], deadline=0.05) as slow:
        monkeypatch.setattr(slow.app.state.service.searches, "run", lambda *_: asyncio.sleep(1))
        late = slow.get("/search?q=a")
        assert late.status_code == 504 and "longer than 0.05 s" in late.text


def test_a_long_upload_is_read_to_its_end_unless_it_stalls():
    app = FastAPI()
    app.state.service = SimpleNamespace(settings=ServeSettings(deadline=0.08))
    app.add_exception_handler(Refusal, lambda _, refusal: error_response(refusal.status, refusal.message))
    app.router.route_class = BoundedRoute

    @app.post("/workspace/a")
    async def answer(request: Request) -> Response:
        return Response(await request.body())

    ended = []

    async def post(pause, size=100, client=""):
        CLIENT.set(client)
        sent, left = [], iter([True] * 5 + [False])

        async def receive():
            await asyncio.sleep(pause)
            return {"type": "http.request", "body": b"x" * size, "more_body": next(left)}

        async def send(message):
            sent.append(message)

        scope = {"type": "http", "method": "POST", "path": "/workspace/a", "headers": [], "query_string": b""}
        await app(scope, receive, send)
        ended.append((client, size))
        return sent[0]["status"], sent[1]["body"]

    async def crowd():
        slow = [asyncio.create_task(post(0.05, 20_000, "ada")) for _ in range(4)]
        await asyncio.sleep(0.22)
        await asyncio.gather(*slow, post(0.001, 20_000, "ada"), post(0.001, 100, "ada"), post(0.001, 20_000, "bob"))

    assert asyncio.run(post(0.02)) == (200, b"x" * 600) and asyncio.run(post(0.2))[0] == 504
    ended.clear()
    asyncio.run(crowd())  # four large bodies of a client come slowly: a fifth waits, small ones and others do not
    assert {*ended[:2]} == {("ada", 100), ("bob", 20_000)} and ended[2:] == [("ada", 20_000)] * 5


def test_a_collection_of_a_model_that_is_gone_says_so(client, monkeypatch):
    monkeypatch.setattr(client.app.state.service, "batchers", {"other": client.app.state.service.find_batcher("")})
    answer = client.get("/search?q=dna")
    assert answer.status_code == 400 and "a model that is not served" in answer.text


def test_a_failure_says_nothing_of_texts(client, monkeypatch, caplog):
    async def fail(*_):
        raise RuntimeError("secret words")

    monkeypatch.setattr(client.app.state.service.searches, "run", fail)
    with caplog.at_level("INFO", "sciprism.service"):
        answer = client.get("/search?q=secret+query")
        page = client.get("/search?q=secret+query", headers=PAGE)
    assert answer.status_code == 500 and "secret" not in answer.text
    assert page.status_code == 500 and "secret" not in page.text and "<h1" in page.text and "the log says" in page.text
    lines = [record.getMessage() for record in caplog.records if record.name == "sciprism.service"]
    assert "secret" not in "".join(lines) and lines[0].startswith("failed: RuntimeError in test_service.py:")
    assert lines[-1].startswith("GET /search 500 in ")


GROWTH = """
import ctypes, torch
from sciprism.service.app import PRODUCTS, bound_memory
class Facts(ctypes.Structure):
    _fields_ = [(str(number), ctypes.c_size_t) for number in range(10)]
library = ctypes.CDLL(None)
library.mallinfo2.restype = Facts
bound_memory()
torch.set_num_threads(1)
weight, used = torch.ops.mkldnn._reorder_linear_weight(torch.randn(384, 64)), []
for rows in range(1, 3 * PRODUCTS):
    torch.ops.mkldnn._linear_pointwise(torch.randn(rows, 64), weight, None, "none", [], "")
    if rows % PRODUCTS == 0:
        facts = library.mallinfo2()
        used.append(sum(getattr(facts, field) for field in ("4", "7")))
print((used[1] - used[0]) / PRODUCTS)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the C library counts its memory on Linux")
def test_products_of_ever_new_numbers_of_rows_take_no_more_memory():
    limits = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY")
    environment = {name: value for name, value in os.environ.items() if name not in limits}
    answer = subprocess.check_output([sys.executable, "-c", GROWTH], env=environment, text=True, timeout=120)
    assert float(answer) < 50_000


def test_files_are_embedded_again_only_where_they_changed(tmp_path):
    ris = "TY  - JOUR\nID  - {}\nTI  - {}\nAU  - Keller, Ada\nPY  - {}\nJO  - Tides\nVL  - 4\nSP  - {}\nER  - \n\n"
    sea, land = ris.format("a", "Waves of the sea", 1999, 12), ris.format("b", "Dunes of the land", 2001, 40)
    one, two = tmp_path / "mine.ris", tmp_path / "yours.ris"
    one.write_text(sea + land)
    two.write_text(sea + sea.replace("ID  - a", "ID  - c") + "TY  - JOUR\nER  - \n")
    files = (one, two)
    folder, counts = build_library(files, tmp_path / "cache")
    assert folder.name == "mine" and [*counts.values()] == [3, 1, 1, 1]
    merged, counts = build_library(files, tmp_path / "cache", merge=True)
    assert merged != folder and [*counts.values()] == [2, 2, 0, 1] and (merged / "index" / "lexical").is_dir()
    before = (merged / "manifest.json").read_bytes()
    build_library(files, tmp_path / "cache", merge=True)
    assert (merged / "manifest.json").read_bytes() == before
    one.write_text(land)
    two.write_text(land)
    assert [*build_library(files, tmp_path / "cache", merge=True)[1].values()] == [1, 1, 0, 0], "the sea is gone"
    two.write_text("TY  - JOUR\nER  - \n")
    with pytest.raises(InputError, match="no paper of the input can be used: 1 skipped"):
        build_library([two], tmp_path / "cache")
    with pytest.raises(InputError, match=r"gone\.ris"):
        build_library([tmp_path / "gone.ris"], tmp_path / "cache")
