"""INDUS at the size of a laptop: every run and every table of results/indus, one by one.

The recipe's stages are run once for each seed; every other arm repeats one stage with one thing changed, and
takes the rest from that run. The small retrievers learn from citations too, which the recipe does without.
What is done is kept: stopped at any moment, the same command goes on. Run from the repository root, after
`sciprism prepare text` as recipes/indus/laptop.toml says, and `sciprism prepare pairs FILES -o SOURCES/pairs
--shapes title-abstract,citing-cited-titles`, where some of the papers cite each other:

    python benchmarks/indus.py SOURCES --seeds 0 1 2
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

from rounds import provenance, write
from sciprism.training.recipe import read_recipe
from study import reproduced, run, say_missing

RECIPE = Path("recipes/indus/laptop.toml")
TABLES = ("8", "beir", "ablation", "I2", "I4", "I5", "pooling", "teachers")
WHOLE = "laptop"
OTHERS = (("bm25", "bm25"), ("minilm", "all-MiniLM-L6-v2"))
"""Rows of models that are there without training: key, name."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One stage again, with changes; {NAME} in them is the model of another arm or of a stage of the run.

    row: the model that it is in the tables, None for the one of its own name, "" for none.
    """

    stage: str
    changes: tuple[str, ...] = ()
    row: str | None = None


TITLES = (
    '{{file = "pairs/train/title-abstract.jsonl", dev = "pairs/dev/title-abstract.jsonl", '
    'format = "search", query = "query"}}'
)
CITATIONS = (
    '{{file = "pairs/train/citing-cited-titles.jsonl", dev = "pairs/dev/citing-cited-titles.jsonl", '
    'format = "search"}}'
)
AT_ONCE = f"stages.distil.sources=[{TITLES}, {CITATIONS}]"
OBJECTIVE = "stages.contrast.objective"
OURS = "stages.distil.objective.teacher={contrast}"
ARMS = {
    "retriever-base": Arm("contrast"),
    "retriever-base-contrast": Arm(
        "contrast",
        (f'{OBJECTIVE}={{{{name="contrast", similarity="cosine", temperature=0.05, hard_negatives=0}}}}',),
    ),
    "retriever-base-once": Arm("contrast", (f"{OBJECTIVE}.twice=false",)),
    "retriever-base-cls": Arm("contrast", ("stages.contrast.pooling=cls",)),
    "base-auto-encoding": Arm("auto-encoding", ("stages.auto-encoding.start=masked-lm",), row=""),
    "retriever-base-retromae": Arm("contrast", ("stages.contrast.start={base-auto-encoding}",)),
    "retriever-general": Arm("contrast", ("stages.contrast.start=all-MiniLM-L6-v2",), row="roberta-base"),
    "retriever-small-minilm": Arm("distil"),
    "retriever-small": Arm("distil", (OURS,)),
    "retriever-small-no-retromae": Arm("distil", (OURS, "stages.distil.start=shrink")),
    "mean-auto-encoding": Arm("auto-encoding", ("stages.auto-encoding.pooling=mean",), row=""),
    "retriever-small-mean": Arm(
        "distil",
        (OURS, "stages.distil.start={mean-auto-encoding}", "stages.distil.pooling=mean"),
    ),
    # In stages of 3 to 1, as the large retriever's, and as many steps in all as at once.
    "small-unsupervised": Arm(
        "distil", (OURS, f"stages.distil.sources=[{TITLES}]", "stages.distil.steps=150"), row=""
    ),
    "retriever-small-staged": Arm(
        "distil",
        (
            OURS,
            "stages.distil.start={small-unsupervised}",
            f"stages.distil.sources=[{CITATIONS}]",
            "stages.distil.steps=50",
        ),
    ),
}


def trained(args: argparse.Namespace, seed: int) -> dict[str, Path]:
    """Train the recipe and its arms with one seed; return the folder of each model."""
    whole = args.runs / f"{WHOLE}-{seed}"
    words = ["train", str(RECIPE), "--sources", str(args.sources), "--set", f"seed={seed}"]
    words += ["--set", AT_ONCE.format()]
    run([*words, "-o", str(whole)])
    stages = [stage.name for stage in read_recipe(RECIPE).stages]
    models = {stage: whole / stage / "model" for stage in stages}
    for name, arm in ARMS.items():
        if not arm.changes:
            models[name] = models[arm.stage]
            continue
        folder = args.runs / f"{name}-{seed}"
        changes = [f"stages.{stage}.done={models[stage]}" for stage in stages if stage != arm.stage]
        changes += [change.format_map(models) for change in arm.changes]
        run([*words, *(word for change in changes for word in ("--set", change)), "-o", str(folder)])
        models[name] = folder / arm.stage / "model"
    return {name: models[name] for name in ARMS}


def facts_of(stage: Path) -> dict[str, float | int]:
    """Return what a stage's own files say of it."""
    rows = [json.loads(line) for line in (stage / "metrics.jsonl").read_text("utf-8").splitlines()]
    steps = [row for row in rows if "seconds" in row]
    return {
        "steps": len(steps),
        "seconds": round(sum(row["seconds"] for row in steps)),
        "last_loss": round(steps[-1]["loss"], 4),
        "dev_best": max((round(row["dev"], 4) for row in rows if "dev" in row), default=0.0),
    }


def table(args: argparse.Namespace, name: str, models: list[dict[str, Path]]) -> bool:
    """Make one table of all models that are there; say whether it is whole."""
    named = list(OTHERS)
    for key, arm in ARMS.items():
        row = key if arm.row is None else arm.row
        named += [(row, str(of_seed[key])) for of_seed in models if row]
    page = args.output / f"table-{name}.md"
    return reproduced("indus", name, named, "--data", "open", "--results", str(args.output), "-o", str(page))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sources", type=Path, help="the folder with text/ and pairs/")
    parser.add_argument("--runs", type=Path, default=Path("out/indus"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--tables", nargs="*", default=list(TABLES))
    parser.add_argument("-o", "--output", type=Path, default=Path("results/indus"))
    args = parser.parse_args()
    models = [trained(args, seed) for seed in args.seeds]
    runs = {
        f"{key}, seed {seed}": facts_of(folder.parent)
        for seed, of_seed in zip(args.seeds, models, strict=True)
        for key, folder in of_seed.items()
    }
    write(args.output / "runs.json", provenance(["torch", "sciprism"]) | {"runs": runs})
    say_missing({name: table(args, name, models) for name in args.tables})


if __name__ == "__main__":
    main()
