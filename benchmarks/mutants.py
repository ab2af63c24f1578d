"""Mutants: the share of 200 random changes of the code that the default tests find.

A mutant is one change of a comparison, an operator, a condition, a number, a truth value, a returned value, or a call
whose value is unused. Mutants are ordered by a checksum of the seed and of what they change, so that code that stays
keeps its mutants. Each is judged by at most ten of the tests that run its line, or its file where imports alone run it:
first those that run fewest lines. Files are changed, so run it in a clone, after the tests:

    pip install pytest-cov
    python -m pytest -m "not slow" --cov --cov-context=test --cov-report=
    python benchmarks/mutants.py .coverage -o results/mutants.json --name after
"""

from __future__ import annotations

import ast
import hashlib
import os
import signal
import sqlite3
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from copy import deepcopy
from importlib import import_module
from pathlib import Path

from coverage.numbits import numbits_to_nums

from measurement import build_parser, provenance, write_result

PAIRS = ("Lt LtE", "Gt GtE", "Eq NotEq", "In NotIn", "Is IsNot", "Add Sub", "And Or", "Div Mult", "Mult Add")
SWAPS = {a: b for pair in map(str.split, PAIRS) for a, b in (pair, pair[::-1])} | {"FloorDiv": "Mult", "Add": "Sub"}
HEAVY = "torch transformers sentence_transformers sklearn.linear_model pandas pyarrow.parquet fastapi hypothesis pytest"
TESTS, SECONDS = 10, 60.0
QUERY = """SELECT path, context, numbits FROM line_bits
JOIN file ON file.id = file_id JOIN context ON context.id = context_id WHERE path LIKE '%src/sciprism%'"""


def change(node: ast.AST) -> ast.AST | None:
    """Return a node with one change, None where it has no mutant."""
    new, swap = deepcopy(node), lambda sign: getattr(ast, SWAPS[type(sign).__name__])()
    match new:
        case ast.Compare() if type(new.ops[0]).__name__ in SWAPS:
            new.ops[0] = swap(new.ops[0])
        case ast.BinOp() | ast.BoolOp() if type(new.op).__name__ in SWAPS:
            new.op = swap(new.op)
        case ast.UnaryOp(op=ast.Not()):
            return new.operand
        case ast.If() | ast.IfExp() | ast.While():
            new.test = ast.UnaryOp(ast.Not(), new.test)
        case ast.Constant(value=bool()):
            new.value = not new.value
        case ast.Constant(value=int() | float()):
            new.value += 1
        case ast.Return(value=ast.expr()) | ast.Expr(value=ast.Call()):
            new.value = ast.Constant(None)
        case _:
            return None
    return new


def list_mutants() -> Iterator[tuple[str, Path, int]]:
    """Yield what each mutant changes, as its name, with its file and the number of its node."""
    for path in sorted(Path("src").rglob("*.py")):
        tree, seen = ast.parse(path.read_text("utf-8")), Counter[str]()
        hints = (getattr(node, name, None) for node in ast.walk(tree) for name in ("annotation", "returns"))
        skipped = {id(part) for hint in hints if hint for part in ast.walk(hint)}
        for number, node in enumerate(ast.walk(tree)):
            if id(node) not in skipped and change(node) is not None:
                name = f"{path} {type(node).__name__} {ast.unparse(node)[:200]}"
                seen[name] += 1
                yield f"{name} {seen[name]}", path, number


def mutate(source: str, number: int) -> tuple[str, range]:
    """Return a module with one node changed, and the lines of the node."""
    tree = ast.parse(source)
    node = list(ast.walk(tree))[number]
    end = node.test.end_lineno if isinstance(node, ast.If | ast.While) else node.end_lineno  # type: ignore[attr-defined]
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is node:
                setattr(parent, name, change(node))
            elif isinstance(value, list):
                setattr(parent, name, [change(node) if each is node else each for each in value])
    return ast.unparse(ast.fix_missing_locations(tree)), range(node.lineno, end + 1)  # type: ignore[attr-defined]


def read_coverage(path: Path) -> tuple[dict[str, dict[int, set[str]]], Counter[str]]:
    """Return the tests that run each line of each file, and how many lines each test runs."""
    tests: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    sizes = Counter[str]()
    for file, context, bits in sqlite3.connect(path).execute(QUERY):
        if test := context.partition("|")[0]:
            for line in (lines := numbits_to_nums(bits)):
                tests[file[file.index("src/sciprism") :]][line].add(test)
            sizes[test] += len(lines)
    return tests, sizes


def judge(tests: list[str]) -> str:
    """Return what tests say of the code as it is, in a process that has the libraries already."""
    child = os.fork()
    if child == 0:
        import pytest

        os.setpgid(0, 0)
        with Path(os.devnull).open("w") as null, redirect_stdout(null), redirect_stderr(null):
            os._exit(int(pytest.main(["-x", "-q", "-pno:cacheprovider", "-pno:cov", "-pno:xdist", *tests])))
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        if (done := os.waitpid(child, os.WNOHANG))[0]:
            return "found" if os.waitstatus_to_exitcode(done[1]) else "not found"
        time.sleep(0.05)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "ran too long"


def main() -> None:
    """Judge the mutants, and write how many were found."""
    parser = build_parser(__doc__)
    parser.add_argument("coverage", type=Path)
    parser.add_argument("--name", default="now", help="of the run in the result file")
    parser.add_argument("--seed", type=int, default=74)
    parser.add_argument("--number", type=int, default=200)
    args = parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = os.environ["OMP_NUM_THREADS"] = "1"
    sys.dont_write_bytecode = True
    for name in HEAVY.split():
        with suppress(ImportError):
            import_module(name)
    tests, sizes = read_coverage(args.coverage)
    mutants = sorted(list_mutants(), key=lambda mutant: hashlib.sha256(f"{args.seed} {mutant[0]}".encode()).digest())
    outcomes = dict[str, str]()
    for name, path, number in mutants[: args.number]:
        source, before = path.read_text("utf-8"), path.stat()
        mutant, lines = mutate(source, number)
        running = set().union(*(tests[str(path)][line] for line in lines)) or set().union(*tests[str(path)].values())
        path.write_text(mutant, "utf-8")
        os.utime(path, (before.st_mtime + number + 1, before.st_mtime + number + 1))  # no stale bytecode
        try:
            chosen = sorted(running, key=lambda test: (sizes[test], test))[:TESTS]
            outcomes[name] = judge(chosen) if chosen else "not run"
        finally:
            path.write_text(source, "utf-8")
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        print(outcomes[name], name[:120], flush=True)
    counts = Counter(outcomes.values())
    found = {"seed": args.seed, "possible": len(mutants), "outcomes": dict(counts), "tests": len(sizes)}
    missed = sorted(name.partition("\n")[0] for name, outcome in outcomes.items() if outcome.startswith("not"))
    made = provenance(["pytest", "coverage"], **found, share=(counts["found"] + counts["ran too long"]) / len(outcomes))
    write_result(args.output, made | {"not found": missed}, args.name)


if __name__ == "__main__":
    main()
