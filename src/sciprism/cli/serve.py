"""`sciprism serve`: collections, files and models over HTTP, and a page to use them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from sciprism.cli.output import ProgressDisplay, echo, join_counts
from sciprism.errors import InputError, MissingExtraError
from sciprism.service.settings import ServeSettings


def serve(
    papers: Annotated[
        list[str] | None,
        typer.Argument(help="Collections, or files of papers.", show_default=False),
    ] = None,
    model: Annotated[str, "A further model for embeddings."] = "",
    demo: Annotated[bool, "Serve the example papers."] = False,
    dedupe: Annotated[bool, "Merge duplicates in files, as `sciprism dedupe` does."] = False,
    mcp: Annotated[bool, "Answer an agent on standard input (Model Context Protocol)."] = False,
    *,
    settings: ServeSettings,
) -> None:
    """Serve collections, files and models over HTTP, as pages and as an API.

    Files are embedded into the cache, with a workspace there. Collections are read-only; an updated one is served at
    once. /v1/embeddings is OpenAI's API, /embed that of text-embeddings-inference, /mcp is for agents; /docs lists all.

    Example: sciprism serve --demo

    Example: sciprism serve refs.ris more.nbib --dedupe

    Example: sciprism serve papers/ --mcp

    Example: sciprism serve papers/ theses/ --host 0.0.0.0 --token-file tokens.txt --workspace uploads
    """
    from sciprism.store.collection import is_collection

    if not (papers or model or demo or settings.workspace):
        raise InputError("name files of papers or a collection; or --workspace, --model or --demo")
    try:
        import sciprism.service.app as app
        from sciprism.service.state import ServedCollections, ServiceState, build_library, find_demo
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("sciprism"):
            raise
        raise MissingExtraError("serve", "the service") from error
    from sciprism.files import cache_folder

    folders = [Path(name) for name in papers or () if is_collection(Path(name))]
    files: list[str | Path] = [name for name in papers or () if not is_collection(Path(name))]
    example: list[str | Path] = [find_demo()] if demo else []
    for group in filter(None, (files, example)):
        with ProgressDisplay("reading", "papers") as display:
            folder, counts = build_library(group, cache_folder() / "desk", merge=dedupe, progress=display)
        echo(f"sciprism: {folder.name}: {join_counts(counts)}", error=True)
        folders.append(folder)
        settings = replace(settings, workspace=settings.workspace or folder.parent / "workspace")
    state = ServiceState(settings, ServedCollections(folders), model)
    if mcp:
        app.serve_agents(state)
        return
    app.serve(state, lambda address: echo(f"sciprism: serving at {address} (Ctrl-C stops)", error=True))
