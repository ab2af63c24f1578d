"""Options that several commands share: one name and one meaning everywhere."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial, wraps
from pathlib import Path
from types import GenericAlias
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperGroup

from sciprism.cli.output import print_skip_counts
from sciprism.errors import InputError
from sciprism.parallel import DEVICE

if TYPE_CHECKING:
    from sciprism.papers import Paper, ReadReport
    from sciprism.papers.input_file import ReadOptions
    from sciprism.papers.read import AbstractCompletion

PaperFiles = Annotated[list[str], "Files or folders of papers; - is standard input."]
OutputFolder = Annotated[Path, "The folder to write.", "--output", "-o"]

Pooling = Annotated[str, "cls or mean, for a model that does not state it."]

CollectionFolder = Annotated[Path, "A folder of `sciprism embed`."]
Model = Annotated[str, "The folder of the collection's model, if it moved."]

DATA: ContextVar[str] = ContextVar("data", default="")
"""What the command line states with --data."""
USED_BY = {
    "--device": "embed, search, similar, recommend, train, evaluate, match assign, tag suggest, tag train, "
    "screen records, screen simulate, prepare negatives",
    "--data": "train, evaluate, reproduce, overlap, data list, prepare open, prepare pairs, prepare text, "
    "prepare scirepeval",
}
"""Option of the program -> the commands that it is for."""
Edges = Annotated[Path | None, "A table of citing, cited; else the papers' references."]
Exclude = Annotated[list[Path] | None, "Papers to drop: files, Multi-SciDocs' queries, or a .txt of ids; repeatable."]


class DefaultCommandGroup(TyperGroup):
    """A group whose first command's name may be left out: `sciprism tag PAPERS`, `sciprism match SUBMISSIONS`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments, with the first command where none is named."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [next(iter(self.commands)), *args]
        return super().parse_args(ctx, args)


def check_program_options(command: str) -> None:
    """Raise InputError for an option of the program that a command does not use."""
    for name, variable in (("--device", DEVICE), ("--data", DATA)):
        if variable.get() and command not in USED_BY[name].split(", "):
            raise InputError(f"{name} is not for `sciprism {command}`, but for {USED_BY[name]}")


def declare_options(name: str, command: Callable[..., None]) -> Callable[..., None]:
    """Return a command for the command line: its parameters, and fields of settings, with a text become options.

    name: of the command. They are `name: Annotated[type, text, *flags] = default`; one without flags and default is an
    argument.
    """
    parameters = inspect.signature(command, eval_str=True).parameters.values()
    settings: dict[str, Any] = {item.name: item.annotation for item in parameters if is_dataclass(item.annotation)}
    options = {name: list(list_options(kind)) for name, kind in settings.items()}
    shown = [
        option
        for item in parameters
        for option in options.get(item.name) or [_declare(item.name, item.annotation, item.default)]
    ]

    @wraps(command)
    def run(**values: Any) -> None:
        check_program_options(name)
        for group, kind in settings.items():
            values[group] = build_settings(kind, {option.name: values.pop(option.name) for option in options[group]})
        command(**values)

    vars(run)["__signature__"] = inspect.Signature(shown)
    run.__annotations__ = {option.name: option.annotation for option in shown}
    return run


def _declare(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    """Return a parameter, with its text, as an option or argument; one that is False has no opposite flag."""
    if get_origin(annotation) is Annotated and isinstance(get_args(annotation)[1], str):
        kind, text, *flags = get_args(annotation)
        flags = flags or [f"--{name.replace('_', '-')}"] * (default is False)
        is_argument = default is inspect.Parameter.empty and not flags
        annotation = Annotated[kind, typer.Argument(help=text) if is_argument else typer.Option(*flags, help=text)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def list_options(settings: type[Any]) -> Iterator[inspect.Parameter]:
    """Yield the options of a class of settings, as parameters of a command."""
    hints = get_type_hints(settings, include_extras=True)
    for field in fields(settings):
        if get_origin(hints[field.name]) is Annotated:
            kind, *texts = get_args(hints[field.name])
            default = field.default
            if get_origin(kind) is tuple:
                kind, default = GenericAlias(list, get_args(kind)[:1]) | None, None
            elif get_origin(kind) is Literal:
                kind = str
            elif number := _find_number(kind, default):
                kind, default = number, number(0)
            yield _declare(field.name, Annotated[kind, *texts], default)


def build_settings(settings: type[Any], options: dict[str, Any]) -> Any:
    """Build settings from their options: 0 stands for no number, a list for a tuple."""
    hints, built = get_type_hints(settings), {}
    for field in fields(settings):
        if field.name in options:
            value = options[field.name]
            if get_origin(hints[field.name]) is tuple:
                value = tuple(value or ())
            built[field.name] = (value or None) if _find_number(hints[field.name], field.default) else value
    return settings(**built)


def _find_number(kind: Any, default: Any) -> Any:
    """Return int or float where a field is such a number or, by default, None."""
    return next((item for item in get_args(kind) if item in (int, float)), None) if default is None else None


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a command reads files of papers."""

    skip_bad: Annotated[bool, "Skip and count records that cannot be used."] = False
    columns: tuple[str, ...] = ()

    def build(self) -> ReadOptions:
        """Return the options of a reader."""
        from sciprism.papers.input_file import ReadOptions

        return ReadOptions(columns=parse_columns(self.columns))

    def read_files(self, files: Iterable[str], report: ReadReport) -> Iterator[Paper]:
        """Yield the papers of files; report: gets what was read and skipped."""
        from sciprism.papers import read_papers

        return read_papers(files, options=self.build(), skip_bad=self.skip_bad, report=report)


@dataclass(frozen=True, kw_only=True)
class TableReading(Reading):
    """How a command reads files of papers, which may be tables."""

    columns: Annotated[tuple[str, ...], "Columns of a table: title=Titel,abstract=Text,...; repeatable."] = ()


@dataclass(frozen=True, kw_only=True)
class IdentifiedReading(TableReading):
    """How a command reads files of papers, tells their ids apart, and joins abstracts."""

    reader: Annotated[str, "Reader of the input; else detected."] = ""
    encoding: Annotated[str, "Text encoding, such as cp1250; else detected."] = ""
    ids_per_file: Annotated[bool, "Prefix ids with the file's name, for ids such as row numbers."] = False
    abstracts: Annotated[tuple[str, ...], "A file of missing abstracts, joined by DOI, id or title; repeatable."] = ()

    def build(self) -> ReadOptions:
        """Return the options of a reader."""
        more = {"ids_per_file": self.ids_per_file, "encoding": self.encoding}
        return replace(Reading.build(self), **more)  # type: ignore[arg-type]


def parse_columns(pairs: Iterable[str]) -> dict[str, str]:
    """Turn `field=header` texts into a mapping. Raises InputError for a text of another form."""
    columns: dict[str, str] = {}
    for pair in (part for text in pairs for part in _split_pairs(text)):
        field, equals, header = pair.partition("=")
        if not (field and equals and header):
            raise InputError(f"--columns {pair!r} is not of the form field=header, such as title=Name")
        columns[field] = header
    return columns


def _split_pairs(text: str) -> list[str]:
    """Split "title=Titel,year=Jahr" at its commas, but not a header that contains commas."""
    parts = text.split(",")
    return parts if all("=" in part for part in parts) else [text]


def split_names(text: str) -> tuple[str, ...]:
    """Return the names in a text such as "a, b"."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def read_lines(file: str | Path) -> list[str]:
    """Return the lines of a file that are not empty; - is standard input."""
    from sciprism.papers.input_file import InputFile

    return [line.strip() for _, line in InputFile(Path(file)).lines() if line.strip()]


def data_folder() -> Path | None:
    """Return the folder of data sets, of --data or SCIPRISM_DATA; None where neither is stated."""
    text = DATA.get() or os.environ.get("SCIPRISM_DATA", "")
    if text and not Path(text).is_dir():
        raise InputError(f"--data {text}: no such folder; name one with --data or SCIPRISM_DATA")
    return Path(text) if text else None


def check_outputs(outputs: Iterable[Path], inputs: Iterable[str | Path]) -> None:
    """Raise InputError for an output that is a folder, or that the command reads too, itself or its folder."""
    from sciprism.papers.input_paths import find_local_paths

    read = [(str(name), path.resolve()) for name in inputs for path in find_local_paths(name)]
    for output in outputs:
        if output.is_dir():
            raise InputError(f"{output} is a folder; name a file such as {output / 'out.csv'}")
        place = output.resolve()
        for name, path in read:
            if place == path or (path.is_dir() and path in place.parents):
                raise InputError(f"{output} is also read, as {name}; name another file to write")


def check_output_folder(folder: Path, inputs: Iterable[str | Path | None]) -> None:
    """Raise InputError for a folder to write in which a file lies that the command reads: it could be replaced."""
    from sciprism.papers.input_paths import find_local_paths

    for name in inputs:
        for path in find_local_paths(name) if name else ():
            if folder.resolve() in path.resolve().parents:
                raise InputError(f"{path} is read, and lies in {folder}, where files are written; name another folder")


def open_abstracts(files: Sequence[str], missing: str = "title") -> AbstractContextManager[AbstractCompletion]:
    """Read the files of abstracts, print how many of their records cannot be used, and give what joins them."""
    from sciprism.papers import read

    return read.open_abstracts(files, missing, partial(print_skip_counts, error=True))
