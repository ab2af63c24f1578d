"""Requests per second and latency of `sciprism serve` against a plain FastAPI server with sentence-transformers.

Both servers run on all cores of this machine, as does the generator of the load, which takes a part of them. In every
round each server takes each load once, one after the other, so that other programs disturb both; next to the clock's
time stands the processor's, which a request costs the server. Texts and queries are titles of papers; searches are
without reasons. Two pairs: the model that ships,
which sentence-transformers opens by its export and computes with sciprism's encoder, so that the servers alone differ;
and all-MiniLM-L6-v2, which it computes itself. Run from the repository root:

    python benchmarks/serve.py COLLECTION -o results/serve.json
    python benchmarks/serve.py COLLECTION --run memory -o results/serve.json
    python benchmarks/serve.py COLLECTION --attack -o results/serve.json
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from pydantic import BaseModel

import attacks
from measurement import build_parser, processor_seconds, provenance, ratio, read_memory, write_result

SERVERS = ("sciprism", "plain")
CLIENTS = (1, 8, 64, 512)
LOADS = ("embed 1 text", "embed 32 texts", "search")
MOST = {"embed 32 texts": 64}
"""Load -> the most clients: a wave of 512 requests with 32 texts is a minute of work."""
START_SECONDS = 120
KEYS = ("per_second", "p50", "p95", "p99", "processor_ms")
Body = Callable[[int], tuple[str, dict[str, Any]]]
"""Number of a request -> its path and its JSON."""


class Texts(BaseModel):
    """What the plain server reads."""

    input: list[str]


def run_plain_server(model: str, papers: Path, port: int) -> None:
    """Serve embeddings and search as one does in twenty lines: a function of each request, in FastAPI's threads."""
    import uvicorn
    from fastapi import FastAPI
    from sentence_transformers import SentenceTransformer

    encoder = SentenceTransformer(model, device="cpu", trust_remote_code=True)
    encoder.max_seq_length = 256
    rows = [json.loads(line) for line in papers.read_text(encoding="utf-8").splitlines()]
    vectors = np.load(papers.with_suffix(".npy")) if papers.with_suffix(".npy").exists() else np.zeros((0, 384), "f4")
    app = FastAPI()

    @app.post("/v1/embeddings")
    def embed(body: Texts) -> dict[str, Any]:
        return {"data": [{"embedding": row} for row in encoder.encode(body.input, normalize_embeddings=True).tolist()]}

    @app.post("/search")
    def search(body: dict[str, Any]) -> dict[str, Any]:
        query = encoder.encode_query(body["q"], normalize_embeddings=True)
        scores = (query @ vectors.T)[0]
        best = np.argpartition(-scores, body["k"])[: body["k"]]
        best = best[np.argsort(-scores[best])]
        return {"hits": [{"score": float(scores[row]), **rows[row]} for row in best.tolist()]}

    uvicorn.run(app, port=port, log_level="error")


@contextmanager
def start(
    server: str, model: str, papers: Path, collection: Path | None, *options: str, token: str = ""
) -> Iterator[tuple[str, int]]:
    """Run a server in a process of its own; yield its address and process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    if server == "sciprism":
        what = [str(collection)] if collection else ["--model", model]
        command = [sys.executable, "-m", "sciprism", "serve", *what, "--port", str(port), *options]
    else:
        command = [sys.executable, __file__, "-", "--papers", str(papers), "--plain", model, "--port", str(port)]
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, stderr=log, stdout=log, env=os.environ | {"HF_HUB_OFFLINE": "1"})
        try:
            asyncio.run(wait_until_ready(f"http://127.0.0.1:{port}", process, token))
            yield f"http://127.0.0.1:{port}", process.pid
        finally:
            process.terminate()
            process.wait()


async def wait_until_ready(address: str, process: subprocess.Popen[bytes], token: str) -> None:
    import aiohttp

    async with aiohttp.ClientSession(headers={"authorization": f"Bearer {token}"}) as session:
        for _ in range(START_SECONDS * 2):
            if process.poll() is not None:
                raise SystemExit(f"the server ended with status {process.returncode}")
            try:
                async with session.post(f"{address}/v1/embeddings", json={"input": ["a"]}) as answer:
                    if answer.status == 200:
                        return
            except aiohttp.ClientError:
                pass
            await asyncio.sleep(0.5)
    raise SystemExit(f"the server was not ready after {START_SECONDS} s")


async def put_load(address: str, body: Body, clients: int, seconds: float, requests: int) -> dict[str, Any]:
    """Let clients send one request after the other, for some seconds and at least some requests of all."""
    import aiohttp

    numbers, statuses, latencies = count(), Counter[int](), list[float]()
    began = time.perf_counter()

    async def act(session: aiohttp.ClientSession) -> None:
        while (number := next(numbers)) < requests or time.perf_counter() - began < seconds:
            path, document = body(number)
            start = time.perf_counter()
            async with session.post(address + path, json=document) as answer:
                await answer.read()
            latencies.append(time.perf_counter() - start)
            statuses[answer.status] += 1

    timeout = aiohttp.ClientTimeout(total=600)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=timeout) as session:
        await asyncio.gather(*(act(session) for _ in range(clients)))
    elapsed = time.perf_counter() - began
    p50, p95, p99 = (round(float(value), 4) for value in np.percentile(latencies, (50, 95, 99)))
    rate = round(statuses[200] / elapsed, 2)
    return {"per_second": rate, "p50": p50, "p95": p95, "p99": p99, "statuses": dict(statuses)}


def build_bodies(papers: Path) -> dict[str, Body]:
    """Return what each load sends; consecutive requests differ."""
    rows = [json.loads(line) for line in papers.read_text(encoding="utf-8").splitlines()]
    titles = [row["title"] for row in rows]

    def pick(number: int, size: int) -> list[str]:
        return [titles[(number * 37 + place) % len(titles)] for place in range(size)]

    return {
        "embed 1 text": lambda number: ("/v1/embeddings", {"input": pick(number, 1)}),
        "embed 32 texts": lambda number: ("/v1/embeddings", {"input": pick(number, 32)}),
        "search": lambda number: ("/search", {"q": pick(number, 1), "k": 10, "why": False}),
    }


def compare(
    started: dict[str, tuple[str, int]], bodies: dict[str, Body], cells: list[tuple[str, int]], args: Any
) -> Any:
    """Return for each load and number of clients what each server did in each round, and the ratios."""
    found: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for number in range(args.rounds):
        for load, clients in cells:
            for server in SERVERS if number % 2 else reversed(SERVERS):
                address, pid = started[server]
                before = processor_seconds(pid)
                measured = asyncio.run(put_load(address, bodies[load], clients, args.seconds, clients))
                spent = processor_seconds(pid) - before
                measured["processor_ms"] = round(1000 * spent / sum(measured["statuses"].values()), 3)
                cell = found.setdefault(f"{load}, {clients} clients", {name: [] for name in SERVERS})
                cell[server].append(measured)
                print(load, clients, server, measured, file=sys.stderr)
    return {name: summarize(cell) for name, cell in found.items()}


def summarize(cell: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Return the medians of the rounds, the statuses of all, and how many times our throughput is theirs."""
    facts: dict[str, Any] = {}
    for server, rounds in cell.items():
        facts[server] = {key: median(run[key] for run in rounds) for key in KEYS}
        statuses = sum((Counter(run["statuses"]) for run in rounds), Counter())
        facts[server] |= {"statuses": {str(key): value for key, value in sorted(statuses.items())}}
    ours, theirs = (cell[server] for server in SERVERS)
    facts["throughput_ratio"] = ratio([run["per_second"] for run in ours], [run["per_second"] for run in theirs])
    facts["processor_ratio"] = ratio([run["processor_ms"] for run in theirs], [run["processor_ms"] for run in ours])
    return facts


def measure_pair(model: str, papers: Path, collection: Path | None, cells: list[tuple[str, int]], args: Any) -> Any:
    with ExitStack() as stack:
        started = {server: stack.enter_context(start(server, model, papers, collection)) for server in SERVERS}
        before = {server: read_memory("VmRSS", pid) for server, (_, pid) in started.items()}
        facts = compare(started, build_bodies(papers), cells, args)
        after = {server: read_memory("VmRSS", pid) for server, (_, pid) in started.items()}
    return {"loads": facts, "memory_mb": {"before": before, "after": after}}


def measure_overload(papers: Path, collection: Path, args: Any) -> dict[str, Any]:
    """Return what 512 clients get of a server whose queue takes 64 texts: answers, and refusals with status 429."""
    with start("sciprism", "", papers, collection, "--queue", "64") as (address, _):
        body = build_bodies(papers)["embed 1 text"]
        return asyncio.run(put_load(address, body, 512, args.seconds, 512))


def measure_loads(papers: Path, collection: Path, args: Any) -> dict[str, Any]:
    """Return what both pairs do under all loads, and what 512 clients get of a short queue."""
    from sciprism.encoders.checkpoints.names import resolve
    from sciprism.store import StoredCollection

    cells = [(load, clients) for load in LOADS for clients in args.clients if clients <= MOST.get(load, 10_000)]
    model, exported = StoredCollection.open(collection).manifest.encoder.name, papers.with_name("exported")
    command = [sys.executable, "-m", "sciprism", "export", model, "-o", str(exported)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    embedding = [cell for cell in cells if cell[0] != "search" and cell[1] <= 64]
    minilm = str(resolve("all-MiniLM-L6-v2")[1])
    pairs = {
        Path(model).name: measure_pair(str(exported), papers, collection, cells, args),
        "all-MiniLM-L6-v2": measure_pair(minilm, papers, None, embedding, args),
    }
    return {"pairs": pairs, "overload": measure_overload(papers, collection, args)}


def measure_memory(papers: Path, collection: Path, args: Any) -> dict[str, Any]:
    """Return the memory of a server at the end of each minute in which eight clients send all loads in turn."""
    megabytes = []
    with start("sciprism", "", papers, collection) as (address, pid):
        bodies = list(build_bodies(papers).values())
        for minute in range(args.minutes):
            load = asyncio.run(put_load(address, lambda number: bodies[number % len(bodies)](number), 8, 60, 0))
            megabytes.append({kind: read_memory(kind, pid) for kind in ("VmRSS", "RssAnon")} | {"load": load})
            print(minute, megabytes[-1], file=sys.stderr)
    return {"minutes": megabytes}


def measure_attacks(papers: Path, collection: Path, args: Any) -> dict[str, Any]:
    """Return what each attack of `attacks.py` does to another client, and to the service."""
    tokens = papers.with_name("tokens")
    tokens.write_text(attacks.TOKENS, encoding="utf-8")
    with start("sciprism", "", papers, collection, "--token-file", str(tokens), token=attacks.OTHER) as (address, pid):
        return {"attacks": asyncio.run(attacks.measure(address, pid))}


RUNS = {"load": measure_loads, "memory": measure_memory, "attack": measure_attacks}


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("collection", type=Path)
    parser.add_argument("--papers", type=Path, help="internal: the papers of the plain server")
    parser.add_argument("--run", choices=RUNS, default="load")
    parser.add_argument("--attack", action="store_const", const="attack", dest="run", help="the same as --run attack")
    parser.add_argument("--name", help="of the run in the result file, where it is another than --run")
    parser.add_argument("--minutes", type=int, default=20, help="of the run `memory`")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--clients", type=int, nargs="+", default=CLIENTS)
    parser.add_argument("--plain", help="internal: run the plain server of this model")
    parser.add_argument("--port", type=int, help="internal")
    args = parser.parse_args()
    if args.plain:
        run_plain_server(args.plain, args.papers, args.port)
        return
    from sciprism import Collection

    library = Collection(args.collection)
    with tempfile.TemporaryDirectory() as name:
        papers = Path(name) / "papers.jsonl"  # those of the collection, in its order, next to their vectors
        rows = ({"title": paper.title, "abstract": paper.abstract} for paper in library)
        papers.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        vectors = library.vectors()
        np.save(papers.with_suffix(".npy"), vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
        measured = RUNS[args.run](papers, args.collection, args)
    settings = {"papers": len(library), "rounds": args.rounds, "seconds": args.seconds}
    packages = ("torch", "fastapi", "uvicorn", "sentence-transformers", "aiohttp")
    write_result(args.output, provenance(packages, **settings, **measured), run=args.name or args.run)


if __name__ == "__main__":
    main()
