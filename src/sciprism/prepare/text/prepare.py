"""Make token shards of many sources of text, and the table of their mixture."""

from __future__ import annotations

import multiprocessing
import shutil
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tokenizers import Tokenizer

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.files import only_writer, write_json
from sciprism.prepare.text.duplicates import drop_duplicates
from sciprism.prepare.text.filters import Filters
from sciprism.prepare.text.mixture import Passes, held_out, interleaved, passes_of
from sciprism.prepare.text.sources import Gathered, TextSource, gather
from sciprism.text.habits import tokenizer_key
from sciprism.text.packing import Packer, encode_documents
from sciprism.text.shards import MIXTURE, ShardWriter, SourceCounts, ends_of
from sciprism.text.tokens import open_tokenizer
from sciprism.text.vocabulary import learn_vocabulary, save_vocabulary

TRAIN, DEV, TOKENIZER = "train", "dev", "tokenizer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How texts become shards.

    tokenizer: a folder or a tokenizer.json; else `vocabulary` tokens are learned from the train texts,
    `cased` or not. length: tokens of a block. across: blocks cross documents. near: similarity from which
    texts count as one, None for equal ones only. dev: the share of documents held out, by source.
    """

    tokenizer: Path | None = None
    vocabulary: int | None = None
    cased: bool = False
    length: int = 512
    across: bool = True
    near: float | None = 0.8
    dev: float = 0.01
    seed: int = 0
    workers: int = 1

    def __post_init__(self) -> None:
        if (self.tokenizer is None) == (self.vocabulary is None):
            raise InputError("name one of --tokenizer and --vocabulary: whose tokens, or how many to learn")
        if not 0 <= self.dev < 1:
            raise InputError(f"a share of {self.dev} for dev; it must be 0 or more, and less than 1")
        if self.near is not None and not 0 < self.near <= 1:
            raise InputError(f"near is {self.near}, not a similarity; give a number above 0 and up to 1")
        if self.length < 3 or self.workers < 1:
            raise InputError(f"length {self.length}, workers {self.workers}: at least 3 and 1 are needed")


@dataclass(slots=True)
class Share:
    """What came of a source: documents read and kept, its part of the train shards, dev, what was dropped."""

    read: int
    kept: int
    weight: float
    train: SourceCounts = field(default_factory=SourceCounts)
    dev: SourceCounts = field(default_factory=SourceCounts)
    dropped: DropReport = field(default_factory=DropReport)

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        counts = {"train": asdict(self.train), "dev": asdict(self.dev)}
        return {"read": self.read, "kept": self.kept, "weight": self.weight, **counts} | {
            "dropped": self.dropped.to_json()
        }


@dataclass(slots=True)
class Mixture:
    """What was written: shares by source, and the sha256 of the tokenizer."""

    shares: dict[str, Share]
    tokenizer: str

    def part(self, name: str) -> float:
        """Return the share of a source in the tokens of the train shards."""
        total = sum(each.train.tokens for each in self.shares.values())
        return self.shares[name].train.tokens / total if total else 0.0


def prepare_text(
    out: Path, sources: Sequence[TextSource], settings: Settings, filters: Filters | None = None
) -> Mixture:
    """Write `train` and `dev/NAME` (token shards), `tokenizer` and `mixture.json` below `out`.

    The same sources and settings give the same bytes with any number of workers. Texts stand on disk beside
    the shards while this runs. Raises InputError where no text is left.
    """
    if not sources or len({each.name for each in sources}) < len(sources):
        raise InputError("name at least one source, and each name once")
    filters = Filters() if filters is None else filters
    with only_writer(out), TemporaryDirectory(prefix=".texts-", dir=out) as kept:
        (out / MIXTURE).unlink(missing_ok=True)  # until all is there again
        found = _gathered(sources, filters, Path(kept), settings.workers)
        drop_duplicates(found, settings.near)
        dev = [held_out(each, settings.dev, settings.seed) for each in found]
        passes = [
            passes_of(each, each.kept & ~mine, settings.seed) for each, mine in zip(found, dev, strict=True)
        ]
        if not any(one.any() for mine in passes for one in mine):
            reasons = ", ".join(f"{r} {each.dropped.count(r):,}" for each in found for r in each.dropped.ids)
            raise InputError(f"no text to train on is left ({reasons or 'there was none'})")
        tokenizer = _tokenizer(out, found, passes, settings)
        mixture = _mixture(found, tokenizer)
        counts = _written(out / TRAIN, found, passes, tokenizer, settings)
        for name, share in mixture.shares.items():
            share.train = counts.get(name, share.train)
        shutil.rmtree(out / DEV, ignore_errors=True)
        for each, mine in zip(found, dev, strict=True):
            if mine.any():
                name = each.source.name
                done = _written(out / DEV / name, [each], [[mine]], tokenizer, settings)
                mixture.shares[name].dev = done[name]
        write_json(out / MIXTURE, _facts(mixture, settings, filters))
    return mixture


def _gathered(sources: Sequence[TextSource], filters: Filters, folder: Path, workers: int) -> list[Gathered]:
    """Read all sources, each in a process of its own where there are several workers."""
    files = [folder / f"{each.name}.jsonl" for each in sources]
    if workers == 1 or len(sources) == 1:
        return [gather(each, filters, file) for each, file in zip(sources, files, strict=True)]
    with ProcessPoolExecutor(min(workers, len(sources)), multiprocessing.get_context("spawn")) as pool:
        return list(pool.map(gather, sources, [filters] * len(sources), files))


def _tokenizer(
    out: Path, sources: Sequence[Gathered], passes: Sequence[Passes], settings: Settings
) -> Tokenizer:
    """Open the tokenizer, or learn it from the train texts; it stands in `out` afterwards."""
    folder = out / TOKENIZER
    if settings.vocabulary is not None:
        texts = (" ".join(text.split()) for _, text in interleaved(sources, passes))
        learned = learn_vocabulary(texts, size=settings.vocabulary, lower=not settings.cased)
        save_vocabulary(learned, folder, max_length=settings.length)
    elif settings.tokenizer is not None:
        given = open_tokenizer(settings.tokenizer)
        ends_of(given)
        given.no_truncation()
        given.no_padding()
        folder.mkdir(parents=True, exist_ok=True)
        given.save(str(folder / "tokenizer.json"))
    return open_tokenizer(folder)


def _written(
    folder: Path,
    sources: Sequence[Gathered],
    passes: Sequence[Passes],
    tokenizer: Tokenizer,
    settings: Settings,
) -> dict[str, SourceCounts]:
    """Write the texts of some sources as shards; a block holds text of one source."""
    names = [each.source.name for each in sources]
    packers = [Packer(*ends_of(tokenizer), settings.length, settings.across) for _ in sources]
    owners: deque[int] = deque()

    def texts() -> Iterator[str]:
        for number, text in interleaved(sources, passes):
            owners.append(number)
            yield text

    with ShardWriter(folder, tokenizer, length=settings.length) as writer:
        for document in encode_documents(tokenizer, texts(), settings.workers):
            number = owners.popleft()
            counts = writer.counts(names[number])
            counts.documents += 1
            counts.tokens += len(document.ids)
            for block in packers[number].add(document):
                writer.add(block, names[number])
        for name, packer in zip(names, packers, strict=True):
            for block in packer.rest():
                writer.add(block, name)
        for each in sources:
            writer.dropped.update(each.dropped)
    return writer.sources


def _mixture(sources: Sequence[Gathered], tokenizer: Tokenizer) -> Mixture:
    shares = {
        each.source.name: Share(each.read, int(each.kept.sum()), each.source.weight, dropped=each.dropped)
        for each in sources
    }
    return Mixture(shares, tokenizer_key(tokenizer))


def _facts(mixture: Mixture, settings: Settings, filters: Filters) -> dict[str, Any]:
    told = {key: value for key, value in asdict(settings).items() if key not in ("workers", "tokenizer")}
    allowed = {"languages": list(filters.languages), "licences": list(filters.licences)}
    allowed["without"] = [path.name for path in filters.without]
    return {
        "version": version("sciprism"),
        "settings": told | allowed | {"split_table": filters.data is not None},
        "tokenizer": mixture.tokenizer,
        "sources": {
            name: share.to_json() | {"share": mixture.part(name)} for name, share in mixture.shares.items()
        },
    }
