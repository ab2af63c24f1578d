"""Read what somebody sent: in a process of its own, with bounds, so that no file can stop or fill the service.

Files are sealed there; the process is not a jail, it has the rights of the service.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from pickle import loads
from typing import Any

from sciprism.errors import InputError
from sciprism.limits import VARIABLE
from sciprism.papers import ReadReport
from sciprism.papers.input_file import SealedFile

PROCESSES = get_context("spawn")  # a fork would copy the locks of threads
MEMORY, SECONDS = 2 << 30, 600  # bytes, and seconds of computing
BOUNDS = {"RLIMIT_DATA": MEMORY, "RLIMIT_CPU": SECONDS, "RLIMIT_NOFILE": 256, "RLIMIT_CORE": 0}
LONGEST = "line=4194304,record=4194304,field=4194304"  # longer ones are not papers, and would cost each page its time
MOST = 1 << 28  # bytes of the records of one reading
LATEST = 600.0  # seconds after which reading is ended
POLL = 0.2  # seconds between two looks
Read = Callable[..., Iterator[Any]]


def read_apart(
    read: Read, files: Iterable[Path], check: Callable[[], None], **options: Any
) -> tuple[list[Any], ReadReport]:
    """Return the records of files, and the report. read: `read_papers` or `read_labels`, with options.

    check: called while records are awaited, may end it by an error. Raises InputError for files without a record, for
    one that cannot be read, that names others, or whose reading takes too much.
    """
    ours, theirs = PROCESSES.Pipe(duplex=False)
    process = PROCESSES.Process(target=_send_records, args=(theirs, read, [*files], options), daemon=True)
    process.start()
    theirs.close()
    end = time.monotonic() + LATEST
    try:
        while not ours.poll(POLL):
            check()
            if time.monotonic() > end:
                raise InputError(f"reading was ended after {LATEST:.0f} s; divide the file")
        found = loads(ours.recv_bytes(MOST))
    except (EOFError, OSError):  # no answer, or one beyond MOST
        limits = f"{MOST >> 20} MB of text, {MEMORY >> 30} GB of memory or {SECONDS // 60} minutes of computing"
        raise InputError(f"reading broke off, as it does beyond {limits}; divide the file") from None
    finally:
        process.kill()
        process.join()
        ours.close()
    if isinstance(found, Exception):
        raise found
    records, report = found
    if not records:
        raise InputError("; ".join(["the file holds nothing that can be used", *map(str, report.skipped[:1])]))
    return records, report


def _send_records(connection: Connection, read: Read, files: list[Path], options: dict[str, Any]) -> None:
    """Send the records and the report, or why they cannot be read. Called in the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the service decides what a stop ends
    os.environ.setdefault(VARIABLE, LONGEST)
    with suppress(ImportError, OSError, ValueError):  # not of this system, or beyond its own limits
        import resource

        os.nice(10)
        for name, most in BOUNDS.items():
            resource.setrlimit(getattr(resource, name), (most, most))
    report = ReadReport()
    try:
        connection.send(([*read([*map(SealedFile, files)], report=report, **options)], report))
    except MemoryError:
        connection.close()
    except Exception as error:  # noqa: BLE001 (the service tells its owner)
        connection.send(error)
