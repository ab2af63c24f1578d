"""Search, similar papers, tags and papers over HTTP, with the documents of the commands' --json."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import to_json
from starlette.responses import PlainTextResponse, Response

from sciprism.encoders.encoder import Encoder
from sciprism.errors import InputError
from sciprism.papers import read_labels
from sciprism.papers.bibliography_entries import find_doi, find_url, format_bibtex, format_ris
from sciprism.papers.records import Paper
from sciprism.service.limits import CLIENT, BoundedRoute
from sciprism.service.responses import UnknownNameError, json_response
from sciprism.store import Filter, StoredCollection
from sciprism.store.paper_lookup import check_filter, describe_unknown
from sciprism.uses.search import Ranking, check_queries, choose_mode, search, similar, similar_to_papers
from sciprism.uses.tagging.suggestions import Parents, TagChoice
from sciprism.uses.tagging.tagger import Tagger, build_zero_shot, load_tagger, load_vectors
from sciprism.uses.tagging.vocabulary import Vocabulary

router = APIRouter(tags=["papers"], route_class=BoundedRoute)
Result = TypeVar("Result")
MAX_K = 1_000
MAX_QUERIES = 256
MAX_NAME, MAX_QUERY = 1_000, 32_768  # characters


Name = Annotated[str, Field(max_length=MAX_NAME)]
Names = Annotated[tuple[Name, ...], Field(fail_fast=True)]


class RequestBody(BaseModel):
    """What a request states; an unknown name is an error."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def check_names(cls, given: Any) -> Any:
        """Return what is given. Raises ValueError for the first unknown name: pydantic lists a million of them."""
        if isinstance(given, dict) and (unknown := given.keys() - cls.model_fields.keys()):
            raise ValueError(f"{min(unknown)!r:.80} is unknown; there is {', '.join(cls.model_fields)}")
        return given


class TextFile(RequestBody):
    """A file as text. name: says the format, and whose papers they are."""

    name: str = Field(max_length=200)
    text: str

    @property
    def content(self) -> bytes:
        """Return the bytes to store."""
        return self.text.encode("utf-8", "replace")


class PaperText(RequestBody):
    """A paper that the collection need not have."""

    id: str = "paper"
    title: str = ""
    abstract: str = ""
    authors: Names = ()
    venue: str = ""
    year: int | None = None
    ids: dict[str, str] = Field({}, fail_fast=True)

    def build(self) -> Paper:
        """Return the paper."""
        return Paper.from_json(self.model_dump() | {"id": self.id or "paper"})


class Conditions(RequestBody):
    """Which papers of which collection are ranked. collection: "" is the only one that is served."""

    collection: Name = ""
    k: int = Field(10, ge=1, le=MAX_K)
    year_from: int | None = Field(None, ge=-5000, le=5000)
    year_to: int | None = Field(None, ge=-5000, le=5000)
    venue: Name = ""
    field: Name = ""
    author: Name = ""
    why: bool = True

    def build(self) -> Filter:
        """Return the filter. Raises InputError for a span of years that ends before it begins."""
        if self.year_from is not None and self.year_to is not None and self.year_from > self.year_to:
            raise InputError(f"the years {self.year_from} to {self.year_to} end before they begin")
        return Filter(**self.model_dump(include={"year_from", "year_to", "venue", "field", "author"}))


class SearchRequest(Conditions):
    """Queries in words."""

    q: list[Annotated[str, Field(max_length=MAX_QUERY)]] = Field(min_length=1, max_length=MAX_QUERIES, fail_fast=True)
    mode: Literal["auto", "exact", "approximate", "lexical", "hybrid"] = "auto"


class SimilarTo(Conditions):
    """A stored paper, by its id, DOI or title."""

    to: Annotated[str, Field(max_length=MAX_QUERY)] = ""
    mode: Literal["exact", "approximate"] = "exact"


class SimilarRequest(SimilarTo):
    """A stored paper, or papers from elsewhere."""

    papers: list[PaperText] = Field([], max_length=MAX_QUERIES, fail_fast=True)


async def use_collection(request: Request, name: str, work: Callable[[StoredCollection, Encoder], Result]) -> Result:
    """Return what a use of a collection returns; name: of a served one, or of the caller's uploads."""
    result: Result = await request.app.state.service.use(request.state.owner, name, work)
    return result


async def rank_queries(request: Request, body: SearchRequest) -> list[Ranking]:
    """Return the ranking of each query; requests that differ in nothing else are searched together."""
    chosen = body.build()
    check_queries(body.q, body.k, body.mode)

    def work(stored: StoredCollection, encoder: Encoder, queries: Sequence[str]) -> list[Ranking]:
        check_filter(stored, chosen)
        needed = encoder if body.why or body.mode != "lexical" else None
        return search(stored, needed, queries, body.k, mode=body.mode, filter=chosen, why=body.why)

    async def run(queries: Sequence[str]) -> list[Ranking]:
        return await use_collection(request, body.collection, partial(work, queries=queries))

    key = f"{CLIENT.get()} {body.model_dump_json(exclude={'q'})}"
    rankings: list[Ranking] = await request.app.state.service.searches.run(key, body.q, run)
    return rankings


async def rank_similar(request: Request, body: SimilarRequest) -> list[Ranking]:
    """Return the ranking of each paper. Raises InputError unless either a stored or other papers are named."""
    if bool(body.to) == bool(body.papers):
        raise InputError("state one of `to`, a stored paper, and `papers`")
    chosen, papers = body.build(), [paper.build() for paper in body.papers]

    def work(stored: StoredCollection, encoder: Encoder) -> list[Ranking]:
        check_filter(stored, chosen)
        if papers:
            return similar_to_papers(stored, encoder, papers, body.k, mode=body.mode, filter=chosen, why=body.why)
        needed = encoder if body.why else None
        return [similar(stored, needed, body.to, body.k, mode=body.mode, filter=chosen)]

    return await use_collection(request, body.collection, work)


async def find_paper(request: Request, collection: str, id: str) -> Paper:
    """Return a paper by its id. Raises UnknownNameError with the nearest ids."""

    def work(stored: StoredCollection, _: Encoder) -> Paper:
        row = stored.find_row(id)
        if row is None:
            raise UnknownNameError(describe_unknown(stored, id))
        return stored.papers([row])[0]

    return await use_collection(request, collection, work)


def _answer(request: Request, kind: str, body: SearchRequest | SimilarRequest, ranked: Sequence[Ranking]) -> Response:
    """Return the document of rankings, as the command of that name prints it."""
    name = name_collection(request, body.collection)
    stored = request.app.state.service.find_collection(request.state.owner, name).open()
    names = {"collection": name, "mode": choose_mode(stored, body.mode)}
    head = to_json({"schema": f"sciprism.{kind}/1", **names}).removesuffix(b"}")
    rankings = b",".join(to_json(ranking.to_json()) for ranking in ranked)  # one by one: a hit as a dict is large
    return Response(b'%b,"rankings":[%b]}' % (head, rankings), media_type="application/json")


def name_collection(request: Request, name: str) -> str:
    """Return the name of the collection that is used: of the only one where none is stated."""
    return name or str(next(iter(request.app.state.service.collections)))


@router.get("/search")
async def get_search(request: Request, query: Annotated[SearchRequest, Query()]) -> Response:
    """Rank the papers of a collection for a query in words; q may be repeated."""
    return await post_search(request, query)


@router.post("/search")
async def post_search(request: Request, body: SearchRequest) -> Response:
    """Rank the papers of a collection for each query."""
    return await asyncio.to_thread(_answer, request, "search", body, await rank_queries(request, body))


@router.get("/similar")
async def get_similar(request: Request, query: Annotated[SimilarTo, Query()]) -> Response:
    """Rank the papers of a collection that are nearest to one of them."""
    return await post_similar(request, SimilarRequest(**query.model_dump()))


@router.post("/similar")
async def post_similar(request: Request, body: SimilarRequest) -> Response:
    """Rank the papers of a collection that are nearest to one of them, or to papers from elsewhere."""
    return await asyncio.to_thread(_answer, request, "similar", body, await rank_similar(request, body))


@router.get("/papers/{id:path}")
async def get_paper(
    request: Request, id: str, collection: str = "", format: Literal["json", "bibtex", "ris"] = "json"
) -> Response:
    """Return a paper of a collection, as JSON or as an entry of a bibliography."""
    paper = await find_paper(request, collection, id)
    if format != "json":
        entries = format_bibtex([(paper, "")]) if format == "bibtex" else format_ris([(paper, "")])
        return PlainTextResponse("\n".join(entries) + "\n")
    names = {"schema": "sciprism.paper/1", "collection": name_collection(request, collection)}
    return json_response(names | {"paper": describe(paper)})


def describe(paper: Paper) -> dict[str, Any]:
    """Return a paper as JSON values, with its DOI and address."""
    return paper.to_json() | {"doi": find_doi(paper), "url": find_url(paper)}


MAX_PAPERS = 1_000
GivenPapers = list[str | PaperText]
"""Ids of papers of the collection, and papers from elsewhere."""


class TagRequest(RequestBody):
    """Papers to tag. tagger: the name of one that is served; "" is the only one."""

    papers: GivenPapers = Field(min_length=1, max_length=MAX_PAPERS, fail_fast=True)
    collection: Name = ""
    tagger: Name = ""
    limit: int = Field(10, ge=1, le=100)
    threshold: float | None = Field(None, ge=0, le=1)
    exclude: Names = ()
    branch: Names = ()
    parents: Parents = "keep"


class ServedTagger:
    """A trained tagger or a vocabulary, with the encoder of its vectors."""

    def __init__(self, path: Path, encoder: Encoder) -> None:
        vectors = load_vectors(encoder, path if path.is_dir() else None)
        self.name, self.format, self.fingerprint = path.stem, vectors.format, encoder.fingerprint
        if path.is_dir():
            self.tagger: Tagger = load_tagger(path)
        else:
            vocabulary = Vocabulary(read_labels(path))
            self.tagger = build_zero_shot(vocabulary, vectors.encode(vocabulary.labels, "label"))

    def suggest(self, papers: Sequence[Paper], encoder: Encoder, choice: TagChoice) -> dict[str, Any]:
        """Return the document of the papers' tags."""
        vectors = encoder.encode(list(papers), format=self.format, role="paper")
        threshold = choice.find_threshold(self.tagger.weighing.threshold)
        facts = {"labels": len(self.tagger.vocabulary), "trained": self.tagger.training is not None}
        tags = [paper.to_json() for paper in self.tagger.suggest(papers, vectors, choice)]
        return {"schema": "sciprism.tag/1", **facts, "threshold": threshold, "papers": tags}


@router.post("/tag")
async def tag(request: Request, body: TagRequest) -> Response:
    """Suggest labels of a vocabulary for papers, each with a probability and a reason."""
    return json_response(await find_tags(request, body))


async def find_tags(request: Request, body: TagRequest) -> dict[str, Any]:
    """Return the document of the labels that are suggested."""
    state = request.app.state.service
    tagger: ServedTagger = state.taggers.choose(body.tagger)
    options = body.model_dump(include={"limit", "threshold", "branch", "parents"})
    choice, encoder = TagChoice(excluded=body.exclude, **options), state.share_model(tagger.fingerprint)
    if any(isinstance(paper, str) for paper in body.papers):
        papers = await use_collection(request, body.collection, lambda stored, _: collect(stored, body.papers))
    else:
        papers = [paper.build() for paper in body.papers if isinstance(paper, PaperText)]
    document: dict[str, Any] = await state.run(tagger.suggest, papers, encoder, choice)
    return document


def collect(stored: StoredCollection, given: GivenPapers) -> list[Paper]:
    """Return the papers of a collection whose ids are stated, and those from elsewhere, in the order given."""
    return [stored.paper(paper) if isinstance(paper, str) else paper.build() for paper in given]
