"""Write token shards from many sources of text, and the table of their mixture."""

from __future__ import annotations

import multiprocessing
import shutil
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tokenizers import Tokenizer

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.files import lock_folder, write_json
from sciprism.prepare.filters import Filters
from sciprism.prepare.preparation import CountTable, Preparation, check_dev_share
from sciprism.prepare.text_sources import (
    FilteredSource,
    SourcePasses,
    TextSource,
    drop_duplicates,
    filter_source,
    interleave_texts,
)
from sciprism.text.sentences import SentencePacker, encode_documents
from sciprism.text.token_shards import MIXTURE, TokenShardWriter, TokenSourceCounts, find_end_ids
from sciprism.text.tokenizer import fingerprint_tokenizer, open_tokenizer
from sciprism.text.vocabulary import learn_vocabulary, save_vocabulary

TRAIN, DEV, TOKENIZER = "train", "dev", "tokenizer"
COUNTS = ("read", "retained", "documents", "blocks", "tokens", "%", "dev tokens")
"""Documents with text, those that passed; of the train shards: documents, blocks, tokens, share of tokens."""


@dataclass(frozen=True, slots=True)
class TextSettings:
    """How texts become shards.

    tokenizer: a folder or a tokenizer.json; without one, `vocab_size` tokens are learned from the train
    texts, `cased` or not. length: tokens of a block. across_documents: blocks cross documents.
    near_duplicates: similarity from which texts are duplicates, None for equal ones only. dev: share of the
    documents that is held out, by source.
    """

    tokenizer: Path | None = None
    vocab_size: int | None = None
    cased: bool = False
    length: int = 512
    across_documents: bool = True
    near_duplicates: float | None = 0.8
    dev: float = 0.01
    seed: int = 0
    workers: int = 1

    def __post_init__(self) -> None:
        if (self.tokenizer is None) == (self.vocab_size is None):
            raise InputError("give one of --tokenizer and --vocab-size: a tokenizer, or its size to learn one")
        check_dev_share(self.dev)
        if self.near_duplicates is not None and not 0 < self.near_duplicates <= 1:
            raise InputError(f"near_duplicates is {self.near_duplicates}; give a similarity above 0 and up to 1")
        if self.length < 3 or self.workers < 1:
            raise InputError(f"length {self.length}, workers {self.workers}: at least 3 and 1 are needed")


@dataclass(slots=True)
class TextCounts:
    """A source in the shards: documents read and retained, counts of train and dev, what was dropped."""

    read: int
    retained: int
    weight: float
    train: TokenSourceCounts = field(default_factory=TokenSourceCounts)
    dev: TokenSourceCounts = field(default_factory=TokenSourceCounts)
    dropped: DropReport = field(default_factory=DropReport)

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return asdict(self) | {"dropped": self.dropped.to_json()}


def prepare_text(
    out: Path, sources: Sequence[TextSource], settings: TextSettings, filters: Filters | None = None
) -> Preparation:
    """Write `train` and `dev/NAME` (token shards), `tokenizer` and `mixture.json` below `out`.

    The same sources and settings give the same bytes with any number of workers. The texts are stored next to
    the shards until it is done. Raises InputError if no text is left.
    """
    if not sources or len({source.name for source in sources}) < len(sources):
        raise InputError("name at least one source, and each name once")
    filters = Filters() if filters is None else filters
    with lock_folder(out), TemporaryDirectory(prefix=".texts-", dir=out) as folder:
        (out / MIXTURE).unlink(missing_ok=True)  # until everything is written
        filtered = _filter_sources(sources, filters, Path(folder), settings.workers)
        drop_duplicates(filtered, settings.near_duplicates)
        dev = [
            SourcePasses(part, [part.sample(part.retained, settings.dev, settings.seed, "dev")]) for part in filtered
        ]
        mixture = [SourcePasses.plan(source, source.retained & ~held_out, settings.seed) for source, (held_out,) in dev]
        if not any(chosen.any() for part in mixture for chosen in part.passes):
            reasons = ", ".join(filter(None, (str(source.dropped) for source in filtered)))
            raise InputError(f"no text to train on is left ({reasons or 'there was none'})")
        tokenizer = _load_tokenizer(out, mixture, settings)
        train = _write_shards(out / TRAIN, mixture, tokenizer, settings)
        shutil.rmtree(out / DEV, ignore_errors=True)
        counts = {}
        for held_out in dev:
            name, source = held_out.name, held_out.source
            count = counts[name] = TextCounts(source.read, int(source.retained.sum()), source.source.weight)
            count.dropped, count.train = source.dropped, train.get(name, count.train)
            if held_out.passes[0].any():
                count.dev = _write_shards(out / DEV / name, [held_out], tokenizer, settings)[name]
        return _report(out, counts, fingerprint_tokenizer(tokenizer), settings, filters)


def _filter_sources(
    sources: Sequence[TextSource], filters: Filters, folder: Path, workers: int
) -> list[FilteredSource]:
    """Filter all sources, each in its own process if there are several workers."""
    files = [folder / f"{source.name}.jsonl" for source in sources]
    if workers == 1 or len(sources) == 1:
        return [filter_source(source, filters, file) for source, file in zip(sources, files, strict=True)]
    with ProcessPoolExecutor(min(workers, len(sources)), multiprocessing.get_context("spawn")) as pool:
        return list(pool.map(filter_source, sources, [filters] * len(sources), files))


def _load_tokenizer(out: Path, mixture: Sequence[SourcePasses], settings: TextSettings) -> Tokenizer:
    """Open the tokenizer, or learn it from the train texts; save it in `out`."""
    folder = out / TOKENIZER
    if settings.vocab_size is not None:
        texts = (" ".join(text.split()) for _, text in interleave_texts(mixture))
        learned = learn_vocabulary(texts, vocab_size=settings.vocab_size, lowercase=not settings.cased)
        save_vocabulary(learned, folder, max_length=settings.length)
    elif settings.tokenizer is not None:
        tokenizer = open_tokenizer(settings.tokenizer)
        find_end_ids(tokenizer)
        tokenizer.no_truncation()
        tokenizer.no_padding()
        folder.mkdir(parents=True, exist_ok=True)
        tokenizer.save(str(folder / "tokenizer.json"))
    return open_tokenizer(folder)


def _write_shards(
    folder: Path, mixture: Sequence[SourcePasses], tokenizer: Tokenizer, settings: TextSettings
) -> dict[str, TokenSourceCounts]:
    """Write the texts of some sources as shards; a block holds text of one source."""
    ends = find_end_ids(tokenizer)
    packers = {part.name: SentencePacker(*ends, settings.length, settings.across_documents) for part in mixture}
    names: deque[str] = deque()

    def texts() -> Iterator[str]:
        for name, text in interleave_texts(mixture):
            names.append(name)
            yield text

    with TokenShardWriter(folder, tokenizer, length=settings.length) as writer:
        for document in encode_documents(tokenizer, texts(), settings.workers):
            name = names.popleft()
            counts = writer.counts(name)
            counts.documents += 1
            counts.tokens += len(document.ids)
            for block in packers[name].add(document):
                writer.add(block, name)
        for name, packer in packers.items():
            for block in packer.flush():
                writer.add(block, name)
        for part in mixture:
            writer.dropped.update(part.source.dropped)
    return writer.sources


def _report(
    out: Path, counts: Mapping[str, TextCounts], tokenizer: str, settings: TextSettings, filters: Filters
) -> Preparation:
    """Write `mixture.json`, and return the result. tokenizer: its fingerprint."""
    total = sum(count.train.tokens for count in counts.values())
    shares = {name: count.train.tokens / total if total else 0.0 for name, count in counts.items()}
    record = {
        "version": version("sciprism"),
        "settings": {
            **{key: value for key, value in asdict(settings).items() if key not in ("workers", "tokenizer")},
            "languages": list(filters.languages),
            "licences": list(filters.licences),
            "exclude": [path.name for path in filters.exclude],
            "split_table": filters.data is not None,
        },
        "tokenizer": tokenizer,
        "sources": {name: count.to_json() | {"share": shares[name]} for name, count in counts.items()},
    }
    write_json(out / MIXTURE, record)
    rows = [
        [count.read, count.retained, count.train.documents, count.train.blocks, count.train.tokens, count.dev.tokens]
        for count in counts.values()
    ]
    rows.append([sum(column) for column in zip(*rows, strict=True)])
    percents = [f"{100 * share:.1f}" for share in (*shares.values(), 1.0)]
    cells = zip([*counts, "all"], rows, percents, strict=True)
    return Preparation(
        files={TRAIN: rows[-1][3]}
        | {f"{DEV}/{name}": count.dev.blocks for name, count in counts.items() if count.dev.blocks},
        record=record,
        dropped={name: count.dropped for name, count in counts.items()},
        tables=[CountTable(("source",), COUNTS, [[name, *row[:-1], percent, row[-1]] for name, row, percent in cells])],
    )
