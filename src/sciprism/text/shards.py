"""Token shards: blocks of token ids in memory-mapped files, what masked language modelling trains on.

A folder holds `tokens.json` (the manifest) and, of each shard, `tokens-000000.npy` (all ids end to end) and
`ends-000000.npy` (where each block ends).
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.files import UNFINISHED, commit, said_plainly, sha256, write_json
from sciprism.text.habits import tokenizer_key
from sciprism.text.tokenizer import read_json

MANIFEST = "tokens.json"
MIXTURE = "mixture.json"
"""What `sciprism prepare text` tells of the shards beside it."""
LAYOUT = 1
SHARD = 1 << 25
"""Tokens of a shard: 64 MB where the ids fit 16 bits. The writer holds one shard in memory."""
REMEDY = "make the shards anew with `sciprism prepare text`"

Ids = NDArray[np.int32]


@dataclass(slots=True)
class SourceCounts:
    """What a source gave: documents (each as often as it was taken), blocks, tokens of its text."""

    documents: int = 0
    blocks: int = 0
    tokens: int = 0


def ends_of(tokenizer: Tokenizer) -> tuple[int, int]:
    """Return the ids of the special tokens at the two ends of a text."""
    ids = tokenizer.encode("").ids
    if len(ids) != 2:
        raise InputError(
            f"the tokenizer puts {len(ids)} special tokens around a text, expected one at each end; "
            "name one with a post-processor, as BERT and RoBERTa have it"
        )
    return ids[0], ids[1]


class ShardWriter:
    """Write blocks into a folder that appears when all is written, or not at all.

    length: most tokens of a block. Raises InputError where the folder holds anything but older shards, which
    are replaced.
    """

    def __init__(self, folder: Path, tokenizer: Tokenizer, *, length: int, shard: int = SHARD) -> None:
        self.sources: dict[str, SourceCounts] = {}
        self.dropped = DropReport()
        self._folder = folder
        self._draft = folder.with_name(folder.name + UNFINISHED)
        self._facts = {"layout": LAYOUT, "length": length, "tokenizer": tokenizer_key(tokenizer)}
        self._facts["special"] = list(ends_of(tokenizer))
        size = tokenizer.get_vocab_size()
        self._dtype = np.dtype(np.uint16 if size <= 1 << 16 else np.uint32)
        self._length = length
        self._most = shard
        self._blocks: list[NDArray[np.uint32]] = []
        self._held = 0
        self._shards: list[dict[str, Any]] = []

    def __enter__(self) -> ShardWriter:
        if self._folder.exists() and (not self._folder.is_dir() or not _only_shards(self._folder)):
            raise InputError(f"{self._folder} holds other things than token shards; name another folder")
        with said_plainly(self._folder):
            shutil.rmtree(self._draft, ignore_errors=True)
            self._draft.mkdir(parents=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            shutil.rmtree(self._draft, ignore_errors=True)
            return
        self._flush()
        write_json(self._draft / MANIFEST, self._manifest())
        with said_plainly(self._folder):
            if self._folder.exists():
                shutil.rmtree(self._folder)
            self._draft.rename(self._folder)

    def add(self, block: NDArray[np.uint32], source: str) -> None:
        """Append one block, special tokens included."""
        if not 0 < len(block) <= self._length:
            raise ValueError(f"a block of {len(block)} tokens; 1 to {self._length} are allowed")
        self.counts(source).blocks += 1
        self._blocks.append(block)
        self._held += len(block)
        if self._held >= self._most:
            self._flush()

    def counts(self, source: str) -> SourceCounts:
        """Return the counts of a source, to be added to."""
        return self.sources.setdefault(source, SourceCounts())

    def _flush(self) -> None:
        if not self._blocks:
            return
        ends = np.cumsum([len(block) for block in self._blocks], dtype=np.int64)
        arrays = {"tokens": np.concatenate(self._blocks).astype(self._dtype), "ends": ends}
        record: dict[str, Any] = {"blocks": len(ends), "tokens": int(ends[-1])}
        for part, array in arrays.items():
            path = self._draft / f"{part}-{len(self._shards):06}.npy"
            commit(path, partial(_save, array=array))
            record[f"{part}_file"] = {"file": path.name, "sha256": sha256(path)}
        self._shards.append(record)
        self._blocks, self._held = [], 0

    def _manifest(self) -> dict[str, Any]:
        return self._facts | {
            "shards": self._shards,
            "sources": {name: asdict(counts) for name, counts in self.sources.items()},
            "dropped": self.dropped.to_json(),
        }


class TokenShards(Sequence[Ids]):
    """Blocks of a folder, memory-mapped; `shards[i]` is a block with its special tokens, int32.

    length: most tokens of a block. tokenizer: `tokenizer_key` of what made the ids. special: ids of the
    tokens at the ends. sources: name -> counts. lengths: tokens of every block. sha256: of the manifest,
    which has those of all files. Raises InputError for a folder without a manifest and for shards missing or
    cut short; `check` finds what only checksums tell.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        if not (self.folder / MANIFEST).is_file():
            raise InputError(f"{self.folder}: no {MANIFEST}, so no token shards; {REMEDY}")
        facts = read_json(self.folder / MANIFEST)
        if facts.get("layout") != LAYOUT:
            raise InputError(
                f"{self.folder / MANIFEST}: layout {facts.get('layout')!r}, expected {LAYOUT}; {REMEDY}"
            )
        try:
            self.length = int(facts["length"])
            self.tokenizer = str(facts["tokenizer"])
            self.sha256 = sha256(self.folder / MANIFEST)
            self.special = (int(facts["special"][0]), int(facts["special"][1]))
            self.sources = {name: SourceCounts(**row) for name, row in facts["sources"].items()}
            self._shards = [(row["tokens_file"], row["ends_file"]) for row in facts["shards"]]
            parts = [self._opened(row) for row in facts["shards"]]
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise InputError(f"{self.folder / MANIFEST}: damaged ({error!r}); {REMEDY}") from error
        self._tokens = [tokens for tokens, _ in parts]
        self._ends = [ends for _, ends in parts]
        self._starts = np.cumsum([0, *map(len, self._ends)])
        each = [np.diff(ends, prepend=0).astype(np.int32) for ends in self._ends]
        self.lengths: Ids = np.concatenate(each) if each else np.empty(0, np.int32)

    def __reduce__(self) -> tuple[type[TokenShards], tuple[Path]]:
        return TokenShards, (self.folder,)  # a worker process maps the files itself

    def __len__(self) -> int:
        return int(self._starts[-1])

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(f"block {index} of {len(self)}")
        shard = int(np.searchsorted(self._starts, place, side="right")) - 1
        row = place - int(self._starts[shard])
        ends = self._ends[shard]
        start = int(ends[row - 1]) if row else 0
        return self._tokens[shard][start : int(ends[row])].astype(np.int32)

    def check(self) -> None:
        """Compare every file with its checksum; raises InputError naming the first that changed."""
        for each in (part for shard in self._shards for part in shard):
            path = self.folder / each["file"]
            if sha256(path) != each["sha256"]:
                raise InputError(f"{path}: changed since it was written; {REMEDY}")

    def _opened(self, row: Mapping[str, Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Map the two files of a shard and see that they hold what the manifest says."""
        tokens, ends = (_mapped(self.folder / row[f"{part}_file"]["file"]) for part in ("tokens", "ends"))
        whole = len(tokens) == row["tokens"] and len(ends) == row["blocks"] and len(ends) > 0
        rising = whole and int(ends[-1]) == len(tokens) and bool((np.diff(ends, prepend=0) > 0).all())
        if not rising:
            path = self.folder / row["tokens_file"]["file"]
            raise InputError(f"{path}: it or its ends do not fit {MANIFEST}; {REMEDY}")
        return tokens, ends


def _mapped(path: Path) -> NDArray[Any]:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{path}: missing, cut short or damaged ({error}); {REMEDY}") from error
    if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype.kind not in "iu":
        raise InputError(f"{path}: not a row of whole numbers; {REMEDY}")
    return array


def _only_shards(folder: Path) -> bool:
    names = [path.name for path in folder.iterdir()]
    return not names or (
        MANIFEST in names and all(n == MANIFEST or n.startswith(("tokens-", "ends-")) for n in names)
    )


def _save(file: BinaryIO, array: NDArray[Any]) -> None:
    np.save(file, array, allow_pickle=False)
