"""What the parts of `torture.py` share: counts of outcomes, and commands as forks of this process."""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any

import torch  # noqa: F401 - before the forks, which inherit it

from kill_switch import EVENTS, WRITING
from sciprism.cli.main import main as run_command

HUNG = 60.0  # seconds of the processor, for a command that takes a few
PATIENCE = 10  # times as long it may wait for the disk and for other work
SLOW = 5.0  # seconds of one small file
MEMORY = 500 << 20  # bytes that a trial may take besides what good input takes
WRITES = ("write", "index", "upsert", "delete")
"""What changes a vector database, whose files its own library writes."""


@dataclass
class Tally:
    """Counts of outcomes, the most of what is measured, and a line for each outcome that must not be."""

    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    most: dict[str, float] = field(default_factory=dict)

    def add(self, outcome: str, fault: str = "") -> None:
        self.counts[outcome] += 1
        if fault:
            self.faults.append(f"{outcome}: {fault}")
            print("  ", self.faults[-1][:2000], flush=True)

    def measure(self, name: str, value: float) -> None:
        self.most[name] = max(self.most.get(name, 0.0), round(value, 2))

    def merge(self, other: Tally) -> None:
        self.counts.update(other.counts)
        self.faults += other.faults
        for name, value in other.most.items():
            self.measure(name, value)

    def __str__(self) -> str:
        return ", ".join(f"{count:,} {name}" for name, count in (self.counts | self.most).items())


def kill_at_change(number: int, folder: Path) -> Callable[[], int]:
    """Let this process kill itself before its n-th change of the disk below a folder, or of a database.

    Returns a function that returns how many changes were made.
    """
    made = 0

    def count() -> None:
        nonlocal made
        if made >= number:
            os.kill(os.getpid(), signal.SIGKILL)
        made += 1

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event not in EVENTS or not str(arguments[0]).startswith((str(folder), "out", "collection", "work")):
            return
        if event != "open" or arguments[2] & WRITING:
            count()

    def counted(method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def write(*arguments: Any) -> Any:
            count()
            return method(*arguments)

        return write

    for kind in [each for name, module in sys.modules.items() if name in DATABASES for each in vars(module).values()]:
        for name in WRITES if isinstance(kind, type) and hasattr(kind, "upsert") else ():
            setattr(kind, name, counted(getattr(kind, name)))
    sys.addaudithook(hook)
    return lambda: made


DATABASES = ("sciprism.databases.qdrant",)
USE = "use.json"
NEVER = 1 << 60  # changes, which no command makes


@dataclass(frozen=True)
class Ended:
    """How a process ended: its exit status, None for one that was killed; seconds of the processor and peak MB."""

    status: int | None
    seconds: float
    megabytes: float


def start(words: str, folder: Path, changes: int | None = None) -> int:
    """Fork a process that runs a command in a folder; its messages are appended to log.txt, keys.txt is its input.

    Its data sets are those of the folder, not those of this machine. changes: how many it may make; where it ends
    before, USE holds how many it made, and the modules that it imported.
    """
    if pid := os.fork():
        return pid
    status = 1
    try:
        os.setpgid(0, 0)  # with what it starts, so that a kill reaches all
        os.chdir(folder)
        os.environ |= {"SCIPRISM_CACHE": str(folder / "cache"), "SCIPRISM_DATA": str(folder / "data")}
        log = os.open("log.txt", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.dup2(os.open("keys.txt" if Path("keys.txt").exists() else os.devnull, os.O_RDONLY), 0)
        sys.stdin = os.fdopen(0, closefd=False)
        sys.argv = ["sciprism", *words.split()]
        counted = kill_at_change(changes, folder) if changes is not None else lambda: 0
        try:
            run_command()
            status = 0
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else bool(stop.code)
        except BaseException:  # noqa: BLE001 - of the command, which must not raise any
            traceback.print_exc()
        Path(USE).write_text(json.dumps({"changes": counted(), "modules": [*sys.modules]}))
    finally:
        with suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def import_all(names: list[str]) -> None:
    """Import what a command imported, so that the next forks have it: a kill then falls into their work."""
    for name in names:
        with suppress(Exception):  # of a module that another one imports in its own way
            importlib.import_module(name)


def wait(pid: int, seconds: float) -> int | None:
    """Return the exit status, or None for a process that was killed after so many seconds of the processor."""
    return measure(pid, seconds).status


def measure(pid: int, seconds: float) -> Ended:
    """Wait for a process and what it started; it is killed after so many seconds of the processor.

    Other work on the machine makes no difference; a process that waits for long is killed too.
    """
    end, killed = time.monotonic() + PATIENCE * HUNG, False
    while not (done := os.wait4(pid, os.WNOHANG))[0]:
        if time.monotonic() > end or read_seconds(pid) >= seconds:
            for kill in (os.killpg, os.kill):  # a process that has not made its group yet, too
                with suppress(ProcessLookupError):
                    kill(pid, signal.SIGKILL)
            done, killed = os.wait4(pid, 0), True
            break
        time.sleep(0.002)
    usage = done[2]
    status = None if killed else os.waitstatus_to_exitcode(done[1])
    return Ended(status, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def read_seconds(pid: int) -> float:
    """Return how long a process has used the processor, to a hundredth of a second."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run_apart(run: Callable[[], Tally], memory: int = MEMORY) -> Tally:
    """Run trials in a fork with a limit on its addresses, in bytes above those of now; a fork that dies is a fault."""
    receive, send = os.pipe()
    pid = os.fork()
    if not pid:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + memory, used + memory))
        part = run()
        with os.fdopen(send, "w") as file:
            json.dump([part.counts, part.faults, part.most], file)
        os._exit(0)
    os.close(send)
    with os.fdopen(receive) as file:
        text = file.read()
    os.waitpid(pid, 0)
    tally = Tally()
    if text:
        counts, faults, most = json.loads(text)
        return Tally(Counter(counts), faults, most)
    tally.add("died", "a fork ended without a result")
    return tally
