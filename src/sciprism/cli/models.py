"""`sciprism models`: the models that can be named."""

from __future__ import annotations

from dataclasses import asdict

from sciprism.cli.json_documents import print_json
from sciprism.cli.options import AsJson
from sciprism.cli.printing import print_table


def models(as_json: AsJson = False) -> None:
    """List the models that can be named: packaged, in the hub's cache, and known ids of the hub.

    Any other hub id or folder of a model can be named too. Nothing is downloaded.

    Example: sciprism models --json
    """
    from sciprism.encoders.checkpoints.known_models import list_models
    from sciprism.formats import FORMATS

    found = list_models()
    if as_json:
        print_json("sciprism.models/1", {"models": [asdict(each) | {"here": each.size is not None} for each in found]})
        return
    rows = [
        [
            each.name,
            each.method,
            "all" if each.formats == FORMATS else ", ".join(each.formats),
            "no" if each.size is None else f"{each.size / 1e6:,.0f} MB",
        ]
        for each in found
    ]
    print_table(("model", "method", "formats", "here"), (), rows)
    absent: dict[str, list[str]] = {}
    for each in found:
        if each.size is None:
            absent.setdefault(each.obtain, []).append(each.name)
    for obtain, names in absent.items():
        print(f"not here: {names[0] if len(names) == 1 else f'{len(names)} models'}: {obtain}")
