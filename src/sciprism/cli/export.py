"""`sciprism export`: a model for other libraries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from sciprism.cli.json_documents import print_json
from sciprism.cli.options import AsJson, Pooling

if TYPE_CHECKING:
    from sciprism.formats import Format

MESSAGES = {
    "plain": """{folder}: transformers and sentence-transformers open it: SentenceTransformer("{folder}")
encode and encode_document give the vectors of papers, encode_query those of queries, for {formats}""",
    "compact": "{folder}: sciprism opens it",
    "module": """{folder}: sentence-transformers opens it where sciprism is installed: \
SentenceTransformer("{folder}", trust_remote_code=True)
encode gives the {chosen} vectors of papers, encode_query and encode_document the {search} ones of queries and papers
other vectors: encode(texts, format="NAME") with {formats}; or export with --format NAME""",
}


def export(
    model: Annotated[str, typer.Argument(help="A model: folder, packaged name, hub id; or a collection's folder.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="A new folder; or a .parquet, .npy or .csv.")],
    format: Annotated[
        str, typer.Option(help="Format of the vectors: classification, regression, proximity, search.")
    ] = "",
    compact: Annotated[bool, typer.Option("--compact", help="int8 weights, which sciprism alone opens.")] = False,
    pooling: Pooling = "",
    neighbours: Annotated[int, typer.Option(help="Of a collection: nearest papers of each, with scores.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Write a model, or a collection's vectors and metadata, for other programs.

    A model becomes a folder that sentence-transformers opens, with the same vectors. A collection becomes a table with
    a vector and the details of each paper: Parquet, CSV, or .npy with the details in a .csv next to it.

    Where a plain BERT gives the format's vectors (the method single; experts with --format), transformers
    opens the folder too, without sciprism. Else it holds the whole model, --format is its default format,
    and sciprism must be installed where it is opened. The command says what plain `encode` gives there.
    --compact writes a quarter of the bytes, as int8: vectors differ a little, and sciprism alone opens it.

    Example: sciprism export models/experts -o plain/ --format classification
    """
    from sciprism.encoders.encoder import Encoder
    from sciprism.encoders.export import default_format
    from sciprism.encoders.export import export as write
    from sciprism.store.manifest import is_collection

    if is_collection(model):
        _export_collection(Path(model), output, format, neighbours, as_json)
        return
    encoder = Encoder.load(model, pooling=pooling or None)
    chosen = cast("Format | None", format or None)
    kind = write(encoder, output, format=chosen, compact=compact)
    if as_json:
        print_json("sciprism.export/1", {"output": str(output), "kind": kind})
        return
    formats = [chosen] if chosen is not None and kind == "plain" else encoder.formats
    formats_of_calls = {"chosen": chosen or default_format(encoder), "search": chosen or encoder.search_format}
    print(MESSAGES[kind].format(folder=output, formats=", ".join(formats), **formats_of_calls))


def _export_collection(folder: Path, output: Path, format: str, neighbours: int, as_json: bool) -> None:
    from sciprism.uses.collection import Collection

    collection = Collection(folder)
    count = collection.export(output, format=format, neighbours=neighbours)
    if as_json:
        print_json("sciprism.export/1", {"output": str(output), "kind": "collection", "papers": count})
        return
    more = f", their details in {output.with_suffix('.csv')}" if output.suffix == ".npy" else ""
    print(f"{output}: vectors of {count:,} papers{more}")
