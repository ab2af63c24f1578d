"""Damage files at random, and compare what reading them gives: a trial must be refused or change nothing.

A kind of file is a name in `KINDS`: a function that writes the files once and returns what to damage and how to
observe it. To add a kind, write one such function and register it.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from build_sources import WORDS
from damaged_runs import build_interrupted_run, resume
from fake_encoder import FakeEncoder, some_papers
from sciprism.checksums import BLOCK
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.open_data import SplitTable, _load_table
from sciprism.encoders.cached_encoder import VectorCache
from sciprism.encoders.checkpoints.folder import convert_once
from sciprism.encoders.encoder import Encoder
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
from sciprism.index import approximate, lexical
from sciprism.papers.records import Paper
from sciprism.store import CollectionLayout, StoredCollection, embed
from sciprism.uses.search import search

Damage = Callable[[bytearray, random.Random], None]
TOLERANCE = 1e-6
"""Difference of vectors that were computed again, in other batches."""


@dataclass(frozen=True)
class Kind:
    """files: those to damage, inside the folder. observe: reads the folder and returns what it gives."""

    files: list[str]
    observe: Callable[[Path], Any]


@dataclass
class Outcome:
    """Counts of one kind's trials, and a description of each silent one."""

    counts: Counter[str] = field(default_factory=Counter)
    silent: list[str] = field(default_factory=list)


KINDS: dict[str, Callable[[Path], Kind]] = {}


def register(name: str) -> Callable[[Callable[[Path], Kind]], Callable[[Path], Kind]]:
    """Add a kind of file."""

    def add(build: Callable[[Path], Kind]) -> Callable[[Path], Kind]:
        KINDS[name] = build
        return build

    return add


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


DAMAGES: dict[str, Damage | None] = {
    "flip": flip,
    "truncate": truncate,
    "zero": zero,
    "swap": swap,
    "append": append,
    "delete": None,
}


# ---- trials ----


def run_trials(kind: str, count: int, seed: int, folder: Path) -> Outcome:
    """Damage one file of a kind, `count` times, each in a fresh copy; return what reading then gave.

    refused: an error with a message. repaired: a warning, and the same result. harmless: the same result.
    silent: another result, without a word, or an error that is no message.
    """
    whole = folder / "whole"
    whole.mkdir(parents=True)
    built = KINDS[kind](whole)
    expected = built.observe(_copy(whole, folder / "copy"))
    chance, outcome = random.Random(f"{kind} {seed}"), Outcome()
    for number in range(count):
        name = chance.choice(list(DAMAGES))
        file = chance.choice(built.files)
        copy = _copy(whole, folder / "copy")
        if not _damage(copy / file, DAMAGES[name], chance):
            outcome.counts["harmless"] += 1
            continue
        found = _observe(built, copy, expected)
        outcome.counts[found.partition(":")[0]] += 1
        if found.startswith("silent"):
            outcome.silent.append(f"{kind}, trial {number}: {name} {file}: {found}")
    return outcome


def _copy(whole: Path, copy: Path) -> Path:
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(whole, copy)
    return copy


def _damage(path: Path, damage: Damage | None, chance: random.Random) -> bool:
    """Damage a file; return whether its bytes have changed."""
    before = path.read_bytes()
    if damage is None:
        path.unlink()
        return True
    content = bytearray(before)
    damage(content, chance)
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
    changed = Paper(**{name: getattr(papers[7], name) for name in Paper.__slots__} | {"abstract": "New text."})
    embed([changed], FakeEncoder(), folder)


def read_collection(folder: Path) -> Any:
    """All that a person can ask: every paper, every vector, a search, counts."""
    collection = StoredCollection.open(folder)
    encoder = FakeEncoder()
    rows = range(collection.rows)
    spaces = list(collection.manifest.spaces)
    vectors = [np.concatenate([m.block(0, len(m)) for m in collection.vectors(space)]) for space in spaces]
    manifest = collection.manifest.model_dump(exclude={"shards"})
    found = search(collection, encoder, QUERIES, 5, why=False)
    ranked = [[(hit.id, round(hit.score, 5)) for hit in ranking.hits] for ranking in found]
    return [collection.papers(rows), vectors, manifest, ranked, np.asarray(collection.mask())]


def rankings(mode: str) -> Callable[[Path], Any]:
    def read(folder: Path) -> Any:
        found = search(StoredCollection.open(folder), FakeEncoder(), QUERIES, 5, mode=mode, why=False)
        return [[(hit.id, round(hit.score, 5)) for hit in ranking.hits] for ranking in found]

    return read


@register("papers")
def build_papers(folder: Path) -> Kind:
    build_collection(folder)
    return Kind(list_files(folder, "papers/*"), read_collection)


@register("vectors")
def build_vectors(folder: Path) -> Kind:
    build_collection(folder)
    return Kind(list_files(folder, "vectors/**/*"), read_collection)


@register("int8 vectors")
def build_int8_vectors(folder: Path) -> Kind:
    build_collection(folder, "int8")
    return Kind(list_files(folder, "vectors/**/*"), read_collection)


@register("large vectors")
def build_large_vectors(folder: Path) -> Kind:
    """Files of several blocks, read by rows."""
    embed(some_papers(1500), FakeEncoder(dim=512), folder, layout=CollectionLayout(shard_size=1500))
    files = list_files(folder, "vectors/**/*")
    assert (folder / files[0]).stat().st_size > 2 * BLOCK
    rows = np.arange(0, 1500, 7)
    return Kind(files, lambda where: StoredCollection.open(where).read_rows("near", rows).block(0, len(rows)))


@register("manifest")
def build_manifest(folder: Path) -> Kind:
    build_collection(folder)
    return Kind(["manifest.json"], read_collection)


@register("lexical index")
def build_lexical(folder: Path) -> Kind:
    build_collection(folder)
    lexical.build(StoredCollection.open(folder))
    return Kind(list_files(folder, "index/**/*"), rankings("lexical"))


@register("inverted lists")
def build_inverted_lists(folder: Path) -> Kind:
    build_collection(folder)
    approximate.build(StoredCollection.open(folder))
    return Kind(list_files(folder, "index/**/0-near/*"), rankings("approximate"))


@register("embed into a damaged collection")
def build_for_embed(folder: Path) -> Kind:
    build_collection(folder)

    def add(where: Path) -> Any:
        report = embed(some_papers(3, first=100), FakeEncoder(), where)
        return report.papers, read_collection(where)

    return Kind([*list_files(folder, "papers/*"), *list_files(folder, "vectors/**/*"), "manifest.json"], add)


def write_model(folder: Path, **options: Any) -> None:
    """Write a random model with a small vocabulary, as sciprism saves it."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    from sciprism.encoders.settings import EncoderSettings
    from sciprism.encoders.transformer import Transformer, TransformerConfig
    from sciprism.text.template import Template

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"word{n}" for n in range(40)), *WORDS]
    tokenizer = Tokenizer(models.WordLevel({word: n for n, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    torch.manual_seed(0)
    shape = {"hidden": 16, "layers": 1, "heads": 2, "intermediate": 32, "positions": 64}
    model = Transformer(TransformerConfig(vocabulary=len(words), **shape))
    settings = EncoderSettings(pooling="mean", max_length=32, template=Template(separator=" [SEP] "))
    Encoder.from_parts(model, tokenizer, settings, name="tiny", device="cpu").save(folder, **options)


TEXTS = [Paper(id="x", title="Light word3", abstract="Word7 in a cell word21."), "word1 word2 word30"]


def read_model(folder: Path) -> Any:
    encoder = Encoder.load(folder, device="cpu")
    facts = {key: value for key, value in encoder.describe().items() if key != "name"}
    return encoder.encode(TEXTS), encoder.encode(TEXTS, role="query"), facts


@register("model")
def build_model(folder: Path) -> Kind:
    write_model(folder)
    return Kind(list_files(folder), read_model)


@register("compact model")
def build_compact_model(folder: Path) -> Kind:
    write_model(folder, compact=True)
    return Kind(list_files(folder), read_model)


@register("tokenizer of a model")
def build_tokenizer(folder: Path) -> Kind:
    from sciprism.text.tokenizer import read_tokenizer

    write_model(folder)
    text = "Light word3 of a cell word39"
    return Kind(["tokenizer.json", "tokenizer_config.json"], lambda where: read_tokenizer(where)[0].encode(text).ids)


@register("training checkpoint")
def build_checkpoints(folder: Path) -> Kind:
    """The two checkpoints and the best model of an interrupted run, which is resumed."""
    write_model(folder.with_name("model"))
    recipe = build_interrupted_run(folder, folder.with_name("model")).name

    def read(where: Path) -> Any:
        weights, found, notes = resume(where / recipe, where / "interrupted")
        for note in notes:
            if "damaged" in note or "missing" in note:
                warnings.warn(ShownWarning(note), stacklevel=1)
        return weights, found

    return Kind(list_files(folder, "interrupted/*/*checkpoint/*") + list_files(folder, "interrupted/*/best/*"), read)


@register("vector cache")
def build_vector_cache(folder: Path) -> Kind:
    texts = [f"text {n} of many word{n % 7}" for n in range(50)]
    encoder = FakeEncoder(dim=24)

    def read(where: Path) -> Any:
        cache = VectorCache(where, 24)
        return cache.read(cache.find_or_encode(texts, lambda chosen: encoder.encode([texts[i] for i in chosen])))

    read(folder)
    (folder / "lock").unlink(missing_ok=True)
    return Kind(list_files(folder), read)


@contextmanager
def cache_at(folder: Path) -> Iterator[None]:
    """Use a folder as the folder of caches."""
    before = os.environ.get("SCIPRISM_CACHE")
    os.environ["SCIPRISM_CACHE"] = str(folder)
    try:
        yield
    finally:
        os.environ.pop("SCIPRISM_CACHE")
        if before is not None:
            os.environ["SCIPRISM_CACHE"] = before


@register("conversion cache")
def build_conversion_cache(folder: Path) -> Kind:
    def read(where: Path) -> Any:
        with cache_at(where):
            return read_model(convert_once("source", "facts", write_model))

    read(folder)
    return Kind(list_files(folder), read)


@register("split cache")
def build_split_cache(folder: Path) -> Kind:
    data = folder.with_name("data")
    (data / "qa_pubmedqa").mkdir(parents=True)
    rows = [{"id": str(n), "question": f"Does number {n} of many words help?", "answer": "no"} for n in range(9)]
    with gzip.open(data / "qa_pubmedqa" / "test.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)

    def read(where: Path) -> Any:
        _load_table.cache_clear()  # what a new process has
        with cache_at(where):
            return SplitTable.load(DataRoot(data))

    read(folder)
    return Kind(list_files(folder), read)


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


@register("results")
def build_results(folder: Path) -> Kind:
    write_results(folder)
    return Kind(list_files(folder, "**/*.json"), read_all_results)


@register("item scores")
def build_item_scores(folder: Path) -> Kind:
    write_results(folder)
    return Kind(list_files(folder, "**/*.parquet"), read_all_results)


@register("packed results")
def build_packed_results(folder: Path) -> Kind:
    write_results(folder.with_name("results"))
    pack_results(folder.with_name("results"), folder)
    return Kind(list_files(folder), read_all_results)
