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

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs"))

import make_results  # noqa: E402
from make_reference import list_commands  # noqa: E402

COMMANDS = list_commands()
OFFLINE = {key: value for key, value in os.environ.items() if key != "SCIPRISM_DATA"}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example_that_names_it(name):
    _, example, *_ = others = COMMANDS[name].help.split("Example:")
    assert all(text.endswith("\n\n") for text in others[:-1]), "an example is not a paragraph"
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


SHOWN = re.compile(r"\s*```text\n(.*?)```", re.DOTALL)  # right after a block, what it prints


def list_words(text):
    """Return the words and numbers of an output; these to one decimal, as last digits differ between processors."""
    return re.findall(r"\d+(?:\.\d)?|[^\W\d_]{2,}", re.sub(r"(?<=\d\.\d)\d+", "", text))


def run_shell(example):
    """Run a block of commands as bash does; each must succeed, and print what the page shows of it."""
    words = f'sciprism() {{ "{sys.executable}" -m sciprism "$@"; }}\nset -e\n{example.parsed}'
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "env": OFFLINE}
    done = subprocess.run(["bash", "-c", words], **options)
    assert done.returncode == 0, f"{example.parsed}\n{done.stdout}"
    assert done.stdout.strip()
    shown = SHOWN.match(example.document.text, example.region.end)
    printed = iter(list_words(done.stdout))
    missing = [word for word in list_words(shown[1]) if word not in printed][:1] if shown else []
    assert not missing, f"{missing[0]} is not in the output of\n{example.parsed}\n{done.stdout}"


PYTHON = PythonCodeBlockParser(doctest_optionflags=ELLIPSIS | NORMALIZE_WHITESPACE)
BLOCKS = Sybil(parsers=[CodeBlockParser(language="bash", evaluator=run_shell), PYTHON])
README = ROOT / "README.md"
GUIDES = [
    *(ROOT / "docs" / f"{name}.md" for name in ("index", "extending")),
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


UNPLAIN = re.compile(
    r"in the place of|does not suffice|cannot be had|see to that|\bby hand\b|state --|\b(is|are) none of|"
    r"(?<!there )\b(is|are) no (?!more|longer|better|different|other|less|fewer|faster|slower)\w",
    re.IGNORECASE,
)
"""What documents and messages say in plainer words: in place of, not enough, unavailable, must be one of, is not a."""


def test_documents_and_messages_are_in_plain_words():
    kinds = {".py", ".html", ".toml", ".js"}
    pages = [ROOT / "README.md", ROOT / "SECURITY.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    pages += [path for path in (ROOT / "src").rglob("*") if path.suffix in kinds]
    found = [
        f"{page.relative_to(ROOT)}, line {number}: {match[0]}"
        for page in pages
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1)
        for match in UNPLAIN.finditer(line)
    ]
    assert not found, found


def test_the_tables_of_results_are_what_the_result_files_say():
    pages = make_results.build_pages()
    assert {path.name for path in pages} == {"README.md", "results.md"}
    for path, text in pages.items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run make results"


# ---- The notebooks run as they are, and print what is stored in them ----

sys.path.insert(0, str(ROOT / "docs"))

from run_notebooks import FOLDER, run_notebook  # noqa: E402

NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def words(text):
    """The words of an output; numbers, which differ in their last digits between machines, are left out."""
    return re.findall(r"[A-Za-z][\w-]*", text)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_it_stores(path, tmp_path, monkeypatch):
    if path.stem == "map-a-library":
        pytest.importorskip("umap")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SCIPRISM_DATA", raising=False)
    notebook = json.loads(path.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    stored = ["".join(output["text"]) for cell in cells for output in cell["outputs"]]
    printed = [text for text in run_notebook(notebook, path.name) if text]
    assert printed and [words(text) for text in printed] == [words(text) for text in stored]
