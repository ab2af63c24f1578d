"""Write docs/reference.md from the commands' own help: `make reference`."""

from pathlib import Path

import typer

from sciprism.cli.main import app

PAGE = Path(__file__).parent / "reference.md"


def reference() -> str:
    """Return the page as Markdown."""
    parts = ["# Commands\n", "Made by `make reference` from the commands' own help; do not edit.\n"]
    for name, command in commands().items():
        context = typer.Context(command, info_name=f"sciprism {name}")
        usage = command.get_usage(context).removeprefix("Usage: ")
        parts.append(f"## {name}\n\n```text\n{usage}\n```\n\n{paragraphs(command.help)}\n")
        parts += rows(command, context)
    return "\n".join(parts)


def commands() -> dict[str, typer.core.TyperCommand]:
    """Return every command under its name; one of a group has two words."""
    found = {}
    for name, command in typer.main.get_command(app).commands.items():
        members = getattr(command, "commands", None)
        found |= (
            {f"{name} {word}": member for word, member in members.items()} if members else {name: command}
        )
    return found


def paragraphs(text: str) -> str:
    """Put each example on a line of code."""
    return "\n\n".join(
        f"```bash\n{block.removeprefix('Example:').strip()}\n```" if block.startswith("Example:") else block
        for block in text.strip().split("\n\n")
    )


def rows(command: typer.core.TyperCommand, context: typer.Context) -> list[str]:
    """Return a table of the command's arguments and options."""
    found = []
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if record and parameter.name != "help":
            names, text = record
            found.append(f"| `{names}` | {text} |".replace("\n", " "))
    return ["| option | meaning |\n| --- | --- |\n" + "\n".join(found) + "\n"] if found else []


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
