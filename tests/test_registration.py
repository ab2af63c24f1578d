"""A new thing of each kind is a file of its own that registers itself: nothing else is touched.

A small package with one module per kind is written, imported as a user's package would be, and each thing is
used by the commands.
"""

import json
import sys
from importlib import import_module
from pathlib import Path

import pytest

from build_commands import run
from build_sources import write_source
from sciprism.encoders.methods.registry import methods
from sciprism.evaluation.suites import suites
from sciprism.evaluation.task import protocols
from sciprism.index import vector_searches
from sciprism.metrics.rankings import ranking_metrics
from sciprism.papers import read_labels
from sciprism.papers.readers.registry import label_readers, paper_readers
from sciprism.prepare.citations import samplers
from sciprism.training.learners.learner import learners

REGISTRIES = {
    "method": methods,
    "objective": learners,
    "sampler": samplers,
    "metric": ranking_metrics,
    "protocol": protocols,
    "suite": suites,
    "reader": paper_readers,
    "label_reader": label_readers,
    "index": vector_searches,
}
"""Module of the toy package -> where it registers its toy."""

TOYS = {
    "method": '''
from sciprism.encoders.methods.registry import Method, methods
@methods.register("toy")
class ToyMethod(Method):
    """One set of weights; each format has a space of its own."""
    def space(self, format, role):
        return format
''',
    "objective": '''
from typing import Literal
from sciprism.training.learners.learner import Learner
from sciprism.training.learners.learner import learners
from sciprism.encoders.tables import NamedTable
class ToySettings(NamedTable):
    name: Literal["toy"]
    factor: float = 1.0
@learners.register("toy")
class ToyLearner(Learner):
    """The squared distance of a query to its positive."""
    settings = ToySettings
    def select_texts(self, batch):
        queries, positives = ([e.query for e in batch.examples], [e.positives[0] for e in batch.examples])
        return [(queries, batch.query), (positives, batch.candidate)]
    def loss(self, batch, vectors):
        queries, positives = vectors
        return self.objective.factor * (queries - positives).square().sum(dim=1).mean()
''',
    "sampler": '''
from sciprism.prepare.samplers.triplets import samplers
from sciprism.prepare.samplers.triplets import TripletSampler
from sciprism.prepare.samplers.sampling import QuerySample
@samplers.register("toy")
class ToySampler(TripletSampler):
    """Take the next paper as positive. step: to the negative."""
    step: int = 3
    def sample(self, corpus, inputs):
        count = len(corpus.names)
        for row, _ in inputs.select(range(count)):
            sample = QuerySample(((row + 1) % count,), ((row + self.step) % count,), ("next",))
            inputs.report.add(sample)
            yield row, sample
''',
    "metric": '''
import numpy as np
from sciprism.metrics.rankings import ranking_metrics
@ranking_metrics.register("toy")
def retrieved_share(rankings, depth=None):
    """Return the share of `depth` places that are filled."""
    return np.minimum(rankings.retrieved / depth, 1.0)
''',
    "protocol": '''
from dataclasses import dataclass
from sciprism.evaluation.item_scores import score_rankings
from sciprism.evaluation.task import protocols
from sciprism.evaluation.task import ProtocolResult
@protocols.register("toy")
@dataclass(frozen=True)
class ToyProtocol:
    """Rank the documents by vectors."""
    metrics: tuple[str, ...] = ("toy@4", "mrr")
    def evaluate(self, data, system, context):
        documents, queries = context.papers(data.documents), context.queries(data.queries)
        scores, rows = system.top(queries, documents, 2, "cosine", None)
        ranked = zip(([data.document_ids[row] for row in each] for each in rows), scores)
        judged = [{data.document_ids[row]: 1 for row in each} for each in data.judged]
        return ProtocolResult(item_scores=score_rankings(self.metrics, data.query_ids, ranked, judged))
''',
    "suite": """
from dataclasses import dataclass
import numpy as np
from sciprism.datasets.inputs import RetrievalInput
from sciprism.evaluation.suites import suites
from sciprism.evaluation.task import Suite, Task
from sciprism.papers import Paper
from toys.protocol import ToyProtocol
@dataclass(frozen=True)
class ToyData:
    texts: tuple[str, ...] = ("dark matter", "protein gene", "crystal")
    def read(self, data_root):
        papers = [Paper(id=text, title=text) for text in self.texts]
        queries, rows, ones = list(self.texts[:2]), [np.array([0]), np.array([1])], [np.array([1])] * 2
        return RetrievalInput(query_ids=queries, queries=queries, grades=ones, judged=rows,
                              document_ids=list(self.texts), documents=papers)
task = Task(name="toy", format="search", protocol=ToyProtocol(), data=ToyData())
suites["toy"] = Suite(name="toy", tasks=(task,))
""",
    "reader": '''
import re
from sciprism.papers import Paper
from sciprism.papers.readers.registry import paper_readers
@paper_readers.reader("toy", about="Toys", suffixes=".toy", patterns=[r"\\Atoy papers"])
def read_toy(file, options):
    """Yield one title a line."""
    for line, text in file.lines():
        if line > 1:
            yield Paper(id=str(line), title=text)
''',
    "label_reader": '''
import re
from sciprism.papers import Label
from sciprism.papers.readers.registry import label_readers
from toys.reader import read_toy
@label_readers.reader("toy", about="Toys", suffixes=".toy", patterns=[r"\\Atoy papers"])
def read_toy_labels(file, options):
    """Yield one name a line."""
    for paper in read_toy(file, options):
        yield Label(id=paper.id, name=paper.title)
''',
    "index": '''
import numpy as np
from sciprism.index import vector_searches
@vector_searches.register("toy")
def search_first(collection, space, queries, k, mask):
    """Return the first rows, whatever the query."""
    return np.ones((len(queries), k), np.float32), np.tile(np.arange(k), (len(queries), 1))
''',
}

RECIPE = """
name = "toy"

[model]
backbone = "{model}"
pooling = "mean"

[[stages]]
name = "toy"
method = "toy"
batch_size = 4
steps = 2
objective = {{ name = "toy", factor = 0.5 }}
optimizer = {{ lr = 1e-3 }}
sources = [{{ file = "search.jsonl", format = "search", query = "query" }}]
"""
TITLES = ("dark matter in a galaxy", "gene of a protein", "crystal growth")


@pytest.fixture(scope="module", autouse=True)
def toys(tmp_path_factory):
    """Import the toy package; forget it and what it registered afterwards."""
    folder = tmp_path_factory.mktemp("package")
    (folder / "toys").mkdir()
    (folder / "toys" / "__init__.py").touch()
    for name, source in TOYS.items():
        (folder / "toys" / f"{name}.py").write_text(source)
    before = {kind: dict(registry) for kind, registry in REGISTRIES.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        for name in TOYS:
            import_module(f"toys.{name}")
        yield
    for kind, registry in REGISTRIES.items():
        assert set(registry) - set(before[kind]) == {"toy"}
        del registry["toy"]
        assert dict(registry) == before[kind]
    for name in [name for name in sys.modules if name.partition(".")[0] == "toys"]:
        del sys.modules[name]


@pytest.fixture
def command(monkeypatch, capsys):
    """Return a function that runs a command and returns its standard output."""

    def run_command(*words):
        status, out, err = run(monkeypatch, capsys, *words)
        assert status == 0, err
        return out

    return run_command


@pytest.fixture
def titles(tmp_path) -> Path:
    path = tmp_path / "titles.toy"
    path.write_text("\n".join(("toy papers", *TITLES)))
    return path


@pytest.mark.slow
def test_a_recipe_with_a_method_and_an_objective_trains_a_model_that_a_suite_scores(tmp_path, tiny_model, command):
    write_source(tmp_path / "search.jsonl", 8)
    (tmp_path / "recipe.toml").write_text(RECIPE.format(model=tiny_model))
    model = command("train", tmp_path / "recipe.toml", "-o", tmp_path / "run", "--device", "cpu").strip()
    facts = json.loads(command("describe", model, "--json"))
    assert facts["method"] == "toy" and facts["spaces"]["search"]["paper"] == "search"
    steps = (tmp_path / "run" / "toy" / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(step)["step"] for step in steps] == [1, 2]
    command("evaluate", model, "random", "--suite", "toy", "-o", tmp_path / "out")
    (result,) = (tmp_path / "out" / "toy").glob("toy/toy.json")
    measures = json.loads(result.read_text())["metrics"]
    assert measures["toy@4"]["value"] == 0.5, "two of four places are filled"
    assert measures["mrr"]["value"] == 1.0


def test_a_sampler_makes_triplets(tmp_path, titles, command):
    options = ("--sampler", "toy", "--set", "step=2", "--dev", 0)
    command("prepare", "citations", titles, "-o", tmp_path / "out", *options)
    rows = [json.loads(line) for line in (tmp_path / "out" / "train.jsonl").read_text().splitlines()]
    assert {(row["query"], row["positive"], row["negative"], row["kind"]) for row in rows} == {
        ("2", "3", "4", "next"),
        ("3", "4", "2", "next"),
        ("4", "2", "3", "next"),
    }


def test_readers_and_a_search_serve_the_commands(tmp_path, titles, tiny_model, command):
    found = json.loads(command("inspect", titles, "--json"))
    assert found["papers"] == 3 and found["files"][0]["format"] == "toy"
    assert [label.name for label in read_labels(titles)] == list(TITLES)
    command("embed", titles, "-o", tmp_path / "vectors", "--model", tiny_model, "--pooling", "mean")
    words = ("search", tmp_path / "vectors", "crystal", "--mode", "toy", "-k", 2, "--json")
    (ranking,) = json.loads(command(*words))["rankings"]
    assert [hit["title"] for hit in ranking["hits"]] == list(TITLES[:2])
