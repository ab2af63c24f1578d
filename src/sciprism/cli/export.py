"""`sciprism export`: a model for other libraries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

if TYPE_CHECKING:
    from sciprism.formats import Format

SAID = {
    "plain": "{folder}: transformers and sentence-transformers open it",
    "compact": "{folder}: sciprism opens it",
    "module": "{folder}: sentence-transformers opens it where sciprism is installed: "
    'SentenceTransformer("{folder}", trust_remote_code=True)',
}


def export(
    model: Annotated[str, typer.Argument(help="A model: folder, packaged name or hub id.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="A new folder, or an empty one.")],
    format: Annotated[
        str,
        typer.Option(help="The one format that is wanted: classification, regression, proximity, search."),
    ] = "",
    compact: Annotated[
        bool, typer.Option("--compact", help="int8 weights, which sciprism alone opens.")
    ] = False,
    pooling: Annotated[
        str, typer.Option(help="cls or mean, where the model's folder does not state it.")
    ] = "",
) -> None:
    """Write a model as a folder that sentence-transformers opens, with the same vectors.

    Where the format's way leads through a plain BERT (the method single; experts with --format), transformers
    opens it too, and nothing of sciprism is needed. Else the folder holds the whole model, --format is the
    one it begins with, and sciprism has to be installed where it is opened. --compact writes a quarter of the
    bytes, rows of matrices as int8 with a scale: vectors differ a little, and sciprism alone opens it.

    Example: sciprism export models/experts -o plain/ --format classification
    """
    from sciprism.encoders.encoder import Encoder
    from sciprism.encoders.export import export as write

    encoder = Encoder.load(model, pooling=pooling or None)
    kind = write(encoder, output, format=cast("Format | None", format or None), compact=compact)
    print(SAID[kind].format(folder=output))
