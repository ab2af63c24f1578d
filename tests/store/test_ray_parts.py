"""Parts on a Ray cluster of two nodes: a node that dies loses nothing, and what does not fit is refused."""

import socket
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from build_parts import LAYOUT, describe, embed_whole, load, write_input, write_papers
from fake_encoder import FakeEncoder, some_papers
from ray_clusters import two_node_cluster
from sciprism.errors import InputError, RunFailedError
from sciprism.store.embed import EmbedInput
from sciprism.store.parts import merge
from sciprism.store.ray_parts import RayJob, embed_with_ray

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_input(tmp_path_factory.mktemp("input"), 800)


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    with two_node_cluster() as cluster:
        yield cluster


def build(files: list[Path], folder: Path, skip_bad: bool = False, **options: Any) -> RayJob:
    source = EmbedInput(paths=files, skip_bad=skip_bad)
    given: dict[str, Any] = {"load": make, "choose_layout": choose_layout, "parts": 4}
    return RayJob(source=source, folder=folder, **given | options)


def choose_layout(encoder: Any) -> Any:
    return LAYOUT


def make(_precision: str, delay: float = 0.0, by_node: bool = False) -> FakeEncoder:
    """Return a model; by_node: another one on each node."""
    import ray

    return FakeEncoder(fingerprint=ray.get_runtime_context().get_node_id()[:8] if by_node else "f0", delay=delay)


def test_the_parts_of_a_killed_node_are_embedded_by_another(nodes: Any, files: list[Path], tmp_path: Path) -> None:
    lost = nodes.add_node(num_cpus=1, object_store_memory=80 << 20)
    folder, killed = tmp_path / "parts", []

    def kill(_work: str, _unit: str, done: int, parts: int | None) -> None:
        if not killed and len(list(folder.glob("*/manifest.json"))) >= 3 and done < (parts or 0):
            nodes.remove_node(lost, allow_graceful=False)
            killed.append(done)

    assert embed_with_ray(build(files, folder, load=partial(make, delay=2.0)), nodes.address, kill) == 4
    assert killed and killed[0] < 3
    merge([folder], tmp_path / "c", load)
    embed_whole(files, tmp_path / "whole")
    assert describe(tmp_path / "c") == describe(tmp_path / "whole")


def test_a_part_that_fails_lets_others_go_on_and_the_same_call_continues(
    nodes: Any, files: list[Path], tmp_path: Path
) -> None:
    bad = write_papers(tmp_path / "bad.jsonl", some_papers(1, 9000))
    bad.write_text(bad.read_text() + "{broken\n")
    folder = tmp_path / "parts"
    with pytest.raises(
        RunFailedError, match=r"1 of 4 parts failed, the first is 4/4: .*bad.jsonl, record 2.*--skip-bad"
    ):
        embed_with_ray(build([*files, bad], folder), nodes.address)
    assert len(list(folder.glob("*/manifest.json"))) == 3
    assert embed_with_ray(build([*files, bad], folder, skip_bad=True, parts=0), nodes.address) == 4
    assert merge([folder], tmp_path / "c", load).papers == 801


def test_a_cluster_that_does_not_fit_is_refused(nodes: Any, files: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    with pytest.raises(InputError, match=r"no node of the cluster has the 9 cores and 0 GPUs of a part"):
        embed_with_ray(build(files, folder, cores=9), nodes.address)
    with pytest.raises(InputError, match=r"the node has sciprism .*, not 99.0; install that"):
        embed_with_ray(build(files, folder, version="99.0"), nodes.address)
    with pytest.raises(RunFailedError, match=r"the node has the model .* in float32, not .* in float32; copy it there"):
        embed_with_ray(build(files, folder, load=partial(make, by_node=True)), nodes.address)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    with pytest.raises(InputError, match=r"no Ray cluster at .*; start one"):
        embed_with_ray(build(files, folder), address)
