"""`sciprism reproduce` from the command line: the list, what is missing, a table on the open suite."""

import json
import shutil

import pytest

from build_commands import run
from open_data import write
from sciprism import Encoder

WORDS = ("galaxy", "protein", "market", "forest", "laser")


def reproduce(monkeypatch, capsys, *words):
    return run(monkeypatch, capsys, "reproduce", *words)


@pytest.fixture
def workplace(tmp_path, monkeypatch, tiny_model):
    """Papers that cite each other, and a model; what table 5 needs of the quick view."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SCIPRISM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SCIPRISM_DATA", str(tmp_path / "data"))
    rows = [
        {
            "id": f"10.1/{n}",
            "title": f"{WORDS[n % 5]} study {n}",
            "abstract": f"the {WORDS[n // 5 % 5]}",
            "venue": "Vis",
            "year": 2016,
            "references": [f"10.1/{m}" for m in range(max(0, n - 3), n)],
        }
        for n in range(30)
    ]
    write(tmp_path / "data", "citegraph_vis/papers", rows)
    for name, pooling in (("vanilla", "mean"), ("mha", "cls")):
        Encoder.load(tiny_model, pooling=pooling).save(tmp_path / name)
    return tmp_path


OPEN = ("scimult", "5", "--data", "open/quick")
MODELS = ("--models", "vanilla=vanilla", "--models", "mha-expert=mha")


def test_a_table_in_the_shape_of_the_papers_on_the_open_suite(workplace, monkeypatch, capsys):
    words = (*OPEN, "--only", "mha-expert", *MODELS)
    status, out, err = reproduce(monkeypatch, capsys, *words)
    assert status == 0, err
    assert "### Table 5 of SciMult: links among all papers (open/quick)" in out and "| MHAExpert" in out
    assert "differences" in out and "(published)" not in out
    folder = workplace / "results" / "scimult"
    made = json.loads((folder / "mha" / "open" / "vis-citation-retrieval.json").read_text())
    assert made["provenance"]["command"].startswith("sciprism reproduce scimult 5 --data open")
    status, out, err = reproduce(monkeypatch, capsys, *words, "-o", "out/table.json")
    assert status == 0 and not out and err.count("(already scored)") == 2
    rows = json.loads((workplace / "out" / "table.json").read_text())["rows"]
    assert [row["models"] for row in rows] == [["vanilla"], ["mha"]]
    reproduce(monkeypatch, capsys, *words, "-o", "table.md")
    assert (workplace / "table.md").read_text().startswith("### Table 5 of SciMult")


def test_a_task_that_fails_is_status_1_and_has_no_number(workplace, monkeypatch, capsys):
    (workplace / "data" / "citegraph_vis" / "papers.jsonl.gz").write_bytes(b"no gzip at all")
    words = (*OPEN, "--only", "vanilla", "--models", "vanilla=vanilla")
    status, out, _err = reproduce(monkeypatch, capsys, *words)
    assert status == 1 and "failed" in out


def test_results_are_shown_without_their_models(workplace, monkeypatch, capsys):
    words = (*OPEN, "--only", "mha-expert")
    status, _, err = reproduce(monkeypatch, capsys, *words, "--from-results")
    assert status == 2 and "results/scimult holds no results of mha-expert" in err
    _, made, _ = reproduce(monkeypatch, capsys, *words, *MODELS)
    for name in ("vanilla", "mha", "data"):
        shutil.rmtree(workplace / name)
    monkeypatch.delenv("SCIPRISM_DATA")
    for chosen in (words, OPEN):  # all that were scored, if none is named
        status, shown, err = reproduce(monkeypatch, capsys, *chosen, "--from-results")
        assert (status, shown, err) == (0, made, "")
    status, _, err = reproduce(monkeypatch, capsys, *OPEN, "--from-results", "--only", "ffn-expert")
    assert status == 2 and "holds no results of ffn-expert" in err


def test_packed_results_serve_as_the_folder_does(workplace, monkeypatch, capsys):
    words = (*OPEN, "--only", "mha-expert")
    _, made, _ = reproduce(monkeypatch, capsys, *words, *MODELS)
    status, _, err = run(monkeypatch, capsys, "results", "pack", "results/scimult", "-o", "packed")
    assert status == 0, err
    shutil.rmtree(workplace / "results")
    status, shown, err = reproduce(monkeypatch, capsys, *words, "--from-results", "--results", "packed")
    assert (status, shown, err) == (0, made, "")
    again = (*words, *MODELS, "--results", "packed")
    status, shown, err = reproduce(monkeypatch, capsys, *again)
    assert (status, shown) == (0, made) and err.count("(already scored)") == 2
    (workplace / "mha").rename(workplace / "moved")
    (workplace / "vanilla").rename(workplace / "mha")  # another model of that name
    again = (*words, "--models", "vanilla=moved", *MODELS[2:], "--results", "packed")
    status, _, err = reproduce(monkeypatch, capsys, *again)
    assert status == 2 and "holds results of another model named mha" in err
