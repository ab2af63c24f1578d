"""A new thing of each kind registers itself from outside the package: nothing else is touched.

One toy of each kind is registered as a user's package would do it, and each is used by the commands.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from build_commands import run
from build_sources import write_recipe
from sciprism.datasets.inputs import RetrievalInput
from sciprism.encoders.methods.registry import Method, NamedTable, methods
from sciprism.errors import InputError
from sciprism.evaluation.item_scores import score_rankings
from sciprism.evaluation.suites import suites
from sciprism.evaluation.task import ProtocolResult, Suite, Task, protocols
from sciprism.index import vector_searches
from sciprism.metrics.rankings import ranking_metrics
from sciprism.papers import Label, Paper, read_labels
from sciprism.papers.readers.registry import label_readers, paper_readers
from sciprism.prepare.samplers.sampling import QuerySample
from sciprism.prepare.samplers.triplets import TripletSampler, samplers
from sciprism.training.learners.learner import Learner, learners

REGISTRIES = (
    *(methods, learners, samplers, ranking_metrics, protocols, suites, paper_readers, label_readers, vector_searches),
)
TITLES = ("dark matter in a galaxy", "gene of a protein", "crystal growth")


def register_toys():
    @methods.register("toy")
    class ToyMethod(Method):
        """One set of weights; each format has a space of its own."""

        def space(self, format, role):
            return format

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

    @ranking_metrics.register("toy")
    def retrieved_share(rankings, depth=None):
        """Return the share of `depth` places that are filled."""
        return np.minimum(rankings.retrieved / depth, 1.0)

    @protocols.register("toy")
    @dataclass(frozen=True)
    class ToyProtocol:
        """Rank the documents by vectors."""

        metrics: tuple[str, ...] = ("toy@4", "mrr")

        def evaluate(self, data, system, context):
            documents, queries = context.papers(data.documents), context.queries(data.queries)
            scores, rows = system.top(queries, documents, 2, "cosine", None)
            ranked = zip(([data.document_ids[row] for row in each] for each in rows), scores, strict=True)
            judged = [{data.document_ids[row]: 1 for row in each} for each in data.judged]
            return ProtocolResult(item_scores=score_rankings(self.metrics, data.query_ids, ranked, judged))

    @dataclass(frozen=True)
    class ToyData:
        def read(self, data_root):
            papers = [Paper(id=title, title=title) for title in TITLES]
            judged = {"grades": [np.array([1])] * 2, "judged": [np.array([0]), np.array([1])]}
            asked = {"query_ids": TITLES[:2], "queries": TITLES[:2]}
            return RetrievalInput(**asked, **judged, document_ids=TITLES, documents=papers)

    suites["toy"] = Suite(
        name="toy", tasks=(Task(name="toy", format="search", protocol=ToyProtocol(), data=ToyData()),)
    )
    about = {"about": "Toys", "suffixes": ".toy", "patterns": [r"\Atoy papers"]}

    @paper_readers.reader("toy", **about)
    def read_toy(file, options):
        """Yield one title a line."""
        for line, text in file.lines():
            if line > 1:
                yield Paper(id=str(line), title=text)

    @label_readers.reader("toy", **about)
    def read_toy_labels(file, options):
        """Yield one name a line."""
        for paper in read_toy(file, options):
            yield Label(id=paper.id, name=paper.title)

    @vector_searches.register("toy")
    def search_first(collection, space, queries, k, mask):
        """Return the first rows, whatever the query."""
        return np.ones((len(queries), k), np.float32), np.tile(np.arange(k), (len(queries), 1))


@pytest.fixture(scope="module", autouse=True)
def toys():
    """Register the toys; forget them afterwards."""
    before = [dict(registry) for registry in REGISTRIES]
    register_toys()
    yield
    for registry, names in zip(REGISTRIES, before, strict=True):
        assert set(registry) - set(names) == {"toy"}
        del registry["toy"]
        assert dict(registry) == names


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
    recipe = write_recipe(tmp_path, tiny_model, steps=2)
    changes = ("--set", "stages.0.method=toy", "--set", 'stages.0.objective={name = "toy", factor = 0.5}')
    model = command("train", recipe, "-o", tmp_path / "run", "--device", "cpu", *changes).strip()
    facts = json.loads(command("describe", model, "--json"))
    assert facts["method"] == "toy" and facts["spaces"]["search"]["paper"] == "search"
    steps = (tmp_path / "run" / "contrast" / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(step)["step"] for step in steps] == [1, 2]
    command("evaluate", model, "random", "--suite", "toy", "-o", tmp_path / "out")
    (result,) = (tmp_path / "out" / "made").glob("toy/toy.json")
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


def test_an_installed_package_adds_its_entry_points(tmp_path, monkeypatch):
    monkeypatch.setattr(ranking_metrics, "_extended", False)
    monkeypatch.syspath_prepend(tmp_path)
    module = "from sciprism.metrics.rankings import ranking_metrics\nranking_metrics.register('installed')(len)\n"
    (tmp_path / "installed_metrics.py").write_text(module)
    (tmp_path / "installed-1.0.dist-info").mkdir()
    points = tmp_path / "installed-1.0.dist-info" / "entry_points.txt"
    points.write_text("[sciprism.ranking_metrics]\ninstalled = installed_metrics\n")
    assert ranking_metrics["installed"] is len
    with pytest.raises(InputError, match=r"known: .*installed"):
        ranking_metrics["other"]
    del ranking_metrics["installed"]


def test_a_module_that_cannot_be_imported_is_named(monkeypatch, capsys):
    status, _, err = run(monkeypatch, capsys, "--import", "no_such_module", "models")
    assert status == 2 and "--import no_such_module: No module named 'no_such_module'" in err
