"""Reviewer matching: files of submissions and reviewers go in, a report to download comes out."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from threading import Lock, Thread
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.responses import FileResponse, RedirectResponse, Response

from sciprism.encoders.encoder import Encoder
from sciprism.errors import InputError
from sciprism.files import write_json
from sciprism.service.pages import render
from sciprism.service.papers import RequestBody
from sciprism.service.responses import json_response
from sciprism.service.uploads import FAILURE, SUFFIXES, find_uploads, read_json
from sciprism.service.workspace import WorkspaceItem
from sciprism.uses.matching import MatchSettings, match
from sciprism.uses.matching.explanation import FinishedAssignment
from sciprism.uses.matching.pages import write_pages

router = APIRouter(include_in_schema=False)
KIND, REPORT, SUBMISSIONS, REVIEWERS = "match", "report.zip", "submissions", "reviewers"
_NAME = re.compile(r"[\w~@+-][\w~@+.-]{0,99}")


class TextFile(RequestBody):
    """A file of papers. name: says the format, and whose papers they are."""

    name: str
    text: str


class MatchRequest(RequestBody):
    """Submissions, and a file of papers for each reviewer, named after the reviewer."""

    title: str = Field("", max_length=200)
    per_paper: int = Field(3, ge=1, le=20)
    max_papers: int = Field(6, ge=1, le=1000)
    submissions: list[TextFile] = Field(min_length=1, max_length=100)
    reviewers: list[TextFile] = Field(min_length=1, max_length=5000)


@dataclass(slots=True)
class Matches:
    """Runs matches in the background, one after the other. Shows progress as `match` begins pieces of work."""

    progress: dict[str, str] = field(default_factory=dict)
    _running: Lock = field(default_factory=Lock)

    def start(self, item: WorkspaceItem, settings: MatchSettings, encoder: Encoder) -> None:
        """Run a match of stored files."""
        self.progress[item.id] = "waiting"
        Thread(target=self._run, args=(item, settings, encoder), daemon=True).start()

    def describe(self, item: WorkspaceItem) -> dict[str, Any]:
        """Return the state of a match: ready, failed with the reason, or what it does now."""
        facts: dict[str, Any] = item.to_json() | {
            "doing": self.progress.get(item.id, "")
        }  # looked up before the files that end it
        facts["ready"] = (item.folder / REPORT).is_file()
        failure = item.folder / FAILURE
        error = "it was interrupted; send the files again" if not facts["ready"] and not facts["doing"] else ""
        return facts | {"error": read_json(failure)["error"] if failure.is_file() else error}

    def _run(self, item: WorkspaceItem, settings: MatchSettings, encoder: Encoder) -> None:
        folder, this = item.folder, self

        class Shown:
            def begin(self, work: str, unit: str = "", total: int | None = None) -> None:
                this.progress[item.id] = f"{work} ({total:,} {unit})" if total else work

            def update(self, done: int) -> None:
                """Show nothing: a piece of work is short."""

        try:
            with self._running:
                table = folder / "assignments.csv"
                found = match(
                    [folder / SUBMISSIONS], folder / REVIEWERS, settings=settings, encoder=encoder, progress=Shown()
                )
                found.write(table)
                write_pages(FinishedAssignment(table), folder / "report")
                draft = folder / "draft.zip"
                with ZipFile(draft, "w", ZIP_DEFLATED) as archive:
                    for path in [*folder.glob("assignments*"), *(folder / "report").rglob("*.html")]:
                        archive.write(path, path.relative_to(folder))
                draft.rename(folder / REPORT)
        except InputError as error:
            write_json(folder / FAILURE, {"error": str(error).replace(f"{folder}/", "")})
        except Exception as error:  # noqa: BLE001 (the page says so)
            if folder.exists():
                write_json(folder / FAILURE, {"error": f"it failed ({type(error).__name__})"})
        finally:
            self.progress.pop(item.id, None)


@router.get("/matching")
async def matches_page(request: Request) -> Response:
    """List the caller's matches, and offer a new one."""
    uploads, owner = find_uploads(request)
    items = [request.app.state.matches.describe(item) for item in uploads.workspace.list_items(owner, KIND)]
    return render(request, "matches.html", matches=items)


@router.post("/workspace/matches")
async def start_match(request: Request, body: MatchRequest) -> Response:
    """Store the files of a match and start it."""
    (uploads, owner), state = find_uploads(request), request.app.state.service
    files = {}
    for folder, texts in ((SUBMISSIONS, body.submissions), (REVIEWERS, body.reviewers)):
        for file in texts:
            if not _NAME.fullmatch(file.name) or not file.name.lower().endswith(SUFFIXES):
                raise InputError(f"{file.name!r}: a name is of letters, digits and ~ @ + . _ -, and ends in a format")
            files[f"{folder}/{file.name}"] = file.text.encode("utf-8", "replace")
    settings = MatchSettings(per_paper=body.per_paper, max_papers=body.max_papers)
    encoder = state.share_model(next(iter(state.batchers), ""))
    item = await state.run(uploads.workspace.create, owner, KIND, body.title or "Matching", files)
    request.app.state.matches.start(item, settings, encoder)
    return json_response({"id": item.id}, status=202)


@router.get("/matching/{id}/report.zip")
async def download(request: Request, id: str) -> Response:
    """Return the assignment, its audit, and a page for each submission and reviewer."""
    uploads, owner = find_uploads(request)
    path = uploads.workspace.find(owner, id).folder / REPORT
    if not path.is_file():
        raise InputError("the report is not ready")
    return FileResponse(path, filename=f"{id}.zip")


@router.post("/matching/{id}/delete")
async def delete(request: Request, id: str) -> Response:
    """Delete a match."""
    uploads, owner = find_uploads(request)
    await request.app.state.service.run(uploads.workspace.delete, owner, id)
    return RedirectResponse("/matching", 303)
