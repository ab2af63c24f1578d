"""`sciprism evaluate` of tasks that fine-tune: grids and seeds from the command line, and their table."""

import json

import pytest

from build_commands import run

TUNED = ("--suite", "open-nlu", "--task", "open-acl-arc", "--data", "data", "-o", "out", "--pooling", "cls")


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Citing sentences of two kinds."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SCIPRISM_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "data" / "cls_citation_intent"
    folder.mkdir(parents=True)
    for part, count in (("train", 20), ("dev", 8), ("test", 12)):
        rows = (
            {"text": f"{'a theory of' if n % 2 else 'the measure of'} {part} {n}", "label": "UE"[n % 2]}
            for n in range(count)
        )
        (folder / f"{part}.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    return tmp_path


def test_a_grid_then_every_seed(data, monkeypatch, capsys, tiny_model):
    grid = ("--grid", "rate=1e-9,1e-2", "--grid", "batch=4", "--grid", "epochs=4")
    command = ["evaluate", tiny_model, *TUNED, "--seeds", 2, *grid]
    status, out, err = run(monkeypatch, capsys, *command)
    assert status == 0, err
    folders = sorted(path.name for path in (data / "out").iterdir())
    assert len(folders) == 2 and folders[1] == f"{folders[0]}--seed-1"
    results = [json.loads((data / "out" / folder / "open-nlu/open-acl-arc.json").read_text()) for folder in folders]
    assert [result["seed"] for result in results] == [0, 1]
    for result in results:
        assert result["details"]["setting"] == {"rate": 1e-2, "batch": 4, "epochs": 4}
        assert len(result["details"]["dev scores"]) == 2 and result["metrics"]["f1_macro"]["value"] == 1.0
    tried = (data / "out" / folders[0] / "open-nlu" / "grid" / "open-acl-arc.jsonl").read_text()
    assert len(json.loads(tried)["dev"]) == 2
    assert run(monkeypatch, capsys, *command)[2].count("(already scored)") == 2
    status, out, err = run(monkeypatch, capsys, "compare", "out")
    assert status == 0, err
    assert "±" in out and "standard deviation over seeds" in out
