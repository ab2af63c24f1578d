"""Pickles as SPECTER's script writes them: instances of AllenNLP 0.9, which need not be installed."""

import os
import pickle
import sys
from types import ModuleType
from typing import NamedTuple

import pytest

from sciprism.errors import InputError
from sciprism.prepare.citations import CitationSettings, prepare_citations
from sciprism.prepare.sources.citation_corpus import CitationSources
from sciprism.prepare.sources.specter_pickles import read_specter_pickle


class Token(NamedTuple):
    text: str
    idx: int | None = None


class Held:
    """A field or an instance: an object with a state."""

    def __init__(self, **state):
        self.__dict__.update(state)


class Attack:
    def __reduce__(self):
        return os.mkdir, ("attacked",)


def instance(*papers, **more):
    fields = {}
    for role, (name, title, abstract) in zip(("source", "pos", "neg"), papers, strict=True):
        words = [*title.split(), ".", "[SEP]", *abstract.split()]
        fields[f"{role}_title"] = Held(tokens=[Token(word) for word in words], _token_indexers={"bert": {1, 2}})
        fields[f"{role}_paper_id"] = Held(metadata=name)
    return Held(fields=fields, **more)


A, B, C = ("1", "Sea ice", "It melts"), ("2", "Ice sheets", "They flow"), ("3", "Birds", "")


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write instances with one pickler, under the names of AllenNLP."""
    module = ModuleType("allennlp.data")
    for name in ("allennlp", "allennlp.data"):
        monkeypatch.setitem(sys.modules, name, module)
    for one in (Token, Held):
        monkeypatch.setattr(one, "__module__", "allennlp.data")
        setattr(module, one.__name__, one)

    def write(*instances):
        with (tmp_path / "train.p").open("wb") as file:
            pickler = pickle.Pickler(file)
            for one in instances:
                pickler.dump(one)
        monkeypatch.delitem(sys.modules, "allennlp.data")
        return tmp_path / "train.p"

    return write


def test_triplets_and_their_papers_are_a_source(write, tmp_path):
    path = write(instance(A, B, C), instance(A, C, B), instance(B, A, C))
    first = next(read_specter_pickle(path))
    assert [(paper.id, paper.title, paper.abstract) for paper in first] == [
        ("1", "Sea ice .", "It melts"), ("2", "Ice sheets .", "They flow"), ("3", "Birds .", "")]  # fmt: skip
    sources = CitationSources(files=(path,), triplets=path)
    made = prepare_citations(tmp_path / "out", sources, CitationSettings(sampler="given", dev=0))
    assert made.files == {"papers.jsonl": 3, "train.jsonl": 3, "dev.jsonl": 0}
    assert '"1"' in (tmp_path / "out" / "train.jsonl").read_text()


def test_nothing_in_a_pickle_is_run_and_damage_is_named(write, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    path = write(instance(A, B, C, attack=Attack()), instance(A, B, C))
    assert len([*read_specter_pickle(path)]) == 2 and not (tmp_path / "attacked").exists()
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError, match=r"train.p, instance 2: not a triplet of SPECTER's training files"):
        [*read_specter_pickle(path)]
