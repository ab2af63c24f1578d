"""Warn of texts in languages that a model does not know, as far as its card says which it knows."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from sciprism.errors import ShownWarning

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder

CARD = "README.md"
_STATED = re.compile(r"^language:(.*(?:\n[ \t]*-.*)*)", re.MULTILINE)


def warn_of_other_languages(encoder: Encoder, others: Counter[str], total: int, what: str) -> None:
    """Warn of texts that are not in English, unless the model's card states another language.

    others: their languages, as guessed. total: of all texts. what: they are, such as "papers".
    """
    from sciprism.encoders.settings import find_title  # imports torch, which a search does without

    stated = _read_card(getattr(encoder, "folder", None))
    if any(not code.startswith("en") for code in stated):
        return
    name = find_title(encoder)
    knows = f"{name} knows English alone" if stated else f"the card of {name} states no other language"
    named = ", ".join(f"{language} {count:,}" for language, count in others.most_common())
    message = (
        f"{others.total():,} of {total:,} {what} are not in English (a guess: {named}), and {knows}: vectors of such "
        "texts say little; take a model that knows them, or search with --mode lexical"
    )
    warnings.warn(ShownWarning(message), stacklevel=3)


def _read_card(folder: Path | None) -> list[str]:
    """Return the codes of languages at the head of the card in a model's folder."""
    card = folder / CARD if folder is not None else None
    if card is None or not card.is_file():
        return []
    _, _, rest = card.read_text(encoding="utf-8", errors="replace").partition("---")
    stated = _STATED.search(rest.partition("\n---")[0])
    return re.findall(r"[a-z-]+", stated[1].lower().replace("- ", " ")) if stated else []
