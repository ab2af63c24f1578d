"""Addresses of objects, such as `s3://bucket/works/part_000.gz`, and the form of them that people see."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from sciprism.errors import InputError

WEB = ("http", "https")
SCHEMES = ("s3", "gs", *WEB)

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+(?=[^/])")
_WEB_PATTERN = re.compile(r"[*\[]")  # a question mark begins the query of a web address
_PATTERN = re.compile(r"[*?\[]")
_SHOWN_PARAMETERS = {"download", "file", "filename", "format", "id", "name", "page", "part", "path", "version"}
"""Parameters of web addresses that are shown; all others may be a signature or a key."""


def is_address(text: str | Path) -> bool:
    """Say whether a text is an address, not a path; also where a `Path` has made one slash of two."""
    return _SCHEME.match(str(text)) is not None


def parse_address(text: str | Path) -> str:
    """Return an address with its scheme in lower case. Raises InputError for a scheme that is not read."""
    match = _SCHEME.match(str(text))
    scheme = {"gcs": "gs"}.get(match[1].lower(), match[1].lower()) if match else ""
    if match is None or scheme not in SCHEMES:
        schemes = ", ".join(f"{name}://" for name in SCHEMES)
        raise InputError(f"{show_address(str(text))}: no address that can be read; known: {schemes}; or copy the file")
    return f"{scheme}://{str(text)[match.end() :]}"


def scheme_of(address: str) -> str:
    """Return the scheme of an address that was parsed."""
    return address.partition(":")[0]


def show_address(address: str) -> str:
    """Return an address without user, password, signature and fragment.

    >>> show_address("https://me:secret@host/dump.gz?Expires=9&Signature=x")
    'https://host/dump.gz'
    """
    scheme, mark, rest = address.partition("://")
    if not mark:
        return address
    host, slash, path = rest.partition("/")
    host = host.rpartition("@")[2]
    if scheme not in WEB:
        return f"{scheme}://{host}{slash}{path}"
    path, _, query = path.partition("#")[0].partition("?")
    shown = [(name, value) for name, value in parse_qsl(query) if name.lower() in _SHOWN_PARAMETERS]
    return f"{scheme}://{host}{slash}{path}" + (f"?{urlencode(shown)}" if shown else "")


def is_signed(address: str) -> bool:
    """Say whether a web address has parameters that may be a signature: such addresses expire."""
    return scheme_of(address) in WEB and show_address(address).count("=") < address.partition("?")[2].count("=")


def is_pattern(address: str) -> bool:
    """Say whether an address stands for the objects that it matches."""
    return (_WEB_PATTERN if scheme_of(address) in WEB else _PATTERN).search(_path_of(address)) is not None


def name_of(address: str) -> str:
    """Return the last part of an address, as a file's name."""
    path = _path_of(address).rstrip("/")
    name = path.rpartition("/")[2]
    return unquote(name) if scheme_of(address) in WEB else name


def join_address(folder: str, names: Sequence[str]) -> str:
    """Return the address of an object below a folder, which ends with a slash."""
    path = "/".join(names)
    return folder + (quote(path) if scheme_of(folder) in WEB else path)


def folder_of(address: str) -> str:
    """Return the folder of an object, with a slash at its end; a signature is not of other objects, and is dropped."""
    path = address.partition("?")[0] if scheme_of(address) in WEB else address
    return path.rpartition("/")[0] + "/"


def fixed_folder(pattern: str) -> str:
    """Return the folder in which all that a pattern matches lies."""
    return folder_of(re.split(r"[*?\[]", pattern)[0])


def split_path(address: str) -> tuple[str, ...]:
    """Return the bucket or host and the names below it."""
    parts = _path_of(address).split("/")
    return tuple(unquote(part) for part in parts if part) if scheme_of(address) in WEB else tuple(filter(None, parts))


def _path_of(address: str) -> str:
    """Return what follows the scheme, without user, query and fragment."""
    rest = address.partition("://")[2]
    if scheme_of(address) not in WEB:
        return rest
    parts = urlsplit(address)
    return parts.netloc.rpartition("@")[2] + parts.path
