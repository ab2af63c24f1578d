"""Embed all parts of an input as tasks of a Ray cluster, which gives the parts of a lost node to another."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from sciprism.errors import InputError, RunFailedError
from sciprism.files import explain_write_errors
from sciprism.papers.division import PartNumber
from sciprism.store.collection import CollectionLayout
from sciprism.store.embed_files import PartInput
from sciprism.store.manifest import MANIFEST_NAME, PLAN_NAME
from sciprism.store.parts.plan import PartsPlan, build_plan, ensure_plan, list_differences, list_files, read_plan
from sciprism.store.parts.ray_cluster import RayCluster, RayNode, check_nodes, find_last_line, run_on_nodes
from sciprism.store.parts.state import JOURNAL_NAME, PARTS_FOLDER, PartsStatus, read_state, read_status
from sciprism.store.parts.worker import PartReport, embed_part, refuse_collection

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder

RETRIES = 3  # how often a part is given to another worker when its own dies
PARTS_PER_SLOT = 2
"""Parts for each that runs at once, unless their number is given: a faster node then takes more of them."""
PATIENCE = 60.0  # seconds that a part waits for a worker that still holds it: those of a lost node end after it
POLL_SECONDS = 2.0
STOP_SECONDS = 60.0  # longest wait for interrupted parts, which save what is computed
LOST_SECONDS = 60.0  # longest wait for another node where none is left that is large enough
Progress = Callable[[PartsStatus, Mapping[int, str]], None]
"""Is called every two seconds with how far the parts are, and with the failed ones of this run and why."""


@dataclass(frozen=True, slots=True)
class RayReport:
    """What became of all parts: those that this run embedded, how many were done before, and why others failed.

    ready: a merge was begun or done before, so that there was nothing to embed.
    """

    parts: int
    done_before: int = 0
    reports: list[PartReport] = field(default_factory=list)
    failed: dict[int, str] = field(default_factory=dict)
    ready: bool = False


def embed_with_ray(
    source: PartInput,
    load: Callable[[], Encoder],
    folder: Path | str,
    parts: int | None = None,
    *,
    cluster: RayCluster | None = None,
    choose_layout: Callable[[Encoder], CollectionLayout] | None = None,
    progress: Progress | None = None,
) -> RayReport:
    """Embed all parts on a Ray cluster, as `embed_part` does each; the same call, or `embed_part`, continues.

    load: returns the encoder, on a node, such as `Encoder`; it is sent there by pickle, as choose_layout is. All nodes
    that can run a part must have this version of sciprism, the same model, and must see input and folder under the
    same paths, as on a shared disk. parts: by default as many as were planned before, else two for each that runs at
    once. The part of a worker that dies is given to another, up to three times; one that fails is in the report, and
    the others go on. KeyboardInterrupt stops all parts, which save what they have computed. Raises InputError before
    anything is embedded where cluster, nodes or options do not fit, RunFailedError where no node is left. `merge`
    makes a collection of the parts.
    """
    folder, cluster = Path(folder), cluster or RayCluster()
    refuse_collection(folder)
    list_files(source)
    planned = read_plan(folder).parts if (folder / PLAN_NAME).exists() else None
    if parts is not None:
        PartNumber.parse(f"1/{parts}")
    job = _PartsJob(source, load, folder, choose_layout, cluster, Path.cwd())
    if (folder / MANIFEST_NAME).exists() or (folder / PARTS_FOLDER / JOURNAL_NAME).exists():
        plan = ensure_plan(folder, job.build_plan(parts or planned or 1))
        return RayReport(plan.parts, done_before=plan.parts, ready=True)
    with cluster.connect(), _show_token(folder) as token:
        nodes = cluster.find_nodes()
        check_nodes(nodes, token.absolute())
        count = parts or planned or sum(map(cluster.count_slots, nodes)) * PARTS_PER_SLOT
        plan = _agree_on_plan(job, nodes, count)
        return _RayRun(job, plan, token, progress or (lambda _status, _failed: None)).run()


@dataclass(frozen=True, slots=True)
class _PartsJob:
    """What each task is given. where: the working folder of the first process, against which paths are relative."""

    source: PartInput
    load: Callable[[], Encoder]
    folder: Path
    choose_layout: Callable[[Encoder], CollectionLayout] | None
    cluster: RayCluster
    where: Path
    version: str = field(default_factory=lambda: version("sciprism"))

    def build_plan(self, count: int) -> PartsPlan:
        """Return the plan that the files and the model of this machine make."""
        encoder = self.load()
        return build_plan(self.source, encoder, self._layout(encoder), count)

    def embed(self, part: PartNumber) -> PartReport:
        """Embed a part."""
        encoder = self.load()
        layout = self._layout(encoder)
        return embed_part(self.source, encoder, self.folder, part, layout=layout, patience=PATIENCE)

    def enter(self) -> None:
        """Make this process, of a node, like the one that began the run. Raises InputError where it cannot be."""
        import ray
        import torch

        if (here := version("sciprism")) != self.version:
            raise InputError(f"the node has sciprism {here}, not {self.version}; install that")
        if self.where.is_dir():
            os.chdir(self.where)
        torch.set_num_threads(self.cluster.cores)
        if not ray.get_gpu_ids():
            os.environ["CUDA_VISIBLE_DEVICES"] = ""  # whatever the node has: this task was given none
        elif not torch.cuda.is_available():
            raise InputError("the node has a GPU for Ray, but torch finds none; install a torch for it there")

    def _layout(self, encoder: Encoder) -> CollectionLayout:
        return self.choose_layout(encoder) if self.choose_layout else CollectionLayout()


def _plan_on_node(job: _PartsJob, count: int) -> tuple[str, PartsPlan | str]:
    """Return Ray's id of this node, and the plan that it makes or why it cannot; some errors cannot be pickled."""
    import ray

    here = ray.get_runtime_context().get_node_id()
    try:
        job.enter()
        return here, job.build_plan(count)
    except (InputError, OSError) as error:
        return here, _name_failure(error)


def _embed_on_node(job: _PartsJob, token: Path, part: PartNumber) -> PartReport | str:
    """Embed a part on a node; return what became of it, or why it failed."""
    try:
        job.enter()
        if not token.exists():
            raise InputError(f"it cannot see {job.folder} as the machine does that began the run")
        return job.embed(part)
    except (InputError, RunFailedError, OSError, MemoryError) as error:
        return _name_failure(error)


def _name_failure(error: Exception) -> str:
    return f"{error} (on {platform.node()})"


def _agree_on_plan(job: _PartsJob, nodes: list[RayNode], count: int) -> PartsPlan:
    """Write the plan that a node makes where a part would run; raise InputError where that of another differs.

    The first has the resources of a part: where no precision is given, its hardware decides. The others take it.
    """
    import ray

    try:
        here, first = ray.get(_remote(_plan_on_node, job.cluster).remote(job, count))
    except ray.exceptions.RayError as error:
        raise InputError(f"no plan could be made on the cluster: {find_last_line(error)}") from None
    if isinstance(first, str):
        raise InputError(first)
    plan = ensure_plan(job.folder, first)
    rest = [node for node in nodes if node.id != here]
    for node, (_, other) in zip(rest, run_on_nodes(_plan_on_node, rest, job, count), strict=True):
        if isinstance(other, str):
            raise InputError(other)
        if difference := "; ".join(list_differences(plan, other)):
            raise InputError(f"{node.host} has not what the parts need: {difference}; all nodes need the same")
    return plan


def _remote(work: Callable[..., Any], cluster: RayCluster) -> Any:
    import ray

    resources = {"num_cpus": cluster.cores, "num_gpus": cluster.gpus}
    return ray.remote(work).options(**resources, max_retries=RETRIES, scheduling_strategy="SPREAD")


@contextmanager
def _show_token(folder: Path) -> Iterator[Path]:
    """Hold a file in the parts' folder that only those see who see the same disk; an unused folder goes with it."""
    made = [created for created in (folder / PARTS_FOLDER, folder) if not created.exists()]
    token = folder / PARTS_FOLDER / f"ray-{uuid4().hex}"
    with explain_write_errors(token):
        token.parent.mkdir(parents=True, exist_ok=True)
        token.touch()
    try:
        yield token
    finally:
        token.unlink(missing_ok=True)
        with suppress(OSError):  # not empty: it was used
            for created in made:
                created.rmdir()


class _RayRun:
    """All parts that are not done, as tasks of a cluster that is connected."""

    def __init__(self, job: _PartsJob, plan: PartsPlan, token: Path, progress: Progress) -> None:
        self._job, self._plan, self._token, self._progress = job, plan, token.absolute(), progress
        self._report = RayReport(plan.parts)
        self._nodes_seen = time.monotonic()

    def run(self) -> RayReport:
        """Embed them."""
        import ray

        task = _remote(_embed_on_node, self._job.cluster)
        job = ray.put(self._job)
        states = {part: read_state(self._job.folder, part) for part in self._plan.numbers()}
        checksum = self._plan.checksum
        parts = [p for p, state in states.items() if not (state and (state.stage, state.plan) == ("done", checksum))]
        report = self._report
        tasks = {task.remote(job, self._token, part): part for part in parts}
        waiting = list(tasks)
        try:
            while waiting:
                ended, waiting = ray.wait(waiting, num_returns=len(waiting), timeout=POLL_SECONDS)
                for ref in ended:
                    self._settle(tasks[ref], ref)
                self._progress(read_status(self._job.folder), report.failed)
                self._check_nodes()
        except BaseException:
            for ref in waiting:
                ray.cancel(ref)
            if waiting:
                ray.wait(waiting, num_returns=len(waiting), timeout=STOP_SECONDS)
            raise
        return RayReport(report.parts, len(states) - len(parts), report.reports, report.failed)

    def _settle(self, part: PartNumber, ref: Any) -> None:
        import ray

        try:
            outcome = ray.get(ref)
        except ray.exceptions.RayTaskError as error:  # no failure that is foreseen: with its trace
            outcome = str(error)
        except ray.exceptions.RayError as error:
            outcome = f"its worker died, and those after it: {str(error).strip().splitlines()[0]}"
        if isinstance(outcome, str):
            self._report.failed[part.number] = outcome
        else:
            self._report.reports.append(outcome)

    def _check_nodes(self) -> None:
        """Raise RunFailedError where no node has been large enough for a minute: parts would wait forever."""
        try:
            self._job.cluster.find_nodes()
            self._nodes_seen = time.monotonic()
        except InputError as error:
            if time.monotonic() - self._nodes_seen > LOST_SECONDS:
                raise RunFailedError(
                    f"the nodes are gone: {error}; what is embedded is stored, and the same command continues"
                ) from None
