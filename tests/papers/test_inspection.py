import json

from sciprism.papers.inspection import inspect_papers
from sciprism.papers.read import FileReport, ReadReport, SkippedRecord
from sciprism.papers.records import Paper, Place

PAPERS = [
    Paper(
        id="1",
        title="On the velocity of light in water",
        abstract="We measure it and we find that it depends on the motion of the water.",
        authors=("H. Fizeau",),
        venue="Annals",
        year=1851,
        ids={"doi": "10.1/x"},
    ),
    Paper(id="2", title="Sur la vitesse de la lumière dans les eaux en mouvement", venue="Annals", year=1886),
    Paper(id="3", title="光在水中的速度", venue="Notes"),
    Paper(id="3", abstract="Radium"),
]


def test_counts():
    report = ReadReport(
        files=[FileReport("a.bib", "bibtex", 4, 1)],
        skipped=[SkippedRecord("a.bib", 5, 9, "broken")],
        ignored=2,
    )
    found = inspect_papers(iter(PAPERS), report)
    assert found.papers == 4
    assert found.files == (FileReport("a.bib", "bibtex", 4, 1),)
    assert (found.skipped, found.ignored_files) == (1, 2)
    assert found.missing == {"title": 1, "abstract": 2, "authors": 3, "venue": 1, "year": 2, "doi": 3}
    assert found.languages == {"English": 1, "French": 1, "Chinese": 1, "Latin script": 1}
    assert found.not_english == 2
    named = [(each.id, each.language, each.title[:6]) for each in found.other_languages]
    assert named == [("2", "French", "Sur la"), ("3", "Chinese", "光在水中的速")]
    assert found.years == {1851: 1, 1886: 1}
    assert found.venues == 2
    assert found.top_venues == {"Annals": 2, "Notes": 1}
    # 7 + 15 words, 11, 1 (Chinese has no spaces), 1: the median lies between 1 and 11
    assert found.words == {"min": 1, "10%": 1, "median": 6, "90%": 19, "99%": 22, "max": 22}
    assert found.duplicates.groups == ()  # both of id 3 are papers of their own


def test_ids_of_several_papers_are_no_duplicates():
    def paper(title, file="a.csv", **more):
        return Paper(id="1", title=title, place=Place(file, 1, 2), **more)

    found = inspect_papers([paper("On frogs"), paper("On toads", "b.csv"), paper("on Frogs!", "c.csv")], ReadReport())
    (group,), (clash,) = found.duplicates.groups, found.duplicates.clashes
    assert (group.positions, group.reasons) == ((0, 2), ("id",))
    assert (clash.id, clash.positions, clash.places) == ("1", (0, 1), (Place("a.csv", 1, 2), Place("b.csv", 1, 2)))
    assert found.to_json()["clashes"] == [
        {"id": "1", "papers": 2, "places": ["a.csv, record 1 (line 2)", "b.csv, record 1 (line 2)"]}
    ]
    twice = [paper("Editorial", year=1999), paper("Editorial", year=2000), paper("Editorial", year=1999)]
    found = inspect_papers(twice, ReadReport())
    assert [group.positions for group in found.duplicates.groups] == [(0, 2)] and len(found.duplicates.clashes) == 1


def test_report_is_read_after_the_papers():
    report = ReadReport()

    def papers():
        yield PAPERS[0]
        report.files.append(FileReport("late.ris", "ris", 1, 0))

    assert inspect_papers(papers(), report).files[0].path == "late.ris"


def test_nothing_to_inspect():
    found = inspect_papers([], ReadReport())
    assert (found.papers, found.words, found.years) == (0, {}, {})


def test_json_holds_everything():
    row = json.loads(json.dumps(inspect_papers(PAPERS, ReadReport()).to_json()))
    assert row["years"] == {"1851": 1, "1886": 1}
    assert row["duplicates"] == {"surplus": 0, "reasons": {}, "groups": []}
    assert row["clashes"] == [{"id": "3", "papers": 2, "places": ["", ""]}]
    row = inspect_papers([*PAPERS, PAPERS[0]], ReadReport()).to_json()
    assert row["duplicates"] == {
        "surplus": 1,
        "reasons": {"id": 1, "doi": 1, "title": 1},
        "groups": [{"ids": ("1", "1"), "reasons": ("id", "doi", "title")}],
    }
