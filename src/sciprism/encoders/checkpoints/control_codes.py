"""SciRepEval's control codes (`allenai/scirepeval_ctrl`): a BERT whose vocabulary has the codes as words.

There the text begins with a code, and the tokenizer finds it; here it is put behind CLS, the same place. So
the codes' rows are taken from the word embeddings, where they also stay.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sciprism.encoders.checkpoints.converted import facts_of, kept
from sciprism.encoders.checkpoints.family import CODES, family_settings
from sciprism.encoders.checkpoints.folder import Parts, write_folder
from sciprism.encoders.methods.control_codes import ControlCodes
from sciprism.errors import InputError

VOCABULARIES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json")


def has_codes(folder: Path) -> bool:
    """Return whether the folder's vocabulary names all codes."""
    texts = [(folder / file).read_bytes() for file in VOCABULARIES if (folder / file).exists()]
    return all(any(f'"{code}"'.encode() in text for text in texts) for code in CODES.values())


def convert(folder: Path, title: str) -> Path:
    """Return the model folder of such a model, called title, of the method `control-codes`."""
    return kept(title, facts_of(folder), lambda draft: _write(draft, folder, title))


def _write(draft: Path, folder: Path, title: str) -> None:
    parts = Parts(folder, {"pooling": "cls"})
    known = {way: parts.tokenizer.token_to_id(code) for way, code in CODES.items()}
    ids = {way: number for way, number in known.items() if number is not None}
    if len(ids) < len(CODES):
        lacking = ", ".join(code for way, code in CODES.items() if way not in ids)
        raise InputError(f"{folder}: its tokenizer does not know {lacking}")
    settings = replace(
        family_settings(parts.settings.max_length, parts.special), method="control-codes", pooling="code"
    )
    method = ControlCodes()
    method.fill(parts.model)
    rows = parts.model.embeddings.word.weight[[ids[way] for way in method.ways]]
    parts.model.load_state_dict({"embeddings.front.rows.weight": rows}, strict=False)
    write_folder(
        draft,
        model=parts.model,
        tokenizer=parts.tokenizer,
        settings=settings,
        provenance={"converted from": title, "ignored": list(parts.ignored)},
    )
