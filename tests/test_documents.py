"""Documents: README blocks run, the reference page is the help of the commands, links exist."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs"))

from make_reference import list_commands  # noqa: E402

COMMANDS = list_commands()


def read_code_blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", path.read_text(encoding="utf-8"), re.M | re.S)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example_that_names_it(name):
    example = COMMANDS[name].help.split("Example:")[1]
    assert f"sciprism {name} " in example
    assert all(p.help for p in COMMANDS[name].params if hasattr(p, "help")), "an option without help"


def test_the_reference_page_is_the_help_of_the_commands():
    from make_reference import PAGE, build_page

    assert PAGE.read_text(encoding="utf-8") == build_page(), "run make reference"


@pytest.mark.slow
def test_the_figures_of_the_architecture_are_those_of_traced_runs():
    script = "from make_flows import PAGE, build_page; assert PAGE.read_text('utf-8') == build_page()"
    subprocess.run([sys.executable, "-c", script], cwd=ROOT / "docs", check=True)


def test_the_training_page_has_the_keys_of_recipes():
    from make_reference import BENCHMARKS_PAGE, TRAINING_PAGE, build_benchmarks_page, build_training_page

    assert TRAINING_PAGE.read_text(encoding="utf-8") == build_training_page(), "run make reference"
    assert BENCHMARKS_PAGE.read_text(encoding="utf-8") == build_benchmarks_page(), "run make reference"


@pytest.fixture
def work_folder(tmp_path, monkeypatch):
    """A working folder in which the relative paths of the README exist."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_readme_blocks_run(work_folder):
    shell, code = read_code_blocks(ROOT / "README.md", "bash"), read_code_blocks(ROOT / "README.md", "python")
    lines = [line for block in shell for line in block.splitlines() if line.startswith("sciprism ")]
    assert lines and code
    for line in lines:
        done = subprocess.run(
            [sys.executable, "-m", "sciprism", *shlex.split(line, comments=True)[1:]],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        assert done.stdout.strip() or done.stderr.strip()
    names: dict = {}
    for block in code:
        exec(compile(block, "README.md", "exec"), names)


def test_readme_and_makefile_show_every_command_and_no_other():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    code = "\n".join([*read_code_blocks(ROOT / "README.md", "bash"), *re.findall(r"`([^`\n]+)`", text)])
    shown = re.findall(r"^(?:\S*bin/)?sciprism ([a-z]+)", code, re.M)
    made = re.findall(r"^\t.*/sciprism ([a-z]+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    assert set(shown) == {name.split()[0] for name in COMMANDS} >= set(made)
    assert made


def test_links_between_documents_exist():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for link in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert "://" in link or (page.parent / link).exists(), f"{page.name}: {link}"
