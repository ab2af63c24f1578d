"""Kill commands and the service, damage and change their files, fill their disk: count what is lost, silent or hung.

kills: a command is killed at a random moment, or at its n-th change of the disk, and run again; its files are then
those of a run that was not killed. service: `sciprism serve` is killed, and what it answered as stored is there after a
restart. disks: a small file system in memory, which needs root, grows after the command failed. records: samples of
every reader, changed at random, are read, skipped and counted, or refused with a message. repeated: a text many times
is read or refused within 5 seconds and 500 MB. models: so are changed model folders. damages: the trials of
`tests/builders/damage_trials.py`. From the repository root; with --add the counts are added to those of earlier runs:

    python benchmarks/torture.py -o results/reliability.json
    python benchmarks/torture.py --parts kills,records --kills 20 --seed 5 --add -o results/reliability.json
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "builders"), str(ROOT / "tests")]

from damage_trials import KINDS, run_trials  # noqa: E402
from measurement import build_parser, provenance, write_result  # noqa: E402
from torture_commands import fill_disks, torture_commands, write_inputs  # noqa: E402
from torture_forks import Tally  # noqa: E402
from torture_inputs import change_models, fuzz_readers, repeat_texts  # noqa: E402
from torture_service import torture_service  # noqa: E402

PACKAGES = ["sciprism", "torch", "numpy", "pyarrow", "faiss-cpu", "bm25s", "xxhash", "qdrant-client"]
Parts = dict[str, dict[str, Any]]


def damage_files(count: int, draw: random.Random, _: Path) -> dict[str, Tally]:
    """Damage a file of every kind, so many in all."""
    tallies, seed = {}, draw.randrange(1 << 30)
    for kind in KINDS:
        with tempfile.TemporaryDirectory() as folder:
            outcome = run_trials(kind, -(-count // len(KINDS)), seed, Path(folder))
        tallies[kind] = Tally(outcome.counts, outcome.silent)
        print(f"{kind:<32} {tallies[kind]}", flush=True)
    return tallies


PARTS = {  # name -> trials, and how many by default
    "kills": (torture_commands, 1000),
    "service": (torture_service, 100),
    "disks": (fill_disks, 40),
    "records": (fuzz_readers, 1_000_000),
    "repeated": (repeat_texts, 20),
    "models": (change_models, 1000),
    "damages": (damage_files, 1000),
}


def parse() -> Namespace:
    parser = build_parser(__doc__)
    parser.add_argument("--parts", default=",".join(PARTS), help="the parts to run")
    for name, (_, count) in PARTS.items():
        parser.add_argument(f"--{name}", type=int, default=count)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--add", action="store_true", help="add to the counts in the output")
    args = parser.parse_args()
    args.parts = args.parts.split(",")
    return args


def add_counts(results: Parts, part: str, tallies: dict[str, Tally]) -> None:
    """Add the tallies of a part to the results, and their sum as `all`; faults are listed, none is an empty list."""
    known = results.setdefault(part, {"faults": []})
    total = Tally()
    for tally in tallies.values():
        total.merge(tally)
    known["faults"] += [fault[:500] for fault in total.faults]
    for name, tally in {"all": total, **tallies}.items():
        found = known.get(name, {"counts": {}, "most": {}})
        sums = Tally(Counter(found["counts"]), [], dict(found["most"]))
        sums.merge(Tally(tally.counts, [], tally.most))
        known[name] = {"counts": dict(sums.counts), "most": sums.most}
    print(f"{part}: {total}; {len(total.faults)} faults", flush=True)


def describe_code() -> str:
    """Return the commit that runs, with `-dirty` where the files are others."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def main() -> None:
    args = parse()
    document: dict[str, Any] = {"runs": []}
    if args.add and args.output is not None and args.output.exists():
        document = json.loads(args.output.read_text(encoding="utf-8"))
    facts = provenance(PACKAGES, seed=args.seed, code=describe_code(), parts={})
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        (work / "inputs").mkdir()
        write_inputs(work / "inputs")
        for part in args.parts:
            run, count = PARTS[part][0], getattr(args, part)
            tallies = run(count, random.Random(f"{part} {args.seed}"), work)
            add_counts(document, part, tallies)
            facts["parts"][part] = count
    document["runs"].append(facts)
    write_result(args.output, document)


if __name__ == "__main__":
    main()
