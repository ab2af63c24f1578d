"""Token shards: blocks of token ids in memory-mapped files, for masked language modelling.

A folder holds `tokens.json` (the manifest) and, of each shard, `tokens-000000.npy` (all ids end to end) and
`ends-000000.npy` (where each block ends).
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.files import explain_write_errors, open_draft, replace_folder, sha256, write_atomically, write_json
from sciprism.text.tokenizer import fingerprint_tokenizer, read_json

MANIFEST = "tokens.json"
MIXTURE = "mixture.json"  # the report of `sciprism prepare text`, next to the shards
LAYOUT = 1
SHARD_TOKENS = 1 << 25  # tokens of a shard: 64 MB where the ids fit 16 bits. The writer holds one shard in memory.
REMEDY = "build the shards again with `sciprism prepare text`"

Ids = NDArray[np.int32]


@dataclass(slots=True)
class TokenSourceCounts:
    """Counts of a source: documents (each as often as it is repeated), blocks, tokens of its text."""

    documents: int = 0
    blocks: int = 0
    tokens: int = 0


def find_end_ids(tokenizer: Tokenizer) -> tuple[int, int]:
    """Return the ids of the special tokens before and after a text."""
    ids = tokenizer.encode("").ids
    if len(ids) != 2:
        raise InputError(
            f"the tokenizer adds {len(ids)} special tokens to a text, expected one at each end; "
            "name one with a post-processor like BERT's or RoBERTa's"
        )
    return ids[0], ids[1]


class TokenShardWriter:
    """Write blocks into a folder that appears when all are written, or not at all.

    length: maximum tokens of a block. shard_tokens: of a shard. Older shards in the folder are replaced;
    raises InputError if it holds anything else.
    """

    def __init__(self, folder: Path, tokenizer: Tokenizer, *, length: int, shard_tokens: int = SHARD_TOKENS) -> None:
        self.sources: dict[str, TokenSourceCounts] = {}
        self.dropped = DropReport()
        self._folder = folder
        self._drafts = ExitStack()
        self._facts = {"layout": LAYOUT, "length": length, "tokenizer": fingerprint_tokenizer(tokenizer)}
        self._facts["special"] = list(find_end_ids(tokenizer))
        self._dtype = np.dtype(np.uint16 if tokenizer.get_vocab_size() <= 1 << 16 else np.uint32)
        self._length = length
        self._shard_tokens = shard_tokens
        self._blocks: list[NDArray[np.uint32]] = []
        self._size = 0
        self._shards: list[dict[str, Any]] = []

    def __enter__(self) -> TokenShardWriter:
        names = [path.name for path in self._folder.iterdir()] if self._folder.is_dir() else []
        foreign = [name for name in names if name != MANIFEST and not name.startswith(("tokens-", "ends-"))]
        is_file = self._folder.exists() and not self._folder.is_dir()
        if is_file or foreign or (names and MANIFEST not in names):
            raise InputError(f"{self._folder} holds other files than token shards; name another folder")
        with explain_write_errors(self._folder):
            self._draft = self._drafts.enter_context(open_draft(self._folder))
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        with self._drafts, explain_write_errors(self._folder):
            if kind is None:
                self._flush()
                counts = {name: asdict(source) for name, source in self.sources.items()}
                results = {"shards": self._shards, "sources": counts, "dropped": self.dropped.to_json()}
                write_json(self._draft / MANIFEST, self._facts | results)
                replace_folder(self._folder, self._draft)

    def add(self, block: NDArray[np.uint32], source: str) -> None:
        """Append one block, special tokens included."""
        if not 0 < len(block) <= self._length:
            raise ValueError(f"a block of {len(block)} tokens; 1 to {self._length} are allowed")
        self.counts(source).blocks += 1
        self._blocks.append(block)
        self._size += len(block)
        if self._size >= self._shard_tokens:
            self._flush()

    def counts(self, source: str) -> TokenSourceCounts:
        """Return the counts of a source, for the caller to increase."""
        return self.sources.setdefault(source, TokenSourceCounts())

    def _flush(self) -> None:
        if not self._blocks:
            return
        ends = np.cumsum([len(block) for block in self._blocks], dtype=np.int64)
        arrays = {"tokens": np.concatenate(self._blocks).astype(self._dtype), "ends": ends}
        record: dict[str, Any] = {"blocks": len(ends), "tokens": int(ends[-1])}
        for part, array in arrays.items():
            path = self._draft / f"{part}-{len(self._shards):06}.npy"
            write_atomically(path, partial(np.save, arr=array, allow_pickle=False))
            record[f"{part}_file"] = {"file": path.name, "sha256": sha256(path)}
        self._shards.append(record)
        self._blocks, self._size = [], 0


class TokenShards:
    """Blocks of a folder, memory-mapped; `shards[i]` is a block with its special tokens, int32.

    length: maximum tokens of a block. tokenizer: its fingerprint. special: ids of the tokens at the two ends.
    sources: name -> counts. lengths: tokens of every block. sha256: of the manifest, which holds those of all
    files. Raises InputError for a folder without a manifest and for missing or truncated shards; `check`
    compares the checksums.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        if not (self.folder / MANIFEST).is_file():
            raise InputError(f"{self.folder}: no {MANIFEST}, so not a folder of token shards; {REMEDY}")
        facts = read_json(self.folder / MANIFEST)
        if facts.get("layout") != LAYOUT:
            raise InputError(f"{self.folder / MANIFEST}: layout {facts.get('layout')!r}, expected {LAYOUT}; {REMEDY}")
        try:
            self.length = int(facts["length"])
            self.tokenizer = str(facts["tokenizer"])
            self.sha256 = sha256(self.folder / MANIFEST)
            self.special = (int(facts["special"][0]), int(facts["special"][1]))
            self.sources = {name: TokenSourceCounts(**row) for name, row in facts["sources"].items()}
            self._shards = [(row["tokens_file"], row["ends_file"]) for row in facts["shards"]]
            self._arrays = [tuple(self._map(file["file"]) for file in shard) for shard in self._shards]
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise InputError(f"{self.folder / MANIFEST}: damaged ({error!r}); {REMEDY}") from error
        lengths = [np.diff(ends, prepend=0).astype(np.int32) for _, ends in self._arrays]
        self._starts = np.cumsum([0, *map(len, lengths)])
        self.lengths: Ids = np.concatenate([np.empty(0, np.int32), *lengths])

    def __reduce__(self) -> tuple[type[TokenShards], tuple[Path]]:
        return TokenShards, (self.folder,)  # a worker process maps the files itself

    def __len__(self) -> int:
        return int(self._starts[-1])

    def __getitem__(self, index: int) -> Ids:
        if not 0 <= index < len(self):
            raise IndexError(f"block {index} of {len(self)}")
        shard = int(np.searchsorted(self._starts, index, side="right")) - 1
        row = index - int(self._starts[shard])
        tokens, ends = self._arrays[shard]
        start = int(ends[row - 1]) if row else 0
        return tokens[start : int(ends[row])].astype(np.int32)

    def check(self) -> None:
        """Compare every file with its checksum; raises InputError naming the first that changed."""
        for file in (part for shard in self._shards for part in shard):
            path = self.folder / file["file"]
            if sha256(path) != file["sha256"]:
                raise InputError(f"{path}: changed since it was written; {REMEDY}")

    def _map(self, name: str) -> NDArray[Any]:
        path = self.folder / name
        try:
            array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise InputError(f"{path}: missing, truncated or damaged ({error}); {REMEDY}") from error
        return array
