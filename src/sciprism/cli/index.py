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
    from sciprism.index.approximate import BuildOptions, BuiltIndex
    from sciprism.index.recall import TitleQueries
    from sciprism.store import StoredCollection

Recall = Annotated[float, typer.Option(help="Share of the ten nearest papers that approximate search is to find.")]
Memory = Annotated[float, typer.Option(help="GB of memory that building an approximate index may take.")]


def index(
    collection: CollectionFolder,
    approximate: Annotated[
        bool, typer.Option("--approximate", help="Add a FAISS index: faster over hundreds of thousands of papers.")
    ] = False,
    lexical: Annotated[
        bool, typer.Option("--lexical", help="Add a BM25 index, for --mode lexical and hybrid.")
    ] = False,
    recall: Recall = 0.95,
    memory: Memory = 4.0,
    model: Model = "",
    as_json: AsJson = False,
) -> None:
    """Check a collection's files, and add an approximate or a lexical index to it.

    Exact search needs no index. Build an index again after papers were added. A killed build leaves the former index.

    Example: sciprism index vecs/ --lexical
    """
    from sciprism.errors import InputError
    from sciprism.files import lock_folder
    from sciprism.index import lexical as by_words
    from sciprism.index.approximate import BuildOptions
    from sciprism.store import StoredCollection

    if not (approximate or lexical):
        raise InputError("say which index to add: --approximate, --lexical or both (exact search needs none)")
    options = BuildOptions(recall=recall, memory=memory)
    opened = StoredCollection.open(collection)
    built: list[BuiltIndex] = []
    with lock_folder(collection), ProgressDisplay("checking files") as display:
        opened.verify()
        if approximate:
            built = _build_approximate(opened, options, model, display)
        if lexical:
            display.begin("lexical index", "papers", opened.rows)
            by_words.build(opened, on_rows=display.update)
    _print_built(opened, built, lexical=lexical, as_json=as_json)


def _print_built(opened: StoredCollection, built: list[BuiltIndex], *, lexical: bool, as_json: bool) -> None:
    """Print what was built, for people or as JSON."""
    names = [f"approximate ({each.space})" for each in built] + ["lexical"] * lexical
    if as_json:
        document = {"collection": str(opened.folder), "built": names, "papers": len(opened)}
        print_json("sciprism.index/1", document | {"approximate": [asdict(each) for each in built]})
    else:
        print(f"{opened.folder}: built {', '.join(names)} over {len(opened):,} papers")
        print("".join(f"{_describe(each)}\n" for each in built), end="")


def _build_approximate(
    opened: StoredCollection, options: BuildOptions, model: str, display: ProgressDisplay
) -> list[BuiltIndex]:
    """Build the index of every space, measured with titles as queries."""
    from sciprism.index import approximate

    approximate.check_possible(opened)
    titles = _encode_titles(opened, model)
    return approximate.build(opened, options, titles=titles, progress=display.show)


def _encode_titles(opened: StoredCollection, model: str) -> dict[str, TitleQueries]:
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


def _describe(built: BuiltIndex) -> str:
    """Return what was built and its measured recall, as a line."""
    measured = ", ".join(f"{recall:.3f} with {name}" for name, recall in built.recall.items())
    facts = ", ".join(f"{name} {built.settings[name]}" for name in ("effort", "depth"))
    kind = "graph in memory" if built.kind == "hnsw" else f"{built.settings['lists']:,} lists on disk"
    missed = (
        ""
        if built.reached
        else f"; {built.settings['recall_wanted']} was not reached, this is the best: search exactly for more"
    )
    return f"{built.space}: {kind}; recall@10 {measured} as {built.queries:,} queries ({facts}){missed}"
