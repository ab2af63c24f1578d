"""A corpus so small that every pool can be worked out by hand, and readers of the files built from it."""

import json
from collections import defaultdict
from pathlib import Path

import pytest

from sciprism.prepare.multi_scidocs import BenchmarkSettings, prepare_multi_scidocs
from sciprism.prepare.sources.citation_corpus import CitationSources


class SmallBenchmark:
    """Papers, then the benchmark built from them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.out = folder / "out"
        self.rows: list[dict] = []

    def paper(self, name, *references, fields=("Art",), **more):
        row = {"id": name, "title": f"Title {name}", "abstract": f"About {name}.", "fields": list(fields)}
        self.rows.append({**row, "references": list(references), **more})

    def prepare(self, *, edges=None, **settings):
        path = self.folder / "papers.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in self.rows))
        inputs = CitationSources(files=(path,), edges=edges)
        self.prepared = prepare_multi_scidocs(self.out, inputs, BenchmarkSettings(**settings))
        return self

    def pools(self, relation, part="test"):
        """Query -> (positives, negatives), in the order of the file."""
        found = defaultdict(lambda: ([], []))
        for line in (self.out / f"multi-scidocs/{relation}/{part}.qrel").read_text().splitlines():
            query, zero, name, grade = line.split(" ")
            assert zero == "0"
            found[query][grade == "0"].append(name)
        return dict(found)

    def lines(self, name):
        return (self.out / name).read_text().splitlines()

    def json(self, name):
        return json.loads((self.out / name).read_text())

    def count(self, name):
        return self.prepared.record["counts"][name]


@pytest.fixture
def benchmark(tmp_path):
    return SmallBenchmark(tmp_path)


@pytest.fixture
def starred(benchmark):
    """q cites z; it is cited with a by three papers, with b by two, with c and with d by one each."""
    benchmark.paper("q", "z")
    for name in "abcdzuv":
        benchmark.paper(name)
    for name, cited in (("x1", "qabc"), ("x2", "qab"), ("x3", "qa"), ("x4", "qd")):
        benchmark.paper(name, *cited)
    return benchmark
