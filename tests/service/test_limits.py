"""Requests that could cost much, or that guess: each is refused for what its limit costs, and delays nobody."""

import asyncio
import json
import threading

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("httpx2")  # of the test client

from build_service import TOKEN, start
from sciprism.service import limits
from sciprism.service.batching import CallGroups, TokenBatcher
from sciprism.service.limits import CLIENT, Gatekeeper
from sciprism.service.responses import Refusal

ORIGIN = {"origin": "http://localhost:8000"}
HALF = r"\ud800"
JSON = {"content-type": "application/json"}
FORM = {"content-type": "application/x-www-form-urlencoded"}


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        ("/search?q=%20", None, 400, "query 1 is empty"),
        ("/search?q=a&colour=red", None, 422, "colour"),
        ("/search?q=a&mode=lexical&why=false", None, 400, "sciprism index five --lexical"),
        ("/search?q=a&collection=fife", None, 404, "the nearest: five"),
        ("/papers/hallo", None, 404, "five has no paper with the id 'hallo'; the nearest: 'halo'"),
        ("/nowhere", None, 404, "Not Found"),
        ("/v1/embeddings", {"input": [1, 2]}, 400, "check_embedding_ctx_length=False"),
        ("/v1/embeddings", {"input": [[1], [2]]}, 400, "send texts"),
        ("/v1/embeddings", {"input": ["a", " "]}, 400, "text 2 is empty"),
        ("/v1/embeddings", {"input": "a", "dimensions": 7}, 400, "has 32"),
        ("/v1/embeddings", {"input": "a", "model": "ada"}, 404, "no model 'ada'"),
        ("/v1/embeddings", {"input": "gene " * 600, "truncate": False}, 413, "the 512 that the model reads"),
        ("/v1/embeddings", {"input": ["a"] * 2049}, 413, "at most 2,048"),
        ("/v1/embeddings", {"model": "ada"}, 400, "input: Field required"),
        ("/v1/embeddings", {"input": "a", "encoding_format": "hex"}, 400, "'float' or 'base64'"),
        ("/sign-in", b"a=1&" * 20_000, 413, "larger than 0.064 MB"),
        ("/library/five/screening", b"a=1&" * 20_000, 413, "larger than 0.064 MB"),
        ("/search", b'{"q": ["' + b"a" * 1_100_000 + b'"]}', 413, "larger than 1 MB"),
        ("/v1/embeddings", b'{"input": [' + b"null," * 300_000 + b"null]}", 400, "body.input"),
        ("/v1/embeddings", b'{"input": [' + b"[]," * 300_000 + b"[]]}", 400, "at most 100000"),
        ("/embed", b'{"inputs": [' + b"1," * 300_000 + b"1]}", 422, "body.inputs"),
        ("/search", b'{"a": ' + b'1, "b": ' * 60_000 + b"1}", 422, "'a' is unknown"),
        ("/tag", b'{"papers": [{"ids": {' + b",".join(b'"%d":1' % n for n in range(90_000)) + b"}}]}", 422, "ids.0"),
        ("/tag", b'{"papers": [' + b'{"x": 1},' * 90_000 + b"1]}", 422, "'x' is unknown"),
        ("/similar", b'{"papers": [' + b'"a",' * 90_000 + b'"a"]}', 422, "papers.0"),
        ("/v1/embeddings", b'{"input": ' + b"[" * 90_000, 400, "recursion"),
        ("/v1/embeddings", b'{"input": ' + b"9" * 90_000 + b"}", 400, "out of range"),
        ("/v1/embeddings", {"input": "a", "model": "\x01" * 900}, 404, "no model"),
        ("/v1/embeddings", {"input": "a", "model": "m" * 90_000}, 400, "model"),
        ("/v1/embeddings", f'{{"model": "m",\n "input": ["a", "b: {HALF}"]}}'.encode(), 400, "line 2 column 27"),
        ("/tag", f'{{"papers": [{{"id": "{HALF}"}}]}}'.encode(), 400, "line 1 column"),
        ("/search", b'{"q": ["\xff"]}', 400, "line 1 column"),
        ("/search", b'{"q": ["\xed\xa0\x80"]}', 400, "line 1 column"),
    ],
)
def test_what_is_refused_says_why_in_few_words_and_names_no_path(client, folder, path, body, status, words):
    sent = json.dumps(body).encode() if isinstance(body, dict) else body
    kind = JSON if sent and sent.startswith(b"{") else FORM
    answer = client.get(path) if sent is None else client.post(path, content=sent, headers=kind)
    assert answer.status_code == status and words in answer.json()["error"]["message"], answer.text
    assert str(folder.parent) not in answer.text and len(answer.content) <= 4096


def test_guesses_are_slowed_before_they_are_looked_at(tmp_path, monkeypatch):
    path = tmp_path / "tokens"
    path.write_text(f"ada: {TOKEN}\n")
    keeper = Gatekeeper(path)

    def ask(token, address="192.0.2.1"):
        try:
            return keeper.find_owner(token, address)
        except Refusal as error:
            return error.status

    assert ask(TOKEN) == "ada" and [ask(f"wrong {n}") for n in range(3)] == ["", 429, 429]
    assert ask(TOKEN) == "ada" and ask(TOKEN, "192.0.2.2") == "ada"
    assert [ask("wrong", "192.0.2.3") for _ in range(2)] == ["", 429] and ask(TOKEN, "192.0.2.3") == 429
    monkeypatch.setattr(limits, "PENALTY", 0)
    keeper._penalties.clear()
    assert [ask("wrong"), ask("wrong"), ask(TOKEN, "192.0.2.3")] == ["", "", "ada"]


def test_signing_out_ends_the_session_for_all_who_have_its_cookie(folder, tmp_path):
    path = tmp_path / "tokens"
    path.write_text(f"ada: {TOKEN}\n")
    with start([folder], token_file=path) as client:
        client.post("/sign-in", data={"token": TOKEN})
        stolen = {"cookie": f"sciprism_session={client.cookies['sciprism_session']}"}
        client.cookies.clear()
        assert client.get("/search?q=a", headers=stolen).status_code == 200
        assert client.post("/sign-out", headers=stolen | ORIGIN).status_code == 303
        assert client.get("/search?q=a", headers=stolen).status_code == 401


def test_work_that_nobody_waits_for_ends(client):
    """A search that was given up leaves its thread at its next texts; one of several that wait for it does not."""
    state, ended, cancelled = client.app.state.service, threading.Event(), []

    def work(stored, encoder):
        try:
            while True:
                encoder.encode(["dna"] * 3)
        finally:
            ended.set()

    async def give_up():
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(state.use("ada", "five", work), 0.2)

    async def group():
        async def work(items):
            try:
                await asyncio.sleep(0.1)
            except asyncio.CancelledError:
                cancelled.append(items)
                raise
            return [*items]

        groups = CallGroups(2)
        tasks = [asyncio.create_task(groups.run("k", [*range(n, n + 2 - n % 2)], work)) for n in (0, 2, 3, 5)]
        await asyncio.sleep(0.02)
        tasks[0].cancel()  # the only one of its group
        await asyncio.sleep(0.02)
        tasks[2].cancel()  # of a group of two
        return await tasks[3]

    client.portal.call(give_up)
    assert ended.wait(5)
    assert asyncio.run(group()) == [5] and cancelled == [[0, 1]]


def test_a_client_has_a_share_of_the_queue_and_its_turn(tiny_encoder):
    async def encode(batcher, client, texts):
        CLIENT.set(client)
        return await batcher.encode(texts, format="proximity", role="paper")

    async def run():
        batches = []
        batcher = TokenBatcher(tiny_encoder, budget=400, queue=400, on_batch=lambda *batch: batches.append(batch))
        many = [asyncio.create_task(encode(batcher, "mallory", ["dark matter " * 20] * 20)) for _ in range(10)]
        await asyncio.sleep(0)
        with pytest.raises(Refusal):
            await encode(batcher, "mallory", ["dna"])
        while not batches:
            await asyncio.sleep(0.001)
        before = len(batches)
        await encode(batcher, "ada", ["dna"])
        passed = len(batches) - before
        for task in many:
            task.cancel()
        return passed

    assert asyncio.run(run()) <= 3


@pytest.mark.slow
def test_no_attack_delays_another_client(tmp_path, folder):
    """Prints each delay; on a machine that others use, the noise is the slowest answer without any attack."""
    serve = pytest.importorskip("serve")
    (tmp_path / "tokens").write_text(serve.attacks.TOKENS)
    options = ["--token-file", str(tmp_path / "tokens")]
    with serve.start("sciprism", "", tmp_path, folder, *options, token=serve.attacks.OTHER) as (address, pid):
        for name, found in asyncio.run(serve.attacks.measure(address, pid)).items():
            delay = found["beside"]["median"] - found["alone"]["median"]
            assert delay < 0.5 and found["seconds_after"] < 20, (name, found)
