"""Addresses of collections in vector databases, what the environment says about the connection, and the databases."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sciprism.databases.database import VectorDatabase
from sciprism.errors import InputError
from sciprism.registry import Registry

FORMS = "KIND://HOST:PORT/NAME for a server, or KIND:///FOLDER/NAME for a folder on this machine"
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
"""Names that every database accepts, with room for the endings of tables."""
LOOPBACK = ("localhost", "127.0.0.1", "::1")
OFF = ("0", "no", "false", "off")
ON = ("1", "yes", "true", "on")


@dataclass(frozen=True, slots=True)
class Address:
    """A collection in a database: of a server (host, port), or in a folder or file of this machine (path)."""

    kind: str
    name: str
    host: str = ""
    port: int | None = None
    path: Path | None = None

    def __str__(self) -> str:
        if self.path is not None:
            return f"{self.kind}://{self.path.as_posix()}/{self.name}"
        return f"{self.kind}://{self._host}{'' if self.port is None else f':{self.port}'}/{self.name}"

    def url(self, tls: bool, default_port: int) -> str:
        """Return the server's address for HTTP."""
        return f"{'https' if tls else 'http'}://{self._host}:{self.port or default_port}"

    @property
    def _host(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host


def is_address(text: str) -> bool:
    """Return whether a text is an address (`KIND://...`), not a folder."""
    return re.match(r"[a-z][a-z0-9+.-]*://", text) is not None


def parse_address(text: str) -> Address:
    """Parse `KIND://HOST:PORT/NAME` or `KIND:///FOLDER/NAME`.

    Raises InputError for another form, and for one with a user, a password or a key, which it does not repeat.
    """
    if not is_address(text):
        raise InputError(f"{text!r} is no address of a database; write {FORMS}, such as qdrant://localhost:6333/papers")
    parts = urlsplit(text)
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise InputError(
            "an address has no user, key or options, since others may read it; give keys in the environment "
            "(QDRANT_API_KEY, MILVUS_TOKEN)"
        )
    place, _, name = unquote(parts.path).rpartition("/")
    if not NAME.fullmatch(name):
        raise InputError(
            f"{text}: the name {name!r} at its end is not one of letters, digits and _ that begins with a letter; "
            f"write {FORMS}"
        )
    if not parts.netloc:
        if not place.strip("/"):
            raise InputError(f"{text} names no folder before /{name}; write {FORMS}")
        return Address(parts.scheme, name, path=Path(place))
    try:
        port = parts.port
    except ValueError:
        port = -1
    if place or port == -1 or not parts.hostname:
        raise InputError(f"{text} is not of the form {FORMS}")
    return Address(parts.scheme, name, host=parts.hostname, port=port)


@dataclass(frozen=True, slots=True)
class Credentials:
    """How to connect to a server: a key ("" for none), whether with TLS, and a file of trusted certificates."""

    key: str = field(default="", repr=False)
    tls: bool = False
    certificates: str = ""


def read_credentials(host: str, key_variable: str, tls_variable: str) -> Credentials:
    """Read key and TLS from two variables of the environment.

    TLS is 1, 0 or a file of certificates; unset, it is on where there is a key, and the server is not this machine.
    """
    key, tls = os.environ.get(key_variable, "").strip(), os.environ.get(tls_variable, "").strip()
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise InputError(f"the environment's {key_variable} holds characters that no key has; copy the key again")
    if not tls:
        return Credentials(key, tls=bool(key) and host not in LOOPBACK)
    if tls.lower() in (*ON, *OFF):
        return Credentials(key, tls=tls.lower() in ON)
    if not Path(tls).is_file():
        raise InputError(f"{tls_variable} is {tls!r}: write 1, 0, or a file of certificates (PEM)")
    return Credentials(key, tls=True, certificates=tls)


databases: Registry[Callable[[Address], VectorDatabase]] = Registry("kind of database")
"""Kind -> a function that connects to the database of an address."""


def open_database(text: str) -> tuple[Address, VectorDatabase]:
    """Connect to the database of an address; the caller closes it (`with`)."""
    address = parse_address(text)
    return address, databases[address.kind](address)
