"""The tree is the architecture: imports run downwards, files stay short, importing is cheap."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "src" / "sciprism"
SOURCES = sorted(PACKAGE.rglob("*.py"))

# folder -> the folders it may import; the files beside the folders (errors, registry) are open to all
MAY_IMPORT = {
    "papers": set(),
    "text": {"papers"},
    "encoders": {"text", "papers"},
    "store": {"encoders", "text", "papers"},
    "index": {"store", "papers"},
    "uses": {"index", "store", "encoders", "text", "papers"},
    "metrics": set(),
    "objectives": set(),
    "training": {"objectives", "metrics", "encoders", "text", "papers"},
    "tasks": {"training", "metrics", "index", "store", "encoders", "text", "papers"},
    "cli": {"tasks", "training", "uses", "index", "store", "encoders", "text", "papers"},
}
GROUND = {"chance", "cores", "errors", "files", "registry", "tally"}
DOORS = {"__init__.py", "__main__.py"}
FILE = 400
LIMITS = {ast.ClassDef: 200, ast.FunctionDef: 40, ast.AsyncFunctionDef: 40}


def imported(path: Path) -> set[str]:
    """Names of our folders that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            module = node.module or ""
            names = [f"{module}.{alias.name}" if module == "sciprism" else module for alias in node.names]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("sciprism.")}
    return found


def test_every_folder_has_its_place():
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == {*MAY_IMPORT, "models"}, "models holds weights, no code"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_run_downwards(path):
    folder = path.relative_to(PACKAGE).parts[0]
    if folder not in MAY_IMPORT:  # a file of the ground floor, or a door of the package
        assert path.name in DOORS or imported(path) <= GROUND
        return
    assert imported(path) <= MAY_IMPORT[folder] | GROUND | {folder}


def test_the_walk_sees_lazy_imports(tmp_path):
    source = tmp_path / "a.py"
    source.write_text("def f():\n    from sciprism.cli.main import app\n    import sciprism.store\n")
    assert imported(source) == {"cli", "store"}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_sizes(path):
    text = path.read_text(encoding="utf-8")
    long = [f"{path.name}: {len(text.splitlines())} lines"] if len(text.splitlines()) > FILE else []
    for node in ast.walk(ast.parse(text)):
        limit = LIMITS.get(type(node), sys.maxsize)
        lines = getattr(node, "end_lineno", 0) - getattr(node, "lineno", 0) + 1
        if lines > limit:
            long.append(f"{path.name}: {node.name} has {lines} lines, limit {limit}")
    assert not long


def test_no_name_without_meaning():
    empty = {"utils", "util", "helpers", "helper", "common", "misc"}
    assert not [path for path in SOURCES if path.stem in empty or path.stem.endswith(("_v2", "_new", "_old"))]


def modules_after(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("code", ["import sciprism", "import sciprism.cli.main"])
def test_importing_is_cheap(code):
    heavy = {"torch", "numpy", "pyarrow", "tokenizers", "rdflib", "bibtexparser", "huggingface_hub", "rich"}
    assert not modules_after(code) & heavy


def test_importing_starts_nothing():
    code = "import os, threading; before = dict(os.environ); import sciprism; from sciprism import Encoder"
    code += "; assert dict(os.environ) == before and threading.active_count() == 1"
    modules_after(code)


BASE_ONLY = """
import importlib.metadata as metadata, re, sys, tomllib
from packaging.requirements import Requirement

with open(sys.argv.pop(1), "rb") as file:
    project = tomllib.load(file)["project"]
base, waiting = {"sciprism"}, [Requirement(line).name for line in project["dependencies"]]
while waiting:
    name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
    if name in base:
        continue
    base.add(name)
    for line in metadata.distribution(name).requires or ():
        needed = Requirement(line)
        if needed.marker is None or needed.marker.evaluate({"extra": ""}):
            waiting.append(needed.name)
owners = metadata.packages_distributions()
foreign = {m for m, found in owners.items() if not base & {re.sub(r"[-_.]+", "-", d).lower() for d in found}}

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in foreign:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
from sciprism.cli.main import main
for line in sys.argv[1:]:
    sys.argv[1:] = line.split()
    try:
        main()
    except SystemExit as stop:
        print("status", stop.code, file=sys.stderr)
"""


def test_the_base_packages_alone_run_the_main_job(tmp_path, tiny_model):
    """What no base dependency brings (test tools, peers, optional groups) cannot be imported."""
    (tmp_path / "refs.bib").write_text("@misc{a, title={Dark {M}atter}}")
    lines = (
        "inspect refs.bib",
        f"embed refs.bib -o c --model {tiny_model} --pooling mean",
        "index c --lexical",
        "search c matter --mode hybrid",
        "index c --approximate",
    )
    command = [sys.executable, "-c", BASE_ONLY, PACKAGE.parents[1] / "pyproject.toml", *lines]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert [line[7:] for line in done.stderr.splitlines() if line.startswith("status")] == [*"00002"]
    assert 'the "scale" extra' in done.stderr
