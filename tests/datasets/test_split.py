"""One split for all data: a test paper is a test paper everywhere."""

import os
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from open_data import paper, write
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.open_data import (
    OPEN_DATA_SETS,
    PARTS,
    PaperOrigin,
    SplitTable,
    hash_rule,
    list_paper_keys,
    read_entries,
    year_rule,
)
from sciprism.papers import Paper


@pytest.fixture
def home(tmp_path):
    """Three data sets that share papers under different names."""
    rows = [
        ("cls_biomimicry", "doi:10.1000/A", "How geckos hold on to walls of glass", "train"),
        ("cls_biomimicry", "doi:10.1000/b", "Ants that build bridges out of themselves", "dev"),
        ("cls_biomimicry", "doi:10.1000/c", "Spiders", "train"),
        ("cls_biomimicry", "doi:10.1000/d", "A paper that nobody else has at all", "train"),
        ("xmc_pubmed_mesh", "pmid:7", "How Geckos Hold On to Walls of Glass.", "train"),
        ("xmc_pubmed_mesh", "pmid:8", "Spiders", "test"),
    ]
    for data in ("cls_biomimicry", "xmc_pubmed_mesh"):
        papers = [paper(name, title, split=part) for of, name, title, part in rows if of == data]
        write(tmp_path, f"{data}/papers", papers)
    write(tmp_path, "qa_pubmedqa/test", [{"id": "7", "question": "What holds?", "answer": "yes"}])
    ants = "Ants that build bridges - out of themselves"
    write(tmp_path, "ner_craft/train", [{"tokens": ants.split(), "tags": []}])
    return DataRoot(tmp_path)


def test_the_strongest_part_wins_by_title_doi_and_pmid(home):
    table = SplitTable.build(home)
    # gecko: train by DOI, joined by title to a train PMID, which is a test paper of the questions
    assert table.part("doi:10.1000/a") == table.part("pmid:7") == table.part("cls_biomimicry:doi:10.1000/A") == "test"
    assert table.part("doi:10.1000/b") == "dev"
    assert table.part("doi:10.1000/d") == "train"
    assert table.part("doi:10.1000/zz") is None
    assert table.part("doi:10.1000/zz", "doi:10.1000/d") == "train"


def test_a_short_title_alone_joins_nothing_but_with_its_abstract_does(home, tmp_path):
    table = SplitTable.build(home)
    assert table.part("doi:10.1000/c") == "test"  # both are "Spiders" and begin "All about Spiders, told ..."
    write(tmp_path, "xmc_pubmed_mesh/papers", [paper("pmid:8", "Spiders", split="test") | {"abstract": "Webs."}])
    assert SplitTable.build(home).part("doi:10.1000/c") == "train"
    for short in (Paper(id="x", title="Spiders"), Paper(id="x", title="Editorial", abstract="We greet you")):
        assert not [key for key in list_paper_keys(short) if "title" in key]


def test_entries_hold_both_parts_and_ids_of_their_own(home):
    parts = [(entry.own_part, entry.part) for entry in read_entries(home, "cls_biomimicry")]
    assert parts == [("train", "test"), ("dev", "dev"), ("train", "test"), ("train", "train")]
    assert [entry.paper.id for entry in read_entries(home, "ner_craft")] == ["ner_craft#0"]


def test_a_kept_table_is_the_built_one_and_goes_when_a_file_changes(home, tmp_path, monkeypatch):
    monkeypatch.setenv("SCIPRISM_CACHE", str(tmp_path / "cache"))
    built = SplitTable.load(home)
    assert SplitTable.load(home) is built

    def unread(self, path):
        raise AssertionError("the records were read again")

    monkeypatch.setattr(DataRoot, "records", unread)
    again = DataRoot(tmp_path / "qa_pubmedqa" / "..")  # the same folder by another name is another table in memory
    assert SplitTable.load(again) == built
    write(tmp_path, "qa_pubmedqa/test", [{"id": "9", "question": "Another?", "answer": "no"}])
    with pytest.raises(AssertionError, match="read again"):
        SplitTable.load(DataRoot(tmp_path / "ner_craft" / ".."))


def test_rules():
    years = [year_rule(2015, 2016)(PaperOrigin({"year": y}, "", "")) for y in (2014, 2015, 2016, None)]
    assert years == ["train", "dev", "test", "train"]
    rule = hash_rule(0.5, 0.25, (("venue", "A"),))
    drawn = [rule(PaperOrigin({"venue": "A"}, f"p{i}", "")) for i in range(4000)]
    shares = [drawn.count(part) / len(drawn) for part in PARTS]
    assert shares == pytest.approx([0.25, 0.25, 0.5], abs=0.03)
    assert rule(PaperOrigin({"venue": "B"}, "p1", "")) == "train"
    assert rule(PaperOrigin({"venue": "A"}, "p1", "")) == rule(PaperOrigin({"venue": "A"}, "p1", ""))


RECORDS = st.lists(
    st.tuples(st.integers(0, 8), st.integers(0, 8), st.sampled_from(PARTS), st.booleans()), min_size=1, max_size=14
)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(records=RECORDS)
def test_parts_are_those_of_connected_papers(records, tmp_path):
    """Against an independent walk over the graph of papers and names."""
    of = {True: "cls_biomimicry", False: "xmc_pubmed_mesh"}
    rows = defaultdict(list)
    for doi, title, part, first in records:
        row = {"id": f"doi:10.1000/{doi}", "title": f"a title of many words {title}", "split": part}
        rows[of[first]].append(row)
    for data in of.values():
        write(tmp_path, f"{data}/papers", rows[data])
    table = SplitTable.build(DataRoot(tmp_path))
    ordered = sorted(records, key=lambda record: PARTS.index(record[2]))
    strongest = {(doi, title): PARTS.index(part) for doi, title, part, _ in ordered}
    for _ in strongest:
        for one in strongest:
            for other in strongest:
                if one[0] == other[0] or one[1] == other[1]:
                    strongest[one] = strongest[other] = max(strongest[one], strongest[other])
    assert {key: PARTS.index(table.part(f"doi:10.1000/{key[0]}")) for key in strongest} == strongest


@pytest.mark.data
def test_every_folder_of_the_data_has_a_rule():
    folders = {path.name for path in Path(os.environ["SCIPRISM_DATA"]).iterdir() if path.is_dir()}
    labels = {"labels_arxiv", "labels_mesh", "labels_uat"}
    without_tasks = {"dedup_sr_libraries", "rec_user_libraries"}  # no task and no training set reads them
    assert folders - without_tasks == {source.data for source in OPEN_DATA_SETS} | labels
