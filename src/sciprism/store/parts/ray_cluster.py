"""A Ray cluster: connect to it, find the nodes that can run a part, and check what they have and see."""

from __future__ import annotations

import logging
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sciprism.errors import InputError, import_extra

CONNECT_SECONDS = 5.0  # longest wait for a port
ANSWER_SECONDS = 20.0  # longest wait for a cluster behind an open port; most of it is the start of a process that asks
CHECK_SECONDS = 300.0  # longest wait for a node that checks its files or loads a model
LOCAL_OPTIONS = {"include_dashboard": False, "object_store_memory": 80 << 20}
"""Of a cluster of this machine: no vectors go through Ray, so its object store is as small as it may be."""
MAX_SHOWN = 5  # nodes that a message names
_ADDRESS = re.compile(r"(?P<client>ray://)?(?P<host>[\w.-]+|\[[\da-fA-F:.]+\]):(?P<port>\d{1,5})")


@dataclass(frozen=True, slots=True)
class RayNode:
    """A node of a cluster: Ray's id of it, the name of its machine, its cores and GPUs."""

    id: str
    host: str
    cores: float
    gpus: float

    def __str__(self) -> str:
        gpus = f" and {self.gpus:g} GPU{'s' * (self.gpus != 1)}" if self.gpus else ""
        return f"{self.host} with {self.cores:g} core{'s' * (self.cores != 1)}{gpus}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RayCluster:
    """Where parts run, and what each of them takes.

    address: `auto` is the cluster that RAY_ADDRESS names, or that this machine belongs to; `local` is one of this
    machine alone, which ends with the run; HOST:PORT, or ray://HOST:PORT from a machine outside the cluster. cores:
    of a part. gpus: of a part, 1 or a share of one; 0 computes on cores. Raises InputError for other values.
    """

    address: str = "auto"
    cores: int = 1
    gpus: float = 0.0

    def __post_init__(self) -> None:
        if self.address not in ("auto", "local") and not _ADDRESS.fullmatch(self.address):
            raise InputError(
                f"{self.address!r} is no address of a Ray cluster; it is auto, local, HOST:PORT or ray://HOST:PORT"
            )
        if self.cores < 1:
            raise InputError(f"{self.cores} processor cores for a part; it needs at least 1")
        if not 0 <= self.gpus <= 1:
            raise InputError(f"{self.gpus:g} GPUs for a part; it uses one, or a share of one such as 0.5")

    @contextmanager
    def connect(self) -> Iterator[None]:
        """Be connected while the block runs; a connection of this process that exists is used, and stays.

        Raises InputError where no cluster answers, and MissingExtraError.
        """
        with import_extra("ray", "a run on a Ray cluster"):
            import ray
        if ray.is_initialized():
            yield
            return
        local = self.address == "local"
        address = (os.environ.get("RAY_ADDRESS") or "auto") if self.address == "auto" else self.address
        if local:
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        _check_address(address)
        handler = signal.getsignal(signal.SIGTERM)
        try:
            options: dict[str, Any] = LOCAL_OPTIONS if local else {}
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **options)
        except (OSError, RuntimeError, ValueError) as error:
            absent = address == "auto" and isinstance(error, ConnectionError)
            why = "none is on this machine, and RAY_ADDRESS names none" if absent else " ".join(str(error).split())
            raise InputError(
                f"no connection with a Ray cluster: {why}; start one with `ray start`, name its address, or use local "
                "for this machine alone"
            ) from None
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler)  # Ray's own would end the process without a word
        try:
            yield
        finally:
            ray.shutdown()

    def find_nodes(self) -> list[RayNode]:
        """Return the nodes that are large enough for a part. Raises InputError, with what there is, for none."""
        import ray

        list_nodes: Callable[[], list[dict[str, Any]]] = ray.nodes  # without a type in Ray
        nodes = [
            RayNode(
                node["NodeID"],
                node["NodeManagerHostname"],
                node["Resources"].get("CPU", 0),
                node["Resources"].get("GPU", 0),
            )
            for node in list_nodes()
            if node["Alive"]
        ]
        fitting = [node for node in nodes if self.count_slots(node)]
        if not fitting:
            wanted = RayNode("", "none", self.cores, self.gpus)
            raise InputError(
                f"a part would never start, for no node is large enough ({wanted}); the cluster has "
                f"{_join(map(str, nodes))}: ask for less with --threads and --gpus-per-part, or start such a node"
            )
        return fitting

    def count_slots(self, node: RayNode) -> int:
        """Return how many parts a node runs at once."""
        slots = int(node.cores // self.cores)
        return min(slots, int(node.gpus / self.gpus + 1e-9)) if self.gpus else slots


def check_nodes(nodes: list[RayNode], token: Path) -> None:
    """Raise InputError where a node has another sciprism than this machine, or does not see a file of it."""
    here = version("sciprism")
    answers = run_on_nodes(_build_probe(str(token)), nodes)
    others = {node.host: has for node, (has, _) in zip(nodes, answers, strict=True) if has != here}
    if others:
        names = _join(f"{host} has {has or 'none'}" for host, has in others.items())
        raise InputError(f"nodes need the sciprism of this machine, {here}: {names}; install {here} there")
    blind = [node.host for node, (_, sees) in zip(nodes, answers, strict=True) if not sees]
    if blind:
        folder = token.parent
        raise InputError(
            f"{_join(blind)} cannot see {folder} as this machine does; name a folder on a disk that all nodes share"
        )


def run_on_nodes(work: Callable[..., Any], nodes: list[RayNode], *arguments: Any) -> list[Any]:
    """Run a function once on each node, and return the results. Raises InputError where one cannot run it."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    if not nodes:
        return []
    task = ray.remote(work)
    refs = [
        task.options(num_cpus=0, scheduling_strategy=NodeAffinitySchedulingStrategy(node.id, soft=False)).remote(
            *arguments
        )
        for node in nodes
    ]
    _, late = ray.wait(refs, num_returns=len(refs), timeout=CHECK_SECONDS)
    results = []
    for node, ref in zip(nodes, refs, strict=True):
        if ref in late:
            raise InputError(f"{node.host} does not answer in {CHECK_SECONDS:.0f} s; see to it, or take it out")
        try:
            results.append(ray.get(ref))
        except ray.exceptions.RayError as error:
            raise InputError(
                f"{node.host} cannot run sciprism: {find_last_line(error)}; see to it, or take it out"
            ) from None
    return results


def _build_probe(token: str) -> Callable[[], tuple[str, bool]]:
    """Return a function that is sent whole, as one of this module could not be where sciprism is missing."""

    def look() -> tuple[str, bool]:
        from importlib.metadata import PackageNotFoundError, version
        from pathlib import Path

        try:
            has = version("sciprism")
        except PackageNotFoundError:
            has = ""
        return has, Path(token).exists()

    return look


def _check_address(address: str) -> None:
    """Raise InputError where nothing is at an address, for which Ray itself would wait for minutes."""
    match = _ADDRESS.fullmatch(address)
    if match is None:
        return
    try:
        port = (match["host"].strip("[]"), int(match["port"]))
        socket.create_connection(port, timeout=CONNECT_SECONDS).close()
        if not match["client"]:
            command = [sys.executable, "-m", "ray.scripts.scripts", "health-check", "--skip-version-check"]
            command += ["--address", address]
            subprocess.run(command, timeout=ANSWER_SECONDS, check=True, capture_output=True)
    except (OSError, OverflowError) as error:
        raise InputError(f"no Ray cluster at {address}: {error}; is it on, and is this its address?") from None
    except subprocess.SubprocessError:
        raise InputError(
            f"no Ray cluster at {address}: what is there does not answer as one; name the port of `ray start`, "
            "6379 unless it was given, or ray:// with that of its client server, 10001"
        ) from None


def _join(names: Iterable[str]) -> str:
    shown = list(names)
    more = f" and {len(shown) - MAX_SHOWN:,} more" if len(shown) > MAX_SHOWN else ""
    return (", ".join(shown[:MAX_SHOWN]) or "no node") + more


def find_last_line(error: Exception) -> str:
    """Return the last line of an error of Ray, which puts a trace before it."""
    return next((line.strip() for line in reversed(str(error).splitlines()) if line.strip()), type(error).__name__)
