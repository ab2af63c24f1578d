"""Encode the texts of many requests together: batches of a number of tokens, shared fairly among the requests."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, wait
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from threading import Barrier, Event
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

import numpy as np
import torch

from sciprism.arrays import Floats
from sciprism.encoders.layers import balanced_batches, pack
from sciprism.encoders.streaming import CPU_BUDGET, CUDA_BUDGET, Inputs, read_inputs
from sciprism.formats import Format, Role
from sciprism.service.limits import CLIENT, Turns
from sciprism.service.responses import Refusal
from sciprism.text.template import FIELDS

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder

Given = TypeVar("Given")
Result = TypeVar("Result")
OnBatch = Callable[[int, int, float], None]
"""Called after a batch with its texts, its tokens and the seconds that it took."""


PART = 8  # texts of a client that are tokenized at a time
WINDOW = 1_024  # texts of a use that are in the queue at one time
THREADS = 4  # that tokenize, each for another client
GIVEN_UP: ContextVar[Event] = ContextVar("given_up", default=Event())  # noqa: B039 (never set)
"""Set where nobody waits any more for what a thread computes."""
WAIT = 5.0  # seconds after which a request may come again that found the queue full
POLL = 1.0  # seconds between two looks at whether the service still runs, and whether a full queue has room


@dataclass(frozen=True, slots=True)
class EncodedTexts:
    """Vectors (n, dim), how many tokens were read, and how many texts were longer than the model reads."""

    vectors: Floats
    tokens: int
    truncated: int


@dataclass(slots=True, eq=False)
class _Job:
    """The texts of one request: token ids, the row of each result; next: the first that is in no batch yet."""

    route: str
    sequences: Sequence[Sequence[int]]
    rows: Floats
    done: asyncio.Future[None]
    unfinished: int
    next: int = 0


class TokenBatcher:
    """A queue before one encoder: texts that arrive while a batch is computed share the next ones.

    Clients take turns, and so do the requests of each: a text a turn, until the batch is full. So a long request delays
    a short one by one batch. budget: tokens of a batch; None takes what suits the device. queue: texts that may wait,
    of which one client's are at most a half.
    """

    def __init__(
        self, encoder: Encoder, *, budget: int | None = None, queue: int = 16_384, on_batch: OnBatch | None = None
    ) -> None:
        self.encoder, self.queue = encoder, queue
        self._workers = torch.get_num_threads() if encoder.device.type == "cpu" else 1
        self._part = CPU_BUDGET if encoder.device.type == "cpu" else CUDA_BUDGET  # tokens of a worker's part
        self.budget = budget or self._part * self._workers
        self.name = Path(encoder.name).name
        self.waiting = 0
        self._waiting_of = Counter[str]()  # texts of each client
        self._jobs: dict[str, deque[_Job]] = {}  # of each client, in the order of their turns
        self._turns = Turns(1)
        self._on_batch = on_batch or (lambda *_: None)
        self._compute = _start_workers(self._workers)  # one batch at a time, on all cores
        self._tokenize = ThreadPoolExecutor(THREADS, "tokenize")
        self._runner: asyncio.Task[None] | None = None

    async def encode(
        self, texts: Sequence[str], *, format: Format, role: Role, truncate: bool = True, patient: bool = False
    ) -> EncodedTexts:
        """Return one row per text; prompts are the caller's to add. patient: wait where too many texts wait.

        Raises Refusal for that otherwise, and for long texts unless they are truncated.
        """
        client, count, loop = CLIENT.get(), len(texts), asyncio.get_running_loop()
        while self._is_full(count, client):
            if not patient:
                raise Refusal.wait(f"{self.waiting:,} texts wait for the model", WAIT)
            await asyncio.sleep(POLL)
        self.waiting, self._waiting_of[client] = self.waiting + count, self._waiting_of[client] + count
        try:
            read = list[tuple[list[int], bool]]()
            for start in range(0, count, PART):
                part = texts[start : start + PART]
                async with self._turns.take(client):
                    read += await loop.run_in_executor(self._tokenize, self.encoder.read_tokens, part)
            sequences, long = [ids for ids, _ in read], sum(longer for _, longer in read)
            if long and not truncate:
                limit = self.encoder.max_seq_length
                raise Refusal(413, f"{long} of the texts have more tokens than the {limit} that the model reads")
            rows = np.empty((count, self.encoder.dim), np.float32)
            if count:
                job = _Job(self.encoder.route(format, role), sequences, rows, loop.create_future(), count)
                self._jobs.setdefault(client, deque()).append(job)
                if self._runner is None or self._runner.done():
                    self._runner = loop.create_task(self._run())
                await job.done
            return EncodedTexts(rows, sum(map(len, sequences)), long)
        finally:
            self.waiting -= count
            self._waiting_of[client] -= count
            self._waiting_of += Counter()  # drops those of 0

    def _is_full(self, count: int, client: str) -> bool:
        own = self._waiting_of[client]
        return bool((own and own + count > self.queue // 2) or (self.waiting and self.waiting + count > self.queue))

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while batch := self._next_batch():
            start = time.perf_counter()
            try:
                parts = [loop.run_in_executor(self._compute, self._encode, *part) for part in self._divide(batch)]
                await asyncio.gather(*parts)
            except Exception as error:  # noqa: BLE001 (each request gets it, and the queue goes on)
                for job in {job for job, _ in batch if not job.done.done()}:
                    job.done.set_exception(error)
                continue
            tokens = sum(len(job.sequences[i]) for job, i in batch)
            self._on_batch(len(batch), tokens, time.perf_counter() - start)
            for job, _ in batch:
                job.unfinished -= 1
                if not job.unfinished and not job.done.done():
                    job.done.set_result(None)

    def _next_batch(self) -> list[tuple[_Job, int]]:
        """Take a text of each client in turn until the batch is full; one at least, where any waits."""
        batch, tokens = list[tuple[_Job, int]](), 0
        budget = self.budget if len(self._jobs) == 1 else self.budget // 4  # short: others wait for it
        while self._jobs:
            client, jobs = next(iter(self._jobs.items()))
            job = jobs[0]
            if not job.done.done():  # others were cancelled, or failed
                tokens += len(job.sequences[job.next])
                if batch and tokens > budget:
                    break
                batch.append((job, job.next))
                job.next += 1
            jobs.popleft()
            del self._jobs[client]
            if job.next < len(job.sequences) and not job.done.done():
                jobs.append(job)
            if jobs:
                self._jobs[client] = jobs  # at the end
        return batch

    def _divide(self, batch: Sequence[tuple[_Job, int]]) -> Iterator[tuple[str, list[tuple[_Job, int]]]]:
        """Yield the parts of a batch: texts of one route, the tokens shared evenly among the workers."""
        for route in dict.fromkeys(job.route for job, _ in batch):
            places = [(job, i) for job, i in batch if job.route == route]
            lengths = [len(job.sequences[i]) for job, i in places]
            for rows in balanced_batches(lengths, self._part, self._workers):
                yield route, [places[row] for row in rows]

    def _encode(self, route: str, part: Sequence[tuple[_Job, int]]) -> None:
        """Write the rows of a part. Raises FloatingPointError for vectors that are not finite."""
        with torch.inference_mode():
            texts = pack([job.sequences[i] for job, i in part], route, device=self.encoder.device)
            rows = self.encoder.vectors(texts).cpu().numpy()
        if not np.isfinite(rows).all():
            raise FloatingPointError("a vector is not finite")
        for (job, i), row in zip(part, rows, strict=True):
            job.rows[i] = row


def _start_workers(count: int) -> ThreadPoolExecutor:
    """Return threads in each of which torch uses one core; they remain, since to start one takes some milliseconds."""
    threads, started = torch.get_num_threads(), Barrier(count)

    def begin() -> None:
        torch.set_num_threads(1)
        torch.get_num_threads()  # at its first look torch takes up what was set last, in any thread
        started.wait()

    workers = ThreadPoolExecutor(count, "encode", begin)
    wait([workers.submit(int) for _ in range(count)])
    torch.set_num_threads(threads)  # what threads to come begin with
    return workers


class SharedEncoder:
    """An encoder for the threads of uses: its calls of `encode` join the batches; all else is the encoder's own.

    patient: wait where the queue is full, as work in the background does.
    """

    def __init__(self, batcher: TokenBatcher, loop: asyncio.AbstractEventLoop, *, patient: bool = False) -> None:
        self._batcher, self._loop, self._patient = batcher, loop, patient

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batcher.encoder, name)

    def encode(
        self, items: Inputs, *, format: Format = "proximity", role: Role = "paper", fields: Sequence[str] = FIELDS
    ) -> Floats:
        """Return one row per item, (n, dim), or (dim,) of a single item, as `Encoder.encode` does."""
        inputs = read_inputs(items, fields)
        template = self._batcher.encoder.settings.template
        texts = [template.text(item, role, fields) for item in inputs.items]
        parts = [texts[start : start + WINDOW] for start in range(0, len(texts), WINDOW)] or [texts]
        vectors = np.concatenate([self._wait(part, format, role) for part in parts])
        return cast("Floats", vectors[0]) if inputs.single else vectors

    def encode_all(self, items: Inputs, *, role: Role = "paper", formats: Sequence[Format]) -> dict[Format, Floats]:
        """Return the vectors of each format, as `Encoder.encode_all` does."""
        return {format: self.encode(items, format=format, role=role) for format in formats}

    def _wait(self, texts: Sequence[str], format: Format, role: Role) -> Floats:
        work = self._batcher.encode(texts, format=format, role=role, patient=self._patient)
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        while not GIVEN_UP.get().is_set():
            try:
                return future.result(POLL).vectors
            except TimeoutError:
                if not self._loop.is_running():  # the service has stopped
                    raise
        future.cancel()
        raise CancelledError


@dataclass(slots=True, eq=False)
class _Group(Generic[Given, Result]):
    """Items of calls that are worked on together."""

    items: list[Given] = field(default_factory=list)
    results: list[Result] | None = None


class CallGroups(Generic[Given, Result]):
    """Joins calls of equal settings: those that come while one runs are the next one, up to a number of items."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._open: dict[str, _Group[Given, Result]] = {}  # those that have not begun
        self._running = Turns(1)

    async def run(
        self, key: str, items: Sequence[Given], work: Callable[[Sequence[Given]], Coroutine[Any, Any, list[Result]]]
    ) -> list[Result]:
        """Return a result of each item. key: the settings; work: what they do with items, in order.

        The first of a group whose turn it is works for all of it; where it is cancelled or fails, the next one does.
        """
        group = self._open.get(key)
        if group is None or len(group.items) + len(items) > self._size:
            group = self._open[key] = _Group()
        start = len(group.items)
        group.items += items
        async with self._running.take(key):
            if self._open.get(key) is group:  # later calls go to another group
                del self._open[key]
            if group.results is None:
                group.results = await work(group.items)
        return group.results[start : start + len(items)]
