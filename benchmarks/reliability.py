"""Damage every kind of file at random, and count what is refused, repaired, harmless, or silently wrong.

The trials are those of `tests/test_damage.py`, many times over. Run from the repository root:

    python benchmarks/reliability.py -o results/reliability.json
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "builders"))

from damage_trials import KINDS, run_trials
from measurement import build_parser, provenance, write_result

OUTCOMES = ("refused", "repaired", "harmless", "silent")


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("--trials", type=int, default=3000, help="divided among the kinds of files")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    each = -(-args.trials // len(KINDS))
    kinds = {}
    for kind in KINDS:
        with tempfile.TemporaryDirectory() as folder:
            outcome = run_trials(kind, each, args.seed, Path(folder))
        kinds[kind] = {"damages": each, **{name: outcome.counts[name] for name in OUTCOMES}}
        print(f"{kind:<32} {kinds[kind]}")
        for message in outcome.silent:
            print(f"  {message}")
    total = {name: sum(row[name] for row in kinds.values()) for name in ("damages", *OUTCOMES)}
    print(f"{'all':<32} {total}")
    facts = provenance(["sciprism", "torch", "numpy", "pyarrow", "faiss-cpu", "bm25s", "xxhash"], seed=args.seed)
    write_result(args.output, facts | {"kinds": kinds, "all": total})


if __name__ == "__main__":
    main()
