"""Reviewer matching: files go in; pairs are locked or forbidden and the assignment solved again; a report comes out."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import lru_cache, partial
from pathlib import Path
from threading import Lock
from typing import Annotated, Any
from urllib.parse import quote
from zipfile import ZIP_DEFLATED, ZipFile

from fastapi import APIRouter, Depends, Query, Request
from pydantic import Field
from starlette.responses import FileResponse, RedirectResponse, Response

from sciprism.errors import InputError
from sciprism.files import open_draft, recover_folder, replace_folder, sha256
from sciprism.papers import Paper, read_papers
from sciprism.service.limits import BoundedRoute
from sciprism.service.pages import Form, render
from sciprism.service.papers import RequestBody, TextFile
from sciprism.service.reading import read_apart
from sciprism.service.responses import json_response
from sciprism.service.state import ServiceState
from sciprism.service.uploads import SUFFIXES, describe_items, find_item, start_work
from sciprism.service.workspace import WorkspaceItem, read_document
from sciprism.uses.matching.reviewers import Reviewer, reviewer_id, write_rows
from sciprism.uses.matching.run import FinishedAssignment, match, write_pages
from sciprism.uses.matching.settings import MatchFiles, MatchSettings

router = APIRouter(include_in_schema=False, route_class=BoundedRoute)
KIND, RESULT, SUBMISSIONS, REVIEWERS = "match", "result", "submissions", "reviewers"
REPORT, SETTINGS = "report.zip", "settings.json"
BIDS, STATED, TABLE = "bids.csv", "constraints.csv", "assignments.csv"
LOCK, FORBID, WITHDRAW = "lock", "forbid", "withdraw"
VALUES = {LOCK: 1.0, FORBID: -1.0}
PAGE = 50  # submissions of a page
OPEN = 8  # assignments in memory
_NAME = re.compile(r"[\w~@+-][\w~@+.-]{0,99}")
_stating = Lock()  # one pair at a time


class MatchRequest(RequestBody):
    """Submissions, and a file of papers for each reviewer, named after the reviewer; tables of bids and constraints."""

    title: str = Field("", max_length=200)
    per_paper: int = Field(3, ge=1, le=20)
    max_papers: int = Field(6, ge=1, le=1000)
    submissions: list[TextFile] = Field(min_length=1, max_length=100)
    reviewers: list[TextFile] = Field(min_length=1, max_length=5000)
    bids: TextFile | None = None
    constraints: TextFile | None = None


def solve(state: ServiceState, item: WorkspaceItem, *, stay: bool = False) -> None:
    """Assign the reviewers and replace the former result. stay: move as few of its pairs as possible."""
    folder, result = item.folder, item.folder / RESULT
    recover_folder(result)
    places = (folder / BIDS, folder / STATED, result / TABLE)
    bids, stated, former = (path if path.is_file() else None for path in places)
    progress = partial(state.background.show, item)
    progress("reading")
    submissions, reviewers = (sorted((folder / name).iterdir()) for name in (SUBMISSIONS, REVIEWERS))
    sent = [*submissions, *(path for path in reviewers if path.stat().st_size)]
    papers_of = defaultdict[str, list[Paper]](list)
    for paper in read_apart(read_papers, sent, partial(state.background.check, item))[0]:
        papers_of[paper.place.file].append(paper)
    matching = match(
        [paper for path in submissions for paper in papers_of[str(path)]],
        [Reviewer(id=reviewer_id(path), papers=tuple(papers_of[str(path)])) for path in reviewers],
        settings=MatchSettings(**read_document(folder / SETTINGS)),
        files=MatchFiles(bids=bids, constraints=stated, keep=former if stay else None),
        encoder=state.share_model(patient=True),
        progress=progress,
    )
    matching.audit["files"] |= {str(path): sha256(path) for path in (*submissions, *reviewers)}
    with open_draft(result) as draft:
        matching.write(draft / TABLE)
        for path in draft.iterdir():  # reasons and the audit name files
            path.write_bytes(path.read_bytes().replace(f"{folder}/".encode(), b""))
        write_pages(FinishedAssignment(draft / TABLE), draft / "report")
        with ZipFile(draft / REPORT, "w", ZIP_DEFLATED) as archive:
            for path in [*draft.glob("assignments*"), *(draft / "report").rglob("*.html")]:
                archive.write(path, path.relative_to(draft))
        replace_folder(result, draft)


def _find_match(request: Request, id: str) -> WorkspaceItem:
    return find_item(request, id, KIND)


FoundMatch = Annotated[WorkspaceItem, Depends(_find_match)]


def _open_assignment(item: FoundMatch) -> FinishedAssignment:
    """Return the assignment of a match. Raises InputError where it is not ready."""
    table = item.folder / RESULT / TABLE
    if not table.is_file():
        raise InputError("the assignment is not ready")
    return _read_assignment(table, table.stat().st_mtime_ns)


@lru_cache(OPEN)
def _read_assignment(table: Path, _: int) -> FinishedAssignment:
    return FinishedAssignment(table)


OpenedAssignment = Annotated[FinishedAssignment, Depends(_open_assignment)]


@router.get("/matching")
def matches_page(request: Request) -> Response:
    """List the caller's matches, and offer a new one."""
    return render(request, "matches.html", items=describe_items(request, KIND))


@router.post("/workspace/matches")
def start_match(request: Request, body: MatchRequest) -> Response:
    """Store the files of a match and start it."""
    files = {}
    for folder, texts in ((SUBMISSIONS, body.submissions), (REVIEWERS, body.reviewers)):
        for file in texts:
            if not _NAME.fullmatch(file.name) or not file.name.lower().endswith(SUFFIXES):
                raise InputError(f"{file.name!r}: a name is of letters, digits and ~ @ + . _ -, and ends in a format")
            files[f"{folder}/{file.name}"] = file.content
    if len(files) < len(body.submissions) + len(body.reviewers):
        raise InputError("two files have one name; rename one of them")
    tables = {BIDS: body.bids, STATED: body.constraints}
    files |= {name: table.content for name, table in tables.items() if table is not None}
    files[SETTINGS] = body.model_dump_json(include={"per_paper", "max_papers"}).encode()
    return json_response({"id": start_work(request, KIND, body.title or "Matching", files).id}, status=202)


@router.get("/matching/{id}")
def match_page(
    request: Request,
    item: FoundMatch,
    submission: Annotated[str, Query(max_length=1000)] = "",
    page: Annotated[int, Query(ge=1)] = 1,
) -> Response:
    """Show an assignment, or the reviewers of one submission, each with the reason and what is stated of the pair."""
    described = request.app.state.service.background.describe(item)
    finished = _open_assignment(item)  # after what is done on it: a page of the former one loads again
    stated = _read_stated(item, finished)
    count = len(finished.submissions)
    rows = [finished.find_submission(submission)] if submission else range(count)[(page - 1) * PAGE : page * PAGE]
    assigned = {(row, number) for row, numbers in enumerate(finished.assigned) for number in numbers}
    unsolved = sum(value == (-1 if pair in assigned else 1) for pair, value in stated.items())
    facts: dict[str, Any] = {
        "match": described,
        "explained": [finished.explain(row) for row in rows],
        "stated": {
            (finished.submissions[row], finished.reviewers[number]): value for (row, number), value in stated.items()
        },
        "submissions": count,
        "submission": submission,
        "pages": {"page": page, "more": page * PAGE < count},
        "unsolved": unsolved,
    }
    return render(request, "match.html", **facts)


@router.post("/matching/{id}")
def state_pair(request: Request, item: FoundMatch, finished: OpenedAssignment, form: Form) -> Response:
    """Lock or forbid a pair in the table of constraints, or withdraw what is stated of it."""
    pair = finished.find_submission(form.get("submission", "")), finished.find_reviewer(form.get("reviewer", ""))
    constraint = form.get("constraint", "")
    if constraint not in (*VALUES, WITHDRAW):
        raise InputError(f"{constraint!r} is not a constraint; state lock, forbid or withdraw")
    with _stating:
        stated = _read_stated(item, finished)
        stated.pop(pair, None)
        if constraint in VALUES:
            stated[pair] = VALUES[constraint]
        rows = ((finished.submissions[row], finished.reviewers[n], int(value)) for (row, n), value in stated.items())
        write_rows(item.folder / STATED, [("paper", "reviewer", "constraint"), *rows])
    return RedirectResponse(f"{request.url.path}?submission={quote(finished.submissions[pair[0]], safe='')}", 303)


def _read_stated(item: WorkspaceItem, finished: FinishedAssignment) -> dict[tuple[int, int], float]:
    """Return what is stated of pairs, submission and reviewer: 1 locked, -1 forbidden, 0 no conflict."""
    return finished.read_constraints(item.folder / STATED) if (item.folder / STATED).is_file() else {}


@router.post("/matching/{id}/solve")
def solve_again(request: Request, item: FoundMatch, form: Form) -> Response:
    """Solve a match again with what is stated now. stay: of the form, move as few other pairs as possible."""
    request.app.state.service.background.start(item, stay="stay" in form)
    return RedirectResponse(request.url.path.removesuffix("/solve"), 303)


@router.get("/matching/{id}/constraints.csv")
def download_constraints(item: FoundMatch) -> Response:
    """Return what is stated of pairs, as `sciprism match --constraints` reads it."""
    if not (item.folder / STATED).is_file():
        raise InputError("no pair is locked or forbidden")
    return FileResponse(item.folder / STATED, filename=STATED, media_type="text/csv")


@router.get("/matching/{id}/report.zip")
def download(item: FoundMatch) -> Response:
    """Return the assignment, its audit, and a page for each submission and reviewer."""
    path = item.folder / RESULT / REPORT
    if not path.is_file():
        raise InputError("the report is not ready")
    return FileResponse(path, filename=f"{item.id}.zip")
