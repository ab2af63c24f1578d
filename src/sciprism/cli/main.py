"""`sciprism`: the commands under one name, and what their exit statuses mean.

See `EXIT_STATUSES`.
"""

from __future__ import annotations

import atexit
import gc
import sys
import warnings
from collections.abc import Callable
from functools import wraps
from io import TextIOWrapper
from typing import Any

import typer

from sciprism.cli.compare import compare
from sciprism.cli.delete import delete
from sciprism.cli.describe import describe
from sciprism.cli.embed import embed
from sciprism.cli.evaluate import evaluate
from sciprism.cli.export import export
from sciprism.cli.former_options import Command
from sciprism.cli.index import index
from sciprism.cli.inspect import inspect
from sciprism.cli.json_documents import is_json_asked, print_json
from sciprism.cli.models import models
from sciprism.cli.overlap import overlap
from sciprism.cli.prepare import prepare
from sciprism.cli.reproduce import reproduce
from sciprism.cli.results import results
from sciprism.cli.search import search
from sciprism.cli.similar import similar
from sciprism.cli.tokenizer import tokenizer
from sciprism.cli.train import train
from sciprism.cli.verify import verify
from sciprism.deprecation import RenamedWarning
from sciprism.errors import (
    DamagedCacheWarning,
    InputError,
    RunFailedError,
    SlowPrecisionWarning,
    UntrainedStageWarning,
)

EXIT_STATUSES = {
    0: "done",
    1: "partly failed: a part of the work has no result, or it broke on the way (disk full); what is done is kept",
    2: "wrong usage or input: nothing was done that would have to be undone",
    130: "interrupted with Ctrl-C",
}

app = typer.Typer(
    name="sciprism",
    help="Encode scientific papers, train and evaluate encoders, search papers by their vectors.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _interruptible(
    command: Callable[..., None], then: str = "the same command continues where this one stopped"
) -> Callable[..., None]:
    """Say what Ctrl-C means here: typer, which sees it before `main` does, would say nothing."""

    @wraps(command)
    def run(**options: object) -> None:
        try:
            command(**options)
        except KeyboardInterrupt:
            _stop(f"interrupted; {then}", status=130)

    return run


USE = (inspect, embed, index, search, similar, delete, describe, models, export, verify)
SCIENCE = (train, evaluate, compare, reproduce, overlap)
for command in (*USE, *SCIENCE):
    app.command(cls=Command)(_interruptible(command))


for name, group in {"prepare": prepare, "tokenizer": tokenizer, "results": results}.items():
    for each in group.registered_commands:
        assert each.callback is not None
        each.callback, each.cls = _interruptible(each.callback, "the same command starts again"), Command
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
        sys.exit(status if isinstance(status, int) else 0)
    except InputError as error:
        _stop(str(error), status=2)
    except RunFailedError as error:
        _stop(str(error), status=1)
    except (OSError, MemoryError) as error:
        _stop(f"{type(error).__name__}: {error}", status=1)
    except KeyboardInterrupt:
        _stop("interrupted", status=130)
    except Exception as error:
        if not hasattr(error, "format_message"):  # what typer says of wrong usage, in each of its versions
            raise
        _refuse_usage(error)


def _shorten_warnings() -> None:
    """Print warnings meant for people as one line, without the place in the code that gave them."""
    default = warnings.showwarning
    ours = (RenamedWarning, DamagedCacheWarning, SlowPrecisionWarning, UntrainedStageWarning)

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, ours):
            print(f"sciprism: {message}", file=sys.stderr)
        else:
            default(message, category, *place, **more)

    warnings.showwarning = show


def _stop(message: str, *, status: int) -> None:
    if is_json_asked():
        print_json("sciprism.error/1", {"error": message, "exit": status}, error=True)
    else:
        print(f"sciprism: {message}", file=sys.stderr)
    sys.exit(status)


def _refuse_usage(error: Any) -> None:
    """Say what is wrong with an option or an argument, as typer does, or as JSON."""
    if is_json_asked():
        _stop(error.format_message(), status=2)
    error.show()
    sys.exit(2)
