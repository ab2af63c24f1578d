"""The application: routes, errors and layers around them; and the server that runs it until it is stopped."""

from __future__ import annotations

import asyncio
import ctypes
import errno
import logging
import os
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext, suppress
from functools import partial
from importlib.metadata import version
from itertools import count

import uvicorn
from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.staticfiles import StaticFiles

from sciprism.errors import InputError, import_extra
from sciprism.files import FULL, lock_folder
from sciprism.pages import STATIC
from sciprism.service import desks, embeddings, matches, pages, papers, uploads
from sciprism.service.limits import BoundedRoute, Guard
from sciprism.service.responses import Refusal, error_response
from sciprism.service.state import ServiceState
from sciprism.service.workspace import FULL_DISK, REPORT, UPLOAD

TRIMMING, CLEANING = 20, 3600  # seconds between two looks for freed memory, and for items that expired
M_ARENA_MAX = -8  # of glibc's mallopt
PRODUCTS = 128  # compiled products that are kept: of each layer in half precision, whose rows are few numbers, all


def build_app(state: ServiceState) -> FastAPI:
    """Return the application of a service whose models are loaded."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        state.begin()
        task = asyncio.create_task(_keep_house(state))
        async with app.state.agents.session_manager.run() if app.state.agents else nullcontext():
            yield
        task.cancel()
        state.close()

    app = FastAPI(
        title="sciprism",
        version=version("sciprism"),
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        description="Search, similar papers, tags and embeddings of scientific papers.",
    )
    app.state.service = state
    for part in (embeddings, papers, uploads, pages, desks, matches):
        app.include_router(part.router)
    app.include_router(operations)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    state.background.kinds = {
        UPLOAD: (REPORT, partial(uploads.fill, state)),
        matches.KIND: (matches.RESULT, partial(matches.solve, state)),
        desks.TAGGING: (REPORT, partial(desks.suggest, state)),
        pages.MAP: (pages.LAYOUT, partial(pages.draw, state)),
    }
    for kind in (Refusal, InputError, OSError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, _answer)
    app.state.agents = None
    with suppress(ModuleNotFoundError):  # /mcp needs the extra "mcp"
        from sciprism.service.agents import add_tools

        app.state.agents = add_tools(app)
    app.add_middleware(Guard, settings=state.settings, gatekeeper=state.gatekeeper, answer=answer_error)
    return app


async def _keep_house(state: ServiceState) -> None:
    """Delete expired items, and give freed memory back to the system, again and again.

    glibc keeps memory in pieces: no two batches have the same number of tokens, so new blocks fit badly.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    for seconds in count(0, TRIMMING):
        if state.workspace is not None and seconds % CLEANING == 0:
            with suppress(OSError):  # of one item; it is tried again
                await state.run(state.workspace.clean)
        if trim is not None:
            await state.run(trim, 0)
        await asyncio.sleep(TRIMMING)


def bound_memory() -> None:
    """Let torch keep few compiled products, and glibc one heap; call it before torch computes and threads start.

    oneDNN compiles a product of half a megabyte for each number of rows of each layer, and keeps 1,024, as does each
    thread. glibc gives each thread a separate heap, in which freed blocks lie between live ones.
    """
    for name in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):
        os.environ.setdefault(name, str(PRODUCTS))
    if set_option := getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None:
        set_option(M_ARENA_MAX, 1)


operations = APIRouter(tags=["operations"], route_class=BoundedRoute)


@operations.get("/health")
@operations.get("/ready")
async def ready() -> dict[str, str]:
    """Answer once the models are loaded."""
    return {"status": "ready"}


@operations.get("/metrics")
async def metrics() -> Response:
    """Return the measurements in the text format of Prometheus."""
    return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)


SAID = dict.fromkeys(FULL, (507, FULL_DISK)) | {errno.ENAMETOOLONG: (400, "a name is too long; shorten it")}
HEADINGS = {404: "Not found", 429: "Too many requests"}
LONGEST = 600  # characters of a message: each takes six bytes at most


async def _answer(request: Request, error: Exception) -> Response:
    """Return the answer to a request that failed. Raises an error that nobody expects."""
    match error:
        case Refusal():
            refusal = error
        case InputError():
            refusal = Refusal(getattr(error, "status", 400), str(error))
        case OSError() if error.errno in SAID:
            refusal = Refusal(*SAID[error.errno])
        case RequestValidationError():
            places = (f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())
            status = 400 if "/v1/" in request.url.path else 422  # as the services do whose clients come here
            refusal = Refusal(status, "; ".join(places))
        case HTTPException():
            refusal = Refusal(error.status_code, str(error.detail), dict(error.headers or {}))
        case _:
            raise error
    return answer_error(request, refusal)


def answer_error(request: Request, refusal: Refusal) -> Response:
    """Return an error as a page for browsers, as JSON for programs."""
    message = request.app.state.service.hide_paths(refusal.message)[:LONGEST]
    if "text/html" not in request.headers.get("accept", ""):
        return error_response(refusal.status, message, refusal.headers)
    facts = {"error": message, "heading": HEADINGS.get(refusal.status, "It did not work"), "status": refusal.status}
    page = pages.render(request, "error.html", **facts)
    page.headers.update(refusal.headers)
    return page


GRACE = 20  # seconds that requests in progress get after a stop
CONNECTIONS = 1_024  # at one time; more get status 503


def serve_agents(state: ServiceState) -> None:
    """Load the models, and answer an agent on standard input and output. Raises MissingExtraError."""
    with import_extra("mcp", "--mcp"):
        import sciprism.service.agents  # noqa: F401  (before models are loaded)
    bound_memory()
    state.load()
    app = build_app(state)

    async def answer() -> None:
        async with app.router.lifespan_context(app):
            await app.state.agents.run_stdio_async()

    asyncio.run(answer())


def serve(state: ServiceState, on_start: Callable[[str], None]) -> None:
    """Load the models, and serve until SIGINT or SIGTERM. on_start: called with the address before that.

    A request that comes while they are loaded waits. Raises InputError for an address that cannot be used.
    """
    bound_memory()
    settings = state.settings
    listener = _listen(settings.host, settings.port)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.WARNING)
    logging.getLogger("sciprism.service").setLevel(logging.INFO)
    state.load()
    config = uvicorn.Config(
        build_app(state),
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=GRACE,
        limit_concurrency=CONNECTIONS,
    )
    server = uvicorn.Server(config)
    host, port = listener.getsockname()[:2]
    with lock_folder(settings.workspace) if settings.workspace else nullcontext(), suppress(KeyboardInterrupt):
        on_start(f"http://{f'[{host}]' if ':' in host else host}:{port}")
        server.run(sockets=[listener])


def _listen(host: str, port: int) -> socket.socket:
    """Return a listening socket that states its protocol: asyncio sends answers at once (TCP_NODELAY) only then."""
    name = host.strip("[]")
    family = socket.AF_INET6 if ":" in name else socket.AF_INET
    try:
        listener = socket.create_server((name, port), family=family, backlog=2048)
        return socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, fileno=listener.detach())
    except OSError as error:
        hint = (
            "another program listens there; name another --port" if error.errno == errno.EADDRINUSE else error.strerror
        )
        raise InputError(f"cannot listen on {host}, port {port}: {hint}") from error
