"""Options of version 0.1: each is read as the current one, with one warning of one line."""

import pytest
import typer

from build_commands import run, sciprism
from sciprism.cli.former_options import FORMER_OPTIONS
from sciprism.cli.main import app

PAIRS = [(command, *pair) for command, renamed in FORMER_OPTIONS.items() for pair in renamed.items()]


def find_command(name):
    found = typer.main.get_command(app)
    for word in name.split():
        found = found.commands[word]
    return found


def find_option(name, option):
    """Return the parameter that an option sets."""
    for parameter in find_command(name).params:
        if option in (*parameter.opts, *parameter.secondary_opts):
            return parameter
    raise AssertionError(f"{name} has no {option}")


def parse(name, *words):
    """Return the values of a command's parameters, its required ones filled in."""
    required = []
    for parameter in find_command(name).params:
        if parameter.required and parameter.param_type_name == "argument":
            required.append("1")
        elif parameter.required and words[0].partition("=")[0] not in parameter.opts:
            required += [parameter.opts[0], "1"]
    root = typer.Context(typer.main.get_command(app), info_name="sciprism")
    return find_command(name).make_context(name, [*required, *words], parent=root).params


@pytest.mark.parametrize(("name", "former", "current"), PAIRS)
def test_each_former_option_is_the_current_one(name, former, current, monkeypatch, capsys):
    parameter = find_option(name, current)
    assert not any(former in (*other.opts, *other.secondary_opts) for other in find_command(name).params)
    forms = [(former,)] if parameter.is_flag else [(former, "1"), (f"{former}=1",)]
    expected = parse(name, *((current,) if parameter.is_flag else (current, "1")))
    for words in forms:
        with pytest.warns(FutureWarning, match=f"'{former}' is now '{current}'"):
            assert parse(name, *words) == expected
        status, out, err = run(monkeypatch, capsys, *name.split(), *words, *words, "--help")
        assert status == 0 and current in out
        assert err == (f"sciprism: the option '{former}' is now '{current}'; version 0.3 reads the new name only\n")


def test_a_command_with_a_former_option_runs(tmp_path):
    (tmp_path / "papers.jsonl").write_text('{"id": "a", "title": "One"}\n')
    done = sciprism("inspect", tmp_path / "papers.jsonl", "--no-near")
    assert done.returncode == 0 and "papers" in done.stdout
    assert done.stderr.startswith("sciprism: the option '--no-near' is now") and done.stderr.count("\n") == 1


def test_values_and_arguments_after_two_dashes_stay(monkeypatch, capsys):
    assert parse("prepare ir", "--split-by=--by=x")["split_by"] == "--by=x"
    status, _, err = run(monkeypatch, capsys, "inspect", "--", "--near")
    assert status == 2 and "is now" not in err and "--near" in err
