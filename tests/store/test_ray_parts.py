"""Parts on a Ray cluster of two nodes: a node that dies loses nothing, and what does not fit is refused at once."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from build_parts import LAYOUT, describe, write_input
from fake_encoder import FakeEncoder
from ray_clusters import two_node_cluster
from sciprism.errors import InputError
from sciprism.papers import read_papers
from sciprism.store import embed
from sciprism.store.parts import PartInput, PartsStatus, RayCluster, embed_with_ray, merge
from sciprism.store.parts.ray_cluster import check_nodes

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return sorted(write_input(tmp_path_factory.mktemp("input"), 800))


@pytest.fixture(scope="module")
def whole(files: list[Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("whole") / "c"
    embed(read_papers(files), FakeEncoder(), folder, layout=LAYOUT)
    return describe(folder)


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    with two_node_cluster() as cluster:
        yield cluster


def run(cluster: Any, files: list[Path], folder: Path, load: Any = FakeEncoder, **options: Any) -> Any:
    source = PartInput(paths=files, skip_bad=options.pop("skip_bad", False))
    place = RayCluster(address=cluster.address, **options.pop("place", {}))
    return embed_with_ray(source, load, folder, 4, cluster=place, choose_layout=choose_layout, **options)


def choose_layout(encoder: Any) -> Any:
    return LAYOUT


def load_by_node() -> FakeEncoder:
    """A model that is another on each node."""
    import ray

    return FakeEncoder(fingerprint=ray.get_runtime_context().get_node_id()[:8])


def test_the_parts_of_a_killed_node_are_embedded_by_another(
    nodes: Any, files: list[Path], whole: dict[str, Any], tmp_path: Path
) -> None:
    lost = nodes.add_node(num_cpus=1, object_store_memory=80 << 20)
    seen: list[PartsStatus] = []

    def kill(status: PartsStatus, failed: Mapping[int, str]) -> None:
        if status.count()["embedding"] == 3 and lost in nodes.worker_nodes:
            nodes.remove_node(lost, allow_graceful=False)
            seen.append(status)

    report = run(nodes, files, tmp_path / "c", partial(FakeEncoder, delay=1.5), progress=kill)
    assert len(seen) == 1 and report.failed == {} and len(report.reports) == 4
    merge(tmp_path / "c")
    assert describe(tmp_path / "c") == whole


def test_a_part_that_fails_lets_others_go_on_and_the_same_call_continues(
    nodes: Any, files: list[Path], tmp_path: Path
) -> None:
    source = Path(shutil.copytree(files[0].parent, tmp_path / "input"))
    with (source / "20-small.jsonl").open("a") as file:
        file.write("{broken\n")
    listed, folder = sorted(source.iterdir()), tmp_path / "c"
    report = run(nodes, listed, folder)
    assert len(report.failed) == 1 and len(report.reports) == 3
    assert all("20-small.jsonl, record" in reason and "--skip-bad" in reason for reason in report.failed.values())
    again = run(nodes, listed, folder, skip_bad=True)
    assert (again.done_before, len(again.reports), again.failed) == (3, 1, {})
    assert merge(folder, skip_bad=True).unreadable == 1
    assert run(nodes, listed, folder, skip_bad=True).ready


def test_a_cluster_that_does_not_fit_is_refused_and_nothing_is_left(
    nodes: Any, files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "c"
    with pytest.raises(InputError, match=r"never start.*none with 9 cores.*with 1 core, .* with 1 core"):
        run(nodes, files, folder, place={"cores": 9})
    with pytest.raises(InputError, match=r"none with 1 core and 0.5 GPUs"):
        run(nodes, files, folder, place={"gpus": 0.5})
    with monkeypatch.context() as patch, pytest.raises(InputError, match=r"of this machine, 99.0: .* has .*install"):
        patch.setattr("sciprism.store.parts.ray_cluster.version", lambda name: "99.0")
        run(nodes, files, folder)
    assert not folder.exists()
    with pytest.raises(InputError, match=r"has not what the parts need: the model fake .fingerprint"):
        run(nodes, files, folder, load_by_node)
    place = RayCluster(address=nodes.address)
    with place.connect(), pytest.raises(InputError, match=r"cannot see .*a disk that all nodes share"):
        check_nodes(place.find_nodes(), tmp_path / "elsewhere" / "token")


def test_a_port_of_something_else_is_no_cluster(tmp_path: Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with (
            pytest.raises(InputError, match=r"what is there does not answer as one"),
            RayCluster(address=address).connect(),
        ):
            pass
