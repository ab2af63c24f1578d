"""Reviewer matching: files of submissions and reviewers go in, a report to download comes out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.responses import FileResponse, Response

from sciprism.encoders.encoder import Encoder
from sciprism.errors import InputError
from sciprism.service.background import FAILURE, Background, read_document
from sciprism.service.pages import render
from sciprism.service.papers import RequestBody
from sciprism.service.responses import json_response
from sciprism.service.uploads import SUFFIXES, find_uploads
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


@dataclass(frozen=True, slots=True)
class _Progress:
    """Shows the pieces of work of a match as they begin."""

    matches: Background
    item: WorkspaceItem

    def begin(self, work: str, unit: str = "", total: int | None = None) -> None:
        self.matches.check(self.item)
        self.matches.progress[self.item.id]["doing"] = f"{work} ({total:,} {unit})" if total else work

    def update(self, done: int) -> None:
        """Show nothing: a piece of work is short."""


def _match(item: WorkspaceItem, *, settings: MatchSettings, encoder: Encoder, matches: Background) -> None:
    folder, table = item.folder, item.folder / "assignments.csv"
    submissions, reviewers = [folder / SUBMISSIONS], folder / REVIEWERS
    match(submissions, reviewers, settings=settings, encoder=encoder, progress=_Progress(matches, item)).write(table)
    write_pages(FinishedAssignment(table), folder / "report")
    draft = folder / "draft.zip"
    with ZipFile(draft, "w", ZIP_DEFLATED) as archive:
        for path in [*folder.glob("assignments*"), *(folder / "report").rglob("*.html")]:
            archive.write(path, path.relative_to(folder))
    draft.rename(folder / REPORT)


def _describe(item: WorkspaceItem, matches: Background) -> dict[str, Any]:
    """Return the state of a match: ready, failed with the reason, or what it does now."""
    doing = matches.progress.get(item.id, {}).get("doing", "")  # looked up before the files that end it
    ready = (item.folder / REPORT).is_file()
    error = "" if ready or doing else "it was interrupted; send the files again"
    return {**item.to_json(), "doing": doing, "ready": ready, "error": error} | read_document(item.folder / FAILURE)


@router.get("/matching")
def matches_page(request: Request) -> Response:
    """List the caller's matches, and offer a new one."""
    uploads, owner = find_uploads(request)
    items = uploads.workspace.list_items(owner, KIND)
    return render(request, "matches.html", matches=[_describe(item, request.app.state.matches) for item in items])


@router.post("/workspace/matches")
def start_match(request: Request, body: MatchRequest) -> Response:
    """Store the files of a match and start it."""
    (uploads, owner), matches = find_uploads(request), request.app.state.matches
    request.app.state.service.check_ready()
    files = {}
    for folder, texts in ((SUBMISSIONS, body.submissions), (REVIEWERS, body.reviewers)):
        for file in texts:
            if not _NAME.fullmatch(file.name) or not file.name.lower().endswith(SUFFIXES):
                raise InputError(f"{file.name!r}: a name is of letters, digits and ~ @ + . _ -, and ends in a format")
            files[f"{folder}/{file.name}"] = file.text.encode("utf-8", "replace")
    if len(files) < len(body.submissions) + len(body.reviewers):
        raise InputError("two files have one name; rename one of them")
    settings = MatchSettings(per_paper=body.per_paper, max_papers=body.max_papers)
    item = uploads.workspace.create(owner, KIND, body.title or "Matching", files)
    work = partial(_match, settings=settings, encoder=uploads.encoder(), matches=matches)
    matches.start(item, work, doing="waiting")
    return json_response({"id": item.id}, status=202)


@router.get("/matching/{id}/report.zip")
def download(request: Request, id: str) -> Response:
    """Return the assignment, its audit, and a page for each submission and reviewer."""
    uploads, owner = find_uploads(request)
    path = uploads.workspace.find(owner, id).folder / REPORT
    if not path.is_file():
        raise InputError("the report is not ready")
    return FileResponse(path, filename=f"{id}.zip")
