"""`sciprism`: the commands under one name."""

from __future__ import annotations

import atexit
import gc
import sys
import warnings
from collections.abc import Callable
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

from sciprism.cli.compare import compare
from sciprism.cli.delete import delete
from sciprism.cli.describe import describe
from sciprism.cli.embed import embed
from sciprism.cli.evaluate import evaluate
from sciprism.cli.export import export
from sciprism.cli.failures import EXIT_STATUSES as EXIT_STATUSES
from sciprism.cli.failures import (
    INTERRUPTED,
    Stored,
    stop,
    stop_for,
    stop_for_usage,
    with_explained_failures,
)
from sciprism.cli.index import index
from sciprism.cli.inspect import inspect
from sciprism.cli.match import match
from sciprism.cli.models import models
from sciprism.cli.overlap import overlap
from sciprism.cli.parts import merge, status
from sciprism.cli.prepare import prepare
from sciprism.cli.progress import show_work
from sciprism.cli.push import push
from sciprism.cli.recommend import recommend
from sciprism.cli.reproduce import reproduce
from sciprism.cli.results import results
from sciprism.cli.search import search
from sciprism.cli.similar import similar
from sciprism.cli.tag import tag
from sciprism.cli.tokenizer import tokenizer
from sciprism.cli.train import train
from sciprism.cli.verify import verify
from sciprism.errors import (
    DamagedCacheWarning,
    EmptyTextWarning,
    GuessedEncodingWarning,
    InputError,
    RunFailedError,
    SlowPrecisionWarning,
    UnreadSheetsWarning,
    UntrainedStageWarning,
)
from sciprism.files import flush_output

app = typer.Typer(
    name="sciprism",
    help="Encode scientific papers, train and evaluate encoders, search papers by their vectors.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


USE = (
    inspect,
    embed,
    merge,
    status,
    index,
    search,
    similar,
    push,
    match,
    recommend,
    delete,
    describe,
    models,
    export,
    verify,
)
SCIENCE = (train, evaluate, compare, reproduce, overlap)
STORED: dict[Callable[..., None], Stored] = {
    train: lambda options: _has(options["output"], "*/checkpoint", "*/model"),
    evaluate: lambda options: _has(options["output"], "*/*/*.json"),
    reproduce: lambda options: _has(options["results"] or Path("results") / options["paper"], "*/*/*.json"),
}
"""Commands that continue -> whether they stored something: a checkpoint, a result."""


class Command(TyperCommand):
    """A command that refuses empty values: an unset variable of a shell would stand for a default, or this folder."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments. Raises InputError for an empty one."""
        for before, arg in zip(["", *args], args, strict=False):
            option, equals, value = arg.partition("=")
            if not arg or (option.startswith("--") and equals and not value):
                name = option or before
                name = name if name.startswith("-") else "an argument"
                raise InputError(
                    f"{name} is empty; give it a value, or leave it out (is a variable of your shell unset?)"
                )
        return super().parse_args(ctx, args)


def _has(folder: Path | None, *patterns: str) -> bool:
    return folder is not None and any(any(folder.glob(pattern)) for pattern in patterns)


for command in (*USE, *SCIENCE):
    writes = command in (index, export, delete, match, merge)
    slow = command in (export, verify, compare, overlap, merge)
    shown = show_work(command.__name__, command) if slow else command
    summary = (command.__doc__ or "").partition("\n")[0]
    app.command(cls=Command, short_help=summary)(
        with_explained_failures(shown, stored=STORED.get(command), writes=writes)
    )


for name, group in {"tag": tag, "prepare": prepare, "tokenizer": tokenizer, "results": results}.items():
    for each in group.registered_commands:
        assert each.callback is not None
        work = each.callback if group is prepare else show_work(f"{name} {each.callback.__name__}", each.callback)
        each.callback, each.cls = with_explained_failures(work, writes=True), Command
    app.add_typer(group, name=name)


@app.callback(invoke_without_command=True)
def callback(show: bool = typer.Option(False, "--version", help="Print the version and stop.")) -> None:
    """Print the version where it is asked for."""
    if show:
        from importlib.metadata import version

        print(version("sciprism"))
        raise typer.Exit


def main() -> None:
    """Run the command line; every foreseen failure is one message and an exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a letter that a terminal lacks is no failure
    atexit.register(gc.freeze)  # else the interpreter's end walks all that torch has made, for 0.3 s
    try:
        with warnings.catch_warnings():
            _shorten_warnings()
            status = app(prog_name="sciprism", standalone_mode=False)
        if (broken := flush_output()) is not None:
            raise broken
        sys.exit(status if isinstance(status, int) else 0)
    except (InputError, RunFailedError, OSError, MemoryError) as error:
        stop_for(error)
    except KeyboardInterrupt:
        stop("interrupted", INTERRUPTED)
    except Exception as error:
        if not hasattr(error, "format_message"):  # what typer says of wrong usage, in each of its versions
            raise
        stop_for_usage(error)


def _shorten_warnings() -> None:
    """Print warnings meant for people as one line, without the place in the code that gave them."""
    default = warnings.showwarning
    ours = (
        DamagedCacheWarning,
        EmptyTextWarning,
        GuessedEncodingWarning,
        SlowPrecisionWarning,
        UnreadSheetsWarning,
        UntrainedStageWarning,
    )

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, ours):
            print(f"sciprism: {message}", file=sys.stderr)
        else:
            default(message, category, *place, **more)

    warnings.showwarning = show
