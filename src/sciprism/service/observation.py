"""What the service tells its operators: metrics of Prometheus, and a line of JSON for each request, without texts."""

from __future__ import annotations

import json
import logging
import time
from datetime import UTC, datetime
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

log = logging.getLogger("sciprism.service")
SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
TOKENS = (64, 256, 512, 1024, 2048, 4096, 8192, 16384, 65536)
_PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "taskName", "color_message"}


class Metrics:
    """The measurements of one service."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        labels = ("method", "path", "status")
        seconds: dict[str, Any] = {"registry": registry, "buckets": SECONDS}
        self.seconds = Histogram("sciprism_request_seconds", "Seconds of a request", labels, **seconds)
        self.errors = Counter("sciprism_errors_total", "Requests with status 500 or more", registry=registry)
        self.active = Gauge("sciprism_requests_active", "Requests that are answered now", registry=registry)
        self.queue = Gauge("sciprism_queue_texts", "Texts that wait for a model", registry=registry)
        self.batch_texts = Counter("sciprism_encoded_texts_total", "Texts that were encoded", registry=registry)
        too_long = "Texts longer than the model reads"
        self.truncated = Counter("sciprism_truncated_texts_total", too_long, registry=registry)
        self.batch_tokens = Histogram("sciprism_batch_tokens", "Tokens of a batch", registry=registry, buckets=TOKENS)
        self.batch_seconds = Histogram("sciprism_batch_seconds", "Seconds of a batch", **seconds)

    def count_batch(self, texts: int, tokens: int, seconds: float) -> None:
        """Count a batch of a model."""
        self.batch_texts.inc(texts)
        self.batch_tokens.observe(tokens)
        self.batch_seconds.observe(seconds)

    def render(self) -> bytes:
        """Return all measurements in the text format of Prometheus."""
        return generate_latest(self.registry)


class Observer:
    """Measures and logs each request; paths are those of the routes, so that no query or id is written down."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status = time.perf_counter(), 499  # the client went away before an answer

        async def observe(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        self.metrics.active.inc()
        try:
            await self.app(scope, receive, observe)
        finally:
            self.metrics.active.dec()
            seconds = time.perf_counter() - start
            path = getattr(scope.get("route"), "path", "unknown")
            method = scope["method"] if scope["method"] in METHODS else "other"  # each would be kept as a label
            self.metrics.seconds.labels(method, path, status).observe(seconds)
            self.metrics.errors.inc(status >= 500)
            facts: dict[str, Any] = {"method": method, "path": path, "status": status}
            owner = scope.get("state", {}).get("owner", "")
            log.info("request", extra=facts | {"seconds": round(seconds, 4), "owner": owner})


class JsonLines(logging.Formatter):
    """Formats a record of the log as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        facts = {key: value for key, value in vars(record).items() if key not in _PLAIN}
        line = {"time": time, "level": record.levelname.lower(), "event": record.getMessage()} | facts
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__
        return json.dumps(line, ensure_ascii=False, default=str)
