"""Uploads of papers: each file becomes a collection of its owner, embedded in the background."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from sciprism.errors import InputError
from sciprism.files import write_json
from sciprism.index import lexical
from sciprism.papers import read_papers
from sciprism.papers.input_file import SealedFile
from sciprism.service.collections import ServedCollection, UnknownNameError
from sciprism.service.reading import read_apart
from sciprism.service.responses import Refusal, json_response
from sciprism.service.workspace import FAILURE, Background, Workspace, WorkspaceItem, read_document
from sciprism.store import CollectionLayout, StoredCollection, embed

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder

router = APIRouter(prefix="/workspace/collections", tags=["workspace"])
KIND = "upload"
MAX_PAPERS = 100_000
SUFFIXES = (".bib", ".ris", ".nbib", ".enw", ".csv", ".tsv", ".xlsx", ".ods", ".json", ".jsonl", ".xml", ".txt")
COLLECTION, REPORT, REVIEW = "collection", "report.json", "review.json"
WAITING: dict[str, Any] = {"state": "waiting", "papers": 0, "done": 0}
OPEN = 64  # uploads that are held open
SHARD = 512  # papers that an interruption loses at most
MAX_REASONS = 20


@dataclass(slots=True)
class Uploads:
    """What people uploaded, and how it is embedded."""

    workspace: Workspace
    encoder: Callable[[], Encoder]
    background: Background

    def open(self, owner: str, id: str) -> ServedCollection:
        """Return the collection of an upload. Raises InputError while it is not finished."""
        item = self.workspace.find(owner, id)
        if not (item.folder / REPORT).exists():
            raise InputError(f"the upload {id} is not embedded yet; /workspace/collections/{id} says how far it is")
        return _open(item)

    def describe(self, item: WorkspaceItem, result: str = REPORT) -> dict[str, Any]:
        """Return an upload's state: waiting, embedding, ready or failed, its counts, and when it expires."""
        facts = item.to_json() | {"expires": self.workspace.expires(item)}
        progress = self.background.progress.get(item.id, {})  # looked up before the files that end it
        for file, state in ((result, "ready"), (FAILURE, "failed")):
            if document := read_document(item.folder / file):
                return facts | {"state": state} | document
        return facts | WAITING | progress

    def fill(self, item: WorkspaceItem) -> None:
        """Embed the papers of an upload."""
        progress = self.background.progress[item.id]
        progress["state"] = "embedding"
        source = next(item.folder.glob("papers.*"))
        check = partial(self.background.check, item)
        papers, read = read_apart(read_papers, [source], check, skip_bad=True)
        if len(papers) > MAX_PAPERS:
            raise InputError(f"the file holds more than {MAX_PAPERS:,} papers; divide it")
        progress["papers"] = len(papers)

        def show(_work: str, _unit: str = "", done: int = 0, _total: int | None = None, /) -> None:
            progress["done"] = done
            check()

        layout = CollectionLayout(shard_size=SHARD)
        folder = item.folder / COLLECTION
        report = embed(papers, self.encoder(), folder, layout=layout, skip_bad=True, progress=show)
        if not report.papers:
            raise InputError("no paper of the file can be used: " + "; ".join(report.reasons[:1]))
        lexical.build(StoredCollection.open(folder))
        reasons = [str(reason).replace(f"{item.folder}/", "") for reason in (*read.skipped, *report.reasons)]
        counts = {"papers": report.papers, "skipped": read.skipped_count + report.bad, "duplicates": report.duplicates}
        write_json(item.folder / REPORT, counts | {"reasons": reasons[:MAX_REASONS]})


@lru_cache(OPEN)
def _open(item: WorkspaceItem) -> ServedCollection:
    return ServedCollection(item.id, item.folder / COLLECTION, item.name)


def find_uploads(request: Request) -> tuple[Uploads, str]:
    """Return the uploads, and whose they are. Raises Refusal without a workspace."""
    state = request.app.state.service
    if state.uploads is None:
        raise Refusal(403, "nothing can be stored here: the service was started without --workspace")
    return state.uploads, request.state.owner


def find_item(request: Request, id: str, kind: str, collection: str = "") -> WorkspaceItem:
    """Return an item of the caller, of a kind, and of a collection where one is named. Raises UnknownNameError."""
    uploads, owner = find_uploads(request)
    item = uploads.workspace.find(owner, id)
    if item.kind != kind or read_document(item.folder / REVIEW).get("collection", "") != collection:
        raise UnknownNameError(f"{id!r} is no {kind} of {collection or 'yours'}")
    return item


def describe_items(request: Request, kind: str, result: str, collection: str = "") -> list[dict[str, Any]]:
    """Return the items of the caller, as `find_item`, each with its state and the day of its expiry."""
    (uploads, owner), background = find_uploads(request), request.app.state.service.background
    return [
        background.describe(item, result) | {"expires": uploads.workspace.expires(item)[:10]}
        for item in uploads.workspace.list_items(owner, kind)
        if read_document(item.folder / REVIEW).get("collection", "") == collection
    ]


@router.post("", status_code=202)
async def upload(
    request: Request,
    filename: Annotated[str, Query(min_length=1, max_length=200, description="It says the format: refs.bib")],
    name: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Upload a file of papers, the body of the request, to a new collection of yours."""
    uploads, owner = find_uploads(request)
    suffix = "".join(re.findall(r"\.[a-z]{1,8}", filename.lower())[-2:])
    if not suffix.endswith(SUFFIXES):
        raise InputError(f"{filename!r} is not of a kind that can be uploaded: {', '.join(SUFFIXES)}")
    content = await request.body()
    if not content.strip():
        raise InputError("the file is empty; send it as the body of the request")
    SealedFile(Path(filename)).check(content)
    create = uploads.workspace.create
    item = await request.app.state.service.run(create, owner, KIND, name or filename, {f"papers{suffix}": content})
    uploads.background.start(item)
    return json_response({"schema": "sciprism.upload/1", **uploads.describe(item)}, status=202)


@router.get("")
def list_uploads(request: Request) -> dict[str, Any]:
    """List your collections."""
    uploads, owner = find_uploads(request)
    described = [*map(uploads.describe, uploads.workspace.list_items(owner, KIND))]
    return {"schema": "sciprism.uploads/1", "collections": described}


@router.get("/{id}")
def get_upload(request: Request, id: str) -> dict[str, Any]:
    """Say how far an upload is, and what was skipped of it."""
    uploads, owner = find_uploads(request)
    return {"schema": "sciprism.upload/1", **uploads.describe(uploads.workspace.find(owner, id))}


@router.delete("/{id}", status_code=204)
def delete_upload(request: Request, id: str) -> None:
    """Delete one of your collections."""
    uploads, owner = find_uploads(request)
    uploads.workspace.delete(owner, id)
