"""Where the service listens, who may use it, and how much of it one request may take."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from math import inf
from pathlib import Path
from typing import Annotated

from sciprism.errors import InputError

MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeSettings:
    """Settings of a service; those with a text are options of `sciprism serve`.

    deadline: seconds. queue: texts that wait for the model, of all requests. max_body: MB of JSON.
    """

    host: Annotated[str, "Address to listen on; other than this computer's needs tokens."] = "127.0.0.1"
    port: Annotated[int, "Port to listen on.", "--port"] = 8000
    token_file: Annotated[Path | None, "A file with a token a line, or NAME: TOKEN; requests must carry one."] = None
    no_auth: Annotated[bool, "Serve other computers without tokens.", "--no-auth"] = False
    allow_host: Annotated[tuple[str, ...], "A host name of the service; repeatable."] = ()
    root_path: Annotated[str, "The path at which a proxy serves it, such as /papers."] = ""
    tagger: Annotated[tuple[Path, ...], "A tagger of `sciprism tag train`, or a vocabulary; repeatable."] = ()
    workspace: Annotated[Path | None, "The folder of uploads and decisions; else none are accepted."] = None
    quota: Annotated[float, "MB that each owner may store."] = 200.0
    expiry: Annotated[float, "Days after which an unused upload is deleted."] = 30.0
    queue: Annotated[int, "Texts that may wait for the model; further requests get status 429."] = 16_384
    deadline: float = 60.0
    max_body: float = 8.0
    max_upload: Annotated[float, "MB of an upload."] = 32.0

    def __post_init__(self) -> None:
        for name in ("quota", "expiry", "queue", "deadline", "max_body", "max_upload"):
            if not 0 < getattr(self, name) < inf:
                raise InputError(f"--{name.replace('_', '-')} is {getattr(self, name)}; give a positive number")
        object.__setattr__(self, "root_path", "/".join(["", *filter(None, self.root_path.split("/"))]))
        if self.token_file is None and not self.no_auth and not is_loopback(self.host):
            raise InputError(
                f"--host {self.host} lets other computers in: name tokens with --token-file, or pass --no-auth"
            )


def is_loopback(host: str) -> bool:
    """Return whether an address is of this computer alone."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
