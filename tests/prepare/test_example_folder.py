"""Files of training examples: what is written, described and removed."""

import json

from sciprism.prepare.preparation import ExampleFolder, TrainingSource
from sciprism.prepare.samplers.sampling import NONE, QuerySample, Sampling
from sciprism.training.examples import Example


def test_a_source_removes_its_files_of_an_earlier_run(tmp_path):
    def build(part, sampling):
        return (Example(f"{part} {n}") for n in range(sampling.limit))

    source = TrainingSource(name="a", format="search", data="d", build=build, min_dev_examples=2)
    folder = ExampleFolder(tmp_path)
    assert source.write(folder, {"train": Sampling(limit=1), "dev": Sampling(limit=2)})
    assert folder.counts == {"train/a.jsonl": 1, "dev/a.jsonl": 2}
    assert source.write(folder, {"train": Sampling(limit=3), "dev": Sampling(limit=1)})
    assert folder.counts == {"train/a.jsonl": 3} and not (tmp_path / "dev/a.jsonl").exists()
    assert not source.write(folder, {}) and not list(tmp_path.rglob("*.jsonl"))


def test_triplets_name_a_negative_only_where_there_is_one(tmp_path):
    sample = QuerySample((1, 2), (0,), ("random", NONE))
    ExampleFolder(tmp_path).write_triplets("train.jsonl", ["a", "b", "c", "d"], [(3, sample)])
    rows = [json.loads(line) for line in (tmp_path / "train.jsonl").read_text().splitlines()]
    assert rows == [{"query": "d", "positive": "b", "negative": "a", "kind": "random"}, {"query": "d", "positive": "c"}]
