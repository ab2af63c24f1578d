"""Numbers and classes to predict, against values worked by hand."""

import pytest

from sciprism.papers import Paper
from sciprism.prepare.samplers.examples import (
    most_cited_year,
    most_frequent,
    normalize_venue,
    sample_log_citations,
    sample_scaled_years,
    sample_single_headings,
    sample_venue_fields,
    single_qualified_descriptor,
    year_range_after_2005,
)
from sciprism.prepare.samplers.sampling import SampleReport, Sampling


def paper(name, **more):
    return Paper(id=name, title=f"Title of {name}", **more)


def answers(examples):
    return {e.query.id: e.answers for e in examples}


def test_log_citations_of_one_year():
    papers = [
        paper("a", year=2016), paper("b", year=2016), paper("c", year=2016), paper("d", year=2015),
        paper("e"), Paper(id="f", year=2016),
    ]  # fmt: skip
    counts = {"a": 1, "b": 20, "c": 0, "d": 7, "e": 9, "f": 3}
    report = SampleReport()
    found = answers(sample_log_citations(papers, counts, Sampling(report=report), year=2016))
    assert found == {"a": (0.0,), "b": (pytest.approx(2.995732273553991),)}
    assert report.dropped.ids == {
        "no text": ["f"],
        "not cited": ["c"],
        "of another year": ["d"],
        "no year": ["e"],
    }
    assert len(answers(sample_log_citations(papers, counts, Sampling(limit=1), year=2016))) == 1


def test_the_year_with_the_most_cited_papers():
    papers = [paper("a", year=2016), paper("b", year=2016), paper("c", year=2014), paper("d", year=2018)]
    assert most_cited_year(papers, {"a": 1, "c": 5, "d": 1}) == 2018  # one each: the latest
    assert most_cited_year(papers, {"a": 1, "b": 1, "c": 5, "d": 9}) == 2016
    assert most_cited_year(papers, {"c": 0}) is None


def test_years_are_scaled_to_one_and_then_by_the_factor():
    papers = [paper(str(year), year=year) for year in (1999, 2005, 2006, 2011, 2016)] + [paper("x")]
    assert year_range_after_2005(papers) == (2006, 2016)
    assert year_range_after_2005(papers[:3]) is None
    report = SampleReport()
    found = answers(sample_scaled_years(papers, Sampling(report=report), first=2006, last=2016, factor=3.0))
    assert found == {"2006": (0.0,), "2011": (1.5,), "2016": (3.0,)}
    assert report.dropped.ids == {"not of 2006 to 2016": ["1999", "2005"], "no year": ["x"]}


def test_fields_of_a_venue():
    fields = {
        normalize_venue(" Nature  Physics "): ["Physics", "Physics"],
        "plos one": list("abcd"),
        "acl": ["b", "a"],
    }
    papers = [
        paper("p", venue="nature physics"), paper("q", venue="PLOS ONE"), paper("r", venue="ACL"),
        paper("s", venue="Unknown"), paper("t"),
    ]  # fmt: skip
    report = SampleReport()
    found = answers(sample_venue_fields(papers, fields, Sampling(report=report, seed=42)))
    assert found == {"p": ("Physics",), "r": ("a", "b")}
    assert report.dropped.ids == {
        "venue of more than 3 fields": ["q"],
        "venue without a field": ["s"],
        "no venue": ["t"],
    }
    many = [paper(str(n), venue="acl" if n % 4 else "nature physics") for n in range(40)]
    sampled = answers(sample_venue_fields(many, fields, Sampling(limit=20, seed=42)))
    assert len(sampled) == 20 and sum(found == ("Physics",) for found in sampled.values()) == 5


def test_papers_with_one_qualified_heading():
    headings = {
        "a": [("Brain", "metabolism"), ("Humans", "")],
        "b": [("Brain", "metabolism"), ("Brain", "surgery")],  # two qualifiers of one heading
        "c": [("Humans", ""), ("Mice", "")],
        "d": [("Rare", "surgery")],
        "e": [("Brain", "blood"), ("Brain", "blood")],  # written twice
    }
    assert [single_qualified_descriptor(headings[name]) for name in "abcde"] == [
        "Brain",
        "",
        "",
        "Rare",
        "Brain",
    ]
    report = SampleReport()
    papers, sampling = [paper(name) for name in "abcdef"], Sampling(report=report)
    found = answers(sample_single_headings(papers, headings, sampling, descriptors=["Brain"]))
    assert found == {"a": ("Brain",), "e": ("Brain",)}
    assert report.dropped.ids == {
        "not exactly one qualifier": ["b", "c", "f"],
        "heading that is not frequent": ["d"],
    }
    many = {str(n): [("Brain" if n % 5 else "Liver", "surgery")] for n in range(50)}
    selected = sample_single_headings(
        [paper(name) for name in many], many, Sampling(limit=10, seed=42), descriptors=["Brain", "Liver"]
    )
    assert sorted(answers(selected).values()) == [("Brain",)] * 8 + [("Liver",)] * 2


def test_the_most_frequent_names():
    assert most_frequent(["b", "a", "a", "c", "", ""]) == ("a", "b", "c")
    assert len(most_frequent(map(str, range(50)))) == 30
