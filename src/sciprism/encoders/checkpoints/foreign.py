"""Model folders of other people's methods: known by what lies in them, and converted to ours."""

from __future__ import annotations

from pathlib import Path

from sciprism.encoders.checkpoints import adapter_sets, control_codes, pals


def converted(folder: Path, title: str) -> Path:
    """Return the folder, or that of the model which it was converted to.

    title: what the model is called in what is made of the folder. Converted are AdapterHub's folders,
    SciRepEval's PALs and its control codes; a folder of ours or of sentence-transformers says what it is.
    """
    if any((folder / file).exists() for file in ("sciprism.json", "modules.json")):
        return folder
    of_adapters = adapter_sets.convert_folder(folder, title)
    if of_adapters is not None:
        return of_adapters
    if pals.has_pals(folder):
        return pals.convert(folder, title)
    return control_codes.convert(folder, title) if control_codes.has_codes(folder) else folder
