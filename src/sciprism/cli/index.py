"""`sciprism index`: optional indexes of a collection, for other ways to search it."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from sciprism.cli.json_documents import print_json
from sciprism.cli.options import AsJson
from sciprism.cli.progress import ProgressDisplay
from sciprism.cli.ranked_list import CollectionFolder, Model

if TYPE_CHECKING:
    from sciprism.arrays import Floats
    from sciprism.index.approximate import BuiltIndex
    from sciprism.store import StoredCollection


def index(
    collection: CollectionFolder,
    approximate: Annotated[
        bool, typer.Option("--approximate", help="Add a FAISS index: faster over hundreds of thousands of papers.")
    ] = False,
    lexical: Annotated[
        bool, typer.Option("--lexical", help="Add a BM25 index, for --mode lexical and hybrid.")
    ] = False,
    recall: Annotated[
        float, typer.Option(help="Share of the ten nearest papers that approximate search is to find.")
    ] = 0.95,
    memory: Annotated[float, typer.Option(help="GB of memory that building an approximate index may take.")] = 4.0,
    model: Model = "",
    as_json: AsJson = False,
) -> None:
    """Check a collection's files, and add an approximate or a lexical index to it.

    Exact search needs no index. Build an index again after papers were added. A killed build leaves the former index.

    Example: sciprism index vecs/ --lexical
    """
    from sciprism.errors import InputError
    from sciprism.files import lock_folder
    from sciprism.index import approximate as by_vectors
    from sciprism.index import lexical as by_words
    from sciprism.store import StoredCollection

    if not (approximate or lexical):
        raise InputError("say which index to add: --approximate, --lexical or both (exact search needs none)")
    options = by_vectors.BuildOptions(recall=recall, memory=memory)
    opened = StoredCollection.open(collection)
    built: list[BuiltIndex] = []
    names: list[str] = []
    with lock_folder(collection), ProgressDisplay("checking files") as display:
        opened.verify()
        if approximate:
            by_vectors.check_possible(opened)
            titles = _encode_titles(opened, model)
            built = by_vectors.build(opened, options, titles=titles, progress=display.show)
            names += [f"approximate ({each.space})" for each in built]
        if lexical:
            display.begin("lexical index", "papers", opened.rows)
            by_words.build(opened, on_rows=display.update)
            names.append("lexical")
    if as_json:
        document = {"collection": str(collection), "built": names, "papers": len(opened)}
        print_json("sciprism.index/1", document | {"approximate": [asdict(each) for each in built]})
        return
    print(f"{collection}: built {', '.join(names)} over {len(opened):,} papers")
    for each in built:
        print(_describe(each, recall))


def _encode_titles(opened: StoredCollection, model: str) -> dict[str, Floats]:
    """Return titles encoded as queries; none, with a message, where the collection's model is not there."""
    from sciprism.errors import InputError
    from sciprism.uses.collection import load_encoder
    from sciprism.uses.title_queries import encode_titles

    try:
        return encode_titles(opened, load_encoder(opened, model))
    except InputError as error:
        if model:
            raise
        print(f"recall is measured without titles as queries: {error}", file=sys.stderr)
        return {}


def _describe(built: BuiltIndex, wanted: float) -> str:
    """Return what was built and its measured recall, as a line."""
    measured = ", ".join(f"{recall:.3f} with {name}" for name, recall in built.recall.items())
    facts = ", ".join(f"{name} {built.settings[name]}" for name in ("effort", "depth"))
    kind = "graph in memory" if built.kind == "hnsw" else f"{built.settings['lists']:,} lists on disk"
    missed = "" if built.reached else f"; {wanted:g} was not reached, this is the best: search exactly for more"
    return f"{built.space}: {kind}; recall@10 {measured} as {built.queries:,} queries ({facts}){missed}"
