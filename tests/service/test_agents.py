"""Tools of the Model Context Protocol: over HTTP behind the service's tokens, and on standard input."""

import asyncio
import os
import sys

import pytest

pytest.importorskip("mcp")

from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

from build_service import TOKEN, start

HEADERS = {"accept": "application/json, text/event-stream"}


def call(client, tool, **arguments):
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    return client.post("/mcp", json=body, headers=HEADERS)


@pytest.fixture(scope="module")
def agent(folder, tmp_path_factory):
    labels = tmp_path_factory.mktemp("labels") / "subjects.csv"
    labels.write_text("id,name\na,dark matter\nb,protein folding\n")
    with start([folder], tagger=(labels,)) as client:
        yield client


CALLS = {
    "search": ({"query": "dark matter", "k": 2}, lambda found: len(found["hits"]) == 2),
    "similar": ({"paper": "halo", "k": 3}, lambda found: len(found["hits"]) == 3),
    "paper": ({"id": "halo"}, lambda found: found["id"] == "halo" and found["title"]),
    "suggest_tags": ({"paper": "halo"}, lambda found: found["papers"][0]["id"] == "halo"),
}


@pytest.mark.parametrize("tool", CALLS)
def test_a_tool_answers(tool, agent):
    arguments, holds = CALLS[tool]
    result = call(agent, tool, **arguments).json()["result"]
    assert not result["isError"], result
    assert holds(result["structuredContent"])


WRONG = {
    "an unknown paper": ("paper", {"id": "nothing"}, "has no paper with the id 'nothing'"),
    "too many": ("search", {"query": "dark", "k": 51}, "less than or equal to 50"),
    "an unknown collection": ("search", {"query": "dark", "collection": "other"}, "'other'"),
}


@pytest.mark.parametrize("tool, arguments, message", WRONG.values(), ids=WRONG)
def test_a_wrong_call_is_explained(tool, arguments, message, agent, folder):
    result = call(agent, tool, **arguments).json()["result"]
    assert result["isError"] and message in result["content"][0]["text"]
    assert str(folder) not in result["content"][0]["text"]


def test_tools_need_the_services_token(folder, tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text(f"ada: {TOKEN}\n")
    with start([folder], token_file=tokens) as client:
        assert call(client, "paper", id="halo").status_code == 401
        client.headers["authorization"] = f"Bearer {TOKEN}"
        assert not call(client, "paper", id="halo").json()["result"]["isError"]


@pytest.mark.slow
def test_an_agent_starts_it_on_standard_input(folder):
    async def ask():
        command = ["-m", "sciprism", "serve", str(folder), "--mcp"]
        server = StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))
        async with stdio_client(server) as streams, ClientSession(*streams) as session:
            await session.initialize()
            tools = [tool.name for tool in (await session.list_tools()).tools]
            return tools, await session.call_tool("search", {"query": "dark matter"})

    tools, found = asyncio.run(ask())
    assert tools == list(CALLS) and found.structured_content["hits"]
