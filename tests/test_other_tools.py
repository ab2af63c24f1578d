"""The blocks of docs/other-tools.md run: here where the tests have the tool, else in an environment of its own.

Environments that `SCIPRISM_TOOLS` names, a folder, are made once and used again.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
START, *PARTS = (ROOT / "docs" / "other-tools.md").read_text(encoding="utf-8").split("\n## ")
SECTIONS = {part.partition("\n")[0]: part for part in PARTS}
HERE = {  # section: what its block prints
    "scikit-learn": "{'encoder__format': '",
    "FAISS": "['watson1953molecular', ",
    "mteb": "sciprism-small Reranking",
    "trec_eval, ranx, ir_measures": "",
    "pandas, Polars": "(384,)",
}
ELSEWHERE = {  # section: its tool, what its block prints
    "BERTopic": ("bertopic==0.17.4", "Count"),
    "KeyBERT": ("keybert==0.9.0", "[('"),
    "LangChain": ("langchain-core==1.7.2", "['watson1953molecular', "),
    "LlamaIndex": ("llama-index-core==0.14.25", "['watson1953molecular', "),
    "txtai": ("txtai==9.14.0", "[('watson1953molecular', "),
    "usearch": ("usearch==2.26.6", "[('watson1953molecular', 0.5"),
    "PyTerrier": ("python-terrier==1.0", "sciprism         1.0"),
    "DuckDB": ("duckdb==2.0.1", "[('watson1953molecular', 0.5"),
    "Annif": ("annif==1.4.3", "286 {'en': 'continental drift'}"),
}
ALONE = ("Annif",)  # its dependencies exclude ours, and its block needs none of them


def list_blocks(text: str, language: str) -> str:
    return "\n".join(re.findall(rf"^```{language}\n(.*?)^```", text, re.M | re.S))


def run(command: list[str | Path], folder: Path) -> str:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr
    return done.stdout


def open_environment(tool: str, *, alone: bool) -> Path:
    """Return the interpreter of an environment with a tool, and with the packages of this one unless it is alone."""
    if "SCIPRISM_TOOLS" not in os.environ:
        pytest.skip("environments of other tools are made where SCIPRISM_TOOLS names a folder: make test-tools")
    environment = Path(os.environ["SCIPRISM_TOOLS"]) / tool.partition("==")[0]
    python = environment / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        install = [python, "-m", "pip", "install", "-q", "--only-binary", ":all:", tool]
        if not alone:
            (path,) = environment.glob("lib/*/site-packages")
            (path / "packages_of_the_tests.pth").write_text(sysconfig.get_path("purelib"))
            install += ["-c", ROOT / "constraints.txt"]
        done = subprocess.run(install, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"{tool} does not install: {done.stderr.strip().splitlines()[-1]}")
    return python


@pytest.fixture
def work_folder(tmp_path: Path) -> Path:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("section", HERE)
def test_tools_of_this_environment(section: str, work_folder: Path) -> None:
    if section == "mteb":
        pytest.importorskip("mteb")
    code = list_blocks(START, "python") + list_blocks(SECTIONS[section], "python")
    if section.startswith("trec_eval"):
        code += "\nfrom pytrec_eval import parse_run\nrun = parse_run(open('library.run'))['q1']\n"
        code += "ours = [hit.id for hit in library.search(queries['q1'], k=100)]\n"
        code += "assert sorted(run, key=run.get, reverse=True) == ours and len({*run.values()}) == 100\n"
    assert HERE[section] in run([sys.executable, "-c", code], work_folder)


@pytest.mark.slow
@pytest.mark.parametrize("section", ELSEWHERE)
def test_tools_in_environments_of_their_own(section: str, work_folder: Path) -> None:
    tool, printed = ELSEWHERE[section]
    python = open_environment(tool, alone=section in ALONE)
    if commands := list_blocks(SECTIONS[section], "bash"):
        run(["bash", "-ec", f'sciprism() {{ "{sys.executable}" -m sciprism "$@"; }}\n{commands}'], work_folder)
    code = list_blocks(SECTIONS[section], "python")
    start = "" if section in ALONE else list_blocks(START, "python")
    assert printed in run([python, "-c", start + code], work_folder)


def test_every_section_with_a_block_is_run() -> None:
    assert {name for name, text in SECTIONS.items() if "```" in text} == HERE.keys() | ELSEWHERE.keys()
