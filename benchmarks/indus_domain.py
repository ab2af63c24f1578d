"""Do words and texts of the domain help: four encoders of one size, start and number of steps, for INDUS's claim I2.

Each pair of words and texts, of the domain or general, is trained on masked words and then, on the same pairs, as a
retriever. `benchmarks/indus_data.py` makes the sources. Run from the repository root:

    python benchmarks/indus_domain.py SOURCES
"""

from __future__ import annotations

from study import Arm, Study, main

ARMS = {
    "general": ("general", "general"),
    "general-text": ("domain", "general"),
    "general-words": ("general", "domain"),
    "domain": ("domain", "domain"),
}
"""Key -> words and texts."""


def source_changes(words: str, texts: str) -> tuple[str, ...]:
    """Return the changes of the recipe that name words and texts."""
    folder = f"{words}-words/{texts}-text"
    return (
        f"model.tokenizer={words}-words/{words}-text/tokenizer",
        f"stages.masked-lm.sources.0.file={folder}/train",
        f"stages.masked-lm.sources.0.dev={folder}/dev",
    )


STUDY = Study(
    paper="indus",
    arms=tuple(
        Arm(key=key, table="I2-domain", recipe="indus-domain", changes=source_changes(*arm))
        for key, arm in ARMS.items()
    ),
    tables=("I2-domain", "I2-entities"),
    runs="runs-domain.json",
)

if __name__ == "__main__":
    main(STUDY, __doc__)
