"""`sciprism index`: structures that a collection can do without, for other ways to search it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def index(
    collection: Annotated[Path, typer.Argument(help="A folder made by `sciprism embed`.")],
    approximate: Annotated[
        bool, typer.Option("--approximate", help="Add a FAISS index: faster over millions of papers.")
    ] = False,
    lexical: Annotated[
        bool, typer.Option("--lexical", help="Add a BM25 index of the words, for --mode lexical and hybrid.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check a collection's files, and add an approximate or a lexical index to it.

    Exact search needs no index. An index must be built again after papers were added.

    Example: sciprism index vecs/ --lexical
    """
    from sciprism.errors import InputError
    from sciprism.files import only_writer
    from sciprism.index import approximate as by_graph
    from sciprism.index import lexical as by_words
    from sciprism.store import Collection

    if not (approximate or lexical):
        raise InputError("say which index to add: --approximate, --lexical or both (exact search needs none)")
    opened = Collection.open(collection)
    built: list[str] = []
    with only_writer(collection):
        opened.verify()
        if approximate:
            built += [f"approximate ({space})" for space in by_graph.build(opened)]
        if lexical:
            by_words.build(opened)
            built.append("lexical")
    if as_json:
        print(json.dumps({"collection": str(collection), "built": built, "papers": len(opened)}, indent=1))
    else:
        print(f"{collection}: built {', '.join(built)} over {len(opened)} papers")
