"""`sciprism prepare ir`, and the set it makes scored as a custom task."""

import json

import pytest

from build_commands import run

TOPICS = ("galaxies", "proteins", "markets", "forests", "lasers")


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Five paragraphs with two questions each, and thirty papers, one of them useless."""
    monkeypatch.setenv("SCIPRISM_CACHE", str(tmp_path / "cache"))
    questions = [
        {"paragraph": f"All about {topic} and their ways.", "questions": [f"What are {topic}?", f"Whose {topic}?"]}
        for topic in TOPICS
    ]
    (tmp_path / "questions.jsonl").write_text("\n".join(map(json.dumps, questions)))
    rows = [{"id": str(n), "title": f"Paper {n}", "abstract": f"Nothing but number {n}."} for n in range(30)]
    (tmp_path / "works.jsonl").write_text("\n".join(map(json.dumps, [*rows, {"id": "empty"}])))
    return tmp_path


def test_a_set_is_made_and_scored(files, monkeypatch, capsys):
    words = ("prepare", "ir", files / "questions.jsonl", files / "works.jsonl", "-o", files / "ir")
    status, out, err = run(monkeypatch, capsys, *words, "--distractors", 20)
    assert status == 0, err
    assert "5 paragraphs and 20 distractors; 2 questions in dev, 8 questions in test" in out
    assert "sampled from 30 abstracts of 30 papers" in out and "1 of 31 records cannot be used" in out
    tasks = files / "ir" / "tasks.toml"
    assert f"sciprism evaluate MODEL --tasks {tasks}" in out
    status, out, err = run(monkeypatch, capsys, "evaluate", "bm25", "random", "--tasks", tasks, "-o", files / "results")
    assert status == 0, err
    assert "tasks/questions-ir: 5 annotated paragraphs among 20 other abstracts" in " ".join(out.split())
    made = json.loads((files / "results" / "bm25" / "tasks" / "questions-ir.json").read_text())
    assert made["status"] == "done" and made["metrics"]["recall@10"] == {
        "value": 1,
        "low": pytest.approx(1 / (1 + 2.3646**2 / 8), abs=1e-4),
        "high": 1,
        "n": 8,
    }
    assert made["details"]["documents"] == 25 and not made["dropped"]
    lost = json.loads((files / "results" / "random" / "tasks" / "questions-ir.json").read_text())
    assert lost["metrics"]["recall@10"]["value"] < 1
