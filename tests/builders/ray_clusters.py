"""A Ray cluster of processes: a head that runs no parts, and two nodes with a core each."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


@contextmanager
def two_node_cluster() -> Iterator[Any]:
    """Yield a `ray.cluster_utils.Cluster` whose processes import what this one does, and are gone afterwards."""
    from ray.cluster_utils import Cluster

    small: dict[str, Any] = {"object_store_memory": 80 << 20, "include_dashboard": False}
    folder = tempfile.mkdtemp(prefix="ray-", dir="/tmp")  # a longer path is too long for a socket
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_TMPDIR", folder)  # for the cluster's address
        own = Path(folder, "ray")
        own.mkdir()
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "temp_dir": str(own), **small})
        try:
            for _ in range(2):
                cluster.add_node(num_cpus=1, **small)
            yield cluster
        finally:
            cluster.shutdown()
            shutil.rmtree(folder, ignore_errors=True)
