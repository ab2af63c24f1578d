"""Options that several commands share: one name and one meaning everywhere."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields
from functools import cache, wraps
from importlib import import_module
from pathlib import Path
from types import GenericAlias
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer

from sciprism.cli.output import print_skip_counts
from sciprism.errors import InputError

if TYPE_CHECKING:
    from sciprism.papers.abstracts import AbstractCompletion
    from sciprism.papers.input_file import ReadOptions

PaperFiles = Annotated[list[str], typer.Argument(help="Files or folders of papers; - is standard input.")]
OutputFolder = Annotated[Path, typer.Option("--output", "-o", help="The folder to write.")]
Reader = Annotated[str, typer.Option(help="Reader of the input; else found by suffix and content.")]
Columns = Annotated[
    list[str] | None, typer.Option(help="Columns of a table: title=Titel,abstract=Text,...; repeatable.")
]
Encoding = Annotated[str, typer.Option(help="Encoding of the text files, such as cp1250; else detected.")]
IdPrefix = Annotated[str, typer.Option(help="A text before the ids of all files.")]
IdsPerFile = Annotated[
    bool, typer.Option("--ids-per-file", help="Put the file's name before its ids: they may be row numbers.")
]
AbstractFiles = Annotated[
    list[str] | None,
    typer.Option("--abstracts", help="A file with abstracts of papers that lack one, by DOI, id or title; repeatable."),
]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Skip and count records that cannot be used.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]

ModelName = Annotated[str, typer.Argument(help="A model: folder, packaged name or hub id.")]
Pooling = Annotated[str, typer.Option(help="cls or mean, where the model's folder does not state it.")]
Precision = Annotated[
    str,
    typer.Option(help="Compute in float32, bfloat16 or float16; auto: bfloat16 where the machine has instructions."),
]
ScorePrecision = Annotated[
    str, typer.Option(help="Compute in float32, bfloat16 or float16; auto: float32, the same numbers everywhere.")
]

CollectionFolder = Annotated[Path, typer.Argument(help="A folder made by `sciprism embed`.")]
Model = Annotated[str, typer.Option(help="The folder of the collection's model, if it was moved.")]

DataFolder = Annotated[
    str, typer.Option(envvar="SCIPRISM_DATA", help="The folder of data sets; else the hub's cache, the hub.")
]
OpenData = Annotated[
    str,
    typer.Option(envvar="SCIPRISM_DATA", help="The open data sets; papers of their dev and test are dropped."),
]
Edges = Annotated[Path | None, typer.Option(help="A table of citing, cited; else the papers' references.")]
Exclude = Annotated[
    list[Path] | None,
    typer.Option(help="Papers of tests, or a .txt with one id a line: they are dropped; repeatable."),
]
Seed = Annotated[int, typer.Option(help="Seed of all random choices.")]
Workers = Annotated[int, typer.Option(help="Processes; the output is the same for any number.")]


def with_settings(**places: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator for commands with parameters that are settings: an option for each field with a text.

    places: parameter -> `module:class` of its dataclass, whose fields with a text are
    `name: Annotated[type, text, *flags] = default`. The module is imported when the command is called or its help is
    printed. `main.Command` adds the options.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        command.__annotations__ = {name: kind for name, kind in command.__annotations__.items() if name not in places}
        signature = inspect.signature(command, eval_str=True)

        @wraps(command)
        def run(**options: Any) -> None:
            command(**options, **_built.get())

        own = [parameter for name, parameter in signature.parameters.items() if name not in places]
        vars(run).update(__signature__=signature.replace(parameters=own), settings=places)
        return run

    return decorate


_built: ContextVar[dict[str, Any]] = ContextVar("built")
"""The settings of the command that is called; typer passes on only what is in a command's own signature."""


def build_settings(places: Mapping[str, str], options: dict[str, Any]) -> None:
    """Build the settings of a command that is called next, from their options, which are taken out of `options`."""
    built = {}
    for name, place in places.items():
        builder = build_settings_command(place)
        built[name] = builder.callback(**{option.name: options.pop(option.name) for option in builder.params})
    _built.set(built)


@cache
def build_settings_command(place: str) -> Any:
    """Return a command of typer whose options are the fields of a settings class, and whose callback builds it."""
    module, _, name = place.partition(":")
    settings = getattr(import_module(module), name)
    hints = get_type_hints(settings, include_extras=True)
    parameters, convert = [], {}
    for field in fields(settings):
        if get_origin(hints[field.name]) is Annotated:
            kind, text, *flags = get_args(hints[field.name])
            kind, default, convert[field.name] = _choose_option_type(kind, field.default)
            option = Annotated[kind, typer.Option(*flags, help=text)]  # type: ignore[valid-type]
            keyword = inspect.Parameter.KEYWORD_ONLY
            parameters.append(inspect.Parameter(field.name, keyword, default=default, annotation=option))

    def build(**values: Any) -> Any:
        return settings(**{name: convert[name](value) for name, value in values.items()})

    build.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    vars(build)["__signature__"] = inspect.Signature(parameters)
    group = typer.Typer(add_completion=False)
    group.command()(build)
    return typer.main.get_command(group)


def _choose_option_type(kind: Any, default: Any) -> tuple[Any, Any, Callable[[Any], Any]]:
    """Return type and default of an option for a field, and what converts its value: 0 is None, a list a tuple."""
    if get_origin(kind) is tuple:
        return GenericAlias(list, get_args(kind)[:1]) | None, None, lambda values: tuple(values or ())
    if default is None and (number := next((item for item in get_args(kind) if item in (int, float)), None)):
        return number, number(0), lambda value: value or None
    return str if get_origin(kind) is Literal else kind, default, lambda value: value


def parse_columns(pairs: Iterable[str] | None) -> dict[str, str]:
    """Turn `field=header` texts into a mapping. Raises InputError for a text of another form."""
    columns: dict[str, str] = {}
    for pair in (part for text in pairs or () for part in _split_pairs(text)):
        field, equals, header = pair.partition("=")
        if not (field and equals and header):
            raise InputError(f"--columns {pair!r} is not of the form field=header, such as title=Name")
        columns[field] = header
    return columns


def _split_pairs(text: str) -> list[str]:
    """Split "title=Titel,year=Jahr" at its commas, but not a header that contains commas."""
    parts = text.split(",")
    return parts if all("=" in part for part in parts) else [text]


def build_read_options(
    columns: Iterable[str] | None, encoding: str = "", id_prefix: str = "", ids_per_file: bool = False
) -> ReadOptions:
    """Return how files are read, from the options of a command."""
    from sciprism.papers.input_file import ReadOptions

    named = parse_columns(columns)
    return ReadOptions(columns=named, id_prefix=id_prefix, ids_per_file=ids_per_file, encoding=encoding)


def split_names(text: str) -> tuple[str, ...]:
    """Return the names in a text such as "a, b"."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def exact_precision(precision: str) -> str:
    """Return the precision of a command whose numbers others repeat: auto is float32."""
    return "float32" if precision == "auto" else precision


def folder_or_none(text: str) -> Path | None:
    """Return the path of the folder of data, None where the option is empty. InputError where it is none."""
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


@contextmanager
def open_abstracts(files: Sequence[str] | None, missing: str = "title") -> Iterator[AbstractCompletion]:
    """Read the files of abstracts, and yield what joins them to papers."""
    from sciprism.papers.abstracts import AbstractCompletion, AbstractIndex

    completion = AbstractCompletion(missing=missing)  # refuses an unknown choice before files are read
    if not files:
        yield completion
        return
    with AbstractIndex(list(files)) as index:
        print_skip_counts(index.files, error=True)
        yield AbstractCompletion(index, missing=missing)
