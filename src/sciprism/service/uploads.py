"""Uploads of papers: each file becomes a collection of its owner, embedded in the background."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from sciprism.errors import InputError
from sciprism.files import write_json
from sciprism.papers import read_papers
from sciprism.papers.input_file import SealedFile
from sciprism.service.limits import BoundedRoute
from sciprism.service.reading import read_apart
from sciprism.service.responses import Refusal, UnknownNameError, json_response
from sciprism.service.state import ServiceState
from sciprism.service.workspace import COLLECTION, REPORT, UPLOAD, Workspace, WorkspaceItem, read_document
from sciprism.store import CollectionLayout, embed
from sciprism.uses.collection import index_words

router = APIRouter(prefix="/workspace/collections", tags=["workspace"], route_class=BoundedRoute)
MAX_PAPERS = 100_000
SUFFIXES = (".bib", ".ris", ".nbib", ".enw", ".csv", ".tsv", ".xlsx", ".ods", ".json", ".jsonl", ".xml", ".txt")
REVIEW = "review.json"
SHARD = 512  # papers that an interruption loses at most
MAX_REASONS = 20


def fill(state: ServiceState, item: WorkspaceItem) -> None:
    """Embed the papers of an upload."""
    progress, check = partial(state.background.show, item), partial(state.background.check, item)
    progress("reading")
    papers, read = read_apart(read_papers, item.folder.glob("papers.*"), check, skip_bad=True)
    if len(papers) > MAX_PAPERS:
        raise InputError(f"the file holds more than {MAX_PAPERS:,} papers; divide it")
    folder, encoder = item.folder / COLLECTION, state.share_model(patient=True)
    layout = CollectionLayout(shard_size=SHARD)
    report = embed(papers, encoder, folder, layout=layout, skip_bad=True, progress=progress)
    if not report.papers:
        raise InputError("no paper of the file can be used: " + "; ".join(report.reasons[:1]))
    index_words(folder)
    reasons = [*map(item.hide_path, (*read.skipped, *report.reasons))]
    counts = {"papers": report.papers, "skipped": read.skipped_count + report.bad, "duplicates": report.duplicates}
    write_json(item.folder / REPORT, counts | {"reasons": reasons[:MAX_REASONS]})


def find_workspace(request: Request) -> tuple[Workspace, str]:
    """Return the workspace, and who asks. Raises Refusal without a workspace."""
    workspace: Workspace | None = request.app.state.service.workspace
    if workspace is None:
        raise Refusal(403, "nothing can be stored here: the service was started without --workspace")
    return workspace, request.state.owner


def find_item(request: Request, id: str, kind: str, collection: str = "") -> WorkspaceItem:
    """Return an item of the caller, of a kind, and of a collection where one is named. Raises UnknownNameError."""
    workspace, owner = find_workspace(request)
    item = workspace.find(owner, id)
    if item.kind != kind or read_document(item.folder / REVIEW).get("collection", "") != collection:
        raise UnknownNameError(f"{id!r} is no {kind} of {collection or 'yours'}")
    return item


def describe_items(request: Request, kind: str, collection: str = "") -> list[dict[str, Any]]:
    """Return the items of the caller, as `find_item`, the newest first, each with its state."""
    workspace, owner = find_workspace(request)
    return [
        workspace.describe(item)
        for item in workspace.list_items(owner, kind)
        if read_document(item.folder / REVIEW).get("collection", "") == collection
    ]


def start_work(request: Request, kind: str, name: str, files: dict[str, bytes]) -> WorkspaceItem:
    """Store an item of the caller and work on it in the background."""
    workspace, owner = find_workspace(request)
    item = workspace.create(owner, kind, name, files)
    request.app.state.service.background.start(item)
    return item


@router.post("", status_code=202)
async def upload(
    request: Request,
    filename: Annotated[str, Query(min_length=1, max_length=200, description="It says the format: refs.bib")],
    name: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Upload a file of papers, the body of the request, to a new collection of yours."""
    suffix = "".join(re.findall(r"\.[a-z]{1,8}", filename.lower())[-2:])
    if not suffix.endswith(SUFFIXES):
        raise InputError(f"{filename!r} is not of a kind that can be uploaded: {', '.join(SUFFIXES)}")
    content = await request.body()
    if not content.strip():
        raise InputError("the file is empty; send it as the body of the request")
    SealedFile(Path(filename)).check(content)
    (workspace, _), state = find_workspace(request), request.app.state.service
    item = await state.run(start_work, request, UPLOAD, name or filename, {f"papers{suffix}": content})
    return json_response({"schema": "sciprism.upload/1", **workspace.describe(item)}, status=202)


@router.get("")
def list_uploads(request: Request) -> dict[str, Any]:
    """List your collections."""
    return {"schema": "sciprism.uploads/1", "collections": describe_items(request, UPLOAD)}


@router.get("/{id}")
def get_upload(request: Request, id: str) -> dict[str, Any]:
    """Say how far an upload is, and what was skipped of it."""
    workspace, owner = find_workspace(request)
    return {"schema": "sciprism.upload/1", **workspace.describe(workspace.find(owner, id))}


@router.delete("/{id}", status_code=204)
def delete_upload(request: Request, id: str) -> None:
    """Delete one of your collections."""
    workspace, owner = find_workspace(request)
    workspace.delete(owner, id)
