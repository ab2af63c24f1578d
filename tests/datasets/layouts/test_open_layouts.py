"""Layouts over the open data: what they draw, what they leave out, and that they say so."""

import numpy as np
import pytest

from open_data import paper, write
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.layouts.open_data import (
    LINKS,
    LinkedCorpus,
    LinkedPools,
    PaperClasses,
    PaperNumbers,
    SampleSizes,
    sample_entries,
)
from sciprism.datasets.open_data import read_entries

TOPICS = ("frogs", "stars", "metals", "markets", "proteins", "rivers", "engines", "verbs", "knots", "storms")


def title(number):
    return f"On {TOPICS[number % 10]} and {TOPICS[number // 10 % 10]} seen in case {number}"


def test_sizes_draw_the_same_papers_for_every_task(tmp_path):
    parts = ("train", "dev", "test")
    facts = [{"field": "Physics" if n % 2 else "", "year": 2000 + n, "split": parts[n % 3]} for n in range(90)]
    rows = [paper(f"arxiv:{n}", title(n), **each) for n, each in enumerate(facts)]
    write(tmp_path, "arxiv_multidomain/papers-0", rows)
    home, sizes = DataRoot(tmp_path), SampleSizes(train=5, dev=2, test=6, years=(2000, 2060))
    fields = PaperClasses(data="arxiv_multidomain", target="field", sizes=sizes).read(home)
    years = PaperNumbers(data="arxiv_multidomain", target="year", sizes=SampleSizes(train=8, dev=2, test=6)).read(home)
    assert [len(part) for part in (fields.train, fields.dev, fields.test)] == [5, 2, 6]
    assert fields.dropped.count("no field") == 45 and set(fields.targets) == {"Physics"}
    assert all(fields.items[row].year <= 2060 for row in fields.test)
    assert len(years.train) == 8 and years.targets[0] == float(years.items[0].year)
    ten = sample_entries(read_entries(home, "arxiv_multidomain"), 10)
    assert {e.paper.id for e in sample_entries(read_entries(home, "arxiv_multidomain"), 4)} < {e.paper.id for e in ten}


def test_numbers_compare_within_a_venue_and_year(tmp_path):
    rows = [paper(f"v{n}", title(n), venue="Vis", year=2000, citation_count=n) for n in range(4)]
    rows += [paper(f"w{n}", title(n + 10), venue="Vis", year=2020, citation_count=100 * n) for n in range(4)]
    rows.append(paper("x", title(30), venue="CG&A", year=2000, citation_count=7))
    rows.append(paper("y", title(31), year=2000, venue=""))

    def read(scale):
        write(tmp_path, "citegraph_vis/papers", rows)
        layout = PaperNumbers(data="citegraph_vis", target="citation_count", scale=scale, min_papers=4)
        return layout.read(DataRoot(tmp_path))

    data = read("rank share")
    assert data.targets == [0.125, 0.375, 0.625, 0.875] * 2
    rows[1] |= {"citation_count": 0}
    shares, deviations = read("rank share"), read("deviation")
    assert shares.targets[:4] == [0.25, 0.25, 0.625, 0.875], "ties share their mean rank"
    assert np.mean(deviations.targets[:4]) == pytest.approx(0) and np.std(deviations.targets[:4]) == pytest.approx(1)
    assert len(data.train) == len(data.test) == 4
    assert data.dropped.ids["no citation_count"] == ["y"]
    assert data.dropped.ids["venue and year with fewer than 4 papers"] == ["CG&A 2000"]


@pytest.fixture
def graph(tmp_path):
    """40 papers; each of 10-39 cites the six before it, in 2016-2019, and 0-9 are train papers."""
    rows = []
    for n in range(40):
        cited = [f"10.1/{m}" for m in range(n - 6, n)] if n >= 10 else []
        facts = {"year": 2016 + n % 4 if n >= 10 else 2000, "keywords": ["Old", f"k{n // 2}"]}
        rows.append(paper(f"10.1/{n}", title(n), venue="Vis", references=cited, **facts))
    write(tmp_path, "citegraph_vis/papers", rows)
    return DataRoot(tmp_path)


def test_pools_hold_links_and_strangers_of_the_test_alone(graph):
    layout = LinkedPools(
        data="citegraph_vis", link="citation", queries=8, positives=3, negatives=6, hard=2, min_links=4
    )
    data = layout.read(graph)
    number = [int(name.rpartition("/")[2]) for name in data.candidate_ids]
    assert len(data.queries) == 8 and data.query_role == "paper"
    assert min(number) >= 10
    for query, pool, grades in zip(data.query_ids, data.pools, data.grades, strict=True):
        own, shown = int(query.rpartition("/")[2]), [number[row] for row in pool]
        assert len(set(shown)) == len(shown) and grades.tolist() == [1, 1, 1] + [0] * (len(shown) - 3)
        assert all(own - 6 <= other < own for other in shown[:3])
        assert all(abs(other - own) > 6 for other in shown[3:])  # linked in neither direction, and not itself
        near = [other for other in range(10, own - 6) if other >= own - 12]  # cited by a cited paper
        assert set(shown[3 : 3 + min(2, len(near))]) <= set(near)
    assert set(number) == {number[row] for pool in data.pools for row in pool}
    assert data.dropped.count("paper with too few links to be a query") == 4  # 10-13 cite up to 3 test papers
    again = layout.read(graph)
    assert all((a == b).all() for a, b in zip(data.pools, again.pools, strict=True))


def test_links_of_each_kind(graph, tmp_path):
    found = read_entries(graph, "citegraph_vis")
    together = LINKS["co-citation"](graph, found)
    assert together[20] == {15, 16, 17, 18, 19, 21, 22, 23, 24, 25} - {15, 25}  # shared by two lists at least
    words = LINKS["shared keywords"](graph, found)
    assert words[20] == set()  # ln(40 / 2) + ln(40 / 40) is 3.0: not rare enough
    rows = [
        paper(f"c{n}", title(n), year=2023, author_ids=ids, keywords=[])
        for n, ids in enumerate((["a", "b"], ["b"], ["c"], []))
    ]
    write(tmp_path, "conference_papers/papers-0", rows)
    people = read_entries(DataRoot(tmp_path), "conference_papers")
    assert LINKS["same author"](graph, people) == [{1}, {0}, set(), set()]


def test_rare_keywords_link():
    class Row:
        def __init__(self, *words):
            self.row = {"keywords": words}

    found = [Row("Rare", "all"), Row("rare", "all"), *(Row("all") for _ in range(298))]
    links = LINKS["shared keywords"](None, found)
    assert links[0] == {1} and links[1] == {0} and not any(links[2:])  # ln(300 / 2) = 5.01


def test_a_corpus_of_links_excludes_its_query(graph):
    without = LinkedCorpus(data="citegraph_vis", link="citation", queries=5, min_links=2).read(graph)
    assert len(without.documents) == 30 and len(without.queries) == 5
    for query, judged, out in zip(without.query_ids, without.judged, without.excluded, strict=True):
        assert [without.document_ids[row] for row in out] == [query] and query not in judged
    assert without.dropped.count("paper with too few links to be a query") == 2
