"""What Ray costs: parts by plain processes against the same parts as tasks of a Ray cluster on this machine.

One part or two at once, one thread each, both with the merge: `sciprism embed --part` and `sciprism merge`, against
`sciprism embed --ray` on a cluster that runs already. Contenders are interleaved. Run from the repository root:

    python benchmarks/ray_parts.py --data DATA -o results/ray.json
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from measurement import build_parser, interleave, provenance, ratio, write_result
from parts import SOURCE, compare, read_lines, time_commands

WORKERS = (1, 2)


@contextmanager
def start_cluster() -> Iterator[str]:
    """Yield the address of a cluster of this machine, with a core for each worker."""
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    with TemporaryDirectory(prefix="ray-", dir="/tmp", ignore_cleanup_errors=True) as name:  # a short path, for sockets
        options = {"num_cpus": max(WORKERS), "object_store_memory": 80 << 20, "include_dashboard": False}
        os.environ["RAY_TMPDIR"] = name  # for the cluster's address
        own = Path(name, "ray")
        own.mkdir()
        cluster = Cluster(initialize_head=True, head_node_args={**options, "temp_dir": str(own)})
        try:
            yield cluster.address
        finally:
            cluster.shutdown()


def build_contenders(source: Path, folder: Path, address: str) -> dict[str, Callable[[], None]]:
    """Return the runs: each makes a collection anew, of one part or of two."""

    def run_plain(workers: int) -> None:
        target = folder / f"plain-{workers}"
        shutil.rmtree(target, ignore_errors=True)
        parts = [f"{number + 1}/{workers}" for number in range(workers)]
        time_commands(*(("embed", source, "-o", target, "--part", part, "--threads", 1) for part in parts))
        time_commands(("merge", target))

    def run_ray(workers: int) -> None:
        target = folder / f"ray-{workers}"
        shutil.rmtree(target, ignore_errors=True)
        time_commands(("embed", source, "-o", target, "--ray", address, "--parts", workers, "--threads", 1))

    return {
        f"{name}, {workers}": lambda run=run, workers=workers: run(workers)  # type: ignore[misc]
        for workers in WORKERS
        for name, run in (("plain parts", run_plain), ("Ray", run_ray))
    }


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("SCIPRISM_DATA"), required="SCIPRISM_DATA" not in os.environ
    )
    parser.add_argument("--papers", type=int, default=1500)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--machine", default="", help="What a reader must know of it, such as that others used it.")
    args = parser.parse_args()
    load = os.getloadavg()[0]
    with TemporaryDirectory() as name, start_cluster() as address:
        source, folder = Path(name) / "papers.jsonl", Path(name)
        source.write_text("".join(read_lines(args.data, args.papers)))
        (folder / "queries.txt").write_text("dark matter halos\n")
        seconds = interleave(build_contenders(source, folder, address), args.rounds)
        equal = {n: compare(folder / f"plain-{n}", folder / f"ray-{n}", folder / "queries.txt") for n in WORKERS}
    result = provenance(
        ["torch", "sciprism", "ray"],
        papers=args.papers,
        source=SOURCE,
        machine_note=args.machine,
        load_before=round(load, 1),
        seconds={contender: [round(each, 1) for each in found] for contender, found in seconds.items()},
        ray_over_plain={n: ratio(seconds[f"Ray, {n}"], seconds[f"plain parts, {n}"]) for n in WORKERS},
        ray_two_workers_over_one=ratio(seconds["Ray, 1"], seconds["Ray, 2"]),
        collections=equal,
    )
    print(json.dumps(result, indent=1))
    write_result(args.output, result)


if __name__ == "__main__":
    main()
