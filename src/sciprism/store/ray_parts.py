"""Embed all parts of an input as tasks of a Ray cluster, which repeats the tasks of a lost node on another."""

from __future__ import annotations

import logging
import os
import platform
import re
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sciprism.errors import InputError, RunFailedError, import_extra
from sciprism.files import explain_write_errors, lock_folder
from sciprism.papers.input_paths import InputPart
from sciprism.parallel import DEVICE, Progress, show_nothing
from sciprism.store.collection import CollectionLayout, group_by_space
from sciprism.store.embed import EmbedInput
from sciprism.store.parts import embed_part

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder

RETRIES = 3  # how often a part is given to another worker when its own dies
PARTS_PER_SLOT = 2
"""Parts for each that runs at once, unless their number is given: a faster node then takes more of them."""
LOCK_SECONDS = 120.0  # longest wait for a worker of a lost node that still holds its part
POLL_SECONDS = 2.0
STOP_SECONDS = 60.0  # longest wait for interrupted parts, which save what is computed
IDLE_POLLS = 30  # after so many looks at a cluster without a node that is large enough, the run ends
_ADDRESS = re.compile(r"(?:ray://)?(\[[\da-fA-F:.]+\]|[\w.-]+):(\d{1,5})")


@dataclass(frozen=True, slots=True, kw_only=True)
class RayJob:
    """What each task of a run is given.

    load: returns, on a node, the encoder in a precision, "" for the one that was asked for; it is sent there by pickle,
    as choose_layout is. folder: of all parts, on a disk that all nodes share. parts: how many, 0 for two for each that
    runs at once. cores, gpus: what a part reserves, of a GPU 1 or a share of one. where: the working folder, against
    which paths are relative.
    """

    source: EmbedInput
    load: Callable[[str], Encoder]
    folder: Path
    choose_layout: Callable[[Encoder], CollectionLayout] = lambda _encoder: CollectionLayout()
    parts: int = 0
    cores: int = 1
    gpus: float = 0.0
    where: Path = field(default_factory=Path.cwd)
    version: str = field(default_factory=lambda: version("sciprism"))

    def __post_init__(self) -> None:
        if self.cores < 1 or not 0 <= self.gpus <= 1:
            raise InputError(
                f"{self.cores} processor cores and {self.gpus:g} GPUs for a part; it needs a core at least, and uses "
                "one GPU or a share of one such as 0.5"
            )
        if self.parts:
            InputPart.parse(f"1/{self.parts}")

    def part_folder(self, part: InputPart) -> Path:
        """Return the folder of a part."""
        return self.folder / f"{part.number}-of-{part.count}"


def embed_with_ray(job: RayJob, address: str, progress: Progress = show_nothing) -> int:
    """Embed all parts on a Ray cluster, as `embed_part` does each; return how many. The same call continues.

    address: auto (RAY_ADDRESS, or the cluster of this machine), local (one of this machine alone, which ends with the
    run), HOST:PORT, ray://HOST:PORT. Nodes need this version of sciprism and the paths of this machine. The part of a
    worker that dies is given to another; of parts that fail, RunFailedError names the first, after the others are
    done. KeyboardInterrupt stops all parts, which save what they have computed.
    """
    with explain_write_errors(job.folder):
        job.folder.mkdir(parents=True, exist_ok=True)
    with _connect(address):
        import ray

        slots = _count_slots(job)
        if not slots:
            raise InputError(
                f"no node of the cluster has the {job.cores} cores and {job.gpus:g} GPUs of a part; ask for less with "
                "--threads and --gpus-per-part, or start such a node"
            )
        earlier = (int(path.name.split("-of-")[1]) for path in job.folder.glob("*-of-*"))
        count = job.parts or next(earlier, slots * PARTS_PER_SLOT)
        resources = {"num_cpus": job.cores, "num_gpus": job.gpus}
        task = ray.remote(_embed_on_node).options(**resources, max_retries=RETRIES, scheduling_strategy="SPREAD")
        shared = ray.put(job)
        try:
            made_by = ray.get(task.remote(shared, None, ("", "")))
        except ray.exceptions.RayError as error:
            raise InputError(f"the cluster cannot run sciprism: {_last_line(error)}") from None
        if isinstance(made_by, str):
            raise InputError(made_by)
        tasks = {task.remote(shared, InputPart(number, count), made_by): number for number in range(1, count + 1)}
        failed = _wait(job, tasks, progress)
    if failed:
        number, reason = min(failed.items())
        raise RunFailedError(
            f"{len(failed):,} of {count:,} parts failed, the first is {number}/{count}: {reason}; the others are "
            "done, and the same command continues"
        )
    return count


def _wait(job: RayJob, tasks: dict[Any, int], progress: Progress) -> dict[int, str]:
    """Wait for all parts; return the reasons of those that failed, by their number."""
    import ray

    failed: dict[int, str] = {}
    waiting, idle = list(tasks), 0
    try:
        while waiting:
            ended, waiting = ray.wait(waiting, num_returns=len(waiting), timeout=POLL_SECONDS)
            for ref in ended:
                try:
                    outcome = ray.get(ref)
                except ray.exceptions.RayError as error:
                    outcome = _last_line(error)
                if isinstance(outcome, str):
                    failed[tasks[ref]] = outcome
            progress("embedding", "parts", len(tasks) - len(waiting) - len(failed), len(tasks))
            idle = 0 if _count_slots(job) else idle + 1
            if idle > IDLE_POLLS:
                raise RunFailedError("the nodes are gone; what is embedded is stored, and the same command continues")
    except BaseException:
        for ref in waiting:
            ray.cancel(ref)
        if waiting:
            ray.wait(waiting, num_returns=len(waiting), timeout=STOP_SECONDS)
        raise
    return failed


def _embed_on_node(job: RayJob, part: InputPart | None, made_by: tuple[str, str]) -> tuple[str, str] | str:
    """Embed a part on a node, or none; return which encoder did it, or why it failed: not all errors can be pickled.

    made_by: the encoder that all parts need; with an empty fingerprint, whatever is loaded.
    """
    try:
        if (here := version("sciprism")) != job.version:
            raise InputError(f"the node has sciprism {here}, not {job.version}; install that")
        os.chdir(job.where)
        if not job.folder.is_dir():
            raise InputError(f"it cannot see {job.folder}, as the first machine does; name a folder on a shared disk")
        encoder = _load(job.load, made_by[1], job.cores)
        found = encoder.fingerprint, str(encoder.options.get("precision", "float32"))
        layout = job.choose_layout(encoder)
        group_by_space(encoder, layout.formats or ())
        if part is None:
            return found
        if found != made_by:
            raise InputError(f"the node has the model {' in '.join(found)}, not {' in '.join(made_by)}; copy it there")
        with lock_folder(job.part_folder(part), timeout=LOCK_SECONDS):
            pass  # a worker of a lost node may hold it for a moment
        embed_part(replace(job.source, part=part), encoder, job.part_folder(part), layout=layout)
    except (InputError, RunFailedError, OSError, MemoryError) as error:
        return f"{error} (on {platform.node()})"
    return found


@lru_cache(1)  # in a worker process, which runs several parts
def _load(load: Callable[[str], Encoder], precision: str, cores: int) -> Encoder:
    import ray
    import torch

    torch.set_num_threads(cores)
    DEVICE.set("cuda" if ray.get_gpu_ids() else "cpu")
    return load(precision)


def _last_line(error: Exception) -> str:
    """Return the last line of an error of Ray, which puts a trace before it."""
    return str(error).strip().splitlines()[-1].strip()


def _count_slots(job: RayJob) -> int:
    """Return how many parts run at once."""
    import ray

    slots = 0
    list_nodes: Callable[[], list[dict[str, Any]]] = ray.nodes  # without a type in Ray
    for node in list_nodes():
        has = node["Resources"] if node["Alive"] else {}
        fits = int(has.get("CPU", 0) // job.cores)
        slots += min(fits, int(has.get("GPU", 0) / job.gpus + 1e-9)) if job.gpus else fits
    return slots


@contextmanager
def _connect(address: str) -> Iterator[None]:
    """Be connected with a cluster while the block runs. Raises InputError where none answers."""
    with import_extra("ray", "a run on a Ray cluster"):
        import ray
    named = _ADDRESS.fullmatch(address)
    if not named and address not in ("auto", "local"):
        raise InputError(f"{address!r}: the address of Ray must be auto, local, HOST:PORT or ray://HOST:PORT")
    handler = signal.getsignal(signal.SIGTERM)
    try:
        if named:  # Ray would wait for minutes where nothing is
            socket.create_connection((named[1].strip("[]"), int(named[2])), timeout=5).close()
        small: dict[str, Any] = {"include_dashboard": False, "object_store_memory": 80 << 20}  # no vectors go there
        local = small if address == "local" else {}
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **local)
    except (OSError, OverflowError, RuntimeError, ValueError) as error:
        raise InputError(
            f"no Ray cluster at {address}: {' '.join(str(error).split())}; start one with `ray start`, name its "
            "address, or use local for this machine alone"
        ) from None
    signal.signal(signal.SIGTERM, handler)  # Ray's own ends the process without a word
    try:
        yield
    finally:
        ray.shutdown()
