"""Commands that maintain a collection: `sciprism index`, `delete` and `push`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from sciprism.cli.options import CollectionFolder, read_lines
from sciprism.cli.output import ProgressDisplay, echo, print_result, warn_unfinished
from sciprism.drop_report import count_noun
from sciprism.errors import InputError

if TYPE_CHECKING:
    from sciprism.index.approximate import BuiltIndex, TitleQueries
    from sciprism.store import StoredCollection


def index(
    collection: CollectionFolder,
    approximate: Annotated[bool, "Add a FAISS index, for hundreds of thousands of papers."] = False,
    lexical: Annotated[bool, "Add the BM25 index that `embed` and `merge` build."] = False,
    recall: Annotated[float, "Recall@10 that --approximate aims at."] = 0.95,
) -> None:
    """Check a collection's files, and add an approximate or a lexical index.

    Exact search needs no index. Build it again after adding papers. An interrupted build leaves the old index.

    Example: sciprism index vecs/ --lexical
    """
    from sciprism.files import lock_folder
    from sciprism.index import approximate as by_vectors
    from sciprism.index import lexical as by_words
    from sciprism.store import StoredCollection

    if not (approximate or lexical):
        raise InputError("say which index to add: --approximate, --lexical or both (exact search needs none)")
    opened = StoredCollection.open(collection)
    if approximate:
        by_vectors.check_possible(opened, recall)
    built: list[BuiltIndex] = []
    with lock_folder(collection), ProgressDisplay("checking files") as display:
        opened.verify()
        if approximate:
            titles = _encode_titles(opened)
            built = by_vectors.build(opened, recall, titles=titles, progress=display)
        if lexical and not by_words.build(opened, progress=display):
            raise InputError(f"{collection} holds no words; there is nothing to index")
    names = [f"approximate ({index.space})" for index in built] + ["lexical"] * lexical
    document = {"collection": str(opened.folder), "built": names, "papers": len(opened)}
    lines = [f"{opened.folder}: built {', '.join(names)} over {len(opened):,} papers", *map(_describe_index, built)]
    document["approximate"] = [asdict(index) for index in built]
    print_result("sciprism.index/1", document, "\n".join(lines))


def _encode_titles(opened: StoredCollection) -> dict[str, TitleQueries]:
    """Return titles encoded as queries; none, with a message, where the collection's model is not there."""
    from sciprism.uses.collection import load_encoder
    from sciprism.uses.search import encode_titles

    try:
        return encode_titles(opened, load_encoder(opened))
    except InputError as error:
        echo(f"recall is measured without titles as queries: {error}", error=True)
        return {}


def _describe_index(built: BuiltIndex) -> str:
    measured = ", ".join(f"{recall:.3f} with {name}" for name, recall in built.recall.items())
    facts = ", ".join(f"{name} {built.settings[name]}" for name in ("effort", "depth"))
    kind = f"{built.settings['lists']:,} lists on disk"
    missed = (
        ""
        if built.reached
        else f"; {built.settings['recall_wanted']} was not reached, this is the best: search exactly for more"
    )
    return f"{built.space}: {kind}; recall@10 {measured} as {built.queries:,} queries ({facts}){missed}"


def delete(
    collection: CollectionFolder,
    ids: Annotated[list[str] | None, typer.Argument(help="Ids; search shows them.", show_default=False)] = None,
    ids_from: Annotated[str, "A file of ids, one a line; - is standard input.", "--ids"] = "",
) -> None:
    """Delete papers from a collection, all or none.

    Indexes stay valid. An interruption leaves the collection unchanged. Disk space is freed only by embedding into a
    new folder.

    Example: sciprism delete vecs/ newton1687principia
    """
    from sciprism.store import delete as remove

    wanted = [*(ids or ()), *(read_lines(ids_from) if ids_from else ())]
    if not wanted:
        raise InputError("no id; write ids after the collection, or --ids FILE")
    report = remove(collection, wanted)
    text = f"deleted {count_noun(report.deleted, 'paper')}\n{collection} holds {count_noun(report.papers, 'paper')}"
    print_result("sciprism.delete/1", {"collection": str(collection), **asdict(report)}, text)


def push(
    collection: CollectionFolder,
    to: Annotated[str, "postgresql://HOST/DATABASE/NAME, qdrant://HOST/NAME, or a path: qdrant:///DIR/NAME.", "--to"],
    approximate: Annotated[bool, "Let the database build an approximate index."] = False,
    prune: Annotated[bool, "Allow deleting more than half of the copy's papers."] = False,
) -> None:
    """Copy a collection to a vector database, or bring the copy up to date.

    Papers that the collection lacks are deleted. The same command resumes. At the end, counts and sampled searches are
    compared. Credentials are read from PGUSER, PGPASSWORD (or ~/.pgpass) and QDRANT_API_KEY.

    Example: sciprism push vecs/ --to postgresql://localhost/library/papers
    """
    from sciprism.databases import push as send

    with ProgressDisplay("comparing") as display:
        report = send(collection, to, approximate=approximate, prune=prune, progress=display)
    if report.unfinished:
        warn_unfinished(collection, report.papers, "embed")
    text = (
        f"{report.address}: {count_noun(report.papers, 'paper')}: {report.new:,} new, {report.changed:,} changed, "
        f"{report.unchanged:,} unchanged, {report.deleted:,} deleted; recall@10 {report.recall:.3f} in sampled searches"
    )
    print_result("sciprism.push/2", {"collection": str(collection)} | report._asdict(), text)
