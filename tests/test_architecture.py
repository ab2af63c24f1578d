"""The tree is the architecture: imports run downwards, files stay short, importing is cheap."""

import ast
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "src" / "sciprism"
SOURCES = sorted(PACKAGE.rglob("*.py"))

# package -> the packages that it may import, and with them what these may import
MAY_IMPORT = {
    "papers": set(),
    "metrics": set(),
    "objectives": set(),
    "pages": set(),
    "text": {"papers"},
    "encoders": {"text"},
    "store": {"encoders"},
    "index": {"store", "metrics"},
    "probes": {"metrics"},
    "training": {"encoders", "objectives", "metrics"},
    "datasets": {"papers", "text"},
    "uses": {"index", "probes", "metrics", "pages"},
    "databases": {"uses"},
    "service": {"uses"},
    "evaluation": {"uses", "datasets", "training"},
    "prepare": {"evaluation"},
    "reproduce": {"evaluation"},
    "cli": {"uses", "databases", "service", "prepare", "reproduce"},
}
GROUND = {
    "arrays",
    "drop_report",
    "errors",
    "files",
    "formats",
    "hub",
    "limits",
    "parallel",
    "registry",
    "seeding",
}
FILE, FUNCTION = 800, 80  # lines
CODE_LINES = {
    "uses": 6_383,
    "papers": 5_519,
    "evaluation": 5_019,
    "prepare": 4_461,
    "encoders": 5_710,
    "cli": 3_688,
    "datasets": 3_678,
    "training": 3_154,
    "store": 1_801,
    "service": 2_263,
    "index": 1_225,
    "databases": 479,
    "text": 1_094,
    "reproduce": 874,
    "probes": 768,
    "top modules": 710,
    "metrics": 325,
    "objectives": 177,
    "pages": 25,
}
"""Package -> how many code lines it may have. The numbers only fall: whoever removes lines lowers them."""
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in SOURCES}


def imported(path: Path) -> set[str]:
    """Our modules that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= inside & MODULES.keys() | ({str(node.module)} if node.module != "sciprism" else set())
    return {name for name in found if name.split(".")[0] == "sciprism"}


def with_packages(module: str, names: set[str]) -> set[str]:
    """The modules with the packages that hold them, whose `__init__` runs first; not those of the importing module."""
    outer = {name.rsplit(".", up)[0] for name in names for up in range(1, name.count(".") + 1)}
    return names | {name for name in outer if name != "sciprism" and not f"{module}.".startswith(f"{name}.")}


def package_of(module: str) -> str:
    return module.split(".")[1] if "." in module else "sciprism"


def may_import(package: str) -> set[str]:
    """What a package may import, through others too, itself included."""
    return {package, *(below for each in MAY_IMPORT[package] for below in may_import(each))}


def test_every_package_has_its_place():
    packages = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert packages == {*MAY_IMPORT, "models"}, "models holds weights, no code"
    files = {path.stem for path in PACKAGE.glob("*.py")}
    assert files == GROUND | {"__init__", "__main__"}


def test_imports_run_downwards():
    upward = []
    for module, path in MODULES.items():
        package = package_of(module)
        if package in ("sciprism", "__main__"):
            continue
        allowed = GROUND if package in GROUND else GROUND | may_import(package)
        upward += [f"{module} imports {name}" for name in imported(path) if package_of(name) not in allowed]
    assert not upward


def test_no_module_imports_itself_through_others():
    graph = {m: with_packages(m, imported(path)) - {m} for m, path in MODULES.items() if m != "sciprism"}
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


def test_no_benchmark_imports_itself_through_others():
    folder = PACKAGE.parent.parent / "benchmarks"
    paths = {".".join(path.relative_to(folder).with_suffix("").parts): path for path in folder.rglob("*.py")}
    graph = {name: set() for name in paths}
    for name, path in paths.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                graph[name] |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                graph[name] |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
    try:
        list(TopologicalSorter({name: found & set(paths) for name, found in graph.items()}).static_order())
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


def test_only_the_names_of_models_reach_converters():
    """Converters get a model's files, and ask for further ones by a function."""
    checkpoints = "sciprism.encoders.checkpoints"
    names, package = f"{checkpoints}.names", f"{checkpoints}.converters"
    converting = {module for module in MODULES if module.startswith(package)}
    assert not [module for module in converting if names in imported(MODULES[module])]
    door = [module for module in MODULES.keys() - converting if imported(MODULES[module]) & converting]
    assert door == [names]


def test_only_converters_know_a_method():
    """All else asks the interface in `registry`, which also has the base of SciRepEval's methods, with its routes."""
    package = "sciprism.encoders.methods"
    methods = {module for module in MODULES if module.startswith(package)} - {package, f"{package}.registry"}
    inside = (package, "sciprism.encoders.checkpoints.converters")
    assert not [m for m, path in MODULES.items() if not m.startswith(inside) and imported(path) & methods]


def test_the_walk_sees_lazy_imports(tmp_path):
    source = tmp_path / "a.py"
    source.write_text("def f():\n    from sciprism.cli.main import app\n    import sciprism.store\n")
    assert imported(source) == {"sciprism.cli.main", "sciprism.store"}


def count_code_lines(path: Path) -> int:
    """Return the lines that hold a token which is neither a comment nor part of a docstring."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    prose: set[int] = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            prose.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    lines: set[int] = set()
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type not in NO_CODE and token.start[0] not in prose:
                lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - prose)


def test_code_lines_of_each_package_do_not_grow():
    counts = Counter()
    for module, path in MODULES.items():
        package = package_of(module)
        counts[package if (PACKAGE / package).is_dir() else "top modules"] += count_code_lines(path)
    assert not {name: lines for name, lines in counts.items() if lines > CODE_LINES.get(name, 0)}


def test_files_and_functions_are_not_too_long():
    long = []
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        if len(text.splitlines()) > FILE:
            long.append(f"{path.name}: {len(text.splitlines())} lines")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = node.end_lineno - node.lineno + 1
                if lines > FUNCTION:
                    long.append(f"{path.name}: {node.name} has {lines} lines")
    assert not long


def test_no_name_without_meaning():
    empty = {"utils", "util", "helpers", "helper", "common", "misc"}
    assert not [path for path in SOURCES if path.stem in empty or path.stem.endswith(("_v2", "_new", "_old"))]


def test_a_class_name_has_one_meaning():
    places: dict[str, list[str]] = {}
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(str(path.relative_to(PACKAGE)))
    shared = {name: found for name, found in places.items() if len(found) > 1}
    assert not shared


def modules_after(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("code", ["import sciprism", "import sciprism.cli.main"])
def test_importing_is_cheap(code):
    heavy = {"torch", "numpy", "pyarrow", "tokenizers", "rdflib", "huggingface_hub", "rich"}
    assert not (modules_after(code) - modules_after("import typer")) & heavy


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


WRITERS = {
    # appended, each record with its checksum or flushed at once
    "encoders.cached_encoder": 2,
    "training.run_folder": 1,
    "uses.screening.session": 1,
    "uses.tagging.suggestions": 1,
    # a file in a draft, which `commit_folder` or `replace_folder` flushes and renames
    "encoders.checkpoints.converters.scirepeval": 1,
    "encoders.checkpoints.folder": 1,
    "encoders.checkpoints.sentence_transformers": 1,
    "encoders.export": 2,
    "service.matches": 1,
    # flushed and renamed in a way of their own: FAISS writes by name, a file map
    "index.lexical": 1,
    # read and removed in the same run
    "papers.input_file": 1,
    "prepare.patients": 1,
    "prepare.scimult.maple": 1,
    "prepare.text": 1,
}
"""Module -> how often it opens a file for writing itself."""


def opens_for_writing(call):
    """Return whether a call writes to a file by its path."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    modes = [a.value for a in call.args[:2] if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    opened = name == "open" and any(set(mode) <= set("wabxrt+") and set(mode) & set("wax+") for mode in modes)
    return opened or name in ("write_text", "write_bytes")


def test_files_are_written_by_the_functions_that_flush_and_rename():
    counts = {}
    for path in SOURCES:
        calls = (node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call))
        if count := sum(map(opens_for_writing, calls)):
            counts[".".join(path.relative_to(PACKAGE).with_suffix("").parts)] = count
    del counts["files"]
    assert counts == WRITERS


def test_the_lowest_versions_are_the_bounds():
    """What `make test-lowest` installs is what pyproject.toml allows at least."""
    root = PACKAGE.parents[1]
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    groups = [
        project["optional-dependencies"][name]
        for name in ("labels", "scale", "ray", "postgres", "qdrant", "serve", "train", "bench")
    ]
    bounds = dict(re.sub(r"\[.*?\]|,.*", "", each).split(">=") for each in sum(groups, project["dependencies"]))
    lines = (root / "constraints-lowest.txt").read_text().splitlines()
    lowest = dict(line.split("==") for line in lines if "==" in line)
    assert {name: bound for name, bound in bounds.items() if not f"{lowest.get(name)}.".startswith(f"{bound}.")} == {}
