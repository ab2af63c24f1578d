"""Who sends a request: tokens, the cookie of the page's sign-in, and the tokens against forged requests."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
import time
from dataclasses import dataclass
from pathlib import Path

from sciprism.errors import InputError

COOKIE = "sciprism_session"
CSRF_HEADER = "x-csrf-token"
EVERYONE = "everyone"  # owner of what comes without a name
SESSION_SECONDS = 12 * 3600
MIN_TOKEN = 16  # characters: a shorter one can be guessed
_NAME = re.compile(r"([\w.@-]{1,64}):\s+(\S+)")


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a request is from. session: the value of the cookie, "" for a request with a token or without any."""

    owner: str
    session: str = ""


class Gatekeeper:
    """Recognises tokens and sessions; without tokens everyone is let in. Comparisons take constant time."""

    def __init__(self, token_file: Path | None) -> None:
        self._digests = {} if token_file is None else _read_tokens(token_file)
        self._secret = secrets.token_bytes(32)  # a restart signs everyone out

    @property
    def open(self) -> bool:
        """Return whether everyone is let in."""
        return not self._digests

    def find_owner(self, token: str) -> str:
        """Return whose token it is; "" for an unknown one."""
        digest = hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
        owners = [owner for known, owner in self._digests.items() if hmac.compare_digest(known, digest)]
        return owners[0] if owners else ""

    def start_session(self, owner: str) -> str:
        """Return the value of a new session's cookie."""
        facts = f"{int(time.time()) + SESSION_SECONDS} {secrets.token_hex(8)} {owner}"
        content = base64.urlsafe_b64encode(facts.encode()).decode()
        return f"{content}.{self._sign(f'session {content}')}"

    def identify(self, authorization: str, cookie: str) -> Identity | None:
        """Return who a request is from, None where it may not pass. authorization: the header."""
        scheme, _, token = authorization.partition(" ")
        if not self.open and scheme.lower() == "bearer":
            owner = self.find_owner(token.strip())
            return Identity(owner) if owner else None
        content, _, signature = cookie.rpartition(".")
        if content and self._is_signed(f"session {content}", signature):
            expiry, _, owner = base64.urlsafe_b64decode(content).decode().split(" ", 2)
            if int(expiry) > time.time():
                return Identity(owner, cookie)
        return Identity(EVERYONE) if self.open else None

    def csrf(self, session: str) -> str:
        """Return the token that requests of a session which change something carry."""
        return self._sign(f"csrf {session}")

    def is_genuine(self, session: str, token: str) -> bool:
        """Return whether a token is that of a session."""
        return self._is_signed(f"csrf {session}", token)

    def _is_signed(self, text: str, signature: str) -> bool:
        return hmac.compare_digest(self._sign(text).encode(), signature.encode("utf-8", "replace"))

    def _sign(self, text: str) -> str:
        return hmac.new(self._secret, text.encode(), hashlib.sha256).hexdigest()


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
        if len(token) < MIN_TOKEN or " " in token:
            raise InputError(
                f"{path}, line {number}: write a token of at least {MIN_TOKEN} characters without blanks, or NAME: "
                "TOKEN; `openssl rand -hex 32` makes one"
            )
        digests[hashlib.sha256(token.encode()).digest()] = owner
    if not digests:
        raise InputError(f"{path} holds no token; write one a line, such as `openssl rand -hex 32` prints")
    return digests
