"""The example collection: valid records, and BibTeX with the same content as its JSONL file."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sciprism.papers import Paper, read_papers

LANDMARKS = Path(__file__).parents[1] / "examples" / "landmarks"
FIELDS = (
    "physics",
    "astronomy and space",
    "Earth and climate",
    "chemistry and materials",
    "biology and genetics",
    "medicine and public health",
    "neuroscience and psychology",
    "mathematics and statistics",
    "computer science and AI",
    "engineering",
    "economics and social science",
)


def read_landmarks(name: str) -> list[Paper]:
    return list(read_papers(LANDMARKS / name))


def read_json_lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (LANDMARKS / name).read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def papers() -> list[Paper]:
    return [Paper.from_json(row) for row in read_json_lines("landmarks.jsonl")]


def test_every_line_is_a_record_and_nothing_else(papers: list[Paper]) -> None:
    assert [paper.to_json() for paper in papers] == read_json_lines("landmarks.jsonl")


def test_papers_are_sorted_by_field_year_and_id(papers: list[Paper]) -> None:
    keys = [(FIELDS.index(paper.fields[0]), paper.year, paper.id) for paper in papers]
    assert keys == sorted(keys)


def test_citations_lead_to_papers_that_are_not_newer(papers: list[Paper]) -> None:
    years = {paper.id: paper.year or 0 for paper in papers}
    links = [(paper.id, cited) for paper in papers for cited in paper.references]
    assert len(links) > 50
    assert len(set(links)) == len(links)
    assert [link for link in links if link[0] == link[1] or link[1] not in years] == []
    assert [(citing, cited) for citing, cited in links if years[cited] > years[citing]] == []


def test_reader_yields_what_the_file_says(papers: list[Paper]) -> None:
    # DOIs are the same in any case; readers give them in lower case.
    expected = [{**paper.to_json(), "ids": {k: v.lower() for k, v in paper.ids.items()}} for paper in papers]
    assert [{"ids": {}, **paper.to_json()} for paper in read_landmarks("landmarks.jsonl")] == expected


def test_the_bibtex_file_agrees_record_by_record() -> None:
    expected, exported = read_landmarks("landmarks.jsonl"), read_landmarks("landmarks.bib")
    assert [paper.id for paper in exported] == [paper.id for paper in expected]
    for one, other in zip(expected, exported, strict=True):
        # BibTeX has no place for fields and citations.
        assert other == replace(one, fields=(), references=())


def test_fifty_queries_expect_papers_of_the_collection(papers: list[Paper]) -> None:
    queries = read_json_lines("queries.jsonl")
    fields = {paper.id: paper.fields[0] for paper in papers}
    assert len(queries) == 50
    assert all(set(row) == {"query", "expected"} for row in queries)
    assert {row["expected"] for row in queries} <= set(fields)
    assert len({row["expected"] for row in queries}) == len({row["query"] for row in queries}) == 50
    assert [row["query"] for row in queries if not 5 <= len(row["query"].split()) <= 14] == []
    per_field = Counter(fields[row["expected"]] for row in queries)
    assert set(per_field) == set(FIELDS)
    assert set(per_field.values()) <= {4, 5}
