"""Uploads of papers: each file becomes a collection of its owner, embedded in the background."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from sciprism.errors import InputError
from sciprism.files import write_json
from sciprism.index import lexical
from sciprism.papers import ReadReport, read_papers
from sciprism.service.collections import ServedCollection
from sciprism.service.responses import Refusal, json_response
from sciprism.service.workspace import Workspace, WorkspaceItem
from sciprism.store import CollectionLayout, EmbedReport, StoredCollection, embed

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder

router = APIRouter(prefix="/workspace/collections", tags=["workspace"])
KIND = "upload"
MAX_PAPERS = 100_000
SUFFIXES = (".bib", ".ris", ".nbib", ".enw", ".csv", ".tsv", ".xlsx", ".ods", ".json", ".jsonl", ".xml", ".txt")
PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"SQLite format 3", b"PAR1")
"""First bytes of files that may grow when they are read, or that are databases."""
COLLECTION, FAILURE, REPORT = "collection", "failure.json", "report.json"
SHARD = 512  # papers that an interruption loses at most
MAX_REASONS = 20


class _StoppedError(RuntimeError):
    """The service stops, or the upload was deleted."""


@dataclass(slots=True)
class UploadProgress:
    """How far an upload is: papers of the file, and those that are done."""

    papers: int = 0
    done: int = 0
    stopped: bool = False
    state: str = "waiting"


@dataclass(slots=True)
class Uploads:
    """Embeds uploads one after the other; one that a stop interrupted goes on when the service starts again."""

    workspace: Workspace
    encoder: Callable[[], Encoder]
    progress: dict[str, UploadProgress] = field(default_factory=dict)
    _opened: dict[Path, ServedCollection] = field(default_factory=dict)
    _thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "upload"))

    def resume(self) -> None:
        """Continue the uploads that are neither finished nor failed."""
        for item in self.workspace.list_all():
            if item.kind == KIND and not (item.folder / REPORT).exists() and not (item.folder / FAILURE).exists():
                self.start(item)

    def start(self, item: WorkspaceItem) -> None:
        """Embed an upload when those before it are done."""
        self.progress[item.id] = UploadProgress()
        self._thread.submit(self._embed, item)

    def open(self, owner: str, id: str) -> ServedCollection:
        """Return the collection of an upload. Raises InputError while it is not finished."""
        item = self.workspace.find(owner, id)
        if not (item.folder / REPORT).exists():
            raise InputError(f"the upload {id} is not embedded yet; /workspace/collections/{id} says how far it is")
        if item.folder not in self._opened:
            self._opened[item.folder] = ServedCollection(id, item.folder / COLLECTION)
        return self._opened[item.folder]

    def delete(self, owner: str, id: str) -> None:
        """Delete an upload, also one that is being embedded."""
        folder = self.workspace.find(owner, id).folder
        if id in self.progress:
            self.progress[id].stopped = True
        self._opened.pop(folder, None)
        self.workspace.delete(owner, id)

    def close(self) -> None:
        """Stop after the papers that are encoded now."""
        for progress in self.progress.values():
            progress.stopped = True
        self._thread.shutdown(wait=False, cancel_futures=True)

    def describe(self, item: WorkspaceItem) -> dict[str, Any]:
        """Return an upload's state: waiting, embedding, ready or failed, its counts, and when it expires."""
        facts = item.to_json() | {"expires": self.workspace.expires(item)}
        for file, state in ((REPORT, "ready"), (FAILURE, "failed")):
            if (item.folder / file).exists():
                return facts | {"state": state} | read_json(item.folder / file)
        progress = self.progress.get(item.id, UploadProgress())
        return facts | {"state": progress.state, "papers": progress.papers, "done": progress.done}

    def _embed(self, item: WorkspaceItem) -> None:
        progress = self.progress[item.id]
        try:
            if progress.stopped:
                return
            progress.state = "embedding"
            self._fill(item, progress)
        except _StoppedError:
            return
        except InputError as error:
            message = str(error).replace(str(item.folder) + "/", "")
            write_json(item.folder / FAILURE, {"error": message})
        except Exception as error:  # noqa: BLE001 (the next upload goes on)
            if not progress.stopped:  # else it goes on at the next start
                write_json(item.folder / FAILURE, {"error": f"it could not be embedded ({type(error).__name__})"})
        finally:
            self.progress.pop(item.id, None)

    def _fill(self, item: WorkspaceItem, progress: UploadProgress) -> None:
        source = next(item.folder.glob("papers.*"))
        read = ReadReport()
        papers = list(islice(read_papers(source, skip_bad=True, report=read), MAX_PAPERS + 1))
        if not papers:
            raise InputError("the file holds no paper" + "".join(f"; {record}" for record in read.skipped[:1]))
        if len(papers) > MAX_PAPERS:
            raise InputError(f"the file holds more than {MAX_PAPERS:,} papers; divide it")
        progress.papers = len(papers)

        def check(report: EmbedReport) -> None:
            progress.done = report.done
            if progress.stopped:
                raise _StoppedError

        layout = CollectionLayout(shard_size=SHARD)
        folder = item.folder / COLLECTION
        report = embed(papers, self.encoder(), folder, layout=layout, skip_bad=True, progress=check)
        if not report.papers:
            raise InputError("no paper of the file can be used: " + "; ".join(report.reasons[:1]))
        lexical.build(StoredCollection.open(folder))
        reasons = [str(record).replace(str(source), source.name) for record in read.skipped] + report.reasons
        counts = {"papers": report.papers, "skipped": read.skipped_count + report.bad, "duplicates": report.duplicates}
        write_json(item.folder / REPORT, counts | {"reasons": reasons[:MAX_REASONS]})


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
    if content.startswith(PACKED):
        raise InputError("the file is compressed or a database; send a text file or a workbook")
    create = uploads.workspace.create
    item = await request.app.state.service.run(create, owner, KIND, name or filename, {f"papers{suffix}": content})
    uploads.start(item)
    return json_response({"schema": "sciprism.upload/1", **uploads.describe(item)}, status=202)


@router.get("")
async def list_uploads(request: Request) -> dict[str, Any]:
    """List your collections."""
    uploads, owner = find_uploads(request)
    return {
        "schema": "sciprism.uploads/1",
        "collections": [*map(uploads.describe, uploads.workspace.list_items(owner, KIND))],
    }


@router.get("/{id}")
async def get_upload(request: Request, id: str) -> dict[str, Any]:
    """Say how far an upload is, and what was skipped of it."""
    uploads, owner = find_uploads(request)
    return {"schema": "sciprism.upload/1", **uploads.describe(uploads.workspace.find(owner, id))}


@router.delete("/{id}", status_code=204)
async def delete_upload(request: Request, id: str) -> Response:
    """Delete one of your collections."""
    uploads, owner = find_uploads(request)
    await request.app.state.service.run(uploads.delete, owner, id)
    return Response(status_code=204)


def find_uploads(request: Request) -> tuple[Uploads, str]:
    """Return the uploads, and whose they are. Raises Refusal without a workspace."""
    state = request.app.state.service
    if state.uploads is None:
        raise Refusal(403, "nothing can be uploaded here: the service was started without --workspace")
    return state.uploads, request.state.identity.owner


def read_json(path: Path) -> dict[str, Any]:
    """Return the document of a file."""
    document: dict[str, Any] = loads(path.read_text(encoding="utf-8"))
    return document
