"""Answers: documents, and errors in the shape that OpenAI's clients read."""

from __future__ import annotations

import json
from typing import Any, Self

from pydantic_core import to_json
from starlette.responses import PlainTextResponse, Response

from sciprism.errors import InputError


class UnknownNameError(InputError):
    """Report a collection, a paper or a model that the service does not have."""

    status = 404


class Refusal(Exception):  # noqa: N818 (an answer, not a failure)
    """An answer that ends a request: its status, the reason, and what to do."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, headers or {}

    @classmethod
    def wait(cls, message: str, seconds: float) -> Self:
        """Return the refusal of a request that may come again after some seconds."""
        text = f"{max(1.0, seconds):.0f}"
        return cls(429, f"{message}; try again in {text} s", {"retry-after": text})


def json_response(document: Any, headers: dict[str, str] | None = None, status: int = 200) -> Response:
    """Return a document as JSON."""
    return Response(to_json(document), status, headers, media_type="application/json")


def text_file(text: str, name: str) -> Response:
    """Return a text as a file to save."""
    return PlainTextResponse(text, headers={"content-disposition": f'attachment; filename="{name}"'})


def error_response(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    """Return an error as JSON."""
    kind = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}.get(
        status, "invalid_request_error" if status < 500 else "server_error"
    )
    content = {"error": {"message": message, "type": kind, "param": None, "code": status}}
    text = json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")
    return Response(text, status, headers, media_type="application/json")
