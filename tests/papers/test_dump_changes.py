"""Corrections and deletions that data sets state: what is read of each layout, and which records count."""

import json
from pathlib import Path

import pytest

import build_dumps as dumps
from sciprism.errors import InputError
from sciprism.papers import Paper, ReadReport, read_papers
from sciprism.papers.read import list_paper_files, read_changes
from sciprism.papers.records import Deletion
from sciprism.store.embed import LastRecords

STEPS = [
    [(number, f"Title {number}") for number in range(1, 9)],
    [(3, "Title three"), (20, "Title 20"), (1, ""), (99, "")],
    [(1, "Title one again"), (3, "Title 3, corrected twice"), (4, "Title 4"), (5, ""), (20, "")],
]


def select(*paths: Path | str) -> dict[str, tuple[str, str] | None]:
    """Return id -> title and abstract of each last record, None of a deletion."""
    records = list(LastRecords(read_changes(paths)).select(read_changes(paths)))
    found = {each.id: (each.title, each.abstract) if isinstance(each, Paper) else None for each in records}
    assert len(found) == len(records)
    return found


@pytest.mark.parametrize("name", dumps.DUMPS)
def test_the_last_records_of_a_base_and_its_updates_are_the_final_state(name: str, tmp_path: Path) -> None:
    write, id_form = dumps.DUMPS[name]
    paths = write(tmp_path, STEPS)
    found = select(*paths)
    assert {id: text for id, text in found.items() if text} == dumps.final_state(STEPS, id_form)
    assert [id for id, text in found.items() if not text] == [id_form.format(number) for number in (99, 5, 20)]
    report = ReadReport()
    papers = list(read_papers(paths, report=report))
    assert all(isinstance(paper, Paper) for paper in papers) and len(papers) == report.papers == 13
    assert report.deletions == 4 and {file.format for file in report.files} == {name}
    deleted = [each for each in read_changes(paths) if isinstance(each, Deletion)]
    assert [each.id for each in deleted] == [id_form.format(number) for number in (1, 99, 5, 20)]
    assert all(each.place and each.place.record for each in deleted)


def pubmed(path: Path, *articles: tuple, deletions: str = "") -> None:
    dumps.write_packed(path, dumps.pubmed_file([dumps.pubmed_article(*each) for each in articles], deletions))


def test_the_highest_version_of_a_pubmed_article_counts(tmp_path: Path) -> None:
    first, second = tmp_path / "1.xml.gz", tmp_path / "2.xml.gz"
    pubmed(first, (7, "Second", 2), (7, "First", 1))
    assert select(first) == {"7": ("Second", "On Second.")}
    pubmed(second, (7, "First, revised", 1))
    assert select(first, second) == {"7": ("Second", "On Second.")}
    pubmed(second, deletions='<PMID Version="2">7</PMID>')
    assert select(first, second) == {"7": ("First", "On First.")}
    pubmed(second, deletions='<PMID Version="2">7</PMID><PMID>7</PMID><PMID> </PMID>')
    with pytest.raises(InputError, match=r"2\.xml\.gz, record 3: a deletion without id; fix it or pass --skip-bad"):
        select(first, second)
    changes = list(read_changes([first, second], skip_bad=True))
    assert list(LastRecords(changes).select(changes)) == [Deletion("7")]
    pubmed(first, *((7, "A", version) for version in ("2", "9" * 5000, "one", "")))
    assert [each.place.version for each in read_changes(first) if each.place] == [2, None, None, None]


def test_a_difference_gives_the_files_that_it_names_in_their_order(tmp_path: Path) -> None:
    paths = dumps.semantic_scholar(tmp_path, STEPS)
    dumps.write_packed(tmp_path / "release-2" / "deletes_0.gz", "")  # no deletions: an empty file
    files = [(str(file.path.relative_to(tmp_path)), file.deletes) for file in list_paper_files(paths)]
    kinds = [(f"release-{n}/{kind}_0.gz", kind == "deletes") for n in range(3) for kind in ("updates", "deletes")]
    assert files == [kinds[0], *kinds[2:]]
    assert {id for id, text in select(*paths).items() if not text} == {"99"}


def change_diff(path: str, **changes: object) -> Path:
    content = json.loads(Path(path).read_text())
    step = {key: changes.pop(key) for key in list(changes) if key.endswith(("_files", "from_release"))}
    content["diffs"][0] |= step
    Path(path).write_text(json.dumps(content | changes))
    return Path(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dataset": "citations"}, "of the data set 'citations'; papers are in 'papers'"),
        ({"from_release": "7"}, "after the release 0 it goes on from 7"),
        (
            {"delete_files": ["https://host/staging/release-1/lost.gz?x"]},
            r"1 cannot be found \(.*/lost.gz\); fetch them",
        ),
        ({"delete_files": ["https://host/staging/release-1/updates_0.gz?Signature=x"]}, "lists 1 files twice"),
        ({"diffs": [3]}, "a manifest that is .* damaged"),
        ({"diffs": [{"update_files": 3}]}, "a manifest that is .* damaged"),
    ],
)
def test_a_difference_that_cannot_be_applied_says_why(tmp_path: Path, changes: dict, message: str) -> None:
    path = change_diff(dumps.semantic_scholar(tmp_path, STEPS)[1], **changes)
    with pytest.raises(InputError, match=message):
        list(read_changes(path))


def test_a_later_folder_of_openalex_corrects_an_earlier_and_merged_ids_come_last(tmp_path: Path) -> None:
    data = tmp_path / "data"
    for day, works in (("02-01", [(1, "One, later"), (3, "Three")]), ("01-01", [(1, "One"), (2, "Two, now merged")])):
        path = data / "works" / f"updated_date=2024-{day}" / "part_000.jsonl.gz"
        dumps.write_lines(path, [dumps.openalex_work(*work) for work in works])
    rows = [f"2024-02-01,{id},W1" for id in ("https://openalex.org/W2", "W8", "A5", "")]
    table = "\n".join(["merge_date,id,merge_into_id", *rows])
    dumps.write_packed(data / "merged_ids" / "works" / "2024-02-01.csv.gz", table)
    expected = {"W1": ("One, later", "On One, later."), "W3": ("Three", "On Three."), "W2": None, "W8": None}
    report = ReadReport()
    assert select(data) == select(tmp_path / "data" / "*") == expected
    assert len(list(read_changes(data, report=report))) == 6
    assert report.files[-1].note == "not papers: 2 other merged ids"


def test_a_withdrawn_paper_of_arxiv_stays_and_is_counted_unless_it_has_no_abstract(tmp_path: Path) -> None:
    withdrawn = "12 pages. This article was withdrawn due to an error in Lemma 2"
    records = [
        dumps.arxiv_record(1, "Kept", "It still has an abstract.", withdrawn),
        dumps.arxiv_record(2, "Gone", "", withdrawn),
        dumps.arxiv_record(3, "No abstract", "", "3 pages"),
        dumps.arxiv_record(4, "Cash", "On money.", "We study cash that is withdrawn from banks; 3 figures"),
    ]
    dumps.write_lines(tmp_path / "arxiv.jsonl.gz", records)
    report = ReadReport()
    found = list(read_changes(tmp_path / "arxiv.jsonl.gz", report=report))
    assert [each.id for each in found] == [f"2401.{number:05d}" for number in range(1, 5)]
    assert [isinstance(each, Deletion) for each in found] == [False, True, False, False]
    assert report.files[0].note == "1 withdrawn paper (2401.00001)"


def test_an_input_that_changes_between_its_two_readings_is_refused() -> None:
    records = [Paper(id="a", title="A"), Deletion("b")]
    last = LastRecords(records)
    for other in (records[:1], [*records, Deletion("c")]):
        with pytest.raises(InputError, match="had 2 records when it was first read, and then"):
            list(last.select(other))
