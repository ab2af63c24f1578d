"""The pages for people: rendered here, so that they work without scripts."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import parse_qs, quote

from fastapi import APIRouter, Depends, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from sciprism.pages import fill_page
from sciprism.service.limits import COOKIE, EVERYONE, SESSION_SECONDS, find_address
from sciprism.service.state import ServiceState
from sciprism.service.uploads import SUFFIXES, describe_uploads, find_workspace

router = APIRouter(include_in_schema=False)


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
    return render(request, "uploads.html", uploads=describe_uploads(request), suffixes=SUFFIXES)


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
    gatekeeper, address = request.app.state.service.gatekeeper, find_address(request.scope)
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
