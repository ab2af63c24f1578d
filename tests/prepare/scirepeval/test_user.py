"""The eight kinds of sources from user papers: what each example must be, and what each kind needs."""

import json
import math
import os
import subprocess
import sys

import pytest

from sciprism.errors import InputError
from sciprism.prepare.scirepeval.training_sources import SourceSettings, prepare_scirepeval
from sciprism.prepare.scirepeval.user_sources import UserPapers, source_builders
from sciprism.training.examples import read_examples


def build_user_papers(folder, **more):
    return UserPapers(papers=(folder / "papers.jsonl",), tables=folder / "tables", **{"dev": 0.3, **more})


@pytest.fixture
def prepared_folder(user_folder, tmp_path):
    prepare_scirepeval(tmp_path / "out", user_papers=build_user_papers(user_folder))
    return tmp_path / "out"


def read(folder, name, part="train", query="paper"):
    return list(read_examples(folder / part / f"{name}.jsonl", query=query, candidate="paper"))


def facts(folder):
    return {source["name"]: source for source in json.loads((folder / "sources.json").read_text())["sources"]}


def number(paper):
    return int(paper.id.removeprefix("p"))


def test_all_eight_are_made_and_told(prepared_folder):
    sources = facts(prepared_folder)
    assert [*sources] == [*source_builders] and len(sources) == 8
    assert {name for name in sources if sources[name]["type"] == "classification"} == {"fos", "mesh"}
    for name, source in sources.items():
        for part in ("train", "dev"):
            found = read(prepared_folder, name, part, source["query"])
            assert found and source["parts"][part]["examples"] == len(found)


def test_dev_papers_are_no_train_papers(prepared_folder):
    sources = facts(prepared_folder)
    train, dev = set(), set()
    for name, source in sources.items():
        if source["query"] == "paper":
            for e in read(prepared_folder, name):
                train |= {item.id for item in (e.query, *e.positives, *e.negatives)}
            dev |= {e.query.id for e in read(prepared_folder, name, "dev")}
    assert len(dev) > 40 and not train & dev
    words = [{e.query for e in read(prepared_folder, "search", part, "query")} for part in ("train", "dev")]
    assert words[0] and words[1] and not words[0] & words[1]


@pytest.mark.parametrize("part", ["train", "dev"])
def test_triplets_of_citations(prepared_folder, part):
    for e in read(prepared_folder, "cite_context", part):
        asked = number(e.query)
        assert number(e.positives[0]) == asked + 1 and 2 <= number(e.negatives[0]) - asked <= 4
    for e in read(prepared_folder, "specter", part):
        assert 1 <= number(e.query) - number(e.positives[0]) <= 4
        assert not 1 <= abs(number(e.query) - number(e.negatives[0])) <= 4
    kinds = facts(prepared_folder)["specter"]["parts"][part]["negatives"]
    assert 0.3 < kinds["cited by a cited paper"] / sum(kinds.values()) < 0.5


@pytest.mark.parametrize("part", ["train", "dev"])
def test_triplets_of_authors(prepared_folder, part):
    def together(one, other):
        return one // 5 == other // 5 or one // 7 == other // 7

    for e in read(prepared_folder, "s2and", part):
        asked, right, wrong = number(e.query), number(e.positives[0]), number(e.negatives[0])
        assert together(asked, right) and not together(asked, wrong)


def test_numbers_lie_on_one_scale(prepared_folder):
    sources = facts(prepared_folder)
    assert sources["cite_pred"]["year"] == 2008 and sources["cite_pred"]["counted"] == "by the table"
    both = [e for part in ("train", "dev") for e in read(prepared_folder, "cite_pred", part)]
    counted = {e.query.id: e.answers[0] for e in both}
    assert counted == {f"p{n}": pytest.approx(math.log(n)) for n in range(3, 400, 4)}
    factor = sum(counted.values()) / len(counted)
    assert sources["year_pred"]["factor"] == pytest.approx(factor)
    assert (sources["year_pred"]["first"], sources["year_pred"]["last"]) == (2006, 2008)
    for e in read(prepared_folder, "year_pred"):
        assert e.answers[0] == pytest.approx((number(e.query) % 4 - 1) / 2 * factor)


def test_classes(prepared_folder):
    sources = facts(prepared_folder)
    assert sources["fos"]["labels"] == ["Computer science", "Linguistics", "Physics"]
    for e in read(prepared_folder, "fos"):
        assert e.answers == (("Computer science", "Linguistics"), ("Physics",))[number(e.query) % 4]
    assert set(sources["mesh"]["labels"]) == {"Brain", "Liver", "Lung"}
    for e in read(prepared_folder, "mesh"):
        assert number(e.query) % 2 and e.answers == (("Brain", "Liver", "Lung")[number(e.query) % 3],)


def test_clicks(prepared_folder):
    for e in read(prepared_folder, "search", query="query"):
        asked = int(e.query.removeprefix("words "))
        assert number(e.positives[0]) == asked and number(e.negatives[0]) in (0, 399)
        assert e.positives[0].title == f"Title {asked}"


def test_clicks_may_bring_their_own_papers(user_folder, tmp_path):
    (user_folder / "tables" / "clicks.csv").unlink()
    shown = [
        {"id": "new", "title": "New", "score": 2},
        {"doc_id": "p3", "score": 0},
        {"doc_id": "gone", "score": 0},
    ]
    lines = [json.dumps({"query": f"ask {n}", "candidates": shown}) for n in range(3)]
    (user_folder / "tables" / "clicks.jsonl").write_text("\n".join(lines))
    prepare_scirepeval(tmp_path / "out", user_papers=build_user_papers(user_folder, dev=0.0))
    found = read(tmp_path / "out", "search", query="query")
    assert [(e.query, e.positives[0].id, e.negatives[0].title) for e in found] == [
        (f"ask {n}", "new", "Title 3") for n in range(3)
    ]
    assert facts(tmp_path / "out")["search"]["parts"]["train"]["dropped"] == {
        "unknown candidate": {"count": 3, "first": ["gone"] * 3}
    }


def test_caps(user_folder, tmp_path):
    prepare_scirepeval(
        tmp_path,
        user_papers=build_user_papers(user_folder),
        settings=SourceSettings(max_examples=50, max_dev_examples=20),
    )
    for source in facts(tmp_path).values():
        assert source["parts"]["train"]["examples"] <= 50 and source["parts"]["dev"]["examples"] <= 20
    assert facts(tmp_path)["mesh"]["parts"]["train"]["examples"] == 50


def test_papers_alone_give_what_they_can(user_folder, tmp_path):
    lines = [json.loads(line) for line in (user_folder / "papers.jsonl").read_text().splitlines()]
    for n, row in enumerate(lines):
        row["references"] = [f"p{n - back}" for back in (1, 2, 3) if n >= back]
    path = tmp_path / "papers.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    prepared = prepare_scirepeval(tmp_path / "out", user_papers=UserPapers(papers=(path,), dev=0.2))
    sources = facts(tmp_path / "out")
    assert [*sources] == ["cite_pred", "year_pred", "specter"]
    assert sources["cite_pred"]["counted"] == "citations known here"
    assert prepared.not_made["mesh"] == "no table mesh; its columns are paper, descriptor, qualifier"
    assert [*prepared.not_made] == ["cite_context", "s2and", "fos", "mesh", "search"]


WITH_PROCESSES = """
import sys
from pathlib import Path
from sciprism import parallel
from sciprism.prepare.scirepeval.training_sources import SourceSettings, prepare_scirepeval
from sciprism.prepare.scirepeval.user_sources import UserPapers
parallel.PROCESSES, parallel.PATIENCE = 2, -1
if __name__ == "__main__":
    folder, out = map(Path, sys.argv[1:])
    papers = UserPapers(papers=(folder / "papers.jsonl",), tables=folder / "tables", dev=0.3)
    settings = SourceSettings(max_examples=100, seed=5)
    prepare_scirepeval(out, user_papers=papers, settings=settings)
"""


def test_the_same_bytes_for_any_processes_and_hash_seed(user_folder, tmp_path):
    prepare_scirepeval(
        tmp_path / "one",
        user_papers=build_user_papers(user_folder),
        settings=SourceSettings(max_examples=100, seed=5),
    )
    sources = os.environ | {"PYTHONHASHSEED": "1"}
    command = [sys.executable, "-c", WITH_PROCESSES, user_folder, tmp_path / "three"]
    subprocess.run(command, env=sources, check=True, capture_output=True)
    kept = contents(tmp_path / "one")
    assert len(kept) == 17 and kept == contents(tmp_path / "three")
    prepare_scirepeval(
        tmp_path / "two",
        user_papers=build_user_papers(user_folder),
        settings=SourceSettings(max_examples=100, seed=6),
    )
    assert kept != contents(tmp_path / "two")


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.json*"))}


def test_a_config_and_own_papers_together(user_folder, published, tmp_path):
    config = published.write(published.config[2:3])
    prepare_scirepeval(tmp_path / "out", config=config, user_papers=build_user_papers(user_folder))
    assert [*facts(tmp_path / "out")] == ["cite", *source_builders]
    config = published.write([published.config[2] | {"name": "cite_pred"}])
    prepared = prepare_scirepeval(tmp_path / "both", config=config, user_papers=build_user_papers(user_folder))
    assert prepared.not_made == {"cite_pred, of your papers": "the config has a source of this name"}
    sources = facts(tmp_path / "both")
    assert sorted(sources) == sorted(source_builders) and sources["cite_pred"]["data"] != "user papers"


@pytest.mark.parametrize(
    ("table", "text", "message"),
    [
        ("citations.tsv", "from\tto\np1\tp2\n", "no field 'citing'; it has from, to"),
        ("citations.tsv", "citing\tcited\tmentions\np1\tp2\tmany\n", "'many' is not a number"),
        ("counts.csv", "paper,citations\np1,-3\n", "'-3' is not a count"),
        ("mesh.tsv", "paper\tdescriptor\np1\tBrain\n", "no field 'qualifier'; it has paper, descriptor"),
        ("authors.jsonl", '{"paper": "p1"}\n', "authors.jsonl, line 1: no field 'author'; it has paper"),
        ("clicks.csv", "query,paper\nq,p1\n", "no field 'score'; it has query, paper"),
    ],
)
def test_a_wrong_table_is_told_in_a_line(user_folder, tmp_path, table, text, message):
    (user_folder / "tables" / table).write_text(text)
    with pytest.raises(InputError, match=message) as sources:
        prepare_scirepeval(tmp_path / "out", user_papers=build_user_papers(user_folder))
    assert "\n" not in str(sources.value)


def test_wrong_requests(user_folder, tmp_path):
    with pytest.raises(InputError, match=r"dev = 1\.0: Input should be less than 1"):
        prepare_scirepeval(tmp_path, user_papers=build_user_papers(user_folder, dev=1.0))
    with pytest.raises(InputError, match="no such folder"):
        prepare_scirepeval(
            tmp_path, user_papers=UserPapers(papers=(user_folder / "papers.jsonl",), tables=tmp_path / "gone")
        )
    with pytest.raises(InputError, match="no config file and no papers"):
        prepare_scirepeval(tmp_path)
    with pytest.raises(InputError, match="max_examples = -1"):
        SourceSettings(max_examples=-1)
    (tmp_path / "none.jsonl").write_text('{"id": "a", "title": ""}\n{"id": "b", "title": ""}\n')
    with pytest.raises(InputError, match="no papers"):
        prepare_scirepeval(tmp_path, user_papers=UserPapers(papers=(tmp_path / "none.jsonl",)))
