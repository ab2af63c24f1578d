"""Damage files at random, and compare what reading them gives: a trial must be refused or change nothing.

A kind of file is a row of `KINDS`: what writes the files once, what reads them, and which of them to damage.
"""

import random
import shutil
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from build_sources import WORDS
from damaged_runs import build_runs, resume
from fake_encoder import FakeEncoder, some_papers
from open_data import write
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.open_data import SplitTable, _load_table
from sciprism.encoders.cached_encoder import VectorCache
from sciprism.encoders.checkpoints.folder import convert_once
from sciprism.encoders.encoder import Encoder
from sciprism.encoders.new_models import create_encoder
from sciprism.errors import InputError, ShownWarning
from sciprism.evaluation.item_scores import ItemScores
from sciprism.evaluation.results import (
    Measure,
    TaskResult,
    find_item_scores,
    find_result,
    pack_results,
    read_results,
    write_result,
)
from sciprism.files import BLOCK
from sciprism.index import approximate, lexical
from sciprism.papers.records import Paper
from sciprism.store import CollectionLayout, StoredCollection, embed
from sciprism.text.tokenizer import read_tokenizer
from sciprism.text.vocabulary import learn_vocabulary, save_vocabulary
from sciprism.uses.search import search

TOLERANCE = 1e-6
"""Difference of vectors that were computed again, in other batches."""


class Kind:
    """build: writes a folder. observe: reads it and returns what it gives. files: patterns of those to damage."""

    def __init__(self, build: Callable[[Path], Any], observe: Callable[[Path], Any], *files: str) -> None:
        self.build, self.observe, self.files = build, observe, files


@dataclass
class Outcome:
    """Counts of one kind's trials, and a description of each silent one."""

    counts: Counter[str] = field(default_factory=Counter)
    silent: list[str] = field(default_factory=list)


# ---- damages ----


def flip(content: bytearray, chance: random.Random) -> None:
    for _ in range(chance.choice((1, 1, 2, 8))):
        if content:
            content[chance.randrange(len(content))] ^= chance.randrange(1, 256)


def truncate(content: bytearray, chance: random.Random) -> None:
    del content[chance.randrange(max(1, len(content))) :]


def zero(content: bytearray, chance: random.Random) -> None:
    start, length = chance.randrange(max(1, len(content))), chance.choice((1, 16, 512, 4096))
    stop = min(len(content), start + length)
    content[start:stop] = bytes(stop - start)


def swap(content: bytearray, chance: random.Random) -> None:
    size = chance.choice((4, 64, 512))
    if len(content) >= 2 * size:
        one, other = sorted(chance.sample(range(len(content) // size), 2))
        first, second = slice(one * size, (one + 1) * size), slice(other * size, (other + 1) * size)
        content[first], content[second] = content[second], content[first]


def append(content: bytearray, chance: random.Random) -> None:
    content += bytes(chance.randrange(256) for _ in range(chance.choice((1, 16, 700))))


DAMAGES = {"flip": flip, "truncate": truncate, "zero": zero, "swap": swap, "append": append}


# ---- trials ----


def run_trials(kind: str, count: int, seed: int, folder: Path) -> Outcome:
    """Damage one file of a kind, `count` times, each in a fresh copy; return what reading then gave.

    refused: an error with a message. repaired: a warning, and the same result. harmless: the same result.
    silent: another result, without a word, or an error that is no message.
    """
    whole = folder / "whole"
    whole.mkdir(parents=True)
    built = KINDS[kind]
    built.build(whole)
    files = [file for pattern in built.files for file in list_files(whole, pattern)]
    expected = built.observe(copy_folder(whole, folder / "copy"))
    chance, outcome = random.Random(f"{kind} {seed}"), Outcome()
    for number in range(count):
        name = chance.choice([*DAMAGES, "delete"])
        file = chance.choice(files)
        copy = copy_folder(whole, folder / "copy")
        if not damage(copy / file, name, chance):
            outcome.counts["harmless"] += 1
            continue
        found = _observe(built, copy, expected)
        outcome.counts[found.partition(":")[0]] += 1
        if found.startswith("silent"):
            outcome.silent.append(f"{kind}, trial {number}: {name} {file}: {found}")
    return outcome


def copy_folder(whole: Path, copy: Path) -> Path:
    """Return a fresh copy of a folder."""
    shutil.rmtree(copy, ignore_errors=True)
    return shutil.copytree(whole, copy)


def damage(path: Path, how: str, chance: random.Random) -> bool:
    """Damage a file; return whether its bytes have changed."""
    before = path.read_bytes()
    if how == "delete":
        path.unlink()
        return True
    content = bytearray(before)
    DAMAGES[how](content, chance)
    path.write_bytes(content)
    return content != before


def _observe(kind: Kind, folder: Path, expected: Any) -> str:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = kind.observe(folder)
        except InputError:
            return "refused"
        except Exception as error:  # noqa: BLE001 (no message for a person: counted as a failure)
            return f"silent: {type(error).__name__}: {error}"
    if not same(found, expected):
        return "silent: another result"
    return "repaired" if any(issubclass(each.category, ShownWarning) for each in caught) else "harmless"


def same(one: Any, other: Any) -> bool:
    """Compare what was observed: arrays up to rounding, all else exactly."""
    if isinstance(one, np.ndarray):
        return one.shape == other.shape and np.allclose(one, other, atol=TOLERANCE)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def list_files(folder: Path, pattern: str = "**/*") -> list[str]:
    """Return the files of a folder by place, without hidden ones."""
    found = [path for path in sorted(folder.glob(pattern)) if path.is_file() and not path.name.startswith(".")]
    return [path.relative_to(folder).as_posix() for path in found]


# ---- kinds ----

QUERIES = ["effect3 grows", "topic 5 matter7", "number11"]


def build_collection(folder: Path, dtype: str = "float32") -> None:
    papers = some_papers(60)
    layout = CollectionLayout(formats=("proximity", "classification"), dtype=dtype, shard_size=40)
    embed(papers, FakeEncoder(), folder, layout=layout)
    embed([replace(papers[7], abstract="New text.")], FakeEncoder(), folder)


def read_collection(folder: Path) -> Any:
    """All that a person can ask: every paper, every vector, a search, counts."""
    collection = StoredCollection.open(folder)
    rows, spaces = range(collection.rows), list(collection.manifest.spaces)
    vectors = [np.concatenate([m.block(0, len(m)) for m in collection.vectors(space)]) for space in spaces]
    manifest = collection.manifest.model_dump(exclude={"shards"})
    return [collection.papers(rows), vectors, manifest, rank(folder), np.asarray(collection.mask())]


def rank(folder: Path, **options: Any) -> Any:
    found = search(StoredCollection.open(folder), FakeEncoder(), QUERIES, 5, why=False, **options)
    return [[(hit.id, round(hit.score, 5)) for hit in ranking.hits] for ranking in found]


def build_large_vectors(folder: Path) -> None:
    """Write files of several blocks, which are read by rows."""
    embed(some_papers(1500), FakeEncoder(dim=512), folder, layout=CollectionLayout(shard_size=1500))
    assert (folder / list_files(folder, "vectors/**/*")[0]).stat().st_size > 2 * BLOCK


def read_large_vectors(folder: Path) -> Any:
    rows = np.arange(0, 1500, 7)
    return StoredCollection.open(folder).read_rows("near", rows).block(0, len(rows))


def build_index(index: Any, folder: Path) -> None:
    build_collection(folder)
    index.build(StoredCollection.open(folder))


def embed_more(folder: Path) -> Any:
    return embed(some_papers(3, first=100), FakeEncoder(), folder).papers, read_collection(folder)


def write_model(folder: Path, **options: Any) -> None:
    """Write a random model with a small vocabulary, as sciprism saves it."""
    shape = {"hidden": 16, "layers": 1, "heads": 2, "intermediate": 32, "positions": 66}
    with TemporaryDirectory() as place:
        save_vocabulary(learn_vocabulary([" ".join(WORDS), "word1 word2 word3"], vocab_size=300), Path(place))
        create_encoder(shape, Path(place), pooling="mean", max_length=32, device="cpu").save(folder, **options)


TEXTS = [Paper(id="x", title="Light word3", abstract="Word7 in a cell word21."), "word1 word2 word30"]


def read_model(folder: Path) -> Any:
    encoder = Encoder.load(folder, device="cpu")
    facts = {key: value for key, value in encoder.describe().items() if key != "name"}
    return encoder.encode(TEXTS), encoder.encode(TEXTS, role="query"), facts


def read_tokens(folder: Path) -> list[int]:
    return read_tokenizer(folder)[0].encode("Light word3 of a cell word39").ids


def build_checkpoints(folder: Path) -> None:
    """Write an interrupted run, with two checkpoints and its best model, and the finished one."""
    write_model(folder.with_name("model"))
    build_runs(folder, folder.with_name("model"))


def read_resumed_run(folder: Path, kind: str = "interrupted") -> Any:
    weights, found, notes = resume(folder / "recipe.toml", folder / kind)
    for note in notes:
        if "damaged" in note or "missing" in note:
            warnings.warn(ShownWarning(note), stacklevel=1)
    return weights, found


def build_vector_cache(folder: Path) -> None:
    read_cached_vectors(folder)
    (folder / "lock").unlink(missing_ok=True)


def read_cached_vectors(folder: Path) -> Any:
    texts = [f"text {n} of many word{n % 7}" for n in range(50)]
    encoder, cache = FakeEncoder(dim=24), VectorCache(folder, 24)
    return cache.read(cache.find_or_encode(texts, lambda chosen: encoder.encode([texts[i] for i in chosen])))


def read_conversion(folder: Path) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCIPRISM_CACHE", str(folder))
        return read_model(convert_once("source", "facts", write_model))


def build_split_cache(folder: Path) -> None:
    rows = [{"id": str(n), "question": f"Does number {n} of many words help?", "answer": "no"} for n in range(9)]
    write(folder.with_name("data"), "qa_pubmedqa/test", rows)
    read_split(folder)


def read_split(folder: Path) -> Any:
    _load_table.cache_clear()  # what a new process has
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCIPRISM_CACHE", str(folder))
        return SplitTable.load(DataRoot(folder.with_name("data")))


def write_results(folder: Path) -> None:
    for task in ("animals", "plants"):
        measures = {"f1": Measure(value=0.862, low=0.81, high=0.9, n=3)}
        facts = {"provenance": {"seconds": 1.5, "versions": {"torch": "2.11"}}, "system": {"name": "m", "dim": 8}}
        result = TaskResult(
            suite="open", task=task, key="k1", format="search", group="g", status="done", metrics=measures, **facts
        )
        scores = ItemScores(("a", "b", "c"), np.array([[0.5], [0.25], [1.0]]), "mean")
        write_result(folder / "model" / "open", result, {"f1": scores})


def read_all_results(folder: Path) -> Any:
    """Every result with its items, as a comparison reads them; one that is missing has no number there."""
    found = []
    for task in ("animals", "plants"):
        where = folder / "model" / "open"
        result, items = find_result(where, task), find_item_scores(where, task, "f1")
        if result is None or items is None:
            raise InputError(f"{task}: no result, or no item scores")
        found.append((result, items.ids, items.columns))
    return found, sum(1 for _ in read_results(folder))


def write_packed_results(folder: Path) -> None:
    write_results(folder.with_name("results"))
    pack_results(folder.with_name("results"), folder)


KINDS = {
    "papers": Kind(build_collection, read_collection, "papers/*"),
    "vectors": Kind(build_collection, read_collection, "vectors/**/*"),
    "int8 vectors": Kind(partial(build_collection, dtype="int8"), read_collection, "vectors/**/*"),
    "large vectors": Kind(build_large_vectors, read_large_vectors, "vectors/**/*"),
    "manifest": Kind(build_collection, read_collection, "manifest.json"),
    "lexical index": Kind(partial(build_index, lexical), partial(rank, mode="lexical"), "index/**/*"),
    "inverted lists": Kind(partial(build_index, approximate), partial(rank, mode="approximate"), "index/**/0-near/*"),
    "embed into a damaged collection": Kind(build_collection, embed_more, "papers/*", "vectors/**/*", "manifest.json"),
    "model": Kind(write_model, read_model, "**/*"),
    "compact model": Kind(partial(write_model, compact=True), read_model, "**/*"),
    "tokenizer of a model": Kind(write_model, read_tokens, "tokenizer.json", "tokenizer_config.json"),
    "checkpoints": Kind(build_checkpoints, read_resumed_run, "interrupted/*/*checkpoint/*", "interrupted/*/best/*"),
    "records of a run": Kind(build_checkpoints, read_resumed_run, "interrupted/*.json"),
    "finished run": Kind(build_checkpoints, partial(read_resumed_run, kind="finished"), "finished/*.*", "*/*/model/*"),
    "vector cache": Kind(build_vector_cache, read_cached_vectors, "**/*"),
    "conversion cache": Kind(read_conversion, read_conversion, "**/*"),
    "split cache": Kind(build_split_cache, read_split, "**/*"),
    "results": Kind(write_results, read_all_results, "**/*.json"),
    "item scores": Kind(write_results, read_all_results, "**/*.parquet"),
    "packed results": Kind(write_packed_results, read_all_results, "**/*"),
}
