"""INDUS at the size of a laptop: every run and every table of results/indus, one by one.

The recipe is run once; every other arm repeats one of its stages with one thing changed, and takes the rest
from that run. Other seeds are of the retrievers alone: what they begin with, of words, masks and relations,
is the one run's. The small retrievers of the paper's way learn from citations too, which the recipe does
without. After an interruption the same command continues. Run from the repository root,
after `sciprism prepare text` as recipes/laptop/indus.toml says, and `sciprism prepare pairs FILES
-o SOURCES/pairs --shapes title-abstract,neighbour-sentences,citing-cited-titles`, where some of the papers
cite each other:

    python benchmarks/indus.py SOURCES --seeds 0 1 2 --set defaults.precision=bfloat16 \\
        --set stages.distil.objective.teacher_precision=bfloat16 --precision bfloat16 \\
        --set stages.polish.objective.teacher_precision=bfloat16
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from measurement import build_parser, provenance, write_result
from run_summary import summarize_run
from sciprism.training.recipe_file import read_recipe
from study import pack, report_missing, reproduce_table, run_command

RECIPE = Path("recipes/laptop/indus.toml")
TABLES = ("8", "beir", "ablation", "I4", "I5", "pooling", "teachers")
WHOLE, WHOLE_SEED = "laptop", 0
OTHERS = (("bm25", "bm25"), ("minilm", "all-MiniLM-L6-v2"))
"""Rows of models that are there without training: key, name."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One stage again, with changes; {NAME} in them is the model of another arm or of a stage of the run.

    row: the model that it is in the tables, None for the one of its own name, "" for none. seeded: it is
    trained with all seeds.
    """

    stage: str
    changes: tuple[str, ...] = ()
    row: str | None = None
    seeded: bool = True


TITLES = (
    '{{file = "pairs/train/title-abstract.jsonl", dev = "pairs/dev/title-abstract.jsonl", '
    'format = "search", query = "query"}}'
)
CITATIONS = (
    '{{file = "pairs/train/citing-cited-titles.jsonl", dev = "pairs/dev/citing-cited-titles.jsonl", format = "search"}}'
)
OBJECTIVE = "stages.contrast.objective"
PLAIN = '{{name="contrast", similarity="cosine", temperature=0.05, hard_negatives=0}}'
SHARP = '{{name="contrast", similarity="cosine", temperature=0.02, hard_negatives=0}}'
SIMILARITIES = (
    '{{name="similarity", teacher="{contrast}", teacher_max_length=128, temperature=0.02, '
    "teacher_temperature=0.02, distillation_temperature=4.0}}"
)


def small_retriever(
    start: str, *, sources: str = f"{TITLES}, {CITATIONS}", steps: int = 480, rate: float = 5e-4
) -> tuple[str, ...]:
    """Return the changes that make the paper's small retriever: similarities of our own one, first token."""
    keys = {"initialize_from": start, "pooling": "cls", "objective": SIMILARITIES, "sources": f"[{sources}]"}
    keys |= {"batch_size": "64", "dropout": "0.1", "steps": str(steps), "optimizer": f"{{{{lr={rate}}}}}"}
    keys |= {"evaluation": "{{every=60, examples=300}}"}
    return tuple(f"stages.distil.{key}={value}" for key, value in keys.items())


ARMS = {
    "base-auto-encoding": Arm(
        "auto-encoding",
        ("stages.auto-encoding.initialize_from=masked-lm", "stages.auto-encoding.pooling=cls"),
        row="",
        seeded=False,
    ),
    "small-auto-encoding": Arm("auto-encoding", ("stages.auto-encoding.pooling=cls",), row="", seeded=False),
    "retriever-base": Arm("contrast"),
    "retriever-base-contrast": Arm("contrast", (f"{OBJECTIVE}={PLAIN}",)),
    "retriever-base-sharp": Arm("contrast", (f"{OBJECTIVE}.temperature=0.02",)),
    "retriever-base-contrast-sharp": Arm("contrast", (f"{OBJECTIVE}={SHARP}",)),
    "retriever-base-once": Arm("contrast", (f"{OBJECTIVE}.count_pair_twice=false",), seeded=False),
    "retriever-base-cls": Arm("contrast", ("stages.contrast.pooling=cls",), seeded=False),
    "retriever-base-retromae": Arm("contrast", ("stages.contrast.initialize_from={base-auto-encoding}",), seeded=False),
    "retriever-general": Arm(
        "contrast", ("stages.contrast.initialize_from=all-MiniLM-L6-v2",), row="roberta-base", seeded=False
    ),
    "retriever-small-minilm": Arm("polish", seeded=False),
    "retriever-small": Arm("distil", small_retriever("{small-auto-encoding}")),
    "retriever-small-no-retromae": Arm("distil", small_retriever("shrink")),
    "retriever-small-mean": Arm(
        "distil", (*small_retriever("auto-encoding"), "stages.distil.pooling=mean"), seeded=False
    ),
    # In stages of 3 to 1, as many steps in all as at once; the second has a smaller rate, as it begins trained.
    "small-unsupervised": Arm("distil", small_retriever("{small-auto-encoding}", sources=TITLES, steps=360), row=""),
    "retriever-small-staged": Arm(
        "distil", small_retriever("{small-unsupervised}", sources=CITATIONS, steps=120, rate=2e-4)
    ),
}


def train_arms(args: argparse.Namespace, seed: int) -> dict[str, Path]:
    """Train the arms with one seed, and first the recipe; return the folder of each model."""
    whole = args.runs / f"{WHOLE}-{WHOLE_SEED}"
    words = ["train", str(RECIPE), "--sources", str(args.sources)]
    run_command(*words, *_set(f"seed={WHOLE_SEED}", *args.change), "-o", str(whole))
    stages = [stage.name for stage in read_recipe(RECIPE).stages]
    models = {stage: whole / stage / "model" for stage in stages}
    for name in args.only:
        arm = ARMS[name]
        own = seed if arm.seeded else WHOLE_SEED
        if arm.changes or own != WHOLE_SEED:
            folder = args.runs / f"{name}-{own}"
            changes = [f"seed={own}", *(change.format_map(models) for change in arm.changes)]
            changes += [f"stages.{stage}.finished_model={models[stage]}" for stage in stages if stage != arm.stage]
            run_command(*words, *_set(*changes, *args.change), "-o", str(folder))
            models[name] = folder / arm.stage / "model"
        else:
            models[name] = models[arm.stage]
        if not arm.changes:
            models[arm.stage] = models[name]  # this seed's, for the arms that begin with it
    return {name: models[name] for name in args.only}


def _set(*changes: str) -> list[str]:
    return [word for change in changes for word in ("--set", change)]


def make_table(args: argparse.Namespace, name: str, models: list[dict[str, Path]]) -> bool:
    """Make one table of all models that are there; say whether it is whole."""
    named = list(OTHERS)
    for key in args.only:
        row = key if ARMS[key].row is None else ARMS[key].row
        named += [(row, str(folder)) for folder in dict.fromkeys(each[key] for each in models) if row]
    page = args.output / f"table-{name}.md"
    options = ("--data", "open", "--precision", args.precision, "--results", str(args.output))
    return reproduce_table("indus", name, named, *options, "-o", str(page))


def main() -> None:
    parser = build_parser(__doc__, output=Path("results/indus"))
    parser.add_argument("sources", type=Path, help="the folder with text/ and pairs/")
    parser.add_argument("--runs", type=Path, default=Path("out/indus"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--only", nargs="+", choices=list(ARMS), default=list(ARMS), help="these arms")
    parser.add_argument("--set", dest="change", action="append", default=[], help="for every run")
    parser.add_argument("--precision", default="float32", help="of the scored vectors")
    parser.add_argument("--tables", nargs="*", default=list(TABLES))
    args = parser.parse_args()
    models = [train_arms(args, seed) for seed in args.seeds]
    runs = {
        f"{ARMS[key].row or key}, seed {seed if ARMS[key].seeded else WHOLE_SEED}": summarize_run(
            folder.parent.parent, ARMS[key].stage
        )
        for seed, of_seed in zip(args.seeds, models, strict=True)
        for key, folder in of_seed.items()
    }
    facts = provenance(["torch", "sciprism"], changes=args.change)
    write_result(args.output / "runs.json", facts | {"runs": runs})
    made = {name: make_table(args, name, models) for name in args.tables}
    pack(args.output)
    report_missing(made)


if __name__ == "__main__":
    main()
