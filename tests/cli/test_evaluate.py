"""`sciprism evaluate` from the command line: numbers, a second run, failures, wrong requests."""

import json
import re

import pytest

from build_commands import run

TASKS = """
[[task]]
name = "find"
protocol = "retrieve"
format = "search"
data = "set"
metric = ["ndcg@10", "recall@2"]
"""


@pytest.fixture
def work_folder(tmp_path, monkeypatch):
    """A folder with a small BEIR set and a file of tasks over it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SCIPRISM_CACHE", str(tmp_path / "cache"))
    documents = {"d1": "black holes", "d2": "gene cell", "d3": "game price"}
    (tmp_path / "set" / "qrels").mkdir(parents=True)
    with (tmp_path / "set" / "corpus.jsonl").open("w") as file:
        for key, text in documents.items():
            file.write(json.dumps({"_id": key, "title": text, "text": f"a study of {text}"}) + "\n")
    (tmp_path / "set" / "queries.jsonl").write_text('{"_id": "q1", "text": "gene"}\n{"_id": "q2", "text": "holes"}\n')
    (tmp_path / "set" / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td2\t1\nq2\td1\t1\n")
    (tmp_path / "my.toml").write_text(TASKS)
    return tmp_path


def test_systems_are_compared(work_folder, monkeypatch, capsys, tiny_model):
    command = ["evaluate", tiny_model, "bm25", "random", "--tasks", "my.toml", "-o", "out"]
    status, out, err = run(monkeypatch, capsys, *command, "--pooling", "mean")
    assert status == 0, err
    assert "find" in out and "bm25" in out and "random" in out
    assert re.search(r"100\.0", out)  # two questions that BM25 cannot miss
    result = json.loads((work_folder / "out" / "bm25" / "my" / "find.json").read_text())
    assert result["metrics"]["ndcg@10"]["value"] == 1 and result["provenance"]["data"]
    assert result["provenance"]["command"].startswith("sciprism evaluate ")


def test_what_a_baseline_cannot_serve_is_said_once(work_folder, monkeypatch, capsys):
    rows = "".join(f"{n},word{n},{'ab'[n % 2]},{'train' if n < 8 else 'test'}\n" for n in range(12))
    (work_folder / "table.csv").write_text("id,title,label,split\n" + rows)
    probe = '[[task]]\nname = "{}"\nprotocol = "probe"\nformat = "classification"\n'
    probe += 'metric = "accuracy"\ndata = "table.csv"\n'
    (work_folder / "probes.toml").write_text("".join(map(probe.format, ("one", "two", "three"))))
    status, out, err = run(monkeypatch, capsys, "evaluate", "bm25", "--tasks", "probes.toml", "-o", "out")
    assert status == 0 and err.count("no vectors") == 1 and out.count("no vectors") == 1
    assert "one, two, three: not served" in out


def test_duplicates_are_one_line_and_a_file(work_folder, monkeypatch, capsys):
    papers = work_folder / "set" / "corpus.jsonl"
    rows = [{"_id": f"d{n}", "title": f"other {n}", "text": "again"} for n in range(4, 40)]
    again = "".join(json.dumps(row | {"title": f"{row['title']}{turn}"}) + "\n" for turn in (0, 1) for row in rows)
    papers.write_text(papers.read_text() + again)
    (work_folder / "my.toml").write_text(TASKS + TASKS.replace("find", "again"))
    status, out, err = run(monkeypatch, capsys, "evaluate", "bm25", "random", "--tasks", "my.toml", "-o", "out")
    printed = " ".join((out + err).split())
    assert status == 0 and printed.count("duplicate record") == 1
    assert "find, again: 36 x duplicate record, the first is used (d4, d5, d6, ...); all ids:" in printed
    listed = (work_folder / "out" / "bm25" / "my" / "dropped" / "find.csv").read_text().splitlines()
    assert len(listed) == 37 and listed[-1] == '"duplicate record, the first is used",d39'
    result = json.loads((work_folder / "out" / "bm25" / "my" / "find.json").read_text())
    (entry,) = result["dropped"].values()
    assert entry["count"] == 36 and len(entry["first"]) == 10


def test_progress_inside_a_task(work_folder, monkeypatch, capsys, tiny_model):
    """A line now and then where there is no terminal; here, after every batch of texts."""
    monkeypatch.setattr("sciprism.cli.output.PLAIN_INTERVAL", 0.0)
    command = ["evaluate", tiny_model, "random", "--tasks", "my.toml", "-o", "out", "--pooling", "mean"]
    status, _, err = run(monkeypatch, capsys, *command)
    assert status == 0 and re.search(r"find  \S+, encoding: 3 of 3 texts, [\d.,]+ texts/s, 0 s left", err)
    assert "encoding" not in run(monkeypatch, capsys, *command)[2]  # all is scored


def test_judgements_of_absent_papers_alone_give_no_number(work_folder, monkeypatch, capsys):
    """Their score was 0.0000, and the exit status 0."""
    (work_folder / "set" / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\tx2\t1\nq2\tx1\t1\n")
    status, out, err = run(monkeypatch, capsys, "evaluate", "bm25", "--tasks", "my.toml", "-o", "out")
    assert status == 1 and "0.0000" not in err and "none of the 2 relevant papers is known" in " ".join(out.split())
    result = json.loads((work_folder / "out" / "bm25" / "my" / "find.json").read_text())
    assert (result["status"], result["metrics"]) == ("failed", {}) and "'x2'" in result["reason"]


def test_moved_data_are_the_same_task(work_folder, monkeypatch, capsys):
    command = ["evaluate", "bm25", "-o", "out", "--tasks"]
    assert run(monkeypatch, capsys, *command, "my.toml")[0] == 0
    (work_folder / "elsewhere").mkdir()
    for name in ("set", "my.toml"):
        (work_folder / name).rename(work_folder / "elsewhere" / name)
    status, _, err = run(monkeypatch, capsys, *command, "elsewhere/my.toml")
    assert status == 0 and "(already scored)" in err
