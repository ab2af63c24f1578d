"""Tag reviews: a vocabulary tags papers of a collection in the background; a person accepts or rejects each tag."""

from __future__ import annotations

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
from starlette.responses import RedirectResponse, Response

from sciprism.arrays import Rows
from sciprism.errors import InputError
from sciprism.files import write_json
from sciprism.papers import ReadReport, read_labels
from sciprism.papers.records import Paper
from sciprism.progress import show_each
from sciprism.service.collections import UnknownNameError
from sciprism.service.pages import Form, Library, render
from sciprism.service.papers import Conditions, TextFile
from sciprism.service.reading import read_apart
from sciprism.service.responses import json_response, text_file
from sciprism.service.state import ServiceState
from sciprism.service.uploads import MAX_REASONS, REVIEW, describe_items, find_item, start_work
from sciprism.service.workspace import REPORT, WorkspaceItem, read_document
from sciprism.store import StoredCollection
from sciprism.store.paper_lookup import check_filter, iterate_papers
from sciprism.uses.tagging.suggestions import PaperTags, TagChoice, TagReview, choose_format, format_tags, write_tags
from sciprism.uses.tagging.tagger import TagVectors, build_zero_shot
from sciprism.uses.tagging.vocabulary import Vocabulary

router = APIRouter(include_in_schema=False)
KIND, VOCABULARY, SUGGESTIONS, DECISIONS = "tagging", "vocabulary", "suggestions.jsonl", "decisions.jsonl"
SUFFIXES = (".csv", ".tsv", ".jsonl", ".ttl", ".rdf", ".nt", ".trig", ".nq", ".jsonld", ".xml")
MAX_TAGS = 50_000  # of a review: some 50 MB in memory
OPEN = 4  # reviews in memory
LATEST = 8  # decisions that a page shows
REST, UNDO = "rest", "undo"
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
        tagger, notes = state.find_tagger(body.tagger).tagger, []
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
    folder = find_item(request, id, KIND, name).folder
    if not (folder / REPORT).is_file():
        raise InputError("the tags are not suggested yet")
    with _reviewing:
        return _load_review(folder / SUGGESTIONS, folder / DECISIONS)


OpenedReview = Annotated[TagReview, Depends(_open_review)]


@router.get("/library/{name}/tags")
def list_reviews(request: Request, library: Library, name: str) -> Response:
    """List the tag reviews of a collection, and offer a new one."""
    state: ServiceState = request.app.state.service
    facts: dict[str, Any] = {"taggers": [tagger.name for tagger in state.taggers], "suffixes": SUFFIXES}
    return render(request, "tags.html", **library, **facts, items=describe_items(request, KIND, name))


@router.post("/workspace/tag-reviews")
def start_review(request: Request, body: TagReviewRequest) -> Response:
    """Store a vocabulary and start to tag papers of a collection with it."""
    state, owner = request.app.state.service, request.state.owner
    state.check_ready()
    served = state.find_collection(owner, body.collection)
    _choose_rows(served.open(), body)
    files: dict[str, bytes] = {}
    title = body.title
    if body.vocabulary is not None:
        suffix = Path(body.vocabulary.name).suffix.lower()
        if suffix not in SUFFIXES:
            raise InputError(f"{body.vocabulary.name!r} is no vocabulary that can be uploaded: {', '.join(SUFFIXES)}")
        files[VOCABULARY + suffix] = body.vocabulary.content
        title = title or body.vocabulary.name
    else:
        title = title or state.find_tagger(body.tagger).name
    request_facts = body.model_dump(mode="json", exclude={"vocabulary"}) | {"collection": served.name}
    review = {"collection": served.name, "owner": owner, "request": request_facts}
    item = start_work(request, KIND, title, files | {REVIEW: dumps(review).encode()})
    return json_response({"id": item.id}, status=202)


@router.get("/library/{name}/tags/{id}")
def show_paper(
    request: Request,
    library: Library,
    review: OpenedReview,
    id: str,
    paper: Annotated[str, Query(max_length=1000)] = "",
) -> Response:
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
    item = find_item(request, id, KIND, library["name"])
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
        lines = [*format_tags(choose_format(Path(name), ""), tagged, review.verdicts)]
    return text_file("".join(f"{line}\n" for line in lines), name)
