"""Our tables for INDUS's claim on its domain: words and texts, of the domain or general, all else equal."""

from __future__ import annotations

from sciprism.reproduce.table import ModelRow, PaperTable, TableModel, averages_table

ARMS = {
    "general": ("general words and texts", "general", "general"),
    "general-text": ("words of the domain, general texts", "domain", "general"),
    "general-words": ("general words, texts of the domain", "general", "domain"),
    "domain": ("words and texts of the domain", "domain", "domain"),
}
"""Key -> title, words and texts."""
TRAIN = "train it: python benchmarks/indus_domain.py SOURCES, then --models {0}=RUN"
MODELS = {key: TableModel(title, obtain=TRAIN.format(key)) for key, (title, *_) in ARMS.items()}
FIRST, *OTHERS = ARMS
ROWS = (
    ModelRow(ARMS[FIRST][0], FIRST),
    *(ModelRow(ARMS[key][0], key, against=ARMS[FIRST][0]) for key in OTHERS),
)


def domain_tables(groups: tuple[str, ...], entities: str) -> tuple[PaperTable, ...]:
    """Return the table of averages over groups, and that of fine-tuned entities."""
    return (
        averages_table("I2-domain", "words and texts of the domain, and general ones, all else equal", ROWS, groups),
        PaperTable(
            name="I2-entities",
            title="entities of climate science, fine-tuned, with words and texts of the domain and general ones",
            rows=ROWS,
            groups=(entities,),
            form="runs",
            average=False,
        ),
    )
