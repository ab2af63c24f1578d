"""S2AND's files of two sources whose ids and blocks are the same."""

import json

import pytest

from build_data import text
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.layouts.mentions import S2andFolders
from sciprism.errors import InputError

PAPERS = {
    "42": {
        "paper_id": 42,
        "title": "T",
        "abstract": None,
        "venue": "",
        "journal_name": "J",
        "year": 2006,
        "authors": [{"position": 1, "author_name": "Ann Lee"}, {"position": 0, "author_name": "Bo Kim"}],
        "references": [7],
    },
    "7": {"paper_id": 7, "title": "only cited", "abstract": "A"},
}


def signature(name, paper, block="a lee", **info):
    known = {"first": "Ann", "middle": "B", "last": "van Lee", "suffix": None, "position": 1, "email": None}
    return {"signature_id": name, "paper_id": paper, "author_info": known | {"block": block} | info}


@pytest.fixture
def home(tmp_path):
    for source in ("kisti", "qian"):
        signatures = {
            "0": signature("0", 42, affiliations=["X University"]),
            "1": signature("1", 42, email="ann@x"),
            "2": signature("2", 99),  # its paper is not there
            "3": signature("3", 42),  # in no cluster
            "4": signature("4", 42, block="c lee", middle=None),
        }
        clusters = {"p": {"cluster_id": "p", "signature_ids": ["0", 1, "4"]}, "r": {"signature_ids": ["2"]}}
        blocks = {"train": {"a lee": ["0", "2"]}, "dev": {"b lee": [1]}, "test": {"c lee": ["4"]}}
        for kind, content in {"signatures": signatures, "papers": PAPERS, "clusters": clusters}.items():
            text(tmp_path / f"s2and/{source}/{source}_{kind}.json", json.dumps(content))
        text(tmp_path / f"s2and/blocks/block_sigs_{source}.json", json.dumps(blocks))
    return DataRoot(tmp_path)


def read(home, *sources):
    return S2andFolders(path="s2and", sources=sources).read(home)


def test_mentions_of_two_sources(home):
    data = read(home, "kisti", "qian")
    assert [mention.id for mention in data.signatures] == [
        "kisti_0", "kisti_1", "kisti_4", "qian_0", "qian_1", "qian_4",
    ]  # fmt: skip
    assert list(data.source) == ["kisti"] * 3 + ["qian"] * 3
    assert [paper.id for paper in data.papers] == ["kisti:42", "kisti:7", "qian:42", "qian:7"]
    paper, mention = data.papers[0], data.signatures[0]
    assert (paper.venue, paper.year, paper.references) == ("", 2006, ("kisti:7",))
    assert data.journals["kisti:42"] == "J"
    assert (mention.name, mention.block, mention.author) == ("van Lee, Ann B", "kisti: a lee", "kisti:p")
    assert (mention.coauthors, mention.affiliations, mention.position) == (("Bo Kim",), ("X University",), 1)
    assert data.signatures[4].email == "ann@x" and data.signatures[4].paper == 2
    # the division says where a mention belongs, before the signature's own block
    assert data.signatures[1].block == "kisti: b lee"
    assert data.train == {"kisti: a lee", "qian: a lee"} and data.dev == {"kisti: b lee", "qian: b lee"}
    assert data.test == {"kisti: c lee", "qian: c lee"}
    left = data.dropped.to_json()["mention without a cluster or a paper"]
    assert left == {"count": 4, "first": ["kisti 2", "kisti 3", "qian 2", "qian 3"]}


def test_a_division_may_list_blocks_only(home, tmp_path):
    text(tmp_path / "s2and/blocks/block_sigs_kisti.json", '{"train": ["a lee"], "test": []}')
    data = read(home, "kisti")
    assert (data.train, data.dev, data.test) == ({"kisti: a lee"}, frozenset(), frozenset())
    assert data.dropped.to_json()["block in no part"]["first"] == ["kisti: c lee"]


def test_without_a_division_blocks_are_divided_by_the_seed(home, tmp_path):
    signatures = {str(i): signature(str(i), 42, block=f"b{i:02}") for i in range(20)}
    clusters = {"p": {"signature_ids": list(signatures)}}
    text(tmp_path / "s2and/kisti/kisti_signatures.json", json.dumps(signatures))
    text(tmp_path / "s2and/kisti/kisti_clusters.json", json.dumps(clusters))
    (tmp_path / "s2and/blocks/block_sigs_kisti.json").unlink()
    data = read(home, "kisti")
    assert [len(part) for part in (data.train, data.dev, data.test)] == [16, 2, 2]
    assert data.dropped.count("source without a split of blocks, split by the seed") == 1
    assert read(home, "kisti").test == data.test


def test_what_is_missing_is_told(home, tmp_path):
    with pytest.raises(InputError, match="s3://ai2-s2-research-public"):
        read(home, "inspire")
    with pytest.raises(InputError, match="prepare s2and-mini"):
        S2andFolders().read(home)
    text(tmp_path / "s2and/blocks/block_sigs_kisti.json", '{"validation": ["a lee"]}')
    with pytest.raises(InputError, match="'validation' is not a list of blocks"):
        read(home, "kisti")
