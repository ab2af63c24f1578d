import json

import pytest
from typer.testing import CliRunner

from build_data import text
from sciprism.cli.main import app
from sciprism.prepare import s2and_mini
from sciprism.prepare.s2and_mini import prepare_s2and_mini


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Blocks of 1, 2 and 4 mentions; of at most 3, the last goes, and with it the cluster that it shares."""
    monkeypatch.setattr(s2and_mini, "MAX_SIGNATURES", 3)
    blocks = {"a lee": ["0"], "b lee": ["1", "2"], "c lee": ["3", "4", "5", "6"]}
    of = {key: block for block, keys in blocks.items() for key in keys}
    author = {"first": "A", "last": "Lee", "position": 0}
    signatures = {
        key: {"signature_id": key, "paper_id": int(key) + 10, "author_info": author | {"block": block}}
        for key, block in of.items()
    }
    clusters = {
        name: {"cluster_id": name, "signature_ids": list(held), "model_version": -1}
        for name, held in {"p": "01", "q": "23", "r": "456"}.items()
    }
    papers = {str(i): {"paper_id": i, "title": f"Title {i}é", "references": []} for i in range(10, 20)}
    papers["16"]["references"] = [18]
    for kind, content in {"signatures": signatures, "clusters": clusters, "papers": papers}.items():
        text(tmp_path / f"full/kisti/kisti_{kind}.json", json.dumps(content))
    division = {"train": {"a lee": ["0"]}, "dev": {"b lee": ["1", "2"]}, "test": {"c lee": blocks["c lee"]}}
    text(tmp_path / "full/blocks/block_sigs_kisti.json", json.dumps(division))
    return tmp_path / "full"


def test_what_stays_of_a_source(folder, tmp_path):
    out = tmp_path / "mini"
    kept = prepare_s2and_mini(folder, out).record["kisti"]
    assert kept["retained"] == {"blocks": 2, "signatures": 2, "clusters": 1, "papers": 3}
    assert kept["all"] == {"blocks": 3, "signatures": 7, "clusters": 3, "papers": 10}
    signatures = json.loads((out / "kisti/kisti_signatures.json").read_text())
    assert {key: row["signature_id"] for key, row in signatures.items()} == {k: k for k in ("kisti_0", "kisti_1")}
    clusters = json.loads((out / "kisti/kisti_clusters.json").read_text())
    left = {"cluster_id": "kisti_p", "signature_ids": ["kisti_0", "kisti_1"], "model_version": -1}
    assert clusters == {"kisti_p": left}
    papers = json.loads((out / "kisti/kisti_papers.json").read_text())
    assert sorted(papers) == ["10", "11", "18"]  # 18 is referred to, by a paper that goes
    division = json.loads((out / "blocks/block_sigs_kisti.json").read_text())
    assert division == {"train": {"a lee": ["kisti_0"]}, "dev": {"b lee": ["kisti_1"]}, "test": {}}


def test_the_command_prints_the_counts(folder, tmp_path):
    done = CliRunner().invoke(app, ["prepare", "s2and-mini", str(folder), "-o", str(tmp_path / "mini")])
    assert done.exit_code == 0, done.output
    lines = [line.split() for line in done.output.splitlines()]
    assert lines[0] == ["source", "blocks", "signatures", "clusters", "papers"]
    assert " ".join(lines[1]) == "kisti 2 of 3 2 of 7 1 of 3 3 of 10"
    assert lines[2][0] == "all"
