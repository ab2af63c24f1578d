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
from filelock import FileLock

ROOT = Path(__file__).parent.parent
START, *PARTS = (ROOT / "docs" / "other-tools.md").read_text(encoding="utf-8").split("\n## ")
SECTIONS = {part.partition("\n")[0]: part for part in PARTS}
HERE = {  # section: what its block prints
    "scikit-learn": "{'encoder__format': '",
    "FAISS": "['watson1953molecular', ",
    "mteb": "sciprism-small Reranking",
    "pandas, Polars": "Array(Float32, shape=(384,)) watson1953molecular",
}
ELSEWHERE = {  # section: its tool as pip installs it, what its block prints
    "BERTopic": ("bertopic==0.17.4", "Count"),
    "KeyBERT": ("keybert==0.9.0", "[('"),
    "LangChain": ("langchain-core==1.7.2", "['watson1953molecular', "),
    "LlamaIndex": ("llama-index-core==0.14.25", "['watson1953molecular', "),
    "txtai": ("txtai==9.14.0", "[('watson1953molecular', "),
    "Haystack": ("haystack-ai==3.4.1", "['watson1953molecular', "),
    "trec_eval, ranx, ir_measures": ("ranx==0.3.21 ir_measures==0.4.3", "0.66666"),
    "Embedding Atlas": ("embedding-atlas==0.26.0", ""),
    "ASReview": (
        "asreview==3.0.8 --no-binary gitignorefile",
        "[(286, 286), (287, 287), (287, 288)]\n[(115, 286), (287, 287), (288, 288)]",
    ),
    "OpenReview": ("openreview-py==2.9.1", ""),
    "usearch": ("usearch==2.26.6", "[('watson1953molecular', 0.5"),
    "PyTerrier": ("python-terrier==1.0", "sciprism         1.0"),
    "DuckDB": ("duckdb==2.0.1", "[('watson1953molecular', 0.5"),
    "Annif": ("annif==1.4.3", "286 {'en': 'continental drift'}"),
}
CHECKS = {  # section: what else must hold once its blocks ran
    "trec_eval, ranx, ir_measures": """
ours = [hit.id for hit in library.search(queries["q1"], k=100)]
ranks = {id: 1 / rank for rank, id in enumerate(ours, 1)}
import pytrec_eval
scores = pytrec_eval.parse_run(open("library.run"))["q1"]
assert sorted(scores, key=scores.get, reverse=True) == ours and len({*scores.values()}) == 100
assert list(Run.from_file("library.run", kind="trec").run["q1"]) == ours
hits = list(ir_measures.read_trec_run("library.run"))
for id in ours[::9]:
    assert ir_measures.calc_aggregate([ir_measures.RR], {"q1": {id: 1}}, hits)[ir_measures.RR] == ranks[id]
""",
    "Embedding Atlas": """
import duckdb
columns = duckdb.sql("SELECT * FROM 'atlas/data/dataset.parquet'").columns
assert {"projection_x", "projection_y", "__neighbors"} < {*columns} and open("atlas/index.html").read()
""",
    "ASReview": (ROOT / "examples" / "asreview" / "grouped_project.py").read_text(encoding="utf-8")
    + """
from asreview.webapp._tasks import run_model
merged = asreview.Project.load("merged.asreview", "imported")
assert [group for group, _ in merged.db.input.get_groups()] == list(range(288))
WordsAndVectors.fit_transform = None  # the stored features are used
grouped = asreview.Project.load("grouped.asreview", "imported")
for row, label in ((286, 1), (287, 0)):
    grouped.db.label_record(row, label, user_id=None)
decided = grouped.db.get_results_table(groups=True)
assert dict(zip(decided["record_id"], decided["label"])) == {115: 1, 286: 1, 287: 0}
run_model(grouped)
assert {*grouped.db.get_last_ranking_table()["feature_extractor"]} == {"sciprism"}
assert records[grouped.db.query_top_ranked()["record_id"].iloc[0]].id in ("avery1944transforming", "sanger1977dna")
""",
    "OpenReview": """
import csv
from types import SimpleNamespace as Stub
from openreview.venue.matching import Matching
rows = [(paper, reviewer, float(score)) for paper, reviewer, score in csv.reader(open("scores.csv"))]
edges = []
matching = Matching.__new__(Matching)  # without its client, which asks the network
matching.alternate_matching_group, matching.venue = None, Stub(id="venue")
matching._create_edge_invitation = lambda id: Stub(id=id, edit={"readers": []})
matching.client = Stub(delete_edges=lambda invitation: None, post_edges=lambda batch: edges.extend(batch) or batch)
notes = [Stub(id=paper, number=number) for number, paper in enumerate({row[0] for row in rows}, 1)]
matching._build_scores_from_file("scores", "scores.csv", notes)
assert [(edge.head, edge.tail, edge.weight) for edge in edges] == [
    (paper, reviewer, max(round(score, 4), 0)) for paper, reviewer, score in rows
]
assert len(rows) == 571 and ("watson1953molecular", "~Ann_Lee1") not in {row[:2] for row in rows}
""",
}
ALONE = ("Annif",)  # its dependencies exclude ours, and its block needs none of them


def list_blocks(text: str, language: str) -> str:
    return "\n".join(re.findall(rf"^```{language}\n(.*?)^```", text, re.M | re.S))


def run(command: list[str | Path], folder: Path) -> str:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "HF_HUB_OFFLINE": "1", "XDG_CACHE_HOME": str(folder)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr
    return done.stdout


def open_environment(tool: str, *, alone: bool) -> Path:
    """Return the interpreter of an environment with a tool, and with the packages of this one unless it is alone."""
    if "SCIPRISM_TOOLS" not in os.environ:
        pytest.skip("environments of other tools are made where SCIPRISM_TOOLS names a folder: make test-tools")
    environment = Path(os.environ["SCIPRISM_TOOLS"]) / tool.partition("==")[0]
    python = environment / "bin" / "python"
    with FileLock(f"{environment}.lock"):  # several workers of pytest may want it
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", environment], check=True)
            install = [python, "-m", "pip", "install", "-q", "--only-binary", ":all:", *tool.split()]
            if not alone:
                (path,) = environment.glob("lib/*/site-packages")
                (path / "packages_of_the_tests.pth").write_text(sysconfig.get_path("purelib"))
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
    assert HERE[section] in run([sys.executable, "-c", code], work_folder)


@pytest.mark.slow
@pytest.mark.parametrize("section", ELSEWHERE)
def test_tools_in_environments_of_their_own(section: str, work_folder: Path) -> None:
    tool, printed = ELSEWHERE[section]
    python = open_environment(tool, alone=section in ALONE)
    if commands := list_blocks(SECTIONS[section], "bash"):
        commands = f'PATH="{python.parent}:$PATH"\n{commands}'
        run(["bash", "-ec", f'sciprism() {{ "{sys.executable}" -m sciprism "$@"; }}\n{commands}'], work_folder)
    code = list_blocks(SECTIONS[section], "python")
    start = list_blocks(START, "python") if code and section not in ALONE else ""
    assert printed in run([python, "-c", start + code + CHECKS.get(section, "")], work_folder)


def test_every_section_with_a_block_is_run() -> None:
    assert {name for name, text in SECTIONS.items() if "```" in text} == HERE.keys() | ELSEWHERE.keys()
