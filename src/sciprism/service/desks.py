"""The screening desk: one record a page, decided by buttons or keys; decisions are a table in the workspace."""

from __future__ import annotations

from collections import Counter, deque
from functools import lru_cache
from itertools import chain
from json import dumps
from threading import Lock
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import FileResponse, RedirectResponse, Response

from sciprism.arrays import Floats
from sciprism.errors import InputError
from sciprism.papers.bibliography_entries import format_ris
from sciprism.papers.records import Paper
from sciprism.service.collections import UnknownNameError
from sciprism.service.pages import Form, Library, render
from sciprism.service.responses import text_file
from sciprism.service.state import ServiceState
from sciprism.service.uploads import REVIEW, describe_items, find_item, find_workspace
from sciprism.service.workspace import WorkspaceItem, read_document
from sciprism.store import StoredCollection
from sciprism.store.paper_lookup import iterate_papers
from sciprism.uses.matching.expertise import encode_papers, read_vectors
from sciprism.uses.screening.session import EXCLUDE, INCLUDE, UNDO, UNSURE, Decision, Screening, read_decisions

router = APIRouter(prefix="/library/{name}/screening", include_in_schema=False)
KIND, DECISIONS = "screening", "decisions.csv"
MAX_RECORDS = 50_000
OPEN = 4  # desks in memory
MAX_REASON = 1_000  # characters
LATEST = 8  # decisions that a desk shows


def _check_size(stored: StoredCollection) -> None:
    if len(stored) > MAX_RECORDS:
        raise InputError(f"a review has at most {MAX_RECORDS:,} records here; screen more with `sciprism screen`")


class Desk:
    """A review of a collection by one owner: its session and the records that come next.

    The vectors that count beside words are those of the collection; the model encodes the criteria alone.
    """

    def __init__(self, stored: StoredCollection, item: WorkspaceItem, state: ServiceState) -> None:
        _check_size(stored)
        self.title, self.table, self.lock = item.name, item.folder / DECISIONS, Lock()
        self.review = read_document(item.folder / REVIEW)

        def encode(papers: list[Paper]) -> Floats:
            encoder, vectors = state.share_model(stored.manifest.encoder.fingerprint), read_vectors([stored])
            return encode_papers(encoder, {"records": papers}, vectors)["records"]

        papers = [*chain.from_iterable(iterate_papers(stored))]
        self.session = Screening(papers, [self.table], criteria=self.review["criteria"], encode=encode)
        self.latest = deque((made for made in read_decisions(self.table)[0] if made.decision != UNDO), LATEST)
        self._queue, self._decided = list[int](), 0

    def show(self, record: str) -> dict[str, Any]:
        """Return what the page shows: a record, the next one by default, progress and advice."""
        with self.lock:
            session = self.session
            if record and record not in session.by_id:
                raise UnknownNameError(f"no record has the id {record!r}")
            if not self._queue:  # ranked again after every twentieth of the decisions, as the command does
                self._queue = session.rank()[: max(1, self._decided // 20)]
            row = session.by_id[record] if record else next(iter(self._queue), None)
            verdicts = Counter(map(session.verdict, session.records))
            decided = len(session.records) - verdicts[""]
            counts = {"records": len(session.records), "decided": decided, "included": verdicts[INCLUDE]}
            paper = None if row is None else session.paper(row)
            verdict = "" if row is None else session.verdict(row)
            advice = session.advise()
            latest = [*reversed(self.latest)]
        facts = {"paper": paper, "verdict": verdict, "title": self.title, "review": self.review, "latest": latest}
        return facts | counts | advice

    def decide(self, form: dict[str, str]) -> str:
        """Store what a form decides; return the id of a record whose decision it withdrew, "" otherwise."""
        decision, id = form.get("decision", ""), form.get("id", "")
        with self.lock:
            if decision == UNDO:
                undone = self.session.undo()
                self.latest = deque((made for made in self.latest if made.id != undone), LATEST)
                return undone
            if decision not in (INCLUDE, EXCLUDE, UNSURE):
                raise InputError(f"{decision!r} is no decision; state include, exclude, unsure or undo")
            self.session.decide(id, decision, reason=form.get("reason", "")[:MAX_REASON] if decision == EXCLUDE else "")
            self._decided += 1
            self._queue = [row for row in self._queue if row != self.session.by_id[id]]
            title = self.session.paper(self.session.by_id[id]).title
            self.latest.append(Decision(id=id, title=title, decision=decision))
            return ""


_opening = Lock()  # one desk of a table
_load_desk = lru_cache(OPEN)(Desk)


def _open_desk(request: Request, library: Library, name: str, id: str) -> Desk:
    """Return a desk. Raises UnknownNameError for one of another owner or collection."""
    item = find_item(request, id, KIND, name)
    with _opening:
        return _load_desk(library["stored"], item, request.app.state.service)


OpenedDesk = Annotated[Desk, Depends(_open_desk)]


@router.get("")
def list_reviews(request: Request, library: Library, name: str) -> Response:
    """List the reviews of a collection, and offer a new one."""
    items = describe_items(request, KIND, name)
    return render(request, "reviews.html", **library, items=items, most=MAX_RECORDS)


@router.post("")
def start_review(request: Request, library: Library, form: Form, name: str) -> Response:
    """Start a review of a collection."""
    workspace, owner = find_workspace(request)
    _check_size(library["stored"])
    review = {"collection": name, "criteria": form.get("criteria", "")}
    files = {REVIEW: dumps(review).encode(), DECISIONS: b""}
    item = workspace.create(owner, KIND, form.get("title") or f"Review of {library['library']}", files)
    return RedirectResponse(f"{request.url.path}/{item.id}", 303)


@router.get("/{id}")
def show_record(
    request: Request, library: Library, desk: OpenedDesk, id: str, record: Annotated[str, Query(max_length=1000)] = ""
) -> Response:
    """Show the record to decide next, or a named one."""
    return render(request, "desk.html", **library, **desk.show(record), id=id)


@router.post("/{id}")
def decide_record(request: Request, desk: OpenedDesk, form: Form) -> Response:
    """Store a decision, and lead to the next record, or to the one whose decision is withdrawn."""
    undone = desk.decide(form)
    return RedirectResponse(request.url.path + (f"?record={quote(undone, safe='')}" if undone else ""), 303)


@router.get("/{id}/decisions.csv")
def download_decisions(desk: OpenedDesk) -> Response:
    """Return the table of decisions."""
    return FileResponse(desk.table, filename=DECISIONS, media_type="text/csv")


@router.get("/{id}/included.ris")
def download_included(desk: OpenedDesk) -> Response:
    """Return the included records."""
    with desk.lock:
        session = desk.session
        papers = [session.paper(row) for row in session.records if session.verdict(row) == INCLUDE]
    return text_file("\n".join(format_ris([(paper, "") for paper in papers])) + "\n", "included.ris")
