"""`sciprism`: the commands under one name, and what each prints and exits with when it fails."""

from __future__ import annotations

import atexit
import gc
import sys
import warnings
from collections.abc import Callable, Mapping
from functools import partial, wraps
from importlib import import_module
from io import TextIOWrapper
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from sciprism.cli.collection import delete, index, push
from sciprism.cli.compare import compare, results
from sciprism.cli.data import data
from sciprism.cli.dedupe import dedupe
from sciprism.cli.disambiguate import disambiguate
from sciprism.cli.embed import embed, merge
from sciprism.cli.evaluate import evaluate
from sciprism.cli.inspect import inspect
from sciprism.cli.map import map
from sciprism.cli.match import match
from sciprism.cli.models import describe, export, models
from sciprism.cli.options import DATA, USED_BY, declare_options
from sciprism.cli.output import AS_JSON, echo, escape_controls, is_json_requested, print_json, show_work
from sciprism.cli.overlap import overlap
from sciprism.cli.prepare import prepare
from sciprism.cli.recommend import recommend
from sciprism.cli.reproduce import reproduce
from sciprism.cli.screen import screen
from sciprism.cli.search import calibrate, search, similar
from sciprism.cli.serve import serve
from sciprism.cli.tag import tag
from sciprism.cli.tokenizer import tokenizer
from sciprism.cli.train import train
from sciprism.cli.verify import verify
from sciprism.errors import InputError, InterruptedRunError, RunFailedError, ShownWarning
from sciprism.files import FULL, REFUSED, flush_output
from sciprism.parallel import DEVICE

DONE, FAILED, WRONG, INTERRUPTED = 0, 1, 2, 130
EXIT_STATUSES = {
    DONE: "done",
    FAILED: "partly failed (a task, a damaged file, a full disk); finished work is stored",
    WRONG: "wrong usage or input; nothing was done",
    INTERRUPTED: "interrupted (Ctrl-C); the message says whether the same command resumes",
}
"""Exit status -> meaning."""
OUTPUTS = ("output", "out", "collection", "folder")  # parameters of commands that name what is written

Stored = Callable[[Mapping[str, Any]], bool]


def with_explained_failures(
    command: Callable[..., None], *, stored: Stored | None = None, writes: bool = False
) -> Callable[..., None]:
    """Return a command that names the path of a full disk or a missing permission, and what an interruption means.

    stored: says, of the command's options, whether a run stored something, which the same command then does not
    do again. writes: the command writes files, all or none.
    """

    outputs = OUTPUTS if writes or stored is not None else OUTPUTS[:2]  # others only read a collection or folder

    @wraps(command)
    def run(**options: Any) -> None:
        try:
            command(**options)
        except InterruptedRunError as error:
            stop(f"interrupted; {error}", INTERRUPTED)
        except KeyboardInterrupt:
            stop(f"interrupted{_after_interruption(stored, writes, options)}", INTERRUPTED)
        except BrokenPipeError:
            raise
        except OSError as error:
            if error.filename is None and error.errno in (*FULL, *REFUSED):
                if (broken := flush_output()) is not None:
                    raise broken from error
                error.filename = next((str(options[name]) for name in outputs if options.get(name)), "standard output")
            raise

    return run


def stop_for(error: BaseException) -> NoReturn:
    """Print the message of a failure that was foreseen, and exit with its status."""
    if isinstance(error, InputError):
        stop(str(error), WRONG)
    if isinstance(error, RunFailedError):
        stop(str(error), FAILED)
    if isinstance(error, MemoryError):
        stop(f"out of memory ({str(error) or 'MemoryError'})", FAILED)
    if isinstance(error, OSError):
        stop(str(error), WRONG if error.errno in REFUSED else FAILED)
    raise error


def stop(message: str, status: int) -> NoReturn:
    """Print a message on standard error, with --json as JSON in one line, and exit."""
    if is_json_requested():
        print_json("sciprism.error/1", {"error": message, "exit": status}, error=True)
    else:
        echo(f"sciprism: {message}", error=True)
    sys.exit(status)


def stop_for_usage(error: Any) -> NoReturn:
    """Print what is wrong with a command line, and exit."""
    if is_json_requested():
        stop(error.format_message(), WRONG)
    error.message = escape_controls(error.message)  # it quotes words, among which may be the names of files
    error.show()
    sys.exit(WRONG)


def _after_interruption(stored: Stored | None, writes: bool, options: Mapping[str, Any]) -> str:
    if stored is None:
        return "; the same command starts again" if writes else ""
    if stored(options):
        return "; the same command continues where this one stopped"
    return " before anything was stored; the same command starts again"


class Program(TyperGroup):
    """The commands; the options of the program itself may stand anywhere on its command line."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments. Raises InputError for an empty one: an unset variable would else stand for a default."""
        for before, arg in zip(["", *args], args, strict=False):
            option, equals, value = arg.partition("=")
            if not arg or (option.startswith("--") and equals and not value):
                name = option or before
                name = name if name.startswith("-") else "an argument"
                raise InputError(
                    f"{name} is empty; give it a value, or leave it out (is a variable of your shell unset?)"
                )
        end = args.index("--") if "--" in args else len(args)
        words, own = args[:end], list[str]()
        for place in range(len(words) - 1, -1, -1):
            option, equals, _ = words[place].partition("=")
            if option == "--json" or option in USED_BY:
                taken = slice(place, place + (1 if equals or option == "--json" else 2))
                own, words[taken] = [*words[taken], *own], []
        return super().parse_args(ctx, [*own, *words, *args[end:]])

    def format_commands(self, _ctx: Any, formatter: Any) -> None:
        """Write the commands under their headings, each with its first sentence."""
        for heading, parts in SECTIONS.items():
            names = [str(part.info.name) if isinstance(part, typer.Typer) else part.__name__ for part in parts]
            with formatter.section(heading):
                formatter.write_dl([(name, self.commands[name].get_short_help_str(66)) for name in names])


app = typer.Typer(
    name="sciprism",
    cls=Program,
    help="Encode scientific papers, train and evaluate encoders, search papers by their vectors. Options may stand "
    "anywhere after `sciprism`.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


SECTIONS: dict[str, tuple[Any, ...]] = {
    "Read and clean": (inspect, dedupe, disambiguate),
    "Use": (embed, merge, index, search, similar, calibrate, recommend, map, match, tag, screen, delete, verify),
    "Train": (data, prepare, tokenizer, train, describe, models, export),
    "Compare": (evaluate, compare, overlap, reproduce, results),
    "Serve": (serve, push),
}
"""Heading of the help -> its commands, and groups of commands."""
STORED: dict[Callable[..., None], Stored] = {
    train: lambda options: _has(options["output"], "*/checkpoint", "*/model"),
    evaluate: lambda options: _has(options["output"], "*/*/*.json"),
    reproduce: lambda options: _has(options["results"] or Path("results") / options["paper"], "*/*/*.json"),
}
"""Commands that continue -> whether they stored something: a checkpoint, a result."""


def _has(folder: Path | None, *patterns: str) -> bool:
    return folder is not None and any(any(folder.glob(pattern)) for pattern in patterns)


def add_command(command: Callable[..., None]) -> None:
    """Add a command to the program."""
    writes = command in (dedupe, disambiguate, map, index, export, delete, merge)
    slow = command in (export, verify, compare, overlap, merge)
    declared = declare_options(command.__name__, show_work(command.__name__, command) if slow else command)
    explained = with_explained_failures(declared, stored=STORED.get(command), writes=writes)
    app.command(short_help=(command.__doc__ or "").partition("\n")[0])(explained)


def add_group(group: typer.Typer) -> None:
    """Add a group of commands to the program."""
    name = group.info.name
    for part in group.registered_commands:
        assert part.callback is not None
        words = " ".join(filter(None, (name, part.name)))  # a group's own command has no name of its own
        work = part.callback if group in (match, screen, data) else show_work(words, part.callback)
        full = f"{name} {part.name or part.callback.__name__}"
        part.callback = with_explained_failures(declare_options(full, work), writes=True)
        part.short_help = (part.callback.__doc__ or "").partition("\n")[0]
    app.add_typer(group)


for part in chain.from_iterable(SECTIONS.values()):
    if isinstance(part, typer.Typer):
        add_group(part)
    else:
        add_command(part)


@app.callback(invoke_without_command=True)
def callback(
    ctx: typer.Context,
    show: bool = typer.Option(False, "--version", help="Print the version and stop."),
    json: bool = typer.Option(False, "--json", help="Print one JSON document."),
    device: str = typer.Option("", help="cpu or cuda; else cuda if available."),
    data: str = typer.Option("", help="The folder of data sets; else SCIPRISM_DATA, the hub's cache, the hub."),
    modules: list[str] = typer.Option(  # noqa: B008
        [], "--import", help="A Python module that adds a method, an objective or a protocol; repeatable."
    ),
) -> None:
    """Print the version where it is asked for, and note the options of all commands."""
    sys.path += [str(Path.cwd())] * bool(modules)
    for module in modules:
        try:
            import_module(module)
        except ImportError as error:
            raise InputError(f"--import {module}: {error}") from error
    for variable, value in ((AS_JSON, json), (DEVICE, device), (DATA, data)):
        ctx.call_on_close(partial(variable.reset, variable.set(value)))  # type: ignore[arg-type]
    if show:
        from importlib.metadata import version

        echo(version("sciprism"))
        raise typer.Exit


def main() -> None:
    """Run the command line; every foreseen failure is one message and an exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a letter that a terminal lacks is not a failure
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

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, ShownWarning):
            echo(f"sciprism: {message}", error=True)
        else:
            default(message, category, *place, **more)

    warnings.showwarning = show
