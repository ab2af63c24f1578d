"""Documents: blocks of README and guides run, examples of docstrings too; the reference is the help; links exist."""

import json
import os
import re
import subprocess
import sys
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, DocTestFinder, DocTestRunner
from importlib.metadata import version
from pathlib import Path

import pytest
import torch
from sybil import Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser

import sciprism
import speed_table

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs"))

import numbers_in_pages  # noqa: E402
from make_reference import list_commands  # noqa: E402

COMMANDS = list_commands()
OFFLINE = {key: value for key, value in os.environ.items() if key != "SCIPRISM_DATA"}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example_that_names_it(name):
    example = COMMANDS[name].help.split("Example:")[1]
    assert f"sciprism {name} " in example
    assert all(p.help for p in COMMANDS[name].params if hasattr(p, "help")), "an option without help"


@pytest.mark.skipif(
    tuple(map(int, version("typer").split(".")[:2])) < (0, 20), reason="earlier versions of typer word help otherwise"
)
def test_the_reference_page_is_the_help_of_the_commands():
    from make_reference import PAGE, build_page

    assert PAGE.read_text(encoding="utf-8") == build_page(), "run make reference"


def test_the_api_page_has_all_public_names():
    names = re.findall(r"^::: sciprism\.(\w+)$", (ROOT / "docs" / "api.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(names) == sorted(set(sciprism.__all__) - {"__version__"})
    assert all(getattr(sciprism, name).__doc__ for name in names)


@pytest.mark.slow
def test_the_figures_of_the_architecture_are_those_of_traced_runs():
    script = "from make_flows import *; assert all(p.read_text('utf-8') == t for p, t in build_flows().items())"
    subprocess.run([sys.executable, "-c", script], cwd=ROOT / "docs", check=True)


def test_the_figures_of_methods_are_those_that_are_drawn():
    from make_methods import build_figures

    for path, text in build_figures().items():
        assert path.read_text(encoding="utf-8") == text, "run make reference"


def test_the_training_page_has_the_keys_of_recipes():
    from make_reference import BENCHMARKS_PAGE, TRAINING_PAGE, build_benchmarks_page, build_training_page

    assert TRAINING_PAGE.read_text(encoding="utf-8") == build_training_page(), "run make reference"
    assert BENCHMARKS_PAGE.read_text(encoding="utf-8") == build_benchmarks_page(), "run make reference"


@pytest.fixture
def work_folder(tmp_path, monkeypatch):
    """A working folder in which the relative paths of README and guides exist."""
    for name in ("examples", "recipes"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_shell(example):
    """Run a block of commands as bash does; each must print something and succeed."""
    words = f'sciprism() {{ "{sys.executable}" -m sciprism "$@"; }}\nset -e\n{example.parsed}'
    done = subprocess.run(["bash", "-c", words], capture_output=True, text=True, env=OFFLINE)
    assert done.returncode == 0, f"{example.parsed}\n{done.stdout}\n{done.stderr}"
    assert done.stdout.strip()


PYTHON = PythonCodeBlockParser(doctest_optionflags=ELLIPSIS | NORMALIZE_WHITESPACE)
BLOCKS = Sybil(parsers=[CodeBlockParser(language="bash", evaluator=run_shell), PYTHON])
README = ROOT / "README.md"
GUIDES = [
    ROOT / "docs" / "index.md",
    *sorted((ROOT / "docs" / "guides").glob("*.md")),
    *(ROOT / "docs" / "concepts" / f"{name}.md" for name in ("task-types", "prism")),
]


@pytest.mark.parametrize(
    "page",
    [README, *(pytest.param(page, marks=pytest.mark.slow) for page in GUIDES)],
    ids=lambda page: page.stem,
)
def test_the_blocks_of_readme_and_guides_run_one_after_the_other(page, work_folder):
    if page.stem == "encoder-for-my-field" and not hasattr(torch.optim, "Muon"):
        pytest.skip("its recipe has the optimizer muon, which needs torch 2.9")
    examples = list(BLOCKS.parse(page))
    assert examples
    for example in examples:
        example.evaluate()


RUN_ELSEWHERE = {
    "custom-tasks.md": "evaluation/test_custom_tasks_page.py",
    "databases.md": "databases/test_page.py",
    "other-tools.md": "test_other_tools.py",
    "run-it-for-your-group.md": "service/test_clients.py",
}
"""Page -> the test that runs its blocks, of the last its blocks of `py`."""
BLOCK = re.compile(r"(?:<!-- not run: ([^>]+) -->\n\n)?^ *```(\w+)\n(.*?)^ *```", re.M | re.S)
CODE = {"bash", "sh", "shell", "console", "python", "py", "pycon"}


def list_unrun_blocks(page):
    """Return the blocks of code that no test runs and no comment `<!-- not run: REASON -->` explains."""
    ran = {"bash", "python"} if page in (README, *GUIDES) else set()
    if test := RUN_ELSEWHERE.get(page.name):
        assert page.name in (ROOT / "tests" / test).read_text(encoding="utf-8")
        ran |= {"py"} if ran else {"bash", "python"}
    found = BLOCK.findall(page.read_text(encoding="utf-8"))
    assert not [code for why, kind, code in found if why and kind in ran], f"{page.name}: a marked block runs"
    return [code for why, kind, code in found if kind in CODE - ran and not why]


def test_no_block_of_code_is_silently_unrun(tmp_path):
    """The reference is left out: its blocks are the examples of the commands' help."""
    pages = [README, ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    unrun = {page.name: blocks for page in pages if page.name != "reference.md" and (blocks := list_unrun_blocks(page))}
    assert not unrun
    page = tmp_path / "page.md"
    page.write_text("<!-- not run: why -->\n\n```sh\na\n```\n\n```sh\nb\n```\n\n```text\nc\n```\n")
    assert list_unrun_blocks(page) == ["b\n"]


@pytest.mark.slow
def test_the_examples_of_docstrings_run(work_folder):
    runner = DocTestRunner(optionflags=ELLIPSIS | NORMALIZE_WHITESPACE)
    for name in sciprism.__all__:
        value, names = getattr(sciprism, name), {}
        for owner in value.__mro__ if isinstance(value, type) else [value]:
            if getattr(owner, "__module__", "").startswith("sciprism."):
                for test in sorted(DocTestFinder().find(owner, name, module=False), key=lambda test: test.lineno or 0):
                    test.globs = names  # those of a class follow each other
                    runner.run(test, clear_globs=False)
    assert runner.failures == 0 and runner.tries > 50


def test_the_readme_is_short():
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    first = lines.index("## I want to ...")
    cells = [
        line.strip("| ").split(" | ") for line in lines[first : lines.index("## Results")] if line.startswith("| ")
    ]
    rows = cells[2:]  # after the head and its rule
    assert len(lines) <= 130 and 0 < len(rows) <= 14
    assert all(len(cell.split()) <= 12 for row in rows for cell in row)


def test_readme_guides_and_makefile_name_commands_that_exist():
    pages = [ROOT / "Makefile", ROOT / "CONTRIBUTING.md", README, *GUIDES, *(ROOT / "docs").glob("*.md")]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        if page.suffix == ".md":
            code = re.findall(r"^```\w*\n(.*?)^```|`(sciprism [^`\n]+)`", text, re.M | re.S)
            text = "\n".join(block or inline for block, inline in code)
        for name in re.findall(r"(?:^|/)sciprism ([a-z]+)", text, re.M):
            assert name in {each.split()[0] for each in COMMANDS}, f"{page.name}: sciprism {name}"


def list_anchors(page):
    """Return the anchors of a page's headings, as GitHub names them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def test_links_between_documents_exist():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]:
        for link in re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
            name, _, anchor = link.partition("#")
            target = page.parent / name if name else page
            assert "://" in link or target.exists(), f"{page.name}: {link}"
            if anchor and "://" not in link and target.suffix == ".md":
                assert anchor in list_anchors(target), f"{page.name}: {link}"


def test_numbers_in_documents_are_those_of_their_result_files():
    pages, changes = numbers_in_pages.fill_pages()
    assert not changes, "run make numbers"
    assert ROOT / "README.md" in pages


@pytest.mark.parametrize(
    ("shown", "value", "written"),
    [
        ("1.40", 1.395, "1.40"),  # halves go up, whatever their binary form
        ("+0.6", -0.04, "-0.0"),
        ("0.0", -0.04, "0.0"),
        (".927", 0.9265, ".927"),
        ("-.1", -0.26, "-.3"),
        ("985", 10_040.2, "10,040"),
    ],
)
def test_a_new_number_is_written_as_the_former_one(shown, value, written):
    assert numbers_in_pages.write_like(shown, value) == written


def test_a_number_is_looked_up_in_records_and_tables(tmp_path, monkeypatch):
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "a.json").write_text(
        '{"runs": [{"n": 1, "s": [3, 1, 2]}, {"n": 2, "s/t": {"low": 1, "up": 4}}]}'
    )
    (tmp_path / "results" / "b.md").write_text("|  | x |\n| --- | --: |\n| all | 51.47 \\[50.9, 52.2\\] |\n")
    monkeypatch.setattr(numbers_in_pages, "ROOT", tmp_path)
    numbers_in_pages.read_results.cache_clear()
    values = ["n=1/s", "n=1/s/0", *numbers_in_pages.expand("n=2/s~1t/{low,up} * 100"), "n=1/n / n=2/n", "b.md#all/x/1"]
    text = "{} {} of {} to {}: {},\n{}"
    place = numbers_in_pages.Place("page.md", text, values, "a.json#/runs")
    page, changes = numbers_in_pages.fill_page("Of 1 to 2: 9 9\nof 1 to 1: 0.1, 0.1", [place])
    assert page == "Of 1 to 2: 2 3\nof 100 to 400: 0.5, 50.9" and len(changes) == 6
    with pytest.raises(SystemExit, match="2 times, not once, the text"):
        numbers_in_pages.fill_page(f"{page} {page}", [place])
    with pytest.raises(SystemExit, match="has no 'n=3'"):
        place._replace(values=["n=3/n"] * 6).compute("n=3/n")
    numbers_in_pages.read_results.cache_clear()


def test_the_table_of_speeds_is_what_the_result_files_say():
    table = speed_table.collect()
    assert json.loads(speed_table.TABLE.read_text(encoding="utf-8")) == table, "run benchmarks/speed_table.py"
    for page, text in speed_table.build_pages(table).items():
        assert page.read_text(encoding="utf-8") == text, page.name
