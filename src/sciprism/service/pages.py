"""The pages for people: the search of a collection, its papers and its map, uploads, and the sign-in.

They are rendered here, so that all but the map work without scripts.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import parse_qs, quote, urlencode

from fastapi import APIRouter, Depends, Query, Request
from markupsafe import Markup, escape
from pydantic import ValidationError
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response

from sciprism.encoders.encoder import Encoder
from sciprism.errors import InputError
from sciprism.index.lexical import split_words
from sciprism.pages import STATIC, environment, fill_page
from sciprism.papers.bibliography_entries import find_doi, find_url, format_bibtex, format_ris
from sciprism.papers.records import Paper
from sciprism.service.limits import COOKIE, EVERYONE, SESSION_SECONDS, BoundedRoute, find_address
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
from sciprism.service.uploads import SUFFIXES, describe_items, find_workspace
from sciprism.service.workspace import UPLOAD, WorkspaceItem
from sciprism.store import StoredCollection
from sciprism.store.collection import MANIFEST_NAME
from sciprism.uses.mapping import PAGE_PAPERS, draw_map, has_packages, read_layout, write_page, write_parquet
from sciprism.uses.search import Hit, choose_mode, explain
from sciprism.uses.tagging.suggestions import TagChoice

router = APIRouter(include_in_schema=False, route_class=BoundedRoute)
MAP, LAYOUT = "map", "layout.parquet"
MODES = {"auto": "Both", "exact": "Meaning", "lexical": "Words"}
FILTERS = ("year_from", "year_to", "author", "venue", "field")
PAGE = 20  # papers of a page
MAX_SIMILAR = 8
MAX_ERROR = 4_096  # bytes of a page that says what was wrong
COMMON = 3  # letters of a word at most that is not marked


def render(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a page. All templates know the collections, who is signed in and the token that forms carry."""
    state: ServiceState = request.app.state.service
    owner: str = request.state.owner
    shared = {
        "request": request,
        "root": request.scope["root_path"],
        "collections": list(state.collections) if owner else [],
        "owner": "" if owner == EVERYONE else owner,
        "signed_in": bool(owner),
        "has_workspace": bool(owner) and state.workspace is not None,
        "sign_in": not state.gatekeeper.open,
        "error": "",
        "status": status,
    }
    return HTMLResponse(fill_page(template, **shared | values), status)


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a form."""
    fields = parse_qs((await request.body()).decode("utf-8", "replace"))
    return {name: texts[0].strip() for name, texts in fields.items()}


Form = Annotated[dict[str, str], Depends(read_form)]


@router.get("/")
def start(request: Request) -> Response:
    """Lead to the collection, or list several."""
    served = request.app.state.service.collections
    if len(served) == 1:
        return RedirectResponse(f"{request.scope['root_path']}/library/{quote(next(iter(served)), safe='')}", 303)
    return render(request, "start.html", sizes={name: len(served[name].open()) for name in served})


@router.get("/uploads")
def uploads_page(request: Request) -> Response:
    """Show the collections that the caller uploaded, how far each is, and a form for another file."""
    return render(request, "uploads.html", uploads=describe_items(request, UPLOAD), suffixes=SUFFIXES)


@router.post("/items/{id}/delete")
def delete_item(request: Request, form: Form, id: str) -> Response:
    """Delete what the caller has in the workspace, and lead to the page that the form names."""
    workspace, owner = find_workspace(request)
    workspace.delete(owner, id)
    return RedirectResponse(_own_path(request, form.get("next", "")), 303)


@router.get("/docs")
def docs_page(request: Request) -> Response:
    """List the addresses for programs."""
    document = request.app.openapi()
    return render(request, "docs.html", paths=document["paths"], schemas=document["components"]["schemas"])


@router.get("/sign-in")
async def sign_in_page(request: Request, next: str = "") -> Response:
    """Ask for a token."""
    return render(request, "sign_in.html", next=_own_path(request, next))


@router.post("/sign-in")
async def sign_in(request: Request, form: Form) -> Response:
    """Start a session for a token, whose cookie neither scripts nor other sites can use."""
    gatekeeper, address = request.app.state.service.gatekeeper, find_address(request)
    target, owner = _own_path(request, form.get("next", "")), gatekeeper.find_owner(form.get("token", ""), address)
    if not owner:
        return render(request, "sign_in.html", 401, next=target, error="This token is not known.")
    answer, session = RedirectResponse(target, 303), gatekeeper.start_session(owner)
    secure = request.url.scheme == "https"
    answer.set_cookie(COOKIE, session, SESSION_SECONDS, secure=secure, httponly=True, samesite="lax")
    return answer


@router.post("/sign-out")
async def sign_out(request: Request) -> Response:
    """End the session of this browser, and of whoever has its cookie."""
    request.app.state.service.gatekeeper.end_session(request.cookies.get(COOKIE, ""))
    answer = RedirectResponse(f"{request.scope['root_path']}/sign-in", 303)
    answer.delete_cookie(COOKIE)
    return answer


def _own_path(request: Request, target: str) -> str:
    """Return a path of this service, also where a link names another place."""
    root = f"{request.scope['root_path']}/"
    return target if target.startswith(root) and not target.startswith(("//", "/\\")) else root


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
    modes = MODES if choose_mode(stored, "auto") == "hybrid" else {}
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

    def __init__(self, request: Request, name: str, q: str = "", mode: str = "auto") -> None:
        self.request, self.collection, self.q, self.mode = request, name, q, "auto" if mode == "hybrid" else mode
        self.filters = {name: request.query_params.get(name, "").strip() for name in FILTERS}
        self.stated = {name: text for name, text in self.filters.items() if text}

    def link(self, **more: Any) -> str:
        """Return the end of an address that states the same, and more."""
        return "?" + urlencode({"q": self.q, "mode": self.mode} | self.stated | more)

    def build(self, k: int) -> SearchRequest:
        """Return the request for the first k papers. Raises InputError for what is not a year or a mode."""
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
        """Return the sentence of each paper that is nearest to the query."""
        papers = [hit.paper for hit in hits]
        return await use_collection(
            self.request, self.collection, lambda stored, encoder: explain(stored, encoder, self.q, papers)
        )


Asked = Annotated[Question, Depends()]


@router.get("/library/{name}")
async def search_page(
    request: Request, library: Library, asked: Asked, page: Annotated[int, Query(ge=1, le=MAX_K // PAGE)] = 1
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


@router.get("/library/{name}/results.{suffix}")
async def download_results(library: Library, asked: Asked, suffix: Literal["bib", "ris"]) -> Response:
    """Return the papers that a query finds, at most as many as its pages show, for reference managers."""
    papers = [(hit.paper, f"rank {hit.rank}") for hit in await asked.rank(min(MAX_K, library["papers"]))]
    entries = (format_bibtex if suffix == "bib" else format_ris)(papers)
    return text_file("\n".join(entries) + "\n", f"results.{suffix}")


@router.get("/library/{name}/papers/{id:path}")
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
    for tagger in state.taggers.values():
        model = encoder if tagger.fingerprint == encoder.fingerprint else state.share_model(tagger.fingerprint)
        (suggested,) = tagger.suggest([paper], model, TagChoice())["papers"]
        tagged.append((tagger.name, suggested["tags"]))
    return tagged


# ---- maps, drawn in the background when somebody first looks, then stored until the collection changes ----


def draw(state: ServiceState, item: WorkspaceItem, *, stored: StoredCollection, address: str) -> None:
    """Draw the map of a collection, on which papers of the former one stay where they are; its id is its path."""
    page, layout, show = Path(item.id), item.folder / LAYOUT, partial(state.background.show, item)
    if page.is_file():  # somebody else looked at the same moment
        return
    try:
        drawn = draw_map(stored, former=read_layout(layout), progress=show) if layout.exists() else None
    except InputError:  # of another model, or of other papers
        drawn = None
    drawn = drawn or draw_map(stored, progress=show)
    former = [*item.folder.glob("*.html")]
    write_parquet(drawn, stored, layout)
    write_page(drawn, stored, page, title=item.name, address=address)
    for path in former:
        path.unlink()


@router.get("/library/{name}/map")
def map_page(request: Request, library: Library, name: str) -> Response:
    """Show the map of a collection, or how far its drawing is; that of an upload lies in it, and ends with it."""
    state: ServiceState = request.app.state.service
    stored, path = library["stored"], quote(name, safe="")
    folder = state.maps / path if name in state.collections else stored.folder.with_name(MAP)
    parts = (stored.folder / MANIFEST_NAME, STATIC / "map.js", STATIC / "style.css")  # a former release had others
    page = folder / f"{hashlib.sha256(b''.join(part.read_bytes() for part in parts)).hexdigest()[:16]}.html"
    if page.is_file():
        return FileResponse(page, media_type="text/html")
    if len(stored) > PAGE_PAPERS:
        raise InputError(f"more than {PAGE_PAPERS:,} papers are mapped with `sciprism map`")
    item = WorkspaceItem(str(page), MAP, library["library"], "", folder)
    if (shown := state.background.progress.get(item.id)) is None:
        folder.mkdir(parents=True, exist_ok=True)
        address = f"{request.scope['root_path']}/library/{path}"
        shown = state.background.start(item, MAP, stored=stored, address=address)
    if "error" in shown:
        raise InputError(shown["error"])
    return render(request, "map_wait.html", 202, **library, progress=shown["doing"])
