"""The whole command: what it prints, records, lists as missing, and that a seed alone decides."""

import json
import os
import subprocess
import sys
import tracemalloc

import pytest
from typer.testing import CliRunner

from build_data import lines, text
from sciprism.cli.main import app
from sciprism.prepare.scimult.context import SciMultPrepareContext
from sciprism.prepare.scimult.data_sets import WRITERS, prepare_scimult


@pytest.fixture
def some(raw):
    """CS-Journal, citations without a validation split, Geography and SciFact; all else is missing."""
    raw.topics()
    rows = [{"paper": str(i), "label": ["11", "12"][: 1 + i % 2], "venue": "v"} for i in range(9)]
    raw.maple("Computer_Science", rows)
    raw.maple("Geography", [{"paper": "1", "label": ["7"]}], labels="7\tmaps\t2\n8\tseas\t1\n")
    raw.triplets("train", [("a", "b", "c")])
    raw.beir("scifact", ("1", "2"), ("q1",), {"train": "q1 1 1", "test": "q1 2 1"})
    return raw.folder


def contents(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_the_command(some, tmp_path):
    out = tmp_path / "out"
    done = CliRunner().invoke(app, ["prepare", "scimult", str(some), "-o", str(out)])
    assert done.exit_code == 0, done.output
    printed = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert printed[:2] == ["Table A1: pre-training sources", "queries published positive pairs published"]
    for line in (
        "MAPLE CS-Journal 9 358,447 13 1,242,885",
        "SciFact 1 1,109 2 5,183",
        "citation triplets: written without allenai/scirepeval/cite_prediction, split validation",
        "MAPLE Biology-MeSH + Medicine-MeSH: not made: maple/Biology_MeSH/papers.json is missing",
    ):
        assert line in printed
    assert sorted(contents(out)) == [
        "pretrain/citations.jsonl",
        "pretrain/coarse.jsonl",
        "pretrain/cs-journal.jsonl",
        "scimult.json",
        *(f"scimult/classification_fine/Geography_{k}.json" for k in ("label", "matched", "papers_test")),
        *(f"scimult/search/SciFact_{kind}_test.json" for kind in ("papers", "queries")),
    ]


def test_only_the_seed_decides(some, tmp_path):
    script = """if True:
        import sys
        from pathlib import Path
        from sciprism.prepare.scimult.data_sets import prepare_scimult

        prepare_scimult(Path(sys.argv[1]), Path(sys.argv[2]), seed=int(sys.argv[3]))
    """
    command = [sys.executable, "-c", script, str(some), str(tmp_path / "a"), "4"]
    subprocess.run(command, check=True, env=os.environ | {"PYTHONHASHSEED": "1"})
    for out, seed in (("b", 4), ("c", 6)):
        prepare_scimult(some, tmp_path / out, seed=seed)  # with a random hash seed
    first, again, other = (contents(tmp_path / out) for out in "abc")
    assert first == again
    assert first["pretrain/cs-journal.jsonl"] != other["pretrain/cs-journal.jsonl"]


@pytest.mark.parametrize("name", ["MAPLE CS-Journal", "MAPLE coarse", "SciFact", "SciDocs links"])
def test_texts_pass_by(raw, tmp_path, name):
    """Ten times the text, the same memory: far less than the texts come to."""
    peaks = []
    for times in (1, 10):
        long = "word " * (500 * times)
        raw.topics()
        for folder in ("Computer_Science", "Art"):
            rows = [{"paper": str(i), "label": ["11"], "abstract": long} for i in range(300)]
            raw.maple(folder, rows)
        raw.beir("scifact", (), ("q",), {"train": "q 1 1", "test": "q 2 1"})
        lines(raw.folder / "beir/scifact/corpus.jsonl", ({"_id": str(i), "text": long} for i in range(300)))
        records = {str(i): {"title": "T", "abstract": long, "references": ["1"]} for i in range(300)}
        text(raw.folder / "scidocs/paper_metadata_view_cite_read.json", json.dumps(records))
        build = next(parts[name] for parts in WRITERS.values() if name in parts)
        del records, rows
        tracemalloc.start()
        build(SciMultPrepareContext(raw.folder, tmp_path / "out", 1))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] - peaks[0] < 300 * 22_500 / 2
