"""Search, similar papers, papers and tags as tools of the Model Context Protocol: at /mcp, or on standard input."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import wraps
from importlib.metadata import version
from typing import Annotated, Any, Literal

from fastapi import FastAPI
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import Field
from starlette.requests import Request

import sciprism.service.papers as papers
from sciprism.errors import InputError
from sciprism.service.limits import EVERYONE
from sciprism.service.responses import Refusal
from sciprism.service.settings import MEGABYTE

MAX_HITS = 50
Count = Annotated[int, Field(ge=1, le=MAX_HITS, description="Papers to return, the best first.")]
Limit = Annotated[int, Field(ge=1, le=MAX_HITS, description="Tags, at most.")]
Collection = Annotated[str, Field(description='Which collection; "" where there is one.')]
Year = Annotated[int | None, Field(description="Of publication; included.")]
Document = dict[str, Any]


def add_tools(app: FastAPI) -> MCPServer:
    """Answer agents at /mcp of an application, behind its layers; return the server, for standard input."""
    server, state = MCPServer("sciprism", version=version("sciprism"), log_level="WARNING"), app.state.service

    def build_request(context: Context) -> Request:
        """Return a request of whoever calls; on standard input that is everyone."""
        given = context.request_context.request
        owner = EVERYONE if given is None else given.state.owner
        return Request({"type": "http", "app": app, "state": {"owner": owner}, "headers": []})

    def tool(function: Callable[..., Any]) -> None:
        @wraps(function)
        async def call(**arguments: Any) -> Any:
            try:
                return await asyncio.wait_for(function(**arguments), state.settings.deadline)
            except (InputError, Refusal, TimeoutError) as error:
                raise ToolError(state.hide_paths(str(error)) or "the deadline passed") from error

        server.add_tool(call)

    @tool
    async def search(
        context: Context,
        query: Annotated[str, Field(description="A question or words, in English.")],
        collection: Collection = "",
        k: Count = 10,
        year_from: Year = None,
        year_to: Year = None,
        mode: Literal["auto", "exact", "lexical", "hybrid"] = "auto",
    ) -> Document:
        """Search a library of scientific papers by meaning and words."""
        years = {"year_from": year_from, "year_to": year_to}
        body = papers.SearchRequest(q=[query], collection=collection, k=k, mode=mode, **years)
        return (await papers.rank_queries(build_request(context), body))[0].to_json()

    @tool
    async def similar(context: Context, paper: str, collection: Collection = "", k: Count = 10) -> Document:
        """List the papers most similar to one of the library, which is named by its id, DOI or title."""
        body = papers.SimilarRequest(to=paper, collection=collection, k=k)
        return (await papers.rank_similar(build_request(context), body))[0].to_json()

    @tool
    async def paper(context: Context, id: str, collection: Collection = "") -> Document:
        """Return a paper of the library by its id, with abstract, DOI and address."""
        return papers.describe(await papers.find_paper(build_request(context), collection, id))

    @tool
    async def suggest_tags(context: Context, paper: str, collection: Collection = "", limit: Limit = 10) -> Document:
        """Suggest labels of the served vocabulary for a paper of the library, which is named by its id."""
        body = papers.TagRequest(papers=[paper], collection=collection, limit=limit)
        return await papers.find_tags(build_request(context), body)

    guarded = TransportSecuritySettings(enable_dns_rebinding_protection=False)  # the service's own layer looks at hosts
    size = int(state.settings.max_body * MEGABYTE)
    options: Document = {"stateless_http": True, "json_response": True, "max_request_body_size": size}
    app.router.routes += server.streamable_http_app(transport_security=guarded, **options).routes
    return server
