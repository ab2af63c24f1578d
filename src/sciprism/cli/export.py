"""`sciprism export`: a model for other libraries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from sciprism.cli.options import ModelName, Pooling

if TYPE_CHECKING:
    from sciprism.formats import Format

MESSAGES = {
    "plain": "{folder}: transformers and sentence-transformers open it",
    "compact": "{folder}: sciprism opens it",
    "module": "{folder}: sentence-transformers opens it where sciprism is installed: "
    'SentenceTransformer("{folder}", trust_remote_code=True)',
}


def export(
    model: ModelName,
    output: Annotated[Path, typer.Option("-o", "--output", help="A new folder, or an empty one.")],
    format: Annotated[
        str, typer.Option(help="Format of the vectors: classification, regression, proximity, search.")
    ] = "",
    compact: Annotated[bool, typer.Option("--compact", help="int8 weights, which sciprism alone opens.")] = False,
    pooling: Pooling = "",
) -> None:
    """Write a model as a folder that sentence-transformers opens, with the same vectors.

    Where a plain BERT gives the format's vectors (the method single; experts with --format), transformers
    opens the folder too, without sciprism. Else it holds the whole model, --format is its default format,
    and sciprism must be installed where it is opened. --compact writes a quarter of the bytes, rows of
    matrices as int8 with a scale: vectors differ a little, and sciprism alone opens it.

    Example: sciprism export models/experts -o plain/ --format classification
    """
    from sciprism.encoders.encoder import Encoder
    from sciprism.encoders.export import export as write

    encoder = Encoder.load(model, pooling=pooling or None)
    kind = write(encoder, output, format=cast("Format | None", format or None), compact=compact)
    print(MESSAGES[kind].format(folder=output))
