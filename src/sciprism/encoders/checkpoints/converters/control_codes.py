"""Convert SciRepEval's control codes (`allenai/scirepeval_ctrl`): a BERT with the codes in its vocabulary.

There a text begins with a code, which the tokenizer recognises; here the code is inserted after CLS, the same
position. The codes' rows are copied from the word embeddings.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sciprism.encoders.checkpoints.converters.conversion_cache import convert_once, describe_files
from sciprism.encoders.checkpoints.folder import ModelFolder, write_folder
from sciprism.encoders.checkpoints.released_models import CODES, LocateModel, ModelFiles, specter_settings
from sciprism.encoders.methods.control_codes import ControlCodes
from sciprism.errors import InputError

VOCABULARIES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json")


def convert(files: ModelFiles, locate: LocateModel) -> Path | None:  # noqa: ARG001 - a converter's signature
    """Return the folder of the converted model, of the method `control-codes`; None without all codes."""
    texts = [(files.path / file).read_bytes() for file in VOCABULARIES if (files.path / file).exists()]
    if not all(any(f'"{code}"'.encode() in text for text in texts) for code in CODES.values()):
        return None
    return convert_once(files.title, describe_files(files.path), lambda draft: _write(draft, files.path, files.title))


def _write(draft: Path, folder: Path, title: str) -> None:
    source = ModelFolder(folder, {"pooling": "cls"})
    ids = {route: source.tokenizer.token_to_id(code) for route, code in CODES.items()}
    if lacking := ", ".join(CODES[route] for route, number in ids.items() if number is None):
        raise InputError(f"{folder}: its tokenizer does not know {lacking}")
    settings = replace(
        specter_settings(source.settings.max_length, source.special), method="control-codes", pooling="code"
    )
    method = ControlCodes()
    method.fill(source.model)
    rows = source.model.embeddings.word.weight[[ids[route] for route in method.routes]]
    source.model.load_state_dict({"embeddings.front.rows.weight": rows}, strict=False)
    write_folder(
        draft,
        model=source.model,
        tokenizer=source.tokenizer,
        settings=settings,
        provenance={"converted from": title, "ignored": list(source.ignored)},
    )
