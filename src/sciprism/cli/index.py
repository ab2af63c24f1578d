"""`sciprism index`: optional indexes of a collection, for other ways to search it."""

from __future__ import annotations

from typing import Annotated

import typer

from sciprism.cli.json_documents import print_json
from sciprism.cli.options import AsJson
from sciprism.cli.progress import ProgressDisplay
from sciprism.cli.ranked_list import CollectionFolder


def index(
    collection: CollectionFolder,
    approximate: Annotated[
        bool, typer.Option("--approximate", help="Add a FAISS index: faster over millions of papers.")
    ] = False,
    lexical: Annotated[
        bool, typer.Option("--lexical", help="Add a BM25 index, for --mode lexical and hybrid.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check a collection's files, and add an approximate or a lexical index to it.

    Exact search needs no index. Build an index again after papers were added.

    Example: sciprism index vecs/ --lexical
    """
    from sciprism.errors import InputError
    from sciprism.files import lock_folder
    from sciprism.index import approximate as by_graph
    from sciprism.index import lexical as by_words
    from sciprism.store import StoredCollection

    if not (approximate or lexical):
        raise InputError("say which index to add: --approximate, --lexical or both (exact search needs none)")
    opened = StoredCollection.open(collection)
    built: list[str] = []
    with lock_folder(collection), ProgressDisplay("checking files") as display:
        opened.verify()
        if approximate:
            display.begin("approximate index", "vectors", opened.rows * len(opened.manifest.spaces))
            built += [f"approximate ({space})" for space in by_graph.build(opened, on_rows=display.update)]
        if lexical:
            display.begin("lexical index", "papers", opened.rows)
            by_words.build(opened, on_rows=display.update)
            built.append("lexical")
    if as_json:
        print_json("sciprism.index/1", {"collection": str(collection), "built": built, "papers": len(opened)})
    else:
        print(f"{collection}: built {', '.join(built)} over {len(opened):,} papers")
