"""Two ways to run a command in a test, in this process and in one of its own."""

import subprocess
import sys

from sciprism.cli.main import main


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
