"""`sciprism delete`: papers out of a collection."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from sciprism.cli.json_documents import print_json
from sciprism.cli.options import AsJson
from sciprism.cli.ranked_list import CollectionFolder
from sciprism.errors import InputError


def delete(
    collection: CollectionFolder,
    ids: Annotated[list[str] | None, typer.Argument(help="Ids; search shows them.", show_default=False)] = None,
    ids_from: Annotated[str, typer.Option("--ids", help="A file with one id a line; - is standard input.")] = "",
    missing_ok: Annotated[bool, typer.Option("--missing-ok", help="Ignore ids that are not there.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete papers from a collection, all or none.

    No search, count or export has them any more. Indexes stay valid. An interruption leaves the collection as it was.
    What they take on disk is free again when the papers are embedded into a new folder.

    Example: sciprism delete vecs/ newton1687principia
    """
    from sciprism.papers.input_file import InputFile
    from sciprism.store import delete as remove

    wanted = list(ids or [])
    if ids_from:
        wanted += [line.strip() for _, line in InputFile(Path(ids_from)).lines() if line.strip()]
    if not wanted:
        raise InputError("no id; write ids after the collection, or --ids FILE")
    report = remove(collection, wanted, missing_ok=missing_ok)
    if as_json:
        print_json("sciprism.delete/1", {"collection": str(collection), **asdict(report)})
        return
    unknown = f", {len(report.unknown):,} ids are not there" if report.unknown else ""
    papers = "1 paper" if report.deleted == 1 else f"{report.deleted:,} papers"
    print(f"deleted {papers}{unknown}\n{collection} holds {report.papers:,} papers")
