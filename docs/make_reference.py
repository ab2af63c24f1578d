"""Write docs/reference.md from the commands' own help: `make reference`."""

from pathlib import Path

import typer

from sciprism.cli.main import app

PAGE = Path(__file__).parent / "reference.md"


def build_page() -> str:
    """Return the page as Markdown."""
    parts = ["# Commands\n", "Generated from the help of the commands by `make reference`; do not edit.\n"]
    for name, command in list_commands().items():
        context = typer.Context(command, info_name=f"sciprism {name}")
        usage = command.get_usage(context).removeprefix("Usage: ")
        parts.append(f"## {name}\n\n```text\n{usage}\n```\n\n{format_help(command.help)}\n")
        parts += format_options(command, context)
    return "\n".join(parts)


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
        f"```bash\n{block.removeprefix('Example:').strip()}\n```" if block.startswith("Example:") else block
        for block in text.strip().split("\n\n")
    )


def format_options(command: typer.core.TyperCommand, context: typer.Context) -> list[str]:
    """Return a table of the command's arguments and options."""
    found = []
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if record and parameter.name != "help":
            names, text = record
            found.append(f"| `{names}` | {text} |".replace("\n", " "))
    return ["| option | meaning |\n| --- | --- |\n" + "\n".join(found) + "\n"] if found else []


if __name__ == "__main__":
    PAGE.write_text(build_page(), encoding="utf-8")
