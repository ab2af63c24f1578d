"""Run the service until it is stopped; requests that are in progress then end."""

from __future__ import annotations

import asyncio
import errno
import logging
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial

import uvicorn

from sciprism.errors import InputError
from sciprism.files import lock_folder
from sciprism.service.app import build_app
from sciprism.service.observation import JsonLines
from sciprism.service.state import ServiceState

GRACE = 20  # seconds that requests in progress get after a stop


def serve(state: ServiceState, on_start: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM. on_start: called with the address once it is listened on.

    Raises InputError for an address that cannot be used, and what kept a model from being loaded.
    """
    settings = state.settings
    listener = _listen(settings.host, settings.port)
    _log_to_stderr()
    config = uvicorn.Config(
        build_app(state),
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=GRACE,
    )
    server = _Server(config)
    state.stop = partial(setattr, server, "should_exit", True)
    host, port = listener.getsockname()[:2]
    with lock_folder(settings.workspace) if settings.workspace else nullcontext():
        on_start(f"http://{f'[{host}]' if ':' in host else host}:{port}")
        asyncio.run(server.serve(sockets=[listener]))
    if state.failure is not None:
        raise state.failure


class _Server(uvicorn.Server):
    """A server that a signal stops with status 0: uvicorn's own raises the signal again at the end."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at a signal; a second one does not wait for requests in progress."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        yield


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


def _log_to_stderr() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("sciprism.service", "uvicorn.error"):
        log = logging.getLogger(name)
        log.handlers, log.propagate = [handler], False
        log.setLevel(logging.INFO if name.startswith("sciprism") else logging.WARNING)
