from dataclasses import replace

from sciprism.papers.inspection import inspect_papers
from sciprism.papers.read import FileReport, ReadReport
from sciprism.papers.records import Paper

ABSTRACT = "We measure it and we find that it depends on the motion of the water."
FIRST = Paper(id="1", title="On the velocity of light in water", abstract=ABSTRACT, venue="Annals", year=1851)
PAPERS = [
    replace(FIRST, authors=("H. Fizeau",), ids={"doi": "10.1/x"}),
    Paper(id="2", title="Sur la vitesse de la lumière dans les eaux en mouvement", venue="Annals", year=1886),
    Paper(id="3", title="光在水中的速度", venue="Notes"),
    Paper(id="3", abstract="Radium"),
]


def test_counts():
    report = ReadReport(
        files=[FileReport("a.bib", "bibtex", 4, 1)], skipped=["a.bib, record 5 (line 9): broken"], ignored=2
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
    assert found.duplicates.groups == []  # both of id 3 are papers of their own
