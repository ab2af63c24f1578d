"""SciMult's models at the size of a laptop: every run and every table of results/scimult, one by one.

What is done is kept: stopped at any moment, the same command goes on. Vanilla and MHAExpert are trained with
every seed, each MHAExpert from the Vanilla of its seed; the others and the ablations with the first seed. All
are scored on the quick view as soon as they are trained; with --full, the run of each method whose best dev
score is the median is scored on the whole suite too. The backbone reads as many tokens as the twins. Run from
the repository root, after `sciprism prepare open -o SOURCES`:

    python benchmarks/scimult.py SOURCES -o results/scimult
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import time
from pathlib import Path

from rounds import provenance, write
from sciprism import Encoder

RECIPES = Path("recipes/twins")
SEEDED = ("vanilla", "mha-expert")
ONCE = (
    "ffn-expert",
    "instruction",
    "prefix",
    "vanilla-no-hard-negatives",
    "mha-expert-no-warm-up",
    "citation-only",
)
WARM = ("mha-expert", "ffn-expert", "instruction", "prefix")
TABLES = ("S1", "9", "3", "A3", "4", "5", "6", "7", "A4", "A5", "A6", "A7", "A8", "S4")
SCORED_BY = {"vanilla-no-hard-negatives": "A4", "mha-expert-no-warm-up": "A5", "citation-only": "S1"}
METHODS = ("vanilla", "mha-expert", "ffn-expert", "instruction", "prefix")
MAX_LENGTH = 128
Arm = tuple[str, int]


def run(words: list[str], *, may_fail: bool = False) -> float:
    """Run one command of the package; return its seconds."""
    print("+ sciprism", shlex.join(words), flush=True)
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-m", "sciprism", *words])
    if done.returncode and not may_fail:
        raise SystemExit(f"status {done.returncode}; the same command goes on from here")
    return time.monotonic() - began


def trained(key: str, seed: int, args: argparse.Namespace) -> Path:
    """Train one arm with one seed and return its run folder."""
    folder = args.runs / f"{key}-{seed}"
    words = ["train", str(RECIPES / f"scimult-{key}.toml"), "--sources", str(args.sources), "-o", str(folder)]
    words += ["--set", f"seed={seed}"]
    if key in WARM:
        words += ["--set", f"stages.vanilla.done={args.runs / f'vanilla-{seed}' / 'vanilla' / 'model'}"]
    for change in args.change or []:
        words += ["--set", change]
    seconds = run(words)
    kept = folder / "seconds.json"
    if not kept.exists():
        kept.write_text(json.dumps(round(seconds)) + "\n", encoding="utf-8")
    return folder


def backbone(runs: Path) -> Path:
    """Return the folder of the untouched backbone, cut as the twins are."""
    folder = runs / f"all-MiniLM-L6-v2-{MAX_LENGTH}"
    if not folder.exists():
        Encoder.load("all-MiniLM-L6-v2", max_length=MAX_LENGTH).save(folder)
    return folder


def table(name: str, folders: dict[Arm, Path], args: argparse.Namespace, *more: str) -> None:
    """Make one table with all models that are there; what has been scored already is not scored again."""
    words = ["reproduce", "scimult", name, "--data", "open", "--models", f"backbone={backbone(args.runs)}"]
    for (key, _), folder in folders.items():
        words += ["--models", f"{key}={folder}"]
    run([*words, "--results", str(args.output), *more], may_fail=True)


def median_dev(folders: dict[Arm, Path]) -> dict[Arm, Path]:
    """Return of each method the run whose best dev score is the median of its seeds."""
    found = {}
    for key in METHODS:
        arms = sorted(
            (arm for arm in folders if arm[0] == key), key=lambda arm: summary(folders[arm])["dev_best"]
        )
        if arms:
            arm = arms[len(arms) // 2]
            found[arm] = folders[arm]
    return found


def summary(folder: Path) -> dict[str, object]:
    """Return what a run's own files say of it."""
    stage = max((path for path in folder.iterdir() if path.is_dir()), key=lambda p: p.stat().st_mtime)
    rows = [json.loads(line) for line in (stage / "metrics.jsonl").read_text("utf-8").splitlines()]
    scored = [row for row in rows if "dev" in row]
    best = max(scored, key=lambda row: row["dev"])
    return {
        "steps": max(row["step"] for row in rows),
        "seconds": json.loads((folder / "seconds.json").read_text("utf-8")),
        "dev_at_start": round(scored[0]["dev"], 4),
        "dev_best": round(best["dev"], 4),
        "dev_best_step": best["step"],
        "dev_scores": {name: round(score, 4) for name, score in best["dev_scores"].items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sources", type=Path)
    parser.add_argument("--runs", type=Path, default=Path("out/scimult"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--only", nargs="+", default=[*SEEDED, *ONCE])
    parser.add_argument("--tables", nargs="*", default=list(TABLES))
    parser.add_argument("--set", dest="change", action="append", help="for every recipe")
    parser.add_argument("-o", "--output", type=Path, default=Path("results/scimult"))
    parser.add_argument("--full", action="store_true", help="then the whole suite, once per method")
    args = parser.parse_args()
    first, *others = args.seeds
    arms = [(key, first) for key in args.only]
    arms += [(key, seed) for seed in others for key in args.only if key in SEEDED]
    folders: dict[Arm, Path] = {}
    for key, seed in arms:
        folders[key, seed] = trained(key, seed, args)
        table(SCORED_BY.get(key, "9"), folders, args, "--quick", "--only", key)
    facts = provenance(["torch", "sciprism"], changes=args.change or [])
    runs = {f"{key}, seed {seed}": summary(folder) for (key, seed), folder in folders.items()}
    write(args.output / "runs.json", facts | {"runs": runs})
    for name in args.tables:
        table(name, folders, args, "--quick", "-o", str(args.output / f"table-{name}.md"))
    if args.full:
        for name in args.tables:
            table(name, median_dev(folders), args, "-o", str(args.output / f"table-{name}-whole-suite.md"))


if __name__ == "__main__":
    main()
