"""The pages of a collection: its search, and its papers."""

from __future__ import annotations

import re
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Request
from markupsafe import Markup, escape
from pydantic import ValidationError
from starlette.responses import Response

from sciprism.encoders.encoder import Encoder
from sciprism.errors import InputError
from sciprism.index.lexical import split_words
from sciprism.papers.bibliography_entries import find_doi, find_url
from sciprism.papers.records import Paper
from sciprism.service.pages import environment, render
from sciprism.service.papers import (
    MAX_K,
    SearchRequest,
    SimilarRequest,
    find_paper,
    rank_queries,
    rank_similar,
    use_collection,
)
from sciprism.service.state import ServiceState
from sciprism.text.sentences import split_sentences
from sciprism.uses.mapping.layout import has_packages
from sciprism.uses.tagging.suggestions import TagChoice

router = APIRouter(prefix="/library/{name}", include_in_schema=False)
MODES = {"exact": "Meaning", "lexical": "Words", "hybrid": "Both"}
FILTERS = ("year_from", "year_to", "venue", "field")
PAGE = 20  # papers of a page
REASONED = 3  # pages whose reasons the model finds: it reads all papers before them again
MAX_SIMILAR = 8
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
    served = state.find_collection(request.state.identity.owner, name)
    stored = served.open()
    has_words = (stored.folder / "index" / "lexical").is_dir()
    modes = {mode: text for mode, text in MODES.items() if has_words or mode == "exact"}
    offered = {
        "Search": ("", True),
        "Map": ("/map", has_packages()),
        "Screen": ("/screening", state.uploads is not None),
        "Tag": ("/tags", state.uploads is not None),
    }
    tabs = [(tab, path) for tab, (path, is_there) in offered.items() if is_there]
    facts = {"name": name, "library": served.title, "papers": len(stored), "stored": stored}
    return facts | {"modes": modes, "tabs": tabs}


Library = Annotated[dict[str, Any], Depends(describe_library)]
"""What `describe_library` returns, looked up in a thread."""


@router.get("")
async def search_page(
    request: Request,
    library: Library,
    q: str = "",
    mode: str = "exact",
    page: Annotated[int, Query(ge=1, le=MAX_K // PAGE)] = 1,
) -> Response:
    """Show the search of a collection and what a query finds."""
    filters = {name: request.query_params.get(name, "").strip() for name in FILTERS}
    values = {"q": q, "mode": mode, "page": page, "filters": filters, "hits": None, "error": ""}
    if q.strip():
        try:
            values |= await _search(request, library, values)
        except ValidationError as error:
            values["error"] = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        except InputError as error:
            values["error"] = request.app.state.service.hide_paths(str(error))
    return render(request, "search.html", 400 if values["error"] else 200, **library, **values)


async def _search(request: Request, library: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """Return the papers of a page of results, how many there are, and the query of the pages beside it."""
    mode, page, query = values["mode"], values["page"], values["q"]
    stated = {name: text for name, text in values["filters"].items() if text}
    depth = MAX_K if mode == "lexical" else page * PAGE
    conditions = {"collection": library["name"], "q": [query], "mode": mode, "k": depth}
    body = SearchRequest.model_validate(conditions | stated | {"why": mode != "lexical" and page <= REASONED})
    hits = (await rank_queries(request, body))[0].hits
    mask = library["stored"].mask(body.build())
    total = len(hits) if mode == "lexical" else library["papers"] if mask is None else int(mask.sum())
    facts = {"q": query, "mode": mode, **stated}
    links = {number: "?" + urlencode(facts | {"page": number}) for number in (page - 1, page + 1)}
    shown = [(hit, hit.why or _find_sentence(hit.paper, query)) for hit in hits[(page - 1) * PAGE : page * PAGE]]
    more = page * PAGE < min(total, MAX_K)
    return {"hits": shown, "total": total, "first": (page - 1) * PAGE + 1, "links": links, "more": more, "top": MAX_K}


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
