"""The pages of a collection: its search, and its papers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Request
from markupsafe import Markup, escape
from pydantic import ValidationError
from starlette.responses import Response

from sciprism.encoders.encoder import Encoder
from sciprism.errors import InputError
from sciprism.index.lexical import split_words
from sciprism.pages import environment
from sciprism.papers.bibliography_entries import find_doi, find_url, format_bibtex, format_ris
from sciprism.papers.records import Paper
from sciprism.service.pages import render
from sciprism.service.papers import (
    MAX_K,
    SearchRequest,
    SimilarRequest,
    find_paper,
    rank_queries,
    rank_similar,
    use_collection,
)
from sciprism.service.responses import text_file
from sciprism.service.state import ServiceState
from sciprism.text.sentences import split_sentences
from sciprism.uses.mapping import has_packages
from sciprism.uses.search import Hit, explain
from sciprism.uses.tagging.suggestions import TagChoice

router = APIRouter(prefix="/library/{name}", include_in_schema=False)
MODES = {"exact": "Meaning", "lexical": "Words", "hybrid": "Both"}
FILTERS = ("year_from", "year_to", "author", "venue", "field")
PAGE = 20  # papers of a page
MAX_SIMILAR = 8
MAX_ERROR = 4_096  # bytes of a page that says what was wrong
COMMON = 3  # letters of a word at most that is not marked


def mark_words(text: str, query: str) -> Markup:
    """Return a text, escaped, in which the words of a query are marked."""
    words = [re.escape(word) for word in split_words(query) if len(word) > COMMON]
    if not words:
        return escape(text)
    parts = re.split(rf"\b((?:{'|'.join(words)})\w{{0,3}})\b", text, flags=re.IGNORECASE)
    return Markup("").join(Markup("<mark>{}</mark>").format(part) if i % 2 else part for i, part in enumerate(parts))


environment.filters["mark_words"] = mark_words


def describe_library(request: Request, name: str) -> dict[str, Any]:
    """Return what the pages of a collection show at their top: its title, its size, and how it can be searched."""
    state: ServiceState = request.app.state.service
    served = state.find_collection(request.state.owner, name)
    stored = served.open()
    has_words = (stored.folder / "index" / "lexical").is_dir()
    modes = {mode: text for mode, text in MODES.items() if has_words or mode == "exact"}
    offered = {
        "Search": ("", True),
        "Map": ("/map", has_packages()),
        "Screen": ("/screening", state.workspace is not None),
        "Tag": ("/tags", state.workspace is not None),
    }
    tabs = [(tab, path) for tab, (path, is_there) in offered.items() if is_there]
    facts = {"name": name, "library": served.title, "papers": len(stored), "stored": stored}
    return facts | {"modes": modes, "tabs": tabs}


Library = Annotated[dict[str, Any], Depends(describe_library)]
"""What `describe_library` returns, looked up in a thread."""


class Question:
    """What the address of a page of results states: the query, the mode and the filters."""

    def __init__(self, request: Request, name: str, q: str = "", mode: str = "exact") -> None:
        self.request, self.collection, self.q, self.mode = request, name, q, mode
        self.filters = {name: request.query_params.get(name, "").strip() for name in FILTERS}
        self.stated = {name: text for name, text in self.filters.items() if text}

    def link(self, **more: Any) -> str:
        """Return the end of an address that states the same, and more."""
        return "?" + urlencode({"q": self.q, "mode": self.mode} | self.stated | more)

    def build(self, k: int) -> SearchRequest:
        """Return the request for the first k papers. Raises InputError for what is no year or no mode."""
        facts = {"collection": self.collection, "q": [self.q], "mode": self.mode, "k": k, "why": False}
        try:
            return SearchRequest.model_validate(facts | self.stated)
        except ValidationError as error:
            wrong = error.errors()[0]
            raise InputError(f"{wrong['loc'][0]}: {wrong['msg']}") from None

    async def rank(self, k: int) -> tuple[Hit, ...]:
        """Return the first k papers."""
        return (await rank_queries(self.request, self.build(k)))[0].hits

    async def explain(self, hits: Sequence[Hit]) -> list[str]:
        """Return the sentence of each paper that is nearest to the query: by its words, or by meaning."""
        papers = [hit.paper for hit in hits]
        if self.mode == "lexical":
            return [_find_sentence(paper, self.q) for paper in papers]
        return await use_collection(
            self.request, self.collection, lambda stored, encoder: explain(stored, encoder, self.q, papers)
        )


Asked = Annotated[Question, Depends()]


@router.get("")
async def search_page(
    request: Request,
    library: Library,
    asked: Asked,
    page: Annotated[int, Query(ge=1, le=MAX_K // PAGE)] = 1,
) -> Response:
    """Show the search of a collection and what a query finds."""
    facts = {name: getattr(asked, name) for name in ("q", "mode", "filters", "stated")}
    values = facts | {"page": page, "hits": None, "error": ""}
    if asked.q.strip():
        try:
            values |= await _search(asked, library, page)
        except InputError as error:
            values["error"] = request.app.state.service.hide_paths(str(error))
    plain = "?" + urlencode({"q": asked.q, "mode": asked.mode})
    shown = render(request, "search.html", 400 if values["error"] else 200, **library, **values, plain=plain)
    if values["error"] and len(shown.body) > MAX_ERROR:
        raise InputError(values["error"])  # whose page is without the form
    return shown


async def _search(asked: Question, library: dict[str, Any], page: int) -> dict[str, Any]:
    """Return the papers of a page of results, their number, and the addresses of the pages before and after it."""
    is_lexical = asked.mode == "lexical"
    hits = await asked.rank(MAX_K if is_lexical else page * PAGE)
    mask = library["stored"].mask(asked.build(1).build())
    total = len(hits) if is_lexical else library["papers"] if mask is None else int(mask.sum())
    links = {number: asked.link(page=number) for number in (page - 1, page + 1)}
    here = hits[(page - 1) * PAGE : page * PAGE]
    shown = list(zip(here, await asked.explain(here), strict=True))
    facts = {"more": page * PAGE < min(total, MAX_K), "top": MAX_K, "saved": asked.link()}
    return facts | {"hits": shown, "total": total, "first": (page - 1) * PAGE + 1, "links": links}


@router.get("/results.{suffix}")
async def download_results(library: Library, asked: Asked, suffix: Literal["bib", "ris"]) -> Response:
    """Return the papers that a query finds, at most as many as its pages show, for reference managers."""
    papers = [(hit.paper, f"rank {hit.rank}") for hit in await asked.rank(min(MAX_K, library["papers"]))]
    entries = (format_bibtex if suffix == "bib" else format_ris)(papers)
    return text_file("\n".join(entries) + "\n", f"results.{suffix}")


def _find_sentence(paper: Paper, query: str) -> str:
    """Return the sentence of an abstract that has most words of a query, the first of several."""
    words = set(split_words(query))
    return max(split_sentences(paper.abstract), key=lambda text: len(words & {*split_words(text)}), default="")


@router.get("/papers/{id:path}")
async def paper_page(request: Request, library: Library, name: str, id: str) -> Response:
    """Show a paper, the papers nearest to it, and tags where a vocabulary is served."""
    paper = await find_paper(request, name, id)
    near = SimilarRequest(to=id, collection=name, k=MAX_SIMILAR)
    hits = (await rank_similar(request, near))[0].hits if library["papers"] > 1 else ()
    tags = await use_collection(request, name, lambda _, encoder: _suggest(request.app.state.service, paper, encoder))
    facts: dict[str, Any] = {"doi": find_doi(paper), "url": find_url(paper), "hits": hits, "tags": tags}
    return render(request, "paper.html", **library, paper=paper, **facts)


def _suggest(state: ServiceState, paper: Paper, encoder: Encoder) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the tags of a paper in each vocabulary that is served."""
    tagged = []
    for tagger in state.taggers:
        model = encoder if tagger.fingerprint == encoder.fingerprint else state.share_model(tagger.fingerprint)
        (suggested,) = tagger.suggest([paper], model, TagChoice())["papers"]
        tagged.append((tagger.name, suggested["tags"]))
    return tagged
