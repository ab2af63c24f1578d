"""Val, test and train of each field, and the classes."""

from collections import Counter

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.layouts.published import SciDocsClasses
from sciprism.prepare.multi_scidocs import SEVERAL_FIELDS


def ring(benchmark, count, fields):
    """Each paper cites the next one of the ring."""
    for n in range(count):
        benchmark.paper(f"p{n}", f"p{(n + 1) % count}", fields=fields(n))
    return benchmark


def queries(benchmark):
    return {part: benchmark.lines(f"multi-scidocs/{part}.txt") for part in ("val", "test", "train")}


def test_each_field_is_split_by_the_shares(benchmark):
    found = ring(benchmark, 30, lambda n: ["Art"] if n < 10 else ["History"]).prepare()
    assert found.count("cite/val")["fields"] == {"Art": 4, "History": 8}
    assert found.count("cite/test")["fields"] == {"Art": 4, "History": 8}
    parts = queries(found)
    assert sorted(map(len, parts.values())) == [6, 12, 12]
    assert len({*parts["val"], *parts["test"], *parts["train"]}) == 30
    assert parts["val"] == sorted(parts["val"], key=lambda name: int(name[1:])), "in the corpus' order"
    assert parts["val"] != queries(found.prepare(seed=5))["val"]


def test_a_paper_of_several_fields_is_one_query_or_one_of_each_field(benchmark):
    """20 papers of art, half of them of history too."""
    found = ring(benchmark, 20, lambda n: ["Art", "History"] if n % 2 else ["Art"]).prepare(max_queries=0)
    parts = queries(found)
    assert Counter(name for names in parts.values() for name in names).most_common(1)[0][1] == 1
    counted = found.count("cite/test")
    assert counted["unique"] == 8 and counted["fields"] == {"Art": 8, "History": 4}, "4 of each group of 10"
    counts = found.json("multi-scidocs.json")["counts"]["cite/test"]
    assert (counts["unique"], counts["sum over fields"]) == (8, 12)
    published = queries(found.prepare(construction="published"))
    assert {*published["val"]} & {*published["test"]}, "split by one field for val, by another for test"
    assert len({*published["test"]}) == len(published["test"])


def test_classes_are_read_as_scidocs_are(benchmark):
    """Papers with and without citations are split alike; those of two fields have no class."""
    ring(benchmark, 20, lambda n: ["Art"] if n < 10 else ["Medicine"])
    for n in range(20):
        benchmark.paper(f"alone{n}", fields=["Art"] if n < 10 else ["Medicine"])
    for n in range(5):
        benchmark.paper(f"both{n}", fields=["Art", "Medicine"])
    benchmark.prepare()
    data = SciDocsClasses(classes="mag", folder="multi-scidocs").read(DataRoot(benchmark.out))
    sizes = {name: len(getattr(data, name)) for name in ("train", "dev", "test")}
    assert sizes == {"train": 8, "dev": 16, "test": 16} and not data.dropped.to_json()
    assert Counter(data.targets) == {"0": 20, "1": 20}, "art and medicine"
    assert {item.title for item in data.items} == {f"Title {name}" for name in data.ids}
    dropped = benchmark.prepared.dropped["queries and classes"]
    assert sum(dropped.count(f"mag/{part}: {SEVERAL_FIELDS}") for part in ("val", "test", "train")) == 5
    tested = {data.ids[row] for row in data.test}
    assert {name for name in tested if name.startswith("p")} == {*queries(benchmark)["test"]}
