"""What every command prints in one form: JSON documents, tables of 80 columns, lists, progress, exit statuses."""

import ast
import json
import re
import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
import typer
from rich.text import Text

import sciprism.cli.output
from build_commands import run
from sciprism.cli.main import app, stop
from sciprism.cli.output import (
    SCHEMAS,
    ProgressDisplay,
    echo,
    plain_console,
    print_entries,
    print_facts,
    print_skipped,
    print_table,
)

Command = Callable[..., tuple[int, str, str]]
PAPERS = [
    {"id": f"p{n}", "title": f"{word} in spiral galaxies", "abstract": f"We measure {word} of {n} nearby galaxies."}
    for n, word in enumerate(("dark matter", "cold gas", "star formation", "magnetic fields", "dust"))
]


def commands_with_json():
    found = {}
    for name, command in typer.main.get_command(app).commands.items():
        members = getattr(command, "commands", None) or {"": command}
        found |= {f"{name} {word}".strip(): member for word, member in members.items() if name != "serve"}  # it answers
    return list(found)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("papers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in PAPERS))
    return tmp_path


@pytest.fixture
def command(folder, monkeypatch, capsys):
    return lambda *words: run(monkeypatch, capsys, *words)


def count_options(command):
    own = sum(option.param_type_name == "option" and option.name != "help" for option in command.params)
    return own + sum(map(count_options, getattr(command, "commands", {}).values()))


def test_the_options_of_all_commands_become_no_more():
    assert count_options(typer.main.get_command(app)) <= 265, "a new one takes the place of one that no guide uses"


def test_every_command_has_json_of_a_declared_schema():
    printed_by = {command for command, _ in SCHEMAS.values()}
    for name in commands_with_json():
        assert {name, name.partition(" ")[0]} & printed_by, f"{name} has --json, and no schema"
    assert all(schema.startswith("sciprism.") and re.search(r"/\d$", schema) for schema in SCHEMAS)


def test_after_two_hyphens_the_option_of_json_is_a_word(command):
    assert command("search", "nowhere", "--", "--json")[2].startswith("sciprism: ")


@pytest.mark.parametrize("words", [["models"], ["describe"], ["evaluate", "--list"], ["evaluate", "--help"]])
def test_pages_fit_80_columns(command, words):
    status, out, _ = command(*words)
    assert status == 0 and max(map(len, out.splitlines())) <= 80


def test_progress_is_a_line_with_rate_and_time_left(command, monkeypatch):
    monkeypatch.setattr("sciprism.cli.output.PLAIN_INTERVAL", 0.0)
    err = command("embed", "papers.jsonl", "-o", "vecs")[2]
    assert "reading: 5 papers, " in err and "embedding: 5 of 5 papers, " in err and " papers/s, 0 s left" in err
    assert "lexical index: 5 of 5 papers, " in command("index", "vecs", "--lexical")[2]


def test_work_that_continues_has_no_rate_until_more_is_done():
    display = ProgressDisplay("preparing")
    display("near", "steps", 500, 1000)
    assert display.describe().startswith("near: 500 of 1,000 steps, 0 s so far")


@pytest.mark.parametrize(
    "line",
    [
        "dedupe one.jsonl -o merged.csv",
        "embed one.jsonl -o vecs",
        "tag one.jsonl --vocabulary one.csv --one -o tags.csv",
        "recommend --library one.jsonl --new other.jsonl -o list.csv",
        "screen one.jsonl --decisions decisions.csv --next 1 -o batch.csv",
        "overlap one.jsonl one.jsonl",
    ],
)
def test_one_is_counted_in_the_singular(command, line):
    first, second, *_ = Path("papers.jsonl").read_text().splitlines()
    Path("one.jsonl").write_text(first)
    Path("other.jsonl").write_text(second)
    Path("one.csv").write_text("id,name\nsky,astronomy\n")
    status, out, err = command(*line.split())
    assert status == 0 and not re.search(r"(?<![\d.,])1 (new |training )?(paper|tag|record)s\b", out + err), out + err


def test_progress_on_a_terminal_is_a_bar(command, monkeypatch):
    monkeypatch.setattr(type(sys.stderr), "isatty", lambda _: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    err = command("embed", "papers.jsonl", "-o", "vecs")[2]
    assert "embedding" in err and "papers/s" in err


STEERING = set(map(chr, (*range(32), *range(127, 160), *range(0x202A, 0x202F)))) - {"\n", "\t"}


def test_commands_print_through_one_function_and_one_console() -> None:
    """Both escape what would steer the terminal; a title, an id, a path is what others wrote."""
    found = []
    for path in sorted(Path(sciprism.cli.output.__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if name in ("print", "Console", "typer.echo", "typer.secho") or name.endswith(
                (".stdout.write", ".stderr.write")
            ):
                found.append(f"{path.name}: {name}")
    assert found == ["output.py: print"]


def test_no_command_prints_what_steers_the_terminal(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids, titles, names, labels, file names and keys of tables are hostile; each is shown, as an escape."""
    evil = "\x1b]0;b\x07\x9b2J\x85\u202e\x08"
    name = "papers\x1b[2J.jsonl"
    rows = [{**row, "id": f"{row['id']}{evil}", "title": f"{row['title']} {evil}", "venue": evil} for row in PAPERS]
    rows = [{**row, "authors": [f"Ada {evil}"], "keywords": [f"dust{evil}"], "fields": [evil]} for row in rows]
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in [*rows, {"id": "", "title": evil}, [evil]]))
    Path("labels.csv").write_text(f"id,name\na{evil},dust{evil}\nb,gas\nc,\n", encoding="utf-8")
    Path("decisions.csv").write_text(f"id,decision,reason\np0{evil},exclude,{evil}\nother{evil},include,\n")
    monkeypatch.setattr("sys.stdin", StringIO(f"i\nr {evil}\n{evil}\nq\n"))
    for words, status in {
        ("inspect", name): 1,
        ("dedupe", name, name, "-o", "merged.jsonl", "--skip-bad"): 0,
        ("embed", name, "-o", "vecs", "--skip-bad"): 0,
        ("search", "vecs", f"dust {evil}"): 0,
        ("similar", "vecs", "--to", "p1]0;b2J \u202e"): 0,
        ("similar", "vecs", "--to", evil): 2,
        ("recommend", "--library", name, "--new", name, "--skip-bad"): 0,
        ("tag", name, "--vocabulary", "labels.csv", "--skip-bad"): 0,
        ("screen", name, "--decisions", "decisions.csv", "--model", "words", "--skip-bad"): 0,
        ("search", "--no-such-option", evil): 2,
    }.items():
        done, out, err = command(*words)
        printed = out + err
        assert done == status, (words, printed)
        assert not STEERING & set(printed), (words, sorted(STEERING & set(printed)))
    document = command("search", "vecs", f"dust{evil}", "--json")[1]
    assert "\\u009b2J" in document and json.loads(document)["rankings"][0]["query"] == f"dust{evil}"


def test_no_text_steers_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Names of weights, provenance and groups are written by others, and may hold escape sequences."""
    text = "a\x1b]0;b\x07\x9b2J\r\u202ec"
    echo(text, Path(text), error=True)
    plain_console().print(Text(text, "bold"), text)
    print_table(["name"], [], [[text]])
    print_facts({"name": text})
    print_entries({text: [text]})
    print_skipped([text], 1)
    with pytest.raises(SystemExit):
        stop(text, 2)
    printed = "".join(capsys.readouterr())
    assert "\\x1b]0;b\\x07\\x9b2J\\r\\u202ec" in printed and not set("\x1b\x07\x9b\r\u202e") & set(printed)
