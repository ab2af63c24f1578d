"""Export a model for sentence-transformers: as a plain BERT where that is equivalent, else as our module."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Literal

from sciprism.checksums import write_checksums
from sciprism.encoders.checkpoints.folder import atomic_folder
from sciprism.encoders.checkpoints.sentence_transformers import format_config, write_documents
from sciprism.encoders.encoder import Encoder
from sciprism.encoders.methods.registry import PLAIN
from sciprism.encoders.provenance import describe_untrained, training_facts, untrained_stage
from sciprism.encoders.transformer import Routed, Transformer
from sciprism.errors import InputError
from sciprism.formats import ROLES, Format

ExportKind = Literal["plain", "module", "compact"]
MODULE = "sciprism.encoders.sentence_module.SciprismModule"
ROUTABLE_SLOTS = ("attention", "feed_forward", "feed_forward_norm")  # a module of BERT, or one per route


def export(encoder: Encoder, folder: str | Path, *, format: Format | None = None, compact: bool = False) -> ExportKind:
    """Write a folder that gives the encoder's vectors in sentence-transformers; return its kind.

    "plain" opens in transformers too, without sciprism: for formats with one route through a plain BERT, such
    as those of `single`, or one format of the expert methods. "module" needs sciprism installed; it holds the
    whole model, and all its calls give `format`; without one, `encode` gives proximity, `encode_query` and
    `encode_document` search. "compact" has int8 weights and opens only
    in sciprism. `Encoder.load` opens all kinds. InputError for a format that the model lacks and for a folder
    that is not empty.
    """
    folder = Path(folder)
    if folder.is_dir() and any(folder.iterdir()):
        raise InputError(f"{folder} is not empty; name a new folder")
    formats = encoder.formats if format is None else (format,)
    routes = {encoder.route(served, role) for served in formats for role in ROLES}
    plain = to_plain_transformer(encoder.model, routes.pop()) if len(routes) == 1 else None
    written = encoder
    shown = Path(encoder.name).name if Path(encoder.name).is_dir() else encoder.name
    about = {"exported_from": shown, "fingerprint": encoder.fingerprint, "formats": list(formats)}
    if stage := untrained_stage({"provenance": encoder.provenance}):
        about |= training_facts(stage, 0)
    if plain is not None:
        settings = replace(encoder.settings, method=PLAIN, options={})
        written = Encoder.from_parts(plain, encoder.tokenizer, settings, name=shown, device=str(encoder.device))
    with atomic_folder(folder) as draft:
        written.save(draft, compact=compact, **about)
        if compact:
            return "compact"
        chosen = None
        if plain is None:
            chosen = format or default_format(encoder), format or encoder.search_format
            _write_modules(draft, encoder, *chosen)
        card = _format_model_card(encoder, shown, formats if chosen is None else encoder.formats, chosen)
        (draft / "README.md").write_text(card, encoding="utf-8")
        write_checksums(draft)  # again: of the files that were added
    return "module" if plain is None else "plain"


def default_format(encoder: Encoder) -> Format:
    """Return the format of plain `encode` in a folder that holds several, where none is chosen."""
    return "proximity" if "proximity" in encoder.formats else encoder.formats[0]


def to_plain_transformer(model: Transformer, route: str) -> Transformer | None:
    """Return an equivalent of the model's route with empty slots; None where there is none."""
    slots = [(block.adapter, block.side, block.facets) for block in model.blocks]
    if any(
        slot is not None
        for slot in (model.context, model.beside, model.lexical, model.embeddings.front, *chain(*slots))
    ):
        return None
    plain = deepcopy(model)
    for block in plain.blocks:
        for name in ROUTABLE_SLOTS:
            module = getattr(block, name)
            if isinstance(module, Routed):
                setattr(block, name, module.experts[route])
    return plain


def _write_modules(folder: Path, encoder: Encoder, format: Format, search_format: Format) -> None:
    """Write the files by which sentence-transformers opens the folder where sciprism is installed."""
    from sciprism.encoders.sentence_module import write_config

    write_config(folder, format, search_format)
    documents: dict[str, object] = {
        "modules.json": [{"idx": 0, "name": "0", "path": "", "type": MODULE}],
        # no default prompt: the module knows that of each role
        "config_sentence_transformers.json": format_config(encoder.settings) | {"default_prompt_name": None},
    }
    write_documents(folder, documents)


MODEL_CARD = """---
library_name: sentence-transformers
tags: [scientific-papers, sciprism]
---

# {name}

Encodes scientific papers for {formats}; {how}.

```python
from sentence_transformers import SentenceTransformer

model = SentenceTransformer("."{trust})  # the path or the name of this folder
papers = model.encode_document(["A title" + {separator!r} + "Its abstract."])
queries = model.encode_query(["what it is about"])
```

A paper's text is its title, then {separator!r}, then its abstract; where one of them is missing, the other
alone. Texts are truncated to {length} tokens. Vectors have {dim} dimensions; compare them by {distance}.
"""

FORMAT_NOTE = """
`encode` gives {format}, `encode_query` and `encode_document` give {search}; all take another, `encode(texts,
format="{other}")`. Pairs of title and abstract,
`encode([("A title", "Its abstract.")])`, are joined. With `sciprism`, `Encoder.load` opens this folder.
"""


def _format_model_card(
    encoder: Encoder, name: str, formats: Sequence[Format], chosen: tuple[Format, Format] | None
) -> str:
    """Return the model card; chosen: the formats of `encode` and of searches where the folder needs sciprism."""
    settings = encoder.settings
    needs = f"method {settings.method}: it needs sciprism and sentence-transformers 6 installed"
    card = MODEL_CARD.format(
        name=name,
        formats=", ".join(formats),
        how="a plain BERT" if chosen is None else needs,
        trust="" if chosen is None else ", trust_remote_code=True",
        separator=settings.template.separator,
        length=settings.max_length,
        dim=encoder.dim,
        distance=encoder.distance,
    )
    if stage := untrained_stage({"provenance": encoder.provenance}):
        card += f"\nOf this model, {describe_untrained(stage)}.\n"
    if chosen is None:
        return card
    format, search = chosen
    other = next((another for another in formats if another != format), format)
    return card + FORMAT_NOTE.format(format=format, search=search, other=other)
