"""Desks where a person decides: on the records of a review one by one, and on tags that a vocabulary suggests.

Decisions are a table or lines in the workspace, on the disk when they are answered.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from functools import lru_cache, partial
from itertools import chain, islice
from json import dumps
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, Literal
from urllib.parse import quote

import numpy as np
from fastapi import APIRouter, Depends, Query, Request
from pydantic import Field
from starlette.responses import FileResponse, RedirectResponse, Response

from sciprism.arrays import Floats, Rows
from sciprism.errors import InputError
from sciprism.files import write_json
from sciprism.papers import ReadReport, read_labels
from sciprism.papers.bibliography_entries import format_ris
from sciprism.papers.records import Paper
from sciprism.parallel import show_each
from sciprism.service.limits import BoundedRoute
from sciprism.service.pages import Form, Library, render
from sciprism.service.papers import Conditions, TextFile
from sciprism.service.reading import read_apart
from sciprism.service.responses import UnknownNameError, json_response, text_file
from sciprism.service.state import ServiceState
from sciprism.service.uploads import MAX_REASONS, REVIEW, describe_items, find_item, find_workspace, start_work
from sciprism.service.workspace import REPORT, WorkspaceItem, read_document
from sciprism.store import StoredCollection
from sciprism.store.paper_lookup import check_filter, iterate_papers
from sciprism.uses.matching.expertise import encode_papers, read_vectors
from sciprism.uses.screening.session import EXCLUDE, INCLUDE, UNDO, UNSURE, Decision, Screening, read_decisions
from sciprism.uses.tagging.suggestions import PaperTags, TagChoice, TagReview, choose_format, format_tags, write_tags
from sciprism.uses.tagging.tagger import TagVectors, build_zero_shot
from sciprism.uses.tagging.vocabulary import Vocabulary

router = APIRouter(include_in_schema=False, route_class=BoundedRoute)
SCREENING, DECISIONS = "screening", "decisions.csv"
MAX_RECORDS = 50_000
OPEN = 4  # desks of each kind in memory
MAX_REASON = 1_000  # characters
LATEST = 8  # decisions that a desk shows
RecordId = Annotated[str, Query(max_length=1000)]


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
            encoder, vectors = state.share_model(stored.manifest.encoder.fingerprint), read_vectors(stored)
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
                raise InputError(f"{decision!r} is not a decision; state include, exclude, unsure or undo")
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
    item = find_item(request, id, SCREENING, name)
    with _opening:
        return _load_desk(library["stored"], item, request.app.state.service)


OpenedDesk = Annotated[Desk, Depends(_open_desk)]


@router.get("/library/{name}/screening")
def list_reviews(request: Request, library: Library, name: str) -> Response:
    """List the reviews of a collection, and offer a new one."""
    items = describe_items(request, SCREENING, name)
    return render(request, "reviews.html", **library, items=items, most=MAX_RECORDS)


@router.post("/library/{name}/screening")
def start_review(request: Request, library: Library, form: Form, name: str) -> Response:
    """Start a review of a collection."""
    workspace, owner = find_workspace(request)
    _check_size(library["stored"])
    review = {"collection": name, "criteria": form.get("criteria", "")}
    files = {REVIEW: dumps(review).encode(), DECISIONS: b""}
    item = workspace.create(owner, SCREENING, form.get("title") or f"Review of {library['library']}", files)
    return RedirectResponse(f"{request.url.path}/{item.id}", 303)


@router.get("/library/{name}/screening/{id}")
def show_record(request: Request, library: Library, desk: OpenedDesk, id: str, record: RecordId = "") -> Response:
    """Show the record to decide next, or a named one."""
    return render(request, "desk.html", **library, **desk.show(record), id=id)


@router.post("/library/{name}/screening/{id}")
def decide_record(request: Request, desk: OpenedDesk, form: Form) -> Response:
    """Store a decision, and lead to the next record, or to the one whose decision is withdrawn."""
    undone = desk.decide(form)
    return RedirectResponse(request.url.path + (f"?record={quote(undone, safe='')}" if undone else ""), 303)


@router.get("/library/{name}/screening/{id}/decisions.csv")
def download_decisions(desk: OpenedDesk) -> Response:
    """Return the table of decisions."""
    return FileResponse(desk.table, filename=DECISIONS, media_type="text/csv")


@router.get("/library/{name}/screening/{id}/included.ris")
def download_included(desk: OpenedDesk) -> Response:
    """Return the included records."""
    with desk.lock:
        session = desk.session
        papers = [session.paper(row) for row in session.records if session.verdict(row) == INCLUDE]
    return text_file("\n".join(format_ris([(paper, "") for paper in papers])) + "\n", "included.ris")


# ---- suggested tags ----

TAGGING, VOCABULARY, SUGGESTIONS, VERDICTS = "tagging", "vocabulary", "suggestions.jsonl", "decisions.jsonl"
SUFFIXES = (".csv", ".tsv", ".jsonl", ".ttl", ".rdf", ".nt", ".trig", ".nq", ".jsonld", ".xml")
MAX_TAGS = 50_000  # of a review: some 50 MB in memory
REST = "rest"
_reviewing = Lock()  # one decision at a time
_load_review = lru_cache(OPEN)(TagReview)


class TagReviewRequest(Conditions):
    """Papers of a collection, and the vocabulary to tag them with: a file, or the name of a tagger that is served."""

    k: int = Field(10, ge=1, le=100)
    threshold: float | None = Field(None, ge=0, le=1)
    title: str = Field("", max_length=200)
    vocabulary: TextFile | None = None
    tagger: str = ""


def _choose_rows(stored: StoredCollection, body: TagReviewRequest) -> Rows:
    """Return the rows of the papers to tag. Raises InputError for none, or for too many."""
    check_filter(stored, body.build())
    mask = stored.mask(body.build())
    rows = stored.live if mask is None else np.flatnonzero(mask)
    if len(rows) * body.k > MAX_TAGS:
        most = f"at most {MAX_TAGS:,} tags are suggested here"
        raise InputError(f"{len(rows):,} papers may have {body.k} tags each, {most}; state fewer, or years or a venue")
    return rows


def suggest(state: ServiceState, item: WorkspaceItem) -> None:
    """Write the suggestions of a review."""
    review, progress = read_document(item.folder / REVIEW), partial(state.background.show, item)
    body = TagReviewRequest(**review["request"])
    stored = state.find_collection(review["owner"], body.collection).open()
    vectors = TagVectors(state.share_model(stored.manifest.encoder.fingerprint, patient=True))
    rows = _choose_rows(stored, body)
    files, report = [*item.folder.glob(f"{VOCABULARY}.*")], ReadReport()
    if files:
        progress("reading the vocabulary")
        sent, report = read_apart(read_labels, files, partial(state.background.check, item), skip_bad=True)
        vocabulary = Vocabulary(sent)
        labels = vectors.encode(vocabulary.labels, "label", progress)
        tagger, notes = build_zero_shot(vocabulary, labels), vocabulary.notes
    else:
        served = state.taggers.choose(body.tagger)
        tagger, notes, vectors = served.tagger, [], TagVectors(vectors.encoder, [served.format])
    blocks = vectors.iterate_collection(stored, rows)
    choice = TagChoice(limit=body.k, threshold=body.threshold)
    suggested = (tags for papers, values in blocks for tags in tagger.suggest(papers, values, choice))
    shown = show_each(suggested, progress, "tagging", "papers", len(rows))
    pairs = ((Paper(id=tags.id), tags) for tags in shown)  # of papers, that format needs the ids alone
    counts = write_tags(item.folder / SUGGESTIONS, "jsonl", pairs)
    facts = {"papers": len(counts), "untagged": counts.count(0), "skipped": report.skipped_count}
    notes = [*map(item.hide_path, report.skipped), *notes]
    write_json(item.folder / REPORT, facts | {"labels": len(tagger.vocabulary), "notes": notes[:MAX_REASONS]})


def _open_review(request: Request, name: str, id: str) -> TagReview:
    """Return a review. Raises UnknownNameError for one of another owner or collection."""
    folder = find_item(request, id, TAGGING, name).folder
    if not (folder / REPORT).is_file():
        raise InputError("the tags are not suggested yet")
    with _reviewing:
        return _load_review(folder / SUGGESTIONS, folder / VERDICTS)


OpenedReview = Annotated[TagReview, Depends(_open_review)]


@router.get("/library/{name}/tags")
def list_tag_reviews(request: Request, library: Library, name: str) -> Response:
    """List the tag reviews of a collection, and offer a new one."""
    state: ServiceState = request.app.state.service
    facts: dict[str, Any] = {"taggers": [*state.taggers], "suffixes": SUFFIXES}
    return render(request, "tags.html", **library, **facts, items=describe_items(request, TAGGING, name))


@router.post("/workspace/tag-reviews")
def start_tag_review(request: Request, body: TagReviewRequest) -> Response:
    """Store a vocabulary and start to tag papers of a collection with it."""
    state, owner = request.app.state.service, request.state.owner
    served = state.find_collection(owner, body.collection)
    _choose_rows(served.open(), body)
    files: dict[str, bytes] = {}
    title = body.title
    if body.vocabulary is not None:
        suffix = Path(body.vocabulary.name).suffix.lower()
        if suffix not in SUFFIXES:
            raise InputError(f"{body.vocabulary.name!r}: a vocabulary must be one of {', '.join(SUFFIXES)}")
        files[VOCABULARY + suffix] = body.vocabulary.content
        title = title or body.vocabulary.name
    else:
        title = title or state.taggers.choose(body.tagger).name
    request_facts = body.model_dump(mode="json", exclude={"vocabulary"}) | {"collection": served.name}
    review = {"collection": served.name, "owner": owner, "request": request_facts}
    item = start_work(request, TAGGING, title, files | {REVIEW: dumps(review).encode()})
    return json_response({"id": item.id}, status=202)


@router.get("/library/{name}/tags/{id}")
def show_paper(request: Request, library: Library, review: OpenedReview, id: str, paper: RecordId = "") -> Response:
    """Show a paper with its suggested tags, the next one to decide by default."""
    stored: StoredCollection = library["stored"]
    with _reviewing:
        shown = paper or review.next_paper()
        if shown and shown not in review.papers:
            raise UnknownNameError(f"no tags are suggested for {paper!r}")
        suggested = review.papers.get(shown)
        rows = [] if suggested is None else [(tag, review.verdicts.get((shown, tag.uri), "")) for tag in suggested.tags]
        facts: dict[str, Any] = {
            "rows": rows,
            "current": shown and review.find_open(shown),
            "counts": review.counts(),
            "following": review.next_paper(shown),
            "latest": [
                (id, review.papers[id].title, review.tags[id, uri], review.verdicts[id, uri])
                for id, uri in islice(reversed(review.verdicts), LATEST)
            ],
        }
    row = stored.find_row(shown) if shown else None
    known = stored.papers([row])[0] if row is not None else suggested and Paper(id=shown, title=suggested.title)
    item = find_item(request, id, TAGGING, library["name"])
    report = read_document(item.folder / REPORT)
    return render(request, "tag_desk.html", **library, **facts, id=id, paper=known, title=item.name, report=report)


@router.post("/library/{name}/tags/{id}")
def decide_tag(request: Request, review: OpenedReview, form: Form) -> Response:
    """Store what a form decides of a paper's tags, and lead to the next tag, or to the one that is open again."""
    paper, (verdict, _, uri) = form.get("paper", ""), form.get("decision", "").partition(" ")
    with _reviewing:
        if verdict == UNDO:
            following = review.undo() or paper
        elif verdict == REST:
            review.reject_rest(paper)
            following = review.next_paper(paper)
        else:
            was_open = review.find_open(paper)
            review.decide(paper, uri, verdict)
            following = review.next_paper(paper) if was_open and not review.find_open(paper) else paper
    return RedirectResponse(request.url.path + (f"?paper={quote(following, safe='')}" if following else ""), 303)


@router.get("/library/{name}/tags/{id}/tags.{suffix}")
def download_tags(library: Library, review: OpenedReview, suffix: Literal["csv", "jsonl", "tsv", "json"]) -> Response:
    """Return the decisions as `sciprism tag` writes files: CSV with verdicts, the others with the accepted tags."""
    name = f"tags.{suffix}"
    papers = {paper.id: paper for paper in chain.from_iterable(iterate_papers(library["stored"]))}
    with _reviewing:
        suggested: Iterable[PaperTags] = review.papers.values() if suffix == "csv" else review.accepted()
        tagged = ((papers.get(tags.id) or Paper(id=tags.id, title=tags.title), tags) for tags in suggested)
        lines = [*format_tags(choose_format(Path(name)), tagged, review.verdicts)]
    return text_file("".join(f"{line}\n" for line in lines), name)
