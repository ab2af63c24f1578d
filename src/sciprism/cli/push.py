"""`sciprism push`: a collection to a vector database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sciprism.cli.json_documents import print_json
from sciprism.cli.options import AsJson
from sciprism.cli.progress import ProgressDisplay
from sciprism.cli.ranked_list import CollectionFolder, warn_unfinished

if TYPE_CHECKING:
    from sciprism.databases import PushReport


def push(
    collection: CollectionFolder,
    to: Annotated[
        str,
        typer.Option("--to", help="qdrant://HOST:PORT/NAME, milvus://HOST:PORT/NAME, or a path: qdrant:///DIR/NAME."),
    ],
    approximate: Annotated[
        bool, typer.Option("--approximate", help="Let the database build an index for --mode approximate.")
    ] = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="Delete what the collection lacks, even more than half of the papers there.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Copy a collection to a vector database, or bring the copy up to date.

    New and changed papers are sent, papers that are gone are deleted. An interrupted push continues with the same
    command. At its end counts and sampled searches are compared. A lexical index goes along, for --mode lexical and
    hybrid. Keys are read from QDRANT_API_KEY or MILVUS_TOKEN.

    Example: sciprism push vecs/ --to qdrant://localhost:6333/papers
    """
    from sciprism.databases import push as send

    with ProgressDisplay("comparing") as display:
        report = send(
            collection,
            to,
            approximate=approximate,
            prune=prune,
            on_papers=lambda work, done, total: display.show(work, "papers", done, total or None),
        )
    if report.unfinished:
        warn_unfinished(collection, report.papers, "embed")
    if as_json:
        print_json("sciprism.push/1", {"collection": str(collection)} | report.to_json())
    else:
        print(_describe(report))


def _describe(report: PushReport) -> str:
    lines = [f"{report.address}: {report.papers:,} papers{', with lexical weights' if report.lexical else ''}"]
    for each in report.spaces:
        lines.append(
            f"{each.space} ({each.table}): {each.new:,} new, {each.changed:,} changed, {each.unchanged:,} unchanged, "
            f"{each.deleted:,} deleted"
        )
        check = each.check
        words = "" if check.lexical_recall is None else f", of lexical searches {check.lexical_recall:.3f}"
        lines.append(
            f"checked: {check.papers:,} papers there; recall@10 of {check.searches} searches {check.recall:.3f}{words}"
            f"; scores differ by up to {check.score_difference:.1g}"
        )
    if report.shortened:
        lines.append(f"{report.shortened:,} records are too long for a database: references or text were cut")
    return "\n".join(lines)
