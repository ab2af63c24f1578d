"""Write reference.md, the keys in training.md and the data in benchmarks.md: `make reference`."""

import json
import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer
from marked_pages import fill_marks
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from sciprism.cli.main import EXIT_STATUSES, app
from sciprism.cli.options import USED_BY
from sciprism.cli.output import SCHEMAS
from sciprism.encoders.methods.registry import NamedTable
from sciprism.evaluation.suites import suites
from sciprism.papers.readers.registry import paper_readers
from sciprism.training.learners import learners
from sciprism.training.recipe_file import TABLES

PAGE = Path(__file__).parent / "reference.md"
TRAINING_PAGE = Path(__file__).parent / "training.md"
BENCHMARKS_PAGE = Path(__file__).parent / "benchmarks.md"
DEFAULTS = {"match": ["match assign"], "tag": ["tag suggest"], "screen": ["screen records"]}
TYPES = {str: "text", Path: "path", bool: "boolean", int: "integer", float: "number"}
BOUNDS = {"ge": "from {:g}", "gt": "above {:g}", "le": "to {:g}", "lt": "below {:g}"}


def build_page() -> str:
    """Return the page of the commands as Markdown."""
    commands = list_commands()
    rows = {name: list_parameters(name, command) for name, command in commands.items()}
    shared = find_shared(rows.values())
    owned, other = group_schemas(commands)
    parts = ["# Commands\n", "Generated from the help of the commands by `make reference`; do not edit.\n"]
    parts += [format_program(), format_statuses(), format_schemas(other), format_shared(shared)]
    for name, command in commands.items():
        parts.append(f"## {name}\n\n{format_help(command.help)}\n")
        parts.append(format_parameters(rows[name], shared) + "".join(owned.get(name, [])))
    parts.append(format_readers())
    return "\n".join(parts)


def format_program() -> str:
    """Return the options that belong to the program."""
    uses = "".join(f"\n`{option}` is for {names}.\n" for option, names in USED_BY.items())
    rows = list_parameters("", typer.main.get_command(app))
    return f"## Options of all commands\n\nThey may stand anywhere after `sciprism`.\n\n{format_parameters(rows)}{uses}"


def format_statuses() -> str:
    """Return the exit statuses."""
    return "## Exit statuses\n\n" + "".join(f"- {status}: {text}.\n" for status, text in EXIT_STATUSES.items())


def format_schemas(schemas: Sequence[str]) -> str:
    """Return what all documents of `--json` share, and those that no single command prints."""
    text = (
        "`--json` prints one object on standard output. Its key `schema` has its name and version: added keys keep the "
        "version, changed or removed ones raise it. Each command below names its schema and keys."
    )
    return f"## JSON documents\n\n{text}\n\n" + "".join(schemas)


def group_schemas(commands: Iterable[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Return a line about each schema, under the command that prints it, and the lines of the others."""
    owned: dict[str, list[str]] = {}
    other = []
    for schema, (printed_by, keys) in SCHEMAS.items():
        name, flag, option = printed_by.partition(" --")
        full = next((each for each in (name, *DEFAULTS.get(name, ())) if each in commands), "")
        after = f" ({flag.strip()}{option})" if flag else "" if full else f", of {printed_by}"
        (owned.setdefault(full, []) if full else other).append(f"- `{schema}`{after}: {keys}.\n")
    return owned, other


def format_readers() -> str:
    """Return the section of the file formats: what each format says that it is."""
    rows = []
    for name, reader in sorted(paper_readers.items()):
        suffixes = " ".join(f"`{suffix}`" for suffix in reader.suffixes)
        rows.append([reader.about, suffixes.replace("`.jsonl` `.json` `.ndjson`", "JSON"), f"`{name}`"])
    return "\n".join(
        [
            "## Formats of papers\n",
            "A file is recognized by its content and its suffix; `--reader NAME` forces a format. All may be gzipped.",
            "Text is UTF-8, or has a byte order mark, or is guessed, with a warning; `--encoding` sets its encoding.",
            "JSON is `.json`, `.jsonl` or `.ndjson`.\n",
            format_table(["format", "suffixes", "reader"], rows),
        ]
    )


def list_commands() -> dict[str, typer.core.TyperCommand]:
    """Return every command under its name; one of a group has two words."""
    found = {}
    for name, command in typer.main.get_command(app).commands.items():
        members = getattr(command, "commands", None)
        found |= {f"{name} {word}": member for word, member in members.items()} if members else {name: command}
    return found


def format_help(text: str) -> str:
    """Return a help text as Markdown, its example as code."""
    return "\n\n".join(
        f"```bash\n{re.sub('^ *Example: *', '', block, flags=re.M).strip()}\n```"
        if block.startswith("Example:")
        else block
        for block in text.strip().split("\n\n")
    )


def list_parameters(name: str, command: typer.core.TyperCommand) -> list[tuple[str, str]]:
    """Return the names and the meaning of each argument and option of a command."""
    context = typer.Context(command, info_name=f"sciprism {name}")
    found = []
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record and parameter.name != "help":
            names, text = record
            names = re.sub(r"<list\[(\w+)\]>", r"<\1>", names).replace("<Path>", "<path>")
            names = names if names.startswith("-") else names.partition(" ")[0]
            found.append((names, text.replace("\n", " ").replace("  [", " [")))
    return found


def find_shared(commands: Iterable[Sequence[tuple[str, str]]]) -> set[tuple[str, str]]:
    """Return the options that several commands have with one meaning: of each name the most frequent one."""
    counts = Counter(row for rows in commands for row in rows)
    shared: dict[str, tuple[str, str]] = {}
    for row, count in counts.most_common():
        if count > 1:
            shared.setdefault(row[0], row)
    return set(shared.values())


def format_shared(shared: Iterable[tuple[str, str]]) -> str:
    """Return the options that several commands share."""
    return "## Shared options\n\nSeveral commands have these; each names its own.\n\n" + format_parameters(
        sorted(shared)
    )


def format_parameters(rows: Iterable[tuple[str, str]], shared: Container[tuple[str, str]] = ()) -> str:
    """Return a list of arguments and options, of which those that are shared are only named."""
    own = "".join(f"- `{names}`: {text}\n" for names, text in rows if (names, text) not in shared)
    named = [f"`{names.partition(' <')[0].rpartition(' ')[2]}`" for names, text in rows if (names, text) in shared]
    return own + (f"- [Shared](#shared-options): {', '.join(named)}\n" if named else "")


def build_training_page() -> str:
    """Return docs/training.md with its tables of keys as the code has them now."""
    return fill_marks(TRAINING_PAGE, {"keys": format_keys(), "objectives": format_objectives()}, "make reference")


def build_benchmarks_page() -> str:
    """Return docs/benchmarks.md with what the declarations say about the data now."""
    return fill_marks(BENCHMARKS_PAGE, {"data": format_remarks()}, "make reference")


def format_remarks() -> str:
    """Return each suite's remarks: of all of it, then by task, those of equal remarks in one line."""
    parts = []
    for name, suite in suites.items():
        rows: dict[str, list[str]] = {suite.remark: ["all"]} if suite.remark else {}
        for task in suite.tasks:
            if task.remark:
                rows.setdefault(task.remark, []).append(f"`{task.name}`")
        if rows and name != "beir-science":  # whose tasks are those of beir
            lines = "".join(f"- {', '.join(names)}: {mark_replaced(text)}\n" for text, names in rows.items())
            parts.append(f"**`{name}`**\n\n{lines}")
    return "\n".join(parts)


def mark_replaced(remark: str) -> str:
    """Return a remark with an arrow from the data of the papers to those in their place."""
    return re.sub(r"^in place of (.*?): ", r"\1 → ", remark)


def format_keys() -> str:
    """Return the keys of each table of a recipe."""
    parts = []
    for name, table in TABLES.items():
        if name != "defaults":  # as in stages
            rows = [f"- `{key}` {format_field(field)}\n" for key, field in table.model_fields.items()]
            summary = (table.__doc__ or "").partition("\n")[0]
            parts.append(f"**`{name}`** {summary}\n\n" + "".join(rows))
    return "\n".join(parts)


def format_objectives() -> str:
    """Return a table of what the objectives need, and their settings."""
    ordered = dict(sorted(learners.items(), key=lambda pair: (pair[1].reads == "blocks", pair[0])))
    needs: dict[str, list[str]] = {}
    for name, each in ordered.items():
        needs.setdefault("tokens" if each.reads == "blocks" else each.requires, []).append(f"`{name}`")
    objectives = format_table(["an example has", "objectives"], [[need, ", ".join(n)] for need, n in needs.items()])
    settings = format_settings({name: each.settings for name, each in ordered.items()})
    return f"{objectives}\n{settings}"


def format_settings(tables: Mapping[str, type[NamedTable]]) -> str:
    """Return a list of the settings of named tables; those that are the same in several are one line."""
    names: dict[str, list[str]] = {}
    for name, table in tables.items():
        for key, field in table.model_fields.items():
            if key != "name":
                names.setdefault(f"`{key}` {format_field(field)}", []).append(f"`{name}`")
    return "".join(f"- {', '.join(found)}: {text}\n" for text, found in names.items())


def format_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def format_field(field: FieldInfo) -> str:
    """Return the values, the default and the meaning of a key, "(integer from 1, default `4`): ..."."""
    missing = field.default_factory or not (field.default or field.default in (0, False))
    default = "required" if field.is_required() else "" if missing else f"default `{format_value(field.default)}`"
    values = ", ".join(filter(None, [format_type(field.annotation, field.metadata), default]))
    return f"({values}): {field.description or ''}"


def format_type(annotation: Any, limits: Sequence[Any] = ()) -> str:
    """Return what values a type has, in words. limits: its pydantic metadata."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return format_type(inner[0], [each for found in inner[1:] for each in getattr(found, "metadata", [])])
    if origin in (Union, UnionType):
        return " or ".join(format_type(each, limits) for each in inner if each is not type(None))
    if origin is Literal:
        return ", ".join(f"`{each}`" for each in inner)
    if origin is tuple:
        return f"list: {format_type(inner[0])}"
    if origin is Mapping:
        return "table" if inner[1] is Any else f"table: {format_type(inner[1])}"
    if issubclass(annotation, BaseModel):
        return "table"
    bounds = [text.format(getattr(each, key)) for each in limits for key, text in BOUNDS.items() if hasattr(each, key)]
    return " ".join([TYPES[annotation], *bounds])


def format_value(value: Any) -> str:
    """Return a value as TOML."""
    if isinstance(value, Mapping):
        return (
            "{ " + ", ".join(f"{key} = {format_value(each)}" for key, each in value.items()) + " }" if value else "{}"
        )
    if isinstance(value, tuple):
        return f"[{', '.join(map(format_value, value))}]"
    return "{}" if isinstance(value, BaseModel) else json.dumps(value)


if __name__ == "__main__":
    PAGE.write_text(build_page(), encoding="utf-8")
    TRAINING_PAGE.write_text(build_training_page(), encoding="utf-8")
    BENCHMARKS_PAGE.write_text(build_benchmarks_page(), encoding="utf-8")
