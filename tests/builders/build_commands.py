"""Two ways to run a command in a test, in this process and in one of its own; the commands that write."""

import subprocess
import sys

import typer

from sciprism.cli.main import app, main


def run(monkeypatch, capsys, *words):
    """Return status, standard output and standard error of a command."""
    monkeypatch.setattr("sys.argv", ["sciprism", *map(str, words)])
    status = 0
    try:
        main()
    except SystemExit as stop:
        status = stop.code or 0
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def sciprism(*words, **options):
    """Return what became of a command in a separate process."""
    command = [sys.executable, "-m", "sciprism", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, **options)


def list_writing_commands(group=None, name=""):
    """Yield the names of commands with an option for what they write."""
    for word, command in (group or typer.main.get_command(app)).commands.items():
        full = f"{name} {word}".strip()
        if hasattr(command, "commands"):
            yield from list_writing_commands(command, full)
        elif any("-o" in parameter.opts for parameter in command.params):
            yield full
