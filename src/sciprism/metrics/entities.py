"""Counts of tagged entities, whole (as conlleval counts) or word by word.

Tags are "O" (outside), or "B" (first word of an entity) or "I" (inside one), alone or with a type: "B-gene".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sciprism.arrays import Doubles, check_aligned
from sciprism.errors import InputError

Tags = Sequence[str]
Span = tuple[str, int, int]


def spans(tags: Tags) -> list[Span]:
    """Return the entities of a sentence in order: type ("" for a bare tag), first word, word after the last.

    An "I" starts an entity if the word before is outside or of another type (conlleval, CoNLL-2000).
    InputError for tags of other schemes, such as the E- and S- of BIOES.
    """
    entities: list[Span] = []
    open_type: str | None = None
    for word, tag in enumerate(tags):
        prefix, kind = _parts(tag, word)
        if prefix == "I" and kind == open_type:
            entities[-1] = (kind, entities[-1][1], word + 1)
        elif prefix != "O":
            entities.append((kind, word, word + 1))
        open_type = None if prefix == "O" else kind
    return entities


def entity_counts(gold: Sequence[Tags], predicted: Sequence[Tags], types: Sequence[str]) -> Doubles:
    """Count true and false entities of each sentence, (n, 3 t) for t types; only exact spans are true.

    Columns: true positives of each type, then false positives, then false negatives; the item scores of an
    F1. InputError if sentences differ in length or a type is unknown.
    """
    return _counts(gold, predicted, types, spans)


def word_counts(gold: Sequence[Tags], predicted: Sequence[Tags], types: Sequence[str]) -> Doubles:
    """Count as `entity_counts`, but each word by its type; words outside do not count.

    The word-level F1 of EBM PICO: the mean of the types' F1 (Gu et al. 2021, BLURB).
    """
    return _counts(gold, predicted, types, _words)


def _words(tags: Tags) -> list[Span]:
    parts = (_parts(tag, word) for word, tag in enumerate(tags))
    return [(kind, word, word + 1) for word, (prefix, kind) in enumerate(parts) if prefix != "O"]


def _parts(tag: str, word: int) -> tuple[str, str]:
    prefix, _, kind = tag.partition("-")
    if prefix not in ("B", "I") and tag != "O":
        raise InputError(
            f'word {word + 1} has the tag {tag!r}; tags are "O", "B-TYPE" and "I-TYPE": convert other schemes'
        )
    return prefix, kind


def _counts(
    gold: Sequence[Tags], predicted: Sequence[Tags], types: Sequence[str], units: Callable[[Tags], list[Span]]
) -> Doubles:
    check_aligned(gold, predicted, "gold and predicted sentences")
    column = {kind: n for n, kind in enumerate(types)}
    counts = np.zeros((len(gold), 3, len(types)))
    for row, (truth, guess) in enumerate(zip(gold, predicted, strict=True)):
        where = f"sentence {row + 1}"
        check_aligned(truth, guess, f"{where}, gold and predicted tags")
        right, found = set(units(truth)), set(units(guess))
        for outcome, chosen in enumerate((right & found, found - right, right - found)):
            for kind, _, _ in chosen:
                if kind not in column:
                    raise InputError(f"{where}: type {kind!r} is tagged, but not among {list(types)}")
                counts[row, outcome, column[kind]] += 1
    return counts.reshape(len(gold), 3 * len(types))
