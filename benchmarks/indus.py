"""INDUS at the size of a laptop: every run and every table of results/indus, one by one.

The recipe's encoders are trained once, up to auto-encoding; every arm repeats one of its later stages with one thing
changed. Other seeds are of the retrievers alone: what they begin with, of words, masks and relations, is the one run's.
The small retrievers of the paper's way learn from citations too, which the recipe does without. Claim I2 asks whether
words and texts of the domain help: four encoders of one size, each trained on masked words and as a retriever.
`benchmarks/indus_data.py` makes the sources. Run from the repository root:

    python benchmarks/indus.py SOURCES --set defaults.precision=bfloat16 --precision bfloat16
"""

from __future__ import annotations

from study import Arm, Study, main

ENCODERS = ("masked-lm", "shrink", "auto-encoding")
RETRIEVERS = ("contrast", "distil", "polish")
TITLES = (
    '{file = "pairs/train/title-abstract.jsonl", dev = "pairs/dev/title-abstract.jsonl", '
    'format = "search", query = "query"}'
)
CITATIONS = '{file = "citations/train.jsonl", dev = "citations/dev.jsonl", format = "search"}'
PLAIN = 'stages.contrast.objective={name="contrast", similarity="cosine", temperature=%s, hard_negatives=0}'
SHARP = "stages.contrast.objective.temperature=0.02"
ONCE = "stages.contrast.objective.count_pair_twice=false"
SIMILARITIES = (
    '{name="similarity", teacher="{retriever-base.contrast}", teacher_max_length=128, temperature=0.02, '
    "teacher_temperature=0.02, distillation_temperature=4.0}"
)


TEACHERS = tuple(f"stages.{stage}.objective.teacher_precision=bfloat16" for stage in RETRIEVERS[1:])
DOMAIN = {
    "general": ("general", "general"),
    "general-text": ("domain", "general"),
    "general-words": ("general", "domain"),
    "domain": ("domain", "domain"),
}
"""Key -> words and texts."""


def domain_arm(key: str, words: str, texts: str) -> Arm:
    """Return the arm of words and texts."""
    folder = f"{words}-words/{texts}-text"
    changes = (
        f"model.tokenizer={words}-words/{words}-text/tokenizer",
        f"stages.masked-lm.sources.0.file={folder}/train",
        f"stages.masked-lm.sources.0.dev={folder}/dev",
    )
    return Arm(key=key, table="I2-domain", recipe="indus-domain", changes=changes)


def finish_stages(model: str, *stages: str) -> tuple[str, ...]:
    """Return the changes that put models in place of stages. model: with STAGE for the stage's name."""
    return tuple(f"stages.{stage}.finished_model={model.replace('STAGE', stage)}" for stage in stages)


def arm(key: str, stage: str, *changes: str, table: str = "8", seeded: bool = True) -> Arm:
    """Return a repeated stage, with changes; nothing is left to do after it."""
    before = finish_stages("{encoders.STAGE}", *(each for each in ENCODERS if each != stage))
    after = finish_stages("{backbone}", *(each for each in RETRIEVERS if each != stage))
    every = (*changes, *before, *after, *TEACHERS)
    return Arm(key=key, table=table, recipe="indus", seeded=seeded, stage=stage, changes=every)


def small_retriever(
    start: str, *, sources: str = f"{TITLES}, {CITATIONS}", steps: int = 480, rate: float = 5e-4
) -> tuple[str, ...]:
    """Return the changes that make the paper's small retriever: similarities of our own one, first token."""
    keys = {"initialize_from": start, "pooling": "cls", "objective": SIMILARITIES, "sources": f"[{sources}]"}
    keys |= {"batch_size": "64", "dropout": "0.1", "steps": str(steps), "optimizer": f"{{lr={rate}}}"}
    keys |= {"evaluation": "{every=60, examples=1000}"}
    return tuple(f"stages.distil.{key}={value}" for key, value in keys.items())


def auto_encoder(key: str, *changes: str) -> Arm:
    """Return an auto-encoded start of a retriever whose vector is the first token's."""
    return arm(key, "auto-encoding", "stages.auto-encoding.pooling=cls", *changes, table="", seeded=False)


# In stages of 3 to 1, as many steps in all as at once; the second has a smaller rate, as it begins trained.
STAGED = (
    arm(
        "small-unsupervised",
        "distil",
        *small_retriever("{small-auto-encoding.auto-encoding}", sources=TITLES, steps=360),
        table="",
    ),
    arm(
        "retriever-small-staged",
        "distil",
        *small_retriever("{small-unsupervised.distil}", sources=CITATIONS, steps=120, rate=2e-4),
        table="ablation",
    ),
)
ENCODED = Arm(
    key="encoders",
    table="",
    recipe="indus",
    seeded=False,
    stage="auto-encoding",
    changes=finish_stages("{backbone}", *RETRIEVERS) + TEACHERS,
)
CHAIN = Arm(
    key="retriever-small-minilm",
    table="teachers",
    recipe="indus",
    seeded=False,
    changes=finish_stages("{encoders.STAGE}", *ENCODERS)
    + finish_stages("{retriever-base.STAGE}", "contrast")
    + TEACHERS,
)
"""The rest of the recipe itself, taught by all-MiniLM-L6-v2: its longest stages by far."""
STUDY = Study(
    paper="indus",
    arms=(
        *(domain_arm(key, *each) for key, each in DOMAIN.items()),
        ENCODED,
        auto_encoder("base-auto-encoding", "stages.auto-encoding.initialize_from=masked-lm"),
        auto_encoder("small-auto-encoding"),
        arm("retriever-base", "contrast"),
        arm("retriever-base-contrast", "contrast", PLAIN % 0.05, table="I4"),
        arm("retriever-base-sharp", "contrast", SHARP, table="I4"),
        arm("retriever-base-contrast-sharp", "contrast", PLAIN % 0.02, table="I4"),
        arm(
            "retriever-base-retromae",
            "contrast",
            "stages.contrast.initialize_from={base-auto-encoding.auto-encoding}",
            table="I5",
        ),
        arm("retriever-small", "distil", *small_retriever("{small-auto-encoding.auto-encoding}")),
        arm("retriever-small-no-retromae", "distil", *small_retriever("shrink"), table="I5"),
        *STAGED,
        arm("retriever-base-once", "contrast", ONCE, table="I4", seeded=False),
        arm("retriever-base-cls", "contrast", "stages.contrast.pooling=cls", table="pooling", seeded=False),
        arm(
            "retriever-small-mean",
            "distil",
            *small_retriever("auto-encoding"),
            "stages.distil.pooling=mean",
            table="pooling",
            seeded=False,
        ),
        arm("roberta-base", "contrast", "stages.contrast.initialize_from=all-MiniLM-L6-v2", seeded=False),
        CHAIN,
    ),
    fixed={"bm25": "bm25", "minilm": "all-MiniLM-L6-v2"},
    tables=("I2-domain", "I2-entities", "8", "11", "9", "I4", "I5", "pooling", "teachers"),
)

if __name__ == "__main__":
    main(STUDY, __doc__)
