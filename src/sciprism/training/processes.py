"""One process, or several that `accelerate launch` started: what they share, and interrupts between steps."""

from __future__ import annotations

import atexit
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from types import FrameType
from typing import TYPE_CHECKING, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from sciprism.errors import InputError, import_extra

if TYPE_CHECKING:
    from accelerate import PartialState


Result = TypeVar("Result")


class Processes:
    """The processes of a run; with one process nothing is exchanged."""

    def __init__(self, device: str | None = None) -> None:
        self.count = int(os.environ.get("WORLD_SIZE", "1"))
        self.rank = int(os.environ.get("RANK", "0"))
        self._state = self._start(device) if self.count > 1 else None
        if self._state:
            self.device = self._state.device
            return
        try:
            self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        except RuntimeError as error:
            raise InputError(f"unknown device {device!r}; known: cpu, cuda, cuda:0 ...") from error

    @property
    def first(self) -> bool:
        """Return whether this is the process that writes files."""
        return self.rank == 0

    def wait(self) -> None:
        """Wait for all processes."""
        if self._state:
            self._state.wait_for_everyone()

    def on_first(self, call: Callable[[], Result]) -> Result | None:
        """Call a function in the first process alone; others get None. Its InputError is raised in all."""
        if not self._state:
            return call()
        result, error = None, ""
        if self.first:
            try:
                result = call()
            except InputError as refused:
                error = str(refused)
        shared = [error]
        dist.broadcast_object_list(shared, src=0, device=self.device)
        if shared[0]:
            raise InputError(shared[0])
        return result

    def gather(self, rows: Tensor) -> Tensor:
        """Return the rows (n, ...) of all processes, in the order of their ranks; n may differ.

        Only the own part has a gradient (SciMult sheet, section 4), so that the processes' gradients add up
        to that of the whole batch.
        """
        if not self._state:
            return rows
        size = torch.tensor([len(rows)], device=rows.device)
        sizes = [torch.zeros_like(size) for _ in range(self.count)]
        dist.all_gather(sizes, size)
        counts = [int(size) for size in sizes]
        padded = rows.new_zeros(max(counts), *rows.shape[1:])
        padded[: len(rows)] = rows.detach()
        parts = [torch.empty_like(padded) for _ in range(self.count)]
        dist.all_gather(parts, padded)
        parts = [part[:count] for part, count in zip(parts, counts, strict=True)]
        parts[self.rank] = rows
        return torch.cat(parts)

    def add_gradients(self, parameters: Iterable[Tensor], *, mean: bool) -> None:
        """Replace every gradient by its sum over the processes, or its mean.

        Parameters without a gradient in any process (an expert of another format) keep none, so that they are
        not decayed.
        """
        if not self._state:
            return
        trained = [p for p in parameters if p.requires_grad]
        reached = torch.tensor([p.grad is not None for p in trained], dtype=torch.int32, device=self.device)
        dist.all_reduce(reached, op=dist.ReduceOp.MAX)
        shared = [p for p, somewhere in zip(trained, reached.tolist(), strict=True) if somewhere]
        flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in shared])
        dist.all_reduce(flat)
        flat /= self.count if mean else 1
        for p, part in zip(shared, torch.split(flat, [p.numel() for p in shared]), strict=True):
            p.grad = part.view_as(p)

    def sum(self, value: float) -> float:
        """Return the sum of one number over all processes."""
        if not self._state:
            return value
        total = torch.tensor([value], dtype=torch.float64, device=self.device)
        dist.all_reduce(total)
        return float(total)

    def _start(self, device: str | None) -> PartialState:
        with import_extra("train", "training in several processes"):
            from accelerate import PartialState
        # The optimizer imports it later, and its default arguments would then keep the process group alive.
        import torch.distributed.nn  # noqa: F401

        state = PartialState(cpu=device == "cpu", timeout=timedelta(days=1))  # one evaluates, the others wait
        atexit.register(state.destroy_process_group)  # its threads may abort the interpreter's end
        return state


@contextmanager
def defer_interrupts() -> Iterator[Callable[[], bool]]:
    """Defer the first Ctrl-C or SIGTERM to the end of a step; yield a function that returns whether one came."""
    received: list[int] = []

    def receive(signal_number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        if received:
            raise KeyboardInterrupt
        received.append(signal_number)

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = {number: signal.signal(number, receive) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(received)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
