"""Encode the texts of many requests together: batches of a number of tokens, shared fairly among the requests."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, wait
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from threading import Barrier, Event
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

import numpy as np
import torch

from sciprism.arrays import Floats
from sciprism.encoders.packing import balanced_batches, pack
from sciprism.encoders.streaming import CPU_BUDGET, CUDA_BUDGET, Inputs, read_inputs
from sciprism.errors import InputError
from sciprism.formats import Format, Role
from sciprism.service.limits import CLIENT
from sciprism.service.responses import Refusal
from sciprism.text.template import FIELDS

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder

Given = TypeVar("Given")
Result = TypeVar("Result")
OnBatch = Callable[[int, int, float], None]
"""Called after a batch with its texts, its tokens and the seconds that it took."""


PART = 8  # texts of a client that are tokenized in one turn
WINDOW = 1_024  # texts of a use that are in the queue at one time
THREADS = 4  # that tokenize, each for another client
GIVEN_UP: ContextVar[Event] = ContextVar("given_up", default=Event())  # noqa: B039 (never set)
"""Set where nobody waits any more for what a thread computes."""
POLL = 1.0  # seconds between two looks at whether the service still runs, and whether a full queue has room


class QueueFullError(Refusal):
    """Report that too many texts wait for the model."""


class TextTooLongError(InputError):
    """Report a text of more tokens than the model reads, where it is not to be truncated."""

    status = 413


@dataclass(frozen=True, slots=True)
class EncodedTexts:
    """Vectors (n, dim), how many tokens were read, and how many texts were longer than the model reads."""

    vectors: Floats
    tokens: int
    truncated: int


@dataclass(slots=True, eq=False)
class _Job:
    """The texts of one request: token ids, the row of each result, and the texts that are not in a batch yet."""

    route: str
    sequences: Sequence[Sequence[int]]
    rows: Floats
    done: asyncio.Future[None]
    client: str
    number: int
    unfinished: int
    next: int = 0

    @property
    def remaining(self) -> int:
        """Count the texts that are not in a batch yet."""
        return len(self.sequences) - self.next

    def take(self, batch: list[tuple[_Job, int]], room: int, share: int) -> int:
        """Add texts to a batch, one at least if it fits, up to a share of tokens; return how many tokens."""
        tokens = 0
        while self.remaining:
            length = len(self.sequences[self.next])
            if (batch and tokens + length > room) or (tokens and tokens + length > share):
                break
            batch.append((self, self.next))
            self.next, tokens = self.next + 1, tokens + length
        return tokens


class TokenBatcher:
    """A queue before one encoder: texts that arrive while a batch is computed share the next ones.

    Half of a batch is for the oldest request; in the other half requests take turns, those first whose client was
    given the fewest tokens, each with at most an equal share of the tokens and at least one text: a long request delays
    a short one by one batch, and equal requests end in the order in which they came. A request that is cancelled leaves
    the queue. budget: tokens of a batch; None takes what suits the device. queue: texts that may wait, of which one
    client's are at most a half.
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
        self._jobs: deque[_Job] = deque()
        self._waiting_of, self._given_to = Counter[str](), Counter[str]()  # texts, tokens of each client
        self._turns: CallGroups[str, tuple[list[int], bool]] = CallGroups(PART)
        self._numbers = count()
        self._on_batch = on_batch or (lambda *_: None)
        self._compute = _start_workers(self._workers)  # one batch at a time, on all cores
        self._tokenize = ThreadPoolExecutor(THREADS, "tokenize")
        self._runner: asyncio.Task[None] | None = None
        self._rate = 5_000.0  # tokens a second, measured from the first batch on

    async def encode(
        self, texts: Sequence[str], *, format: Format, role: Role, truncate: bool = True, patient: bool = False
    ) -> EncodedTexts:
        """Return one row per text; prompts are the caller's to add. patient: wait where too many texts wait.

        Raises QueueFullError for that otherwise, TextTooLongError for long texts unless they are truncated.
        """
        client, count = CLIENT.get(), len(texts)
        while self._is_full(count, client):
            if patient:
                await asyncio.sleep(POLL)
                continue
            tokens = sum(len(ids) for job in self._jobs for ids in job.sequences[job.next :])
            raise QueueFullError.wait(f"{self.waiting:,} texts wait for the model", tokens / self._rate)
        self.waiting, self._waiting_of[client] = self.waiting + count, self._waiting_of[client] + count
        job = None
        try:
            read = []
            for start in range(0, count or 1, PART):
                read += await self._turns.run(client, texts[start : start + PART], self._read_tokens)
            sequences, long = [ids for ids, _ in read], sum(longer for _, longer in read)
            if long and not truncate:
                limit = self.encoder.max_seq_length
                raise TextTooLongError(f"{long} of the texts have more tokens than the {limit} that the model reads")
            rows = np.empty((len(texts), self.encoder.dim), np.float32)
            loop = asyncio.get_running_loop()
            route, done = self.encoder.route(format, role), loop.create_future()
            job = _Job(route, sequences, rows, done, client, next(self._numbers), len(sequences))
            if sequences:
                self._jobs.append(job)
                if self._runner is None or self._runner.done():
                    self._runner = loop.create_task(self._run())
                await job.done
            return EncodedTexts(rows, sum(map(len, sequences)), long)
        finally:
            self.waiting, self._waiting_of[client] = self.waiting - count, self._waiting_of[client] - count
            if job is not None and job in self._jobs:
                self._jobs.remove(job)

    async def _read_tokens(self, texts: Sequence[str]) -> list[tuple[list[int], bool]]:
        return await asyncio.get_running_loop().run_in_executor(self._tokenize, self.encoder.read_tokens, texts)

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
                for job, _ in batch:
                    _settle(job, error)
                continue
            seconds, tokens = time.perf_counter() - start, sum(len(job.sequences[i]) for job, i in batch)
            self._rate += 0.2 * (tokens / max(seconds, 1e-6) - self._rate)
            self._on_batch(len(batch), tokens, seconds)
            for job, _ in batch:
                job.unfinished -= 1
                if not job.unfinished:
                    _settle(job)

    def _next_batch(self) -> list[tuple[_Job, int]]:
        """Take texts of the waiting requests until the batch is full: of the oldest for a half, then of all in turn."""
        batch: list[tuple[_Job, int]] = []
        if not self._jobs:
            self._given_to.clear()
            self._waiting_of = +self._waiting_of
            return batch
        oldest = min(self._jobs, key=lambda job: job.number)
        alone = all(job.client == oldest.client for job in self._jobs)
        budget = self.budget if alone else self.budget // 4  # short: others wait for it
        room = budget - oldest.take(batch, budget, budget // 2)
        if not oldest.remaining:
            self._jobs.remove(oldest)
        self._given_to[oldest.client] += budget - room
        self._jobs = deque(sorted(self._jobs, key=lambda job: self._given_to[job.client]))
        share = room // max(1, len(self._jobs))
        while self._jobs and room > 0:
            job = self._jobs.popleft()
            tokens = job.take(batch, room, share)
            room -= tokens
            self._given_to[job.client] += tokens
            if job.remaining and not tokens:
                self._jobs.appendleft(job)  # its next text does not fit: its turn comes first in the next batch
                break
            if job.remaining:
                self._jobs.append(job)
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


def _settle(job: _Job, error: Exception | None = None) -> None:
    if job.done.done():
        return
    if error is None:
        job.done.set_result(None)
    else:
        job.done.set_exception(error)


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


class CallGroups(Generic[Given, Result]):
    """Joins calls of equal settings: those that come while one runs are the next one, up to a number of items."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiting: dict[str, deque[tuple[Sequence[Given], asyncio.Future[list[Result]]]]] = {}

    async def run(
        self, key: str, items: Sequence[Given], work: Callable[[Sequence[Given]], Coroutine[Any, Any, list[Result]]]
    ) -> list[Result]:
        """Return a result of each item. key: the settings; work: what they do with items, in order."""
        answer: asyncio.Future[list[Result]] = asyncio.get_running_loop().create_future()
        if key not in self._waiting:
            self._waiting[key] = deque()
            self._tasks.add(task := asyncio.create_task(self._serve(key, work)))
            task.add_done_callback(self._tasks.discard)
        self._waiting[key].append((items, answer))
        return await answer

    async def _serve(self, key: str, work: Callable[[Sequence[Given]], Coroutine[Any, Any, list[Result]]]) -> None:
        waiting = self._waiting[key]
        while waiting:
            group = [waiting.popleft()]
            count = len(group[0][0])
            while waiting and count + len(waiting[0][0]) <= self._size:
                group.append(waiting.popleft())
                count += len(group[-1][0])
            group = [(items, answer) for items, answer in group if not answer.done()]  # others were cancelled
            working = asyncio.create_task(work([item for items, _ in group for item in items]))  # noqa: RUF006 (awaited)
            leave = partial(_cancel_if_done, working, [answer for _, answer in group])
            for _, answer in group:
                answer.add_done_callback(leave)
            try:
                results = await working
            except asyncio.CancelledError:  # nobody waits for it
                continue
            except Exception as error:  # noqa: BLE001 (each request gets it)
                for _, answer in group:
                    if not answer.done():
                        answer.set_exception(error)
                continue
            for items, answer in group:
                part, results = results[: len(items)], results[len(items) :]
                if not answer.done():
                    answer.set_result(part)
        del self._waiting[key]


def _cancel_if_done(working: asyncio.Task[Any], answers: Sequence[asyncio.Future[Any]], _: asyncio.Future[Any]) -> None:
    """Cancel work whose answers nobody waits for any more."""
    if all(answer.done() for answer in answers):
        working.cancel()
