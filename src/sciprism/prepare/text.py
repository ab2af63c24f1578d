"""Write token shards from many sources of text, filtered and without duplicates, and the table of their mixture."""

from __future__ import annotations

import json
import shutil
from array import array
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from heapq import merge
from math import modf
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator
from tokenizers import Tokenizer

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.evaluation.task import read_sizes
from sciprism.files import create_work_folder
from sciprism.papers.near_texts import MinHashSignatures
from sciprism.parallel import map_processes
from sciprism.prepare.filters import Filters
from sciprism.prepare.preparation import CountTable, DevShare, ExampleFolder, Preparation, Settings
from sciprism.seeding import random_bits, random_fraction
from sciprism.text.documents.document import document_readers, read_documents
from sciprism.text.sentences import SentencePacker, encode_documents
from sciprism.text.token_shards import MIXTURE, TokenShardWriter, TokenSourceCounts, find_end_ids
from sciprism.text.tokenizer import fingerprint_tokenizer, open_tokenizer
from sciprism.text.vocabulary import learn_vocabulary, save_vocabulary, write_tokenizer

DUPLICATE, NEAR_DUPLICATE = "duplicate text", "near-duplicate text"
Mask = NDArray[np.bool_]  # documents of a source


class TextSource(Settings):
    """Files of one kind of text.

    name: also of its folder. weight: number of passes; a fraction is that share of the documents. kind: of
    document, "" to detect that of each file. columns: of rows, those with the text.
    """

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    paths: tuple[Path, ...]
    weight: Annotated[float, Field(gt=0, le=1000)] = 1.0
    kind: str = ""
    columns: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _check(self) -> TextSource:
        if self.kind:
            document_readers[self.kind]
        if missing := [path for path in self.paths if not path.exists()]:
            raise ValueError(f"{self.name}={missing[0]}: no such file or folder")
        return self


@dataclass(slots=True)
class FilteredSource:
    """The documents of a source that passed the filters, in a file, a JSON line each.

    read: documents with text before the filters. keys: hash of each text without case and white space. sizes:
    its characters. retained: those that are not dropped later as duplicates. dropped: the others, by reason.
    """

    source: TextSource
    file: Path
    read: int
    keys: NDArray[np.uint64]
    sizes: NDArray[np.uint32]
    retained: Mask
    dropped: DropReport

    def rows(self, chosen: Mask) -> Iterator[tuple[str, str]]:
        """Yield (id, text) of the chosen documents in order."""
        with self.file.open(encoding="utf-8") as file:
            for wanted, line in zip(chosen.tobytes(), file, strict=True):
                if wanted:
                    name, text = json.loads(line)
                    yield name, text

    def sample(self, chosen: Mask, share: float, seed: int, purpose: str) -> Mask:
        """Return a share of the chosen documents, by a hash of the text."""
        sampled = np.zeros(len(chosen), np.bool_)
        if share:
            for row in np.flatnonzero(chosen).tolist():
                sampled[row] = random_fraction(seed, purpose, int(self.keys[row])) < share
        return sampled


def filter_source(filters: Filters, folder: Path, source: TextSource) -> FilteredSource:
    """Read a source, write what passes the filters, count the rest; memory holds 13 bytes a document."""
    file, read, dropped = folder / f"{source.name}.jsonl", 0, DropReport()
    check, keys, sizes = filters.load_check(), array("Q"), array("I")
    with file.open("w", encoding="utf-8", errors="replace") as spool:
        for path in source.paths:
            documents = read_documents(path, kind=source.kind, columns=source.columns, dropped=dropped)
            for document in documents:
                read += 1
                if reason := check(document):
                    dropped.add(reason, document.id)
                    continue
                spool.write(json.dumps([document.id, document.text], ensure_ascii=False) + "\n")
                keys.append(random_bits(" ".join(document.text.casefold().split())))
                sizes.append(min(len(document.text), 2**32 - 1))
    retained = np.ones(len(keys), np.bool_)
    return FilteredSource(
        source, file, read, np.asarray(keys, np.uint64), np.asarray(sizes, np.uint32), retained, dropped
    )


def drop_duplicates(sources: Sequence[FilteredSource], near_duplicates: float | None) -> None:
    """Unmark duplicates in `retained`: documents whose text occurs before, in this source or an earlier one.

    near_duplicates: Jaccard similarity of word 3-grams from which texts are duplicates (`MinHashSignatures`);
    None drops only equal texts. Memory: 8 bytes a document, 264 more with `near_duplicates`.
    """
    keys = np.concatenate([source.keys for source in sources])
    repeated = np.ones(len(keys), np.bool_)
    repeated[np.unique(keys, return_index=True)[1]] = False
    _drop(sources, repeated, DUPLICATE)
    if near_duplicates is None:
        return
    signatures, start = MinHashSignatures(), 0
    for source in sources:
        rows = start + np.flatnonzero(source.retained)
        for row, (_, text) in zip(rows.tolist(), source.rows(source.retained), strict=True):
            signatures.add(row, text)
        start += len(source.retained)
    repeated = np.zeros(len(keys), np.bool_)
    for one, other in signatures.pairs(near_duplicates):
        repeated[max(one, other)] = True
    _drop(sources, repeated, NEAR_DUPLICATE)


def _drop(sources: Sequence[FilteredSource], repeated: Mask, reason: str) -> None:
    start = 0
    for source in sources:
        dropped = repeated[start : start + len(source.retained)] & source.retained
        for name, _ in source.rows(dropped) if dropped.any() else ():
            source.dropped.add(reason, name)
        source.retained &= ~dropped
        start += len(source.retained)


class SourcePasses(NamedTuple):
    """The passes through a source: the documents of each."""

    source: FilteredSource
    passes: list[Mask]

    @property
    def name(self) -> str:
        """Return the source's name."""
        return self.source.source.name


def interleave_texts(mixture: Sequence[SourcePasses]) -> Iterator[tuple[str, str]]:
    """Yield (name of the source, text) so that all sources advance by the same share of their characters.

    Each source keeps its order.
    """

    def places(number: int) -> Iterator[tuple[float, int, str]]:
        source, passes = mixture[number]
        done, total = 0, sum(int(source.sizes[chosen].sum()) for chosen in passes)
        for text in (text for chosen in passes for _, text in source.rows(chosen)):
            yield (done + len(text) / 2) / total, number, text
            done += len(text)

    for _, number, text in merge(*map(places, range(len(mixture)))):
        yield mixture[number].name, text


TRAIN, DEV, TOKENIZER = "train", "dev", "tokenizer"
COUNTS = ("read", "retained", "documents", "blocks", "tokens", "%", "dev tokens")
"""Documents with text, those that passed; of the train shards: documents, blocks, tokens, share of tokens."""


class TextSettings(Settings):
    """How texts become shards.

    tokenizer: a folder or a tokenizer.json; without one, `vocab_size` tokens are learned from the train
    texts, in lower case. length: tokens of a block. across_documents: blocks cross documents.
    near_duplicates: similarity from which texts are duplicates, None for equal ones only. dev: share of the
    documents that is held out, by source.
    """

    tokenizer: Path | None = None
    vocab_size: int | None = None
    length: Annotated[int, Field(ge=3)] = 512
    across_documents: bool = True
    near_duplicates: Annotated[float, Field(gt=0, le=1)] | None = 0.8
    dev: DevShare = 0.01
    seed: int = 0

    @model_validator(mode="after")
    def _check(self) -> TextSettings:
        if (self.tokenizer is None) == (self.vocab_size is None):
            raise ValueError("give one of --tokenizer and --vocab-size: a tokenizer, or its size to learn one")
        return self


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

    The same sources and settings give the same bytes with any number of processes. The texts are stored next to
    the shards until it is done. Raises InputError if no text is left.
    """
    if not sources or len({source.name for source in sources}) < len(sources):
        raise InputError("name at least one source, and each name once")
    filters = Filters() if filters is None else filters
    with create_work_folder(out, ".texts-") as folder:
        (out / MIXTURE).unlink(missing_ok=True)  # until everything is written
        work = partial(filter_source, filters, folder)
        filtered = list(map_processes(work, sources, at_once=len(sources) > 1))
        drop_duplicates(filtered, settings.near_duplicates)
        dev = [
            SourcePasses(part, [part.sample(part.retained, settings.dev, settings.seed, "dev")]) for part in filtered
        ]
        mixture = []
        for part, (apart,) in dev:  # as many passes as the weight; the last one has a share by hash
            chosen, (rest, whole) = part.retained & ~apart, modf(part.source.weight)
            last = [part.sample(chosen, rest, settings.seed, "weight")] if rest else []
            mixture.append(SourcePasses(part, [chosen] * int(whole) + last))
        if not any(some.any() for planned in mixture for some in planned.passes):
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
    total = sum(count.train.tokens for count in counts.values())
    shares = {name: count.train.tokens / total if total else 0.0 for name, count in counts.items()}
    sizes = read_sizes("indus/1")
    record = {
        "settings": {
            **settings.model_dump(exclude={"tokenizer"}),
            "languages": list(filters.languages),
            "licences": list(filters.licences),
            "exclude": [path.name for path in filters.exclude],
            "split_table": filters.data is not None,
        },
        "tokenizer": fingerprint_tokenizer(tokenizer),
        "sources": {
            name: count.to_json() | {"share": shares[name]} | ({"published": sizes[name]} if name in sizes else {})
            for name, count in counts.items()
        },
    }
    rows = [
        [count.read, count.retained, count.train.documents, count.train.blocks, count.train.tokens, count.dev.tokens]
        for count in counts.values()
    ]
    rows.append([sum(column) for column in zip(*rows, strict=True)])
    percents = [f"{100 * share:.1f}" for share in (*shares.values(), 1.0)]
    cells = zip([*counts, "all"], rows, percents, strict=True)
    table = CountTable(("source",), COUNTS, [[name, *row[:-1], percent, row[-1]] for name, row, percent in cells])
    billions = {name: size["tokens (billion)"] for name, size in sizes.items()}
    return Preparation(
        files={TRAIN: rows[-1][3]}
        | {f"{DEV}/{name}": count.dev.blocks for name, count in counts.items() if count.dev.blocks},
        record=ExampleFolder(out).write_manifest(MIXTURE, record),
        dropped={name: count.dropped for name, count in counts.items()},
        tables=[table.with_column("INDUS, billion", billions)],
    )


def _load_tokenizer(out: Path, mixture: Sequence[SourcePasses], settings: TextSettings) -> Tokenizer:
    """Open the tokenizer, or learn it from the train texts; save it in `out`."""
    folder = out / TOKENIZER
    if settings.vocab_size is not None:
        texts = (" ".join(text.split()) for _, text in interleave_texts(mixture))
        learned = learn_vocabulary(texts, vocab_size=settings.vocab_size)
        save_vocabulary(learned, folder, max_length=settings.length)
    elif settings.tokenizer is not None:
        tokenizer = open_tokenizer(settings.tokenizer)
        find_end_ids(tokenizer)
        tokenizer.no_truncation()
        tokenizer.no_padding()
        write_tokenizer(tokenizer, folder)
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
        for document in encode_documents(tokenizer, texts()):
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
