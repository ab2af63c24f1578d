"""Which requests pass: hosts, sizes, JSON, rates, tokens, sessions and origins; and what every answer carries."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
import secrets
import time
import traceback
from collections import Counter, OrderedDict
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from math import inf
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request, cookie_parser
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sciprism.errors import InputError
from sciprism.service.responses import Refusal
from sciprism.service.settings import MEGABYTE, ServeSettings

COOKIE = "sciprism_session"
EVERYONE = "everyone"  # owner of what comes without a name
SESSION_SECONDS = 12 * 3600
SESSIONS = 100  # of each owner, the newest
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
        self._failures, self._known = RateLimit(FAILURES), set[tuple[str, bytes]]()
        self._sessions: dict[str, tuple[str, float]] = {}  # session -> its owner, and when it expires

    @property
    def open(self) -> bool:
        """Return whether everyone is let in."""
        return not self._digests

    def find_owner(self, token: str, address: str) -> str:
        """Return whose token it is; "" for an unknown one. Raises Refusal, unseen, after wrong ones of the address."""
        digest = hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
        if (address, digest) not in self._known and (wait := self._failures.take(address, 0.0)):
            raise Refusal.wait("too many wrong tokens", wait)
        owner = self._digests.get(digest, "")  # of a digest, the time of a comparison tells nothing
        if not owner:
            self._failures.take(address)
        elif len(self._known) < MAX_CLIENTS:
            self._known.add((address, digest))
        return owner

    def start_session(self, owner: str) -> str:
        """Return the value of a new session's cookie."""
        now, session = time.time(), secrets.token_urlsafe(32)
        live = {one: facts for one, facts in self._sessions.items() if facts[1] > now}
        for oldest in [one for one, facts in live.items() if facts[0] == owner][: 1 - SESSIONS]:
            del live[oldest]
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
BURST = 10  # seconds of the rate that may come at once
MAX_CLIENTS = 10_000  # whose rates are remembered
ErrorAnswer = Callable[[Request, Refusal], Response]
FAILURES = 0.2  # wrong tokens a second that one address may send


class RateLimit:
    """A budget of requests for each client, which fills up with time."""

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._clients: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, client: str, cost: float = 1.0) -> float:
        """Take a request from a client's budget; return 0, or the seconds after which there is one again."""
        now = self._clock()
        size = max(1.0, self._rate * BURST)
        left, before = self._clients.pop(client, (size, now))
        left = min(size, left + (now - before) * self._rate)
        wait = max(0.0, 1.0 - left) / self._rate
        self._clients[client] = (left if wait else left - cost, now)
        if len(self._clients) > MAX_CLIENTS:
            self._clients.popitem(last=False)
        return wait


UPLOADS = "/workspace/"
TEXTS = ("/", "/embed", "/rerank", "/v1/embeddings", "/search", "/similar", "/tag", "/recommend")
LIMITS = dict.fromkeys(TEXTS, inf) | {"/sign-in": 0.004, "/search": 1.0, "/similar": 2.0}
FORMS = 0.064
"""MB of a body at some addresses, below that of the settings; and at all others, which take forms."""
SMALL = 65_536  # bytes that are parsed at once, and received whatever else is held
SLOWEST = 1_000  # bytes a second
_HOST = re.compile(r"([^:\[\]]*|\[[\da-f:.]+\])(:\d+)?")
_ADDRESS = re.compile(r"[\d.]+|\[.+\]")  # a host in numbers, which no name server can turn elsewhere


class JsonRoute(APIRoute):
    """A route whose body is parsed and validated in another thread where it is large, up to the first wrong item."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        answer, field = super().get_route_handler(), self.body_field

        async def handle(request: Request) -> Response:
            if field is not None and (body := await request.body()):
                model: Any = field.field_info.annotation
                large = len(body) > SMALL
                request._json = await asyncio.to_thread(parse, model, body) if large else parse(model, body)
            return await answer(request)

        return handle


def parse(model: type[BaseModel], body: bytes) -> BaseModel:
    """Return what a body in JSON states. Raises RequestValidationError, or Refusal for what is no JSON."""
    try:
        return model.model_validate(from_json(body))
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_input=False, include_context=False)
        raise RequestValidationError([item | {"loc": ("body", *item["loc"])} for item in wrong]) from None
    except ValueError as error:  # not JSON, or text that cannot be encoded, such as half a character
        raise Refusal(400, f"body: {error}") from None


def _route(scope: Scope) -> str:
    """Return the path of a request below that of the service."""
    path: str = scope["path"]
    return path.removeprefix(scope["root_path"]) or "/"


class Guard:
    """The outermost layer of the service, in front of all its addresses.

    It reads the whole body, which is small, so that it can tell when a client goes away and cancel its work.
    """

    def __init__(self, app: ASGIApp, settings: ServeSettings, gatekeeper: Gatekeeper, answer: ErrorAnswer) -> None:
        self.app, self.settings, self.gatekeeper, self.answer = app, settings, gatekeeper, answer
        self._rates = RateLimit(settings.rate) if settings.rate else None
        self._held = Counter[str]()  # bytes of the bodies of each client
        self._hosts = {"localhost", settings.host.lower(), *map(str.lower, settings.allow_host)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers, state, sent = Headers(scope=scope), scope.setdefault("state", {}), False
        state["owner"], root = "", self.settings.root_path
        scope["root_path"] = root
        if not f"{scope['path']}/".startswith(f"{root}/"):  # the proxy took it off
            scope["path"] = root + scope["path"]
        if scope["method"] == "HEAD":  # the server, whose scope it stays, leaves out the body
            scope = {**scope, "method": "GET"}

        async def send_checked(message: Message) -> None:
            nonlocal sent
            if message["type"] == "http.response.start":
                sent = True
                added = MutableHeaders(scope=message)
                public = self.gatekeeper.open or _route(scope).startswith(STATIC)
                for name, value in (HEADERS if public else HEADERS | SECRET).items():
                    added.setdefault(name, value)
            await send(message)

        try:
            self._admit(scope, headers)
            body = await self._read_body(scope, headers, receive)
            await self._answer(scope, body, receive, send_checked)
            return
        except TimeoutError:
            refusal = Refusal(504, f"nothing was received or answered for longer than {self.settings.deadline:g} s")
        except Refusal as refused:
            refusal = refused
        except Exception as error:  # noqa: BLE001 (the service goes on; messages may hold texts and are not logged)
            place = traceback.extract_tb(error.__traceback__)[-1]
            details = {"error": type(error).__name__, "place": f"{Path(place.filename).name}:{place.lineno}"}
            log.error("failed", extra=details)
            refusal = Refusal(500, "the request failed; the log says where")
        finally:
            self._held[CLIENT.get()] -= state.pop("held", 0)
            self._held += Counter()  # drops those of 0
        if not sent:
            await self._refuse(scope, headers, refusal)(scope, receive, send_checked)

    def _admit(self, scope: Scope, headers: Headers) -> None:
        """Note whose request it is. Raises Refusal for one that may not pass."""
        found = _HOST.fullmatch(headers.get("host", "").lower())
        host = found[1] if found else ""
        if host not in self._hosts and not _ADDRESS.fullmatch(host):
            raise Refusal(400, f"the host {host!r} is not served here; start with --allow-host {host or 'NAME'}")
        address, is_open = find_address(scope), _route(scope) in OPEN_PATHS or _route(scope).startswith(STATIC)
        authorization = "" if is_open else headers.get("authorization", "")
        cookie = cookie_parser(headers.get("cookie", "")).get(COOKIE, "")
        owner = scope["state"]["owner"] = self.gatekeeper.identify(authorization, cookie, address)
        if not owner and not is_open:
            message = "a token is required: send the header Authorization: Bearer TOKEN"
            raise Refusal(401, message, {"www-authenticate": "Bearer"})
        CLIENT.set(owner if owner not in ("", EVERYONE) else f"from {address}")
        if scope["method"] not in SAFE:
            _check_origin(headers, is_known=bool(cookie and owner) and not authorization)
        if self._rates is not None and _route(scope) not in OPEN_PATHS and (wait := self._rates.take(CLIENT.get())):
            raise Refusal.wait(f"more than {self.settings.rate:g} requests a second of one client", wait)

    def _refuse(self, scope: Scope, headers: Headers, refusal: Refusal) -> Response:
        """Return the way to the sign-in for a browser without a token, an error otherwise."""
        if refusal.status != 401 or scope["method"] != "GET" or "text/html" not in headers.get("accept", ""):
            return self.answer(Request(scope), refusal)
        query = scope["query_string"].decode("latin-1")
        target = scope["path"] + (f"?{query}" if query else "")
        return RedirectResponse(f"{scope['root_path']}/sign-in?next={quote(target, safe='')}", 303)

    async def _read_body(self, scope: Scope, headers: Headers, receive: Receive) -> bytes:
        """Return a body. All together hold at most twice the largest upload, those of one client half of it."""
        state, client, most = scope["state"], CLIENT.get(), self.settings.max_upload
        of_path = min(self.settings.max_body, LIMITS.get(_route(scope), FORMS))
        limit = most if _route(scope).startswith(UPLOADS) else of_path
        too_large = Refusal(413, f"the request is larger than {limit:g} MB")
        length, body, began = headers.get("content-length", "0"), bytearray(), time.monotonic()
        if not length.isdecimal() or int(length[:20]) > limit * MEGABYTE:
            raise too_large
        more = True
        while more:
            message = await asyncio.wait_for(receive(), self.settings.deadline)  # a long upload goes on while it comes
            if message["type"] == "http.disconnect":
                raise Refusal(400, "the client went away")
            part, more = message.get("body", b""), message.get("more_body", False)
            body += part
            self._held[client] += len(part)
            state["held"] = len(body)
            if len(body) > limit * MEGABYTE:
                raise too_large
            held, of_all = self._held[client] / MEGABYTE, self._held.total() / MEGABYTE
            if len(body) > SMALL and (held > most or of_all > 2 * most):
                raise Refusal(503, "too many large requests at one time; try again in 5 s", {"retry-after": "5"})
            waited = time.monotonic() - began
            if waited > self.settings.deadline and len(body) < SLOWEST * waited:
                raise TimeoutError
        return bytes(body)

    async def _answer(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        """Run the application, until the client goes away, or nothing is sent until the deadline."""
        unread, loop, seconds = [body], asyncio.get_running_loop(), self.settings.deadline

        async def replay() -> Message:
            if unread:
                return {"type": "http.request", "body": unread.pop(), "more_body": False}
            return await asyncio.shield(gone)

        async def send_in_time(message: Message) -> None:
            await send(message)
            timer.reschedule(loop.time() + seconds)  # a long answer goes on while it is read

        async def wait_until_gone() -> Message:
            while (message := await receive())["type"] != "http.disconnect":
                pass
            timer.reschedule(loop.time())
            return message

        gone = loop.create_task(wait_until_gone())
        try:
            async with asyncio.timeout(seconds) as timer:
                await self.app(scope, replay, send_in_time)
        except TimeoutError:
            if not gone.done():
                raise
        finally:
            gone.cancel()


def find_address(scope: Scope) -> str:
    """Return the address that a request comes from."""
    return str((scope.get("client") or ("unknown",))[0])


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
