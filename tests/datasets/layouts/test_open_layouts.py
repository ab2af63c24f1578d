"""Layouts over the open data: what they draw, what they leave out, and that they say so."""

import numpy as np
import pytest

from open_data import paper, write, write_table
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.layouts.mentions import AuthorMentions, SplitMentions
from sciprism.datasets.layouts.open_data import (
    ELSEWHERE,
    LINKS,
    OUTSIDE,
    CitingSentences,
    ClassNames,
    GradedPools,
    Headings,
    IrTestCollection,
    LinkedCorpus,
    LinkedPools,
    PaperClasses,
    PaperNumbers,
    RatedReviewers,
    SampleSizes,
    SummaryToPaper,
    TitleToAbstract,
    sample_entries,
)
from sciprism.datasets.open_data import read_entries

TOPICS = ("frogs", "stars", "metals", "markets", "proteins", "rivers", "engines", "verbs", "knots", "storms")


def title(number):
    return f"On {TOPICS[number % 10]} and {TOPICS[number // 10 % 10]} seen in case {number}"


def test_a_train_paper_that_another_test_has_is_left_out_and_named(tmp_path):
    rows = [
        paper(f"doi:10.1000/{n}", title(n), labels_level1=["a", "b"], split=("train", "test")[n % 2]) for n in range(8)
    ]
    write(tmp_path, "cls_biomimicry/papers", rows)
    write(tmp_path, "cls_ohsumed/test", [paper("1", title(2), label="C01", label_name="Eyes")])
    others = [paper("2", title(5), label="C02", label_name="Ears"), paper("3", title(70), label="C01")]
    write(tmp_path, "cls_ohsumed/train", others)
    data = PaperClasses(data="cls_biomimicry", target="labels_level1").read(DataRoot(tmp_path))
    assert [data.ids[row][-1] for row in data.train] == ["0", "4", "6"]
    assert [data.ids[row][-1] for row in data.test] == ["1", "3", "5", "7"]
    assert data.targets[0] == ("a", "b") and data.items[0].title == title(0)
    assert data.dropped.ids[ELSEWHERE] == ["doi:10.1000/2"]
    assert data.dropped.count("data set missing from the split")
    other = PaperClasses(data="cls_ohsumed", target="label", group="label", positive="C01").read(DataRoot(tmp_path))
    assert [other.ids[row] for row in other.train] == ["3"] and other.dropped.ids[ELSEWHERE] == ["2"]
    assert list(other.groups) == ["C01", "C01"] and other.positive == "C01"


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


@pytest.fixture
def collection(tmp_path):
    rows = [{"_id": str(n), "title": title(n), "text": f"text {n}", "metadata": {"year": 1960}} for n in range(4)]
    for data in ("ir_cranfield", "ir_csfcube", "ir_cacm"):
        write(tmp_path, f"{data}/corpus", rows)
    write(tmp_path, "ir_cranfield/queries", [{"_id": "q1", "text": "frogs"}, {"_id": "q2", "text": "none"}])
    qrels = [("q1", "0", 2), ("q1", "3", 1), ("q1", "9", 1), ("q9", "1", 1)]
    write_table(tmp_path, "ir_cranfield/qrels/test.tsv", qrels)
    write_table(tmp_path, "ir_cranfield/out.tsv", [("q1", "2")])
    asked = {"_id": "1_method", "text": "...", "metadata": {"paper_id": "1", "facet": "method"}}
    write(tmp_path, "ir_csfcube/queries", [asked, asked | {"_id": "7_method", "metadata": {"paper_id": "7"}}])
    qrels = [("1_method", "0", 3), ("1_method", "2", 0), ("7_method", "0", 1)]
    write_table(tmp_path, "ir_csfcube/qrels/test.tsv", qrels)
    write_table(tmp_path, "ir_cacm/citation_links.tsv", [("0", "1"), ("1", "2")])
    return DataRoot(tmp_path)


def test_a_collection_leaves_out_what_its_table_says(collection):
    data = IrTestCollection(path="ir_cranfield", exclude="out.tsv").read(collection)
    assert data.query_ids == ["q1"] and data.queries == ["frogs"] and data.query_role == "query"
    assert data.judged[0].tolist() == [0, 3] and data.grades[0].tolist() == [2, 1]
    assert data.excluded[0].tolist() == [2] and data.documents[1].abstract == "text 1"
    assert data.dropped.ids["graded document without a record"] == ["9"]
    assert data.dropped.ids["graded query without a record"] == ["q9"]


def test_judged_pools_have_papers_as_queries(collection):
    data = GradedPools(path="ir_csfcube").read(collection)
    assert data.query_ids == ["1_method"] and data.queries[0].title == title(1)
    assert data.candidate_ids == ["0", "2"] and data.grades[0].tolist() == [3, 0]
    assert data.dropped.ids["query without its paper or its pool"] == ["7_method"]


def test_undirected_links_go_both_ways(collection):
    data = LinkedCorpus(data="ir_cacm", link="citation link").read(collection)
    assert (data.query_ids, [judged.tolist() for judged in data.judged]) == (["0", "1", "2"], [[1], [0, 2], [1]])


def test_search_by_titles_summaries_and_sentences(tmp_path):
    rows = [paper(f"c{n}", title(n), year=2022, tldr=f"sum {n}" if n < 2 else None, keywords=[]) for n in range(6)]
    write(tmp_path, "conference_papers/papers-0", [*rows, paper("old", title(60), year=2000, tldr="no")])
    home = DataRoot(tmp_path)
    summaries = SummaryToPaper(data="conference_papers", field="tldr", sizes=SampleSizes(test=3)).read(home)
    assert summaries.queries == ["sum 0", "sum 1"] and len(summaries.documents) == 5
    assert [judged.tolist() for judged in summaries.judged] == [[0], [1]]
    titles = TitleToAbstract(data="conference_papers", sizes=SampleSizes(test=4)).read(home)
    assert len(titles.queries) == 4 and not any(document.title for document in titles.documents)
    cited = [{"citing_id": "P1", "text": "Both do it."}, {"citing_id": "P2", "text": "One does it."}]
    rows = [paper("A00", title(7), citing_sentences=cited), paper("A01", title(8), citing_sentences=cited[:1])]
    write(tmp_path, "citegraph_acl/papers", rows)
    sentences = CitingSentences(data="citegraph_acl").read(DataRoot(tmp_path))
    both = sentences.queries.index("Both do it.")
    assert sentences.judged[both].tolist() == [0, 1] and len(sentences.queries) == 2


def test_vocabularies_follow_aliases_and_count_what_is_outside(tmp_path):
    names = [
        ("math.OC", "Optimization", "How to.", None),
        ("old.X", "Old", None, "math.OC"),
        ("cs.CL", "Words", None, None),
    ]
    rows = [dict(zip(("id", "name", "definition", "alias_of"), row, strict=True)) for row in names]
    write(tmp_path, "labels_arxiv/categories", rows)
    terms = (["old.X", "math.OC"], ["cs.CL", "no.NO"], [])
    rows = [paper(f"arxiv:{n}", title(n), categories=each, field=f"f{n}", split="test") for n, each in enumerate(terms)]
    write(tmp_path, "arxiv_multidomain/papers-0", rows)
    home = DataRoot(tmp_path)
    data = Headings(data="arxiv_multidomain", terms="categories", vocabulary="arxiv").read(home)
    assert [label.name for label in data.labels] == ["Optimization", "Words"]
    assert [gold.tolist() for gold in data.gold] == [[0], [1]] and data.dropped.ids[OUTSIDE] == ["no.NO"]
    assert data.dropped.ids["test paper without categories"] == ["arxiv:2"]
    classes = ClassNames(data="arxiv_multidomain", target="field", names=(("f0", "Zero"), ("f1", "One"))).read(home)
    assert [gold.tolist() for gold in classes.gold] == [[0], [1], []]
    assert classes.dropped.ids["class without a name"] == ["f2"]


def test_free_keywords_are_labels_where_two_papers_have_them(tmp_path):
    words = (["Maps", "Trees"], ["maps"], ["Trees?"])
    rows = [paper(f"10.1/{n}", title(n), year=2020, keywords=each) for n, each in enumerate(words)]
    write(tmp_path, "citegraph_vis/papers", rows)
    data = Headings(data="citegraph_vis", terms="keywords").read(DataRoot(tmp_path))
    assert [label.name for label in data.labels] == ["maps"]
    assert [gold.tolist() for gold in data.gold] == [[0], [0], []] and data.dropped.ids[OUTSIDE] == ["trees", "trees?"]


def test_reviewers_keep_their_newest_papers(tmp_path):
    rows = [paper(f"p{n}", title(n), year=2000 + n) for n in range(5)]
    write(tmp_path, "reviewer_goldstandard/papers", rows)
    write(tmp_path, "reviewer_goldstandard/reviewers", [{"reviewer_id": "r", "paper_ids": ["p0", "p3", "p1", "gone"]}])
    rated = [{"reviewer_id": name, "paper_id": "p4", "expertise": grade} for name, grade in (("r", 5.0), ("s", 1.0))]
    write(tmp_path, "reviewer_goldstandard/evaluations", rated)
    data = RatedReviewers(path="reviewer_goldstandard", newest=2).read(DataRoot(tmp_path))
    assert list(data.paper_ids) == ["p1", "p3", "p4"]
    assert data.profiles[0].tolist() == [1, 0] and data.pairs.tolist() == [[2, 0]] and data.ratings.tolist() == [5.0]
    assert data.dropped.ids["paper of a profile without a record"] == ["gone"]
    assert data.dropped.ids["rated pair without a record"] == ["p4 s"]


def test_mentions_on_papers_of_other_tests_leave_train(tmp_path):
    rows = [paper(f"pl-{n}", title(n), year=year, authors=["A. B"]) for n, year in enumerate((2000, 2024, 2001, 2002))]
    write(tmp_path, "conference_papers/papers-0", rows)
    mention = {"position": 0, "name": "A. B", "author_id": "x"}
    split = ("train", "train", "dev", "test")
    signatures = [
        mention | {"signature_id": f"s{n}", "paper_id": f"pl-{n}", "block": f"b{part}", "split": part}
        for n, part in enumerate(split)
    ]
    write(tmp_path, "author_disambiguation_robotics/signatures", signatures)
    mentions = AuthorMentions(signatures="author_disambiguation_robotics", papers="conference_papers")
    data = SplitMentions(mentions=mentions).read(DataRoot(tmp_path))
    assert [each.id for each in data.signatures] == ["s0", "s2", "s3"]
    assert data.dropped.ids[ELSEWHERE] == ["s1"]
