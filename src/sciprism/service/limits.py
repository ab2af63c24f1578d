"""Which requests pass: hosts, tokens, sessions, origins, sizes and the deadline; and what every answer carries.

Rates, numbers of connections and slow clients are the work of a server in front, such as nginx.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
import secrets
import time
import traceback
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from contextvars import ContextVar
from pathlib import Path
from typing import Any
from urllib.parse import quote
from weakref import WeakValueDictionary

from fastapi.routing import APIRoute
from pydantic_core import from_json
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sciprism.errors import InputError
from sciprism.service.observation import REQUESTS
from sciprism.service.responses import Refusal
from sciprism.service.settings import MEGABYTE, ServeSettings

COOKIE = "sciprism_session"
EVERYONE = "everyone"  # owner of what comes without a name
SESSION_SECONDS = 12 * 3600
PENALTY = 2  # seconds in which no token of an address is looked at, after a wrong one
MIN_TOKEN = 16  # characters: a shorter one can be guessed
LONGEST_NAME = 225  # characters of a folder's name, in which a letter beyond ASCII takes six to twelve
_NAME = re.compile(r"([\w.@-]{1,64}):\s+(\S+)")


class Gatekeeper:
    """Recognizes tokens and sessions; without tokens everyone is let in. A restart signs everyone out.

    An address from which wrong tokens came has to wait before another one is looked at, but for the right ones that
    came from it before.
    """

    def __init__(self, token_file: Path | None) -> None:
        self._digests = {} if token_file is None else _read_tokens(token_file)
        self._penalties = dict[str, float]()  # address -> until when it waits
        self._known = set[tuple[str, bytes]]()
        self._sessions: dict[str, tuple[str, float]] = {}  # session -> its owner, and when it expires

    @property
    def open(self) -> bool:
        """Return whether everyone is let in."""
        return not self._digests

    def find_owner(self, token: str, address: str) -> str:
        """Return whose token it is; "" for an unknown one. Raises Refusal, unseen, after a wrong one of the address."""
        now, digest = time.monotonic(), hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
        wait = self._penalties.get(address, now) - now
        if wait > 0 and (address, digest) not in self._known:
            raise Refusal.wait("a wrong token came before", wait)
        owner = self._digests.get(digest, "")  # of a digest, the time of a comparison tells nothing
        if owner:
            self._known.add((address, digest))
        else:
            waiting = {one: end for one, end in self._penalties.items() if end > now}
            self._penalties = waiting | {address: now + PENALTY}
        return owner

    def start_session(self, owner: str) -> str:
        """Return the value of a new session's cookie."""
        now, session = time.time(), secrets.token_urlsafe(32)
        live = {one: facts for one, facts in self._sessions.items() if facts[1] > now}
        self._sessions = live | {session: (owner, now + SESSION_SECONDS)}
        return session

    def end_session(self, session: str) -> None:
        """Let nobody pass with a session's cookie any more."""
        self._sessions.pop(session, None)

    def identify(self, authorization: str, cookie: str, address: str) -> str:
        """Return the owner of a request, "" for one that may not pass. authorization: the header."""
        if self.open:
            return EVERYONE
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() == "bearer":
            return self.find_owner(token.strip(), address)
        owner, expiry = self._sessions.get(cookie, ("", 0.0))
        return owner if expiry > time.time() else ""


def _read_tokens(path: Path) -> dict[bytes, str]:
    """Return the digest of each token -> its owner. Raises InputError for a file without tokens or with weak ones."""
    digests: dict[bytes, str] = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the tokens of {path}: {error}") from error
    for number, line in enumerate(map(str.strip, lines), 1):
        if not line or line.startswith("#"):
            continue
        match = _NAME.fullmatch(line)
        owner, token = match.groups() if match else (EVERYONE, line)
        if len(token) < MIN_TOKEN or " " in token or len(quote(owner)) > LONGEST_NAME:
            raise InputError(
                f"{path}, line {number}: write a token of at least {MIN_TOKEN} characters without blanks, or NAME: "
                f"TOKEN, a name of at most 64 letters, {LONGEST_NAME // 9} of Chinese; `openssl rand -hex 32` makes one"
            )
        digests[hashlib.sha256(token.encode()).digest()] = owner
    if not digests:
        raise InputError(f"{path} holds no token; write one a line, such as `openssl rand -hex 32` prints")
    return digests


log = logging.getLogger("sciprism.service")
OPEN_PATHS = ("/health", "/ready", "/sign-in")
STATIC = "/static/"
CLIENT: ContextVar[str] = ContextVar("client", default="")
"""Whose work it is, in a request's tasks and threads: an owner's, or that of an address where all are let in."""
SAFE = ("GET", "HEAD", "OPTIONS")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # with no-referrer, browsers state the origin of a page's own forms as null
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "private, no-cache",  # a browser may show its copy on the way back
}
SECRET = {"cache-control": "no-store"}  # not once somebody has signed out
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
ErrorAnswer = Callable[[Request, Refusal], Response]
_HOST = re.compile(r"([^:\[\]]*|\[[\da-f:.]+\])(:\d+)?")
_ADDRESS = re.compile(r"[\d.]+|\[.+\]")  # a host in numbers, which no name server can turn elsewhere


class Guard:
    """The layer in front of all addresses: lets requests pass, measures and logs them, and answers what fails.

    Logged paths are those of the routes, so that no query or id is written down.
    """

    def __init__(self, app: ASGIApp, settings: ServeSettings, gatekeeper: Gatekeeper, answer: ErrorAnswer) -> None:
        self.app, self.settings, self.gatekeeper, self.answer = app, settings, gatekeeper, answer
        self._hosts = {"localhost", settings.host.lower(), *map(str.lower, settings.allow_host)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status, root = time.perf_counter(), 499, self.settings.root_path  # 499: it went away unanswered
        method, path = scope["method"], scope["path"].removeprefix(root) or "/"  # a proxy may have taken it off
        scope = {**scope, "method": "GET" if method == "HEAD" else method, "path": root + path, "root_path": root}
        scope["state"] = {**scope.get("state", {}), "owner": ""}
        request = Request(scope)

        async def send_checked(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                added = MutableHeaders(scope=message)
                public = self.gatekeeper.open or path.startswith(STATIC)
                for name, value in (HEADERS if public else HEADERS | SECRET).items():
                    added.setdefault(name, value)
            await send(message)

        try:
            try:
                self._admit(request, path)
                await self.app(scope, receive, send_checked)
            except Refusal as refusal:
                await self._refuse(request, refusal)(scope, receive, send_checked)
            except Exception as error:  # noqa: BLE001 (the service goes on; messages may hold texts and are not logged)
                place = traceback.extract_tb(error.__traceback__)[-1]
                log.error("failed: %s in %s:%s", type(error).__name__, Path(place.filename).name, place.lineno)
                if status == 499:
                    failure = Refusal(500, "the request failed; the log says where")
                    await self.answer(request, failure)(scope, receive, send_checked)
        finally:
            route, seconds = getattr(scope.get("route"), "path", "unknown"), time.perf_counter() - start
            method = method if method in METHODS else "other"  # each is kept as a label
            REQUESTS.labels(method, route, status).observe(seconds)
            log.info("%s %s %d in %.4f s, owner %r", method, route, status, seconds, request.state.owner)

    def _admit(self, request: Request, path: str) -> None:
        """Note whose request it is. Raises Refusal for one that may not pass."""
        headers, address = request.headers, find_address(request)
        found = _HOST.fullmatch(headers.get("host", "").lower())
        host = found[1] if found else ""
        if host not in self._hosts and not _ADDRESS.fullmatch(host):
            raise Refusal(400, f"the host {host!r} is not served here; start with --allow-host {host or 'NAME'}")
        is_open = path in OPEN_PATHS or path.startswith(STATIC)
        authorization, cookie = "" if is_open else headers.get("authorization", ""), request.cookies.get(COOKIE, "")
        owner = request.state.owner = self.gatekeeper.identify(authorization, cookie, address)
        if not owner and not is_open:
            message = "a token is required: send the header Authorization: Bearer TOKEN"
            raise Refusal(401, message, {"www-authenticate": "Bearer"})
        CLIENT.set(owner if owner not in ("", EVERYONE) else f"from {address}")
        if request.method not in SAFE:
            _check_origin(headers, is_known=bool(cookie and owner) and not authorization)

    def _refuse(self, request: Request, refusal: Refusal) -> Response:
        """Return the way to the sign-in for a browser without a token, an error otherwise."""
        if refusal.status != 401 or request.method != "GET" or "text/html" not in request.headers.get("accept", ""):
            return self.answer(request, refusal)
        target = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        return RedirectResponse(f"{self.settings.root_path}/sign-in?next={quote(target, safe='')}", 303)


class Turns:
    """Calls of each client, or of other names, that may run at once."""

    def __init__(self, share: int) -> None:
        self._share = share
        self._of: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    def take(self, name: str) -> asyncio.Semaphore:
        """Return what lets the calls of a name pass; enter it at once."""
        return self._of.setdefault(name, asyncio.Semaphore(self._share))


FORM = 0.064  # MB of a form
QUERIES = {"/search": 1.0, "/similar": 2.0}  # MB of a body there; other JSON, and uploads, have those of the settings
SMALL = 65_536  # bytes of a body that no other one delays
LARGE = Turns(4)  # larger bodies of each client at one time


class BoundedRoute(APIRoute):
    """A route with a limit on the body, whose work ends when the client goes away, or is silent until the deadline."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        answer, has_json = super().get_route_handler(), self.body_field is not None

        async def handle(request: Request) -> Response:
            settings: ServeSettings = request.app.state.service.settings
            limit = min(settings.max_body, QUERIES.get(self.path, settings.max_body if has_json else FORM))
            limit = settings.max_upload if self.path.startswith("/workspace/") else limit
            body, loop, gone = bytearray(), asyncio.get_running_loop(), False

            async def watch() -> None:
                nonlocal gone
                while (await request.receive())["type"] != "http.disconnect":
                    pass
                gone = True
                timer.reschedule(loop.time())

            try:
                async with asyncio.timeout(settings.deadline) as timer, AsyncExitStack() as turn:
                    async for part in request.stream():
                        timer.reschedule(loop.time() + settings.deadline)  # a long upload goes on while it comes
                        if len(body) <= SMALL < len(body) + len(part):
                            await turn.enter_async_context(LARGE.take(CLIENT.get()))
                        body += part
                        if len(body) > limit * MEGABYTE:
                            raise Refusal(413, f"the request is larger than {limit:g} MB")
                    request._body = bytes(body)
                    if has_json and body:
                        try:
                            request._json = from_json(request._body)
                        except ValueError as error:
                            raise Refusal(400, f"body: {error}") from None
                    watcher = loop.create_task(watch())
                    try:
                        return await answer(request)
                    finally:
                        watcher.cancel()
            except ClientDisconnect:
                gone = True
            except TimeoutError:
                pass
            silent = f"nothing was received or answered for longer than {settings.deadline:g} s"
            raise Refusal(499, "the client went away") if gone else Refusal(504, silent)

        return handle


def find_address(request: Request) -> str:
    """Return the address that a request comes from."""
    return request.client.host if request.client else "unknown"


def _check_origin(headers: Headers, *, is_known: bool) -> None:
    """Raise Refusal for a request that changes something and may come from another site's page.

    is_known: by its session, which a browser adds; browsers state an origin, or what site asks.
    """
    origin, site = headers.get("origin"), headers.get("sec-fetch-site", "")
    if origin is None and not site and is_known:
        raise Refusal(403, "a request of a session states its origin; send the header Origin, or a token")
    foreign = origin is not None and origin.partition("://")[2].lower() != headers.get("host", "").lower()
    if foreign or site == "cross-site":
        raise Refusal(403, f"requests from pages of {origin or 'other sites'} are not accepted")
