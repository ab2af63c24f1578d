"""`sciprism prepare scirepeval`: what it prints, and what it says of wrong requests."""

import json

from build_commands import run


def config(folder):
    rows = [{"doc_id": n, "title": f"T {n}", "abstract": "A", "log_citations": n} for n in range(6)]
    (folder / "train.jsonl").write_text("\n".join(map(json.dumps, rows)))
    task = {"name": "cite", "type": "regression", "labels_field": "log_citations", "ctrl_token": "[RGN]"}
    task |= {"data_files": {"train": "train.jsonl", "dev": "train.jsonl"}, "sample_size": {"train": 9, "dev": 3}}
    path = folder / "tasks.json"
    path.write_text(json.dumps([task]))
    return path


def test_a_row_for_each_source_and_a_word_for_too_few(tmp_path, monkeypatch, capsys):
    path = config(tmp_path)
    status, out, err = run(monkeypatch, capsys, "prepare", "scirepeval", path, "-o", tmp_path / "out")
    assert status == 0
    lines = [line.split() for line in out.splitlines()]
    assert lines[0] == ["source", "type", "format", "query", "train", "dev"]
    assert lines[1] == ["cite", "regression", "regression", "paper", "6", "3"]
    assert "cite: dropped" not in out
    assert err == "cite, train: 6 records, fewer than 9 examples need: all are used\n"
    assert sorted(p.name for p in (tmp_path / "out").rglob("*.*")) == ["cite.jsonl", "cite.jsonl", "sources.json"]
