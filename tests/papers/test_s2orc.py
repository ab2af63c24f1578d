"""S2ORC's shards: two files joined by id, what is safe, and what is reported of the rest."""

import gzip
import json
from pathlib import Path

import pytest

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers import s2orc
from sciprism.papers.records import Paper


def metadata(name, **more):
    flags = {"has_pdf_parse": True, "has_pdf_parsed_abstract": True}
    return {"paper_id": name, "title": f"Title {name}", "mag_field_of_study": ["Art"], **flags, **more}


def parse(name, *paragraphs):
    return {"paper_id": name, "abstract": [{"section": "Abstract", "text": text} for text in paragraphs]}


def shard(folder: Path, number: int, papers, parses, *, packed=False) -> Path:
    for part, rows in (("metadata", papers), ("pdf_parses", parses)):
        (folder / part).mkdir(parents=True, exist_ok=True)
        lines = "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows).encode()
        path = folder / part / f"{part}_{number}.jsonl{'.gz' if packed else ''}"
        path.write_bytes(gzip.compress(lines) if packed else lines)
    return folder


def read(folder: Path) -> tuple[list[Paper], DropReport]:
    dropped = DropReport()
    return list(s2orc.read_s2orc(folder, dropped=dropped)), dropped


@pytest.mark.parametrize("packed", [False, True])
def test_metadata_and_parses_make_one_paper(tmp_path, packed):
    authors = [{"first": "Ada", "middle": ["M."], "last": "Low", "suffix": "Jr."}, {"last": "Sole"}]
    venue = {"venue": "", "journal": "Invented letters", "year": 2001}
    ids = {"doi": "10.9999/Ab", "arxiv_id": None, "pubmed_id": "90000017"}
    more = {"mag_field_of_study": ["Art", "History"], "outbound_citations": ["4", "5"], "inbound_citations": ["6"]}
    full = metadata("17", authors=authors, **venue, **ids, **more)
    folder = shard(tmp_path, 0, [full], [parse("17", "The first <i>paragraph</i>.", "The second.")], packed=packed)
    assert s2orc.is_s2orc(folder)
    assert read(folder)[0] == [
        Paper(
            id="17",
            title="Title 17",
            abstract="The first paragraph.",
            authors=("Ada M. Low Jr.", "Sole"),
            venue="Invented letters",
            year=2001,
            fields=("Art", "History"),
            references=("4", "5"),
            ids={"doi": "10.9999/ab", "pmid": "90000017"},
        )
    ]


def test_what_is_not_safe_is_counted_by_reason(tmp_path):
    papers = [
        metadata("a"),
        metadata("b", mag_field_of_study=None),
        metadata("c", has_pdf_parse=False),
        metadata("d", has_pdf_parsed_abstract=False),
        metadata("e"),  # no line among the parses
        metadata("f"),  # a parse without a paragraph
        metadata("g"),  # a parse whose first paragraph is empty
        metadata("a", title="Again"),
        metadata("", title="No id"),
        metadata("h", outbound_citations=[True]),
        "{broken",
        "[1, 2]",
    ]
    parses = [parse("g", "", "Later"), parse("stranger", "x"), parse("b", "x"), parse("f"), parse("a", "A."), "{"]
    found, dropped = read(shard(tmp_path, 3, papers, parses))
    assert [(paper.id, paper.title) for paper in found] == [("a", "Title a")]
    counts = {reason: entry["count"] for reason, entry in dropped.to_json().items()}
    assert counts == {s2orc.NO_FIELD: 1, s2orc.NO_PARSE: 2, s2orc.NO_ABSTRACT: 3, s2orc.DUPLICATE: 1, s2orc.NOT_READ: 5}
    assert dropped.ids[s2orc.NO_PARSE] == ["c", "e"] and dropped.ids[s2orc.NO_ABSTRACT] == ["d", "g", "f"]
    assert dropped.ids[s2orc.NOT_READ][0].startswith("metadata_3.jsonl, line 9: no id")


def test_shards_stand_in_order(tmp_path):
    for number in (10, 2, 0):
        shard(tmp_path, number, [metadata(f"p{number}")], [parse(f"p{number}", "Text")], packed=number == 2)
    (tmp_path / "metadata" / "metadata_5.jsonl").write_text("")
    (tmp_path / "metadata" / "README.md").write_text("no shard")
    found, dropped = read(tmp_path)
    assert [paper.id for paper in found] == ["p0", "p2", "p10"] and dropped.ids[s2orc.INCOMPLETE_SHARD] == ["5"]


def test_folders_without_shards_and_damaged_files_are_reported(tmp_path):
    with pytest.raises(InputError, match="no shard of S2ORC"):
        read(tmp_path)
    shard(tmp_path, 0, [metadata(f"p{n}") for n in range(999)], [parse("p1", "Text")], packed=True)
    path = tmp_path / "metadata" / "metadata_0.jsonl.gz"
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(InputError, match="truncated or damaged"):
        read(tmp_path)
