"""Small requests that could cost much, each beside another client that embeds a title ten times a second.

The service has tokens: the attacker has one, the other client another, from the same address. Before each attack the
other client is measured alone for as long as during it, at most: what its slowest answer took then is the noise of the
machine. An attack that is not answered is given up after some seconds; what the service still computes is measured.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from statistics import median
from typing import Any

import aiohttp

from measurement import processor_seconds, read_memory

ATTACKER, OTHER = "attacker-0123456789abcdef", "innocent-0123456789abcdef"
TOKENS = f"mallory: {ATTACKER}\nada: {OTHER}\n"
TITLE = {"input": "how the continents moved"}
PATIENCE = 20  # seconds after which an attack is given up
ALONE = 4  # seconds of the other client alone
Send = Callable[..., Awaitable[None]]
Attack = Callable[[Send], Awaitable[Any]]


def embed(given: Any) -> Attack:
    return lambda send: send("/v1/embeddings", json.dumps({"input": given}))


async def search(send: Send) -> None:
    bodies = [{"q": [f"continents {n} {q}" for q in range(256)], "k": 1000, "why": True} for n in range(8)]
    await asyncio.gather(*(send("/search", json.dumps(body)) for body in bodies))


async def hold_bodies(send: Send) -> None:
    async def trickle() -> Any:
        yield b'{"input": "'
        for _ in range(119):
            yield b"x" * 65_536
        await asyncio.sleep(PATIENCE)

    await asyncio.gather(*(send("/v1/embeddings", trickle()) for _ in range(150)))


async def guess(send: Send) -> None:
    for number in range(500):
        asyncio.ensure_future(send("/v1/embeddings", json.dumps(TITLE), token=f"wrong-0123456789abcdef-{number}"))  # noqa: RUF006
        await asyncio.sleep(0.01)


FORM = "application/x-www-form-urlencoded"
ATTACKS: dict[str, Attack] = {
    "a form of a million fields to the sign-in, without a token": lambda send: send(
        "/sign-in", "abcde=1&" * 1_000_000, token="", kind=FORM
    ),
    "2 MB of nulls in place of texts": embed([None] * 400_000),
    "7 MB of unknown names": lambda send: send("/search", json.dumps({f"a{n}": 1 for n in range(500_000)})),
    "one text of 7 MB": embed("frogs live in a pond near the wood " * 200_000),
    "one word of 7 MB": embed("x" * 7_000_000),
    "1,900 texts of 3,850 characters": embed(["frogs live in a pond near the wood " * 110] * 1900),
    "eight searches of 256 queries, k 1000, with reasons": search,
    "150 bodies of 7.8 MB that do not end": hold_bodies,
    "a hundred wrong tokens a second": guess,
}


async def measure(address: str, pid: int, attacks: dict[str, Attack] = ATTACKS) -> dict[str, Any]:
    """Return for each attack the other client's seconds alone and beside it, the answers to it, and what it costs."""
    found = {}
    timeout = aiohttp.ClientTimeout(total=300)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=timeout) as session:
        for name, attack in attacks.items():
            found[name] = await _measure_one(session, address, pid, attack)
            print(name, found[name], flush=True)
            await _rest(pid)
    return found


async def _measure_one(session: aiohttp.ClientSession, address: str, pid: int, attack: Attack) -> dict[str, Any]:
    statuses, longest = Counter[str](), 0

    async def send(path: str, body: Any, *, token: str = ATTACKER, kind: str = "application/json") -> None:
        nonlocal longest
        headers = {"content-type": kind} | ({"authorization": f"Bearer {token}"} if token else {})
        try:
            async with session.post(address + path, data=body, headers=headers, allow_redirects=False) as answer:
                if answer.status != 200:
                    longest = max(longest, len(await answer.read()))
                statuses[str(answer.status)] += 1
                await answer.read()
        except aiohttp.ClientError as error:
            statuses[type(error).__name__] += 1

    alone = await _embed_titles(session, address, asyncio.create_task(asyncio.sleep(ALONE)))
    before, spent = read_memory("VmRSS", pid), processor_seconds(pid)
    task, peak = asyncio.create_task(asyncio.wait_for(attack(send), PATIENCE)), 0.0

    async def watch() -> None:
        nonlocal peak
        while True:
            peak = max(peak, read_memory("VmRSS", pid))
            await asyncio.sleep(0.05)

    watching, began = asyncio.create_task(watch()), time.perf_counter()
    beside = await _embed_titles(session, address, task)
    seconds = time.perf_counter() - began
    with suppress(TimeoutError):
        await task
    after = await _rest(pid)
    watching.cancel()
    return {
        "alone": _summarize(alone),
        "beside": _summarize(beside),
        "seconds": round(seconds, 1),
        "statuses": dict(statuses) | ({"given up": 1} if not task.done() or task.exception() else {}),
        "longest_error": longest,
        "memory_mb": round(peak - before),
        "processor_seconds": round(processor_seconds(pid) - spent, 1),
        "seconds_after": after,
    }


async def _embed_titles(
    session: aiohttp.ClientSession, address: str, until: asyncio.Task[Any]
) -> list[tuple[float, int]]:
    """Return the seconds and the status of each title, ten a second at most, until a task ends, and of one after."""
    headers, seconds = {"authorization": f"Bearer {OTHER}"}, list[tuple[float, int]]()
    while True:
        last, start = until.done(), time.perf_counter()
        try:
            async with session.post(f"{address}/v1/embeddings", json=TITLE, headers=headers) as answer:
                await answer.read()
                status = answer.status
        except aiohttp.ClientError:
            status = 0
        seconds.append((time.perf_counter() - start, status))
        if last:
            return seconds
        await asyncio.sleep(max(0.0, 0.1 - seconds[-1][0]))


async def _rest(pid: int) -> float:
    """Wait until the service computes no more, for a minute at most; return after how many seconds that was."""
    began = time.perf_counter()
    while time.perf_counter() - began < 60:
        spent = processor_seconds(pid)
        await asyncio.sleep(0.5)
        if processor_seconds(pid) - spent < 0.1:
            break
    return round(time.perf_counter() - began - 0.5, 1)


def _summarize(answers: list[tuple[float, int]]) -> dict[str, float]:
    seconds = [each for each, _ in answers]
    failed = sum(status != 200 for _, status in answers)
    return {
        "median": round(median(seconds), 3),
        "most": round(max(seconds), 3),
        "titles": len(seconds),
        "failed": failed,
    }
