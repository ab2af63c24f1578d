"""`sciprism serve`: collections and models over HTTP, and a page to search them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sciprism.cli.output import echo
from sciprism.errors import InputError, MissingExtraError
from sciprism.service.settings import ServeSettings


def serve(
    collections: Annotated[
        list[Path] | None, typer.Argument(help="Folders made by `sciprism embed`.", show_default=False)
    ] = None,
    model: Annotated[str, "A model for embeddings besides those of the collections."] = "",
    demo: Annotated[bool, "Serve the example collection."] = False,
    *,
    settings: ServeSettings,
) -> None:
    """Serve collections and models over HTTP: a page for people, and addresses for programs.

    Collections are read-only; one that was embedded again is served from then on. Programs find embeddings as OpenAI's
    and text-embeddings-inference's at /v1/embeddings and /embed, all addresses at /docs.

    Example: sciprism serve --demo
    Example: sciprism serve papers/ theses/ --host 0.0.0.0 --token-file tokens.txt --workspace uploads
    """
    if not (collections or model or demo):
        raise InputError("name a collection, or --model for embeddings alone, or --demo for the example collection")
    try:
        from sciprism.service.app import serve as run
        from sciprism.service.state import ServedCollections, ServiceState, build_demo
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("sciprism"):
            raise
        raise MissingExtraError("serve", "the service") from error
    from sciprism.files import cache_folder

    folders = [*(collections or []), *([build_demo(cache_folder() / "demo")] if demo else [])]
    state = ServiceState(settings, ServedCollections(folders), model)
    run(state, lambda address: echo(f"sciprism: serving at {address} (Ctrl-C stops)", error=True))
