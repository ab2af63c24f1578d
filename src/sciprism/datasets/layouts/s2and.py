"""The folders of S2AND: signatures, papers, clusters and the split of blocks, one folder per source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.open_data import PARTS
from sciprism.datasets.rows import as_id
from sciprism.datasets.signatures import Signature, Signatures
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.records import Paper

SOURCES = ("arnetminer", "inspire", "kisti", "pubmed", "qian", "zbmath")
Authors = tuple[tuple[int, str], ...]  # position and name
OBTAIN = (
    "download s3://ai2-s2-research-public/scirepeval/test/s2and without credentials, or make the small "
    "version with: sciprism prepare s2and-mini FOLDER -o OUT"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class S2andFolders:
    """Read `<source>/<source>_{signatures,papers,clusters}.json` and `blocks/block_sigs_<source>.json`.

    Each part of the split is a list of block names, or an object of block name -> signatures. Without that
    file, blocks are split 80 : 10 : 10 by the seed, which the result reports. Ids and blocks begin with the
    source's name, so sources stay separate. A missing venue is replaced by the journal.
    """

    path: str = "s2and_mini"
    sources: tuple[str, ...] = SOURCES
    seed: int = 0

    def read(self, data_root: DataRoot) -> Signatures:
        """Return the mentions of all sources; mentions without a cluster or a paper are dropped."""
        folder = data_root.local(self.path, OBTAIN)
        dropped = DropReport()
        papers: list[Paper] = []
        mentions: list[Signature] = []
        named: list[str] = []
        parts: dict[str, set[str]] = {part: set() for part in PARTS}
        for source in self.sources:
            split, blocks_of = self._read_split(data_root, folder, source, dropped)
            found = self._mentions(data_root, folder / source, papers, blocks_of, dropped)
            mentions += found
            named += [source] * len(found)
            blocks = sorted({mention.block for mention in found})
            split = split or _split_blocks(blocks, self.seed)
            for block in blocks:
                if block in split:
                    parts[split[block]].add(block)
                else:
                    dropped.add("block in no part", block)
        train, dev, test = (frozenset(parts[part]) for part in PARTS)
        return Signatures(
            papers=papers, signatures=mentions, train=train, dev=dev, test=test, source=named, dropped=dropped
        )

    def _mentions(
        self,
        data_root: DataRoot,
        folder: Path,
        papers: list[Paper],
        blocks_of: Mapping[str, str],
        dropped: DropReport,
    ) -> list[Signature]:
        """Return the mentions of one source and append its papers to those of the other sources."""
        source = folder.name
        people = {
            as_id(key): as_id(name)
            for name, row in data_root.members(find_source_file(folder, "clusters"))
            for key in row["signature_ids"]
        }
        rows: dict[str, int] = {}
        authors: dict[str, Authors] = {}
        for key, record in data_root.members(find_source_file(folder, "papers")):
            rows[as_id(key)], authors[as_id(key)] = len(papers), _list_authors(record)
            papers.append(_parse_paper(source, as_id(key), record))
        found = []
        for key, row in data_root.members(find_source_file(folder, "signatures")):
            paper = as_id(row["paper_id"])
            if key in people and paper in rows:
                block = f"{source}: {blocks_of.get(key) or row['author_info']['block']}"
                found.append(_parse_mention(row, (source, key, people[key]), block, (rows[paper], authors[paper])))
            else:
                dropped.add("mention without a cluster or a paper", f"{source} {key}")
        return found

    def _read_split(
        self, data_root: DataRoot, folder: Path, source: str, dropped: DropReport
    ) -> tuple[dict[str, str], dict[str, str]]:
        """Return block -> part, and signature -> block where the file has them."""
        path = folder / "blocks" / f"block_sigs_{source}.json"
        if not path.exists():
            dropped.add("source without a split of blocks, split by the seed", source)
            return {}, {}
        split: dict[str, str] = {}
        block_of: dict[str, str] = {}
        for part, blocks in data_root.members(path):
            if part not in PARTS or not isinstance(blocks, list | dict):
                raise InputError(f"{path}: {part!r} is not a list of blocks for train, dev or test")
            for block in blocks:
                split[f"{source}: {block}"] = part
                for key in blocks[block] if isinstance(blocks, dict) else ():
                    block_of[as_id(key)] = block
        return split, block_of


def find_source_file(folder: Path, kind: str) -> Path:
    """Return `<source>/<source>_<kind>.json`. Raises InputError where it does not exist."""
    path = folder / f"{folder.name}_{kind}.json"
    if not path.is_file():
        raise InputError(f"{path} does not exist; {OBTAIN}")
    return path


def _split_blocks(blocks: Sequence[str], seed: int) -> dict[str, str]:
    order = np.random.default_rng(seed).permutation(len(blocks))
    ends = [round(share * len(blocks)) for share in (0.8, 0.9)]  # where dev and test begin, as in S2AND
    return {blocks[n]: PARTS[int(np.searchsorted(ends, at, "right"))] for at, n in enumerate(order)}


def _list_authors(record: Mapping[str, Any]) -> Authors:
    listed = record.get("authors") or ()
    return tuple((int(a.get("position") or 0), a["author_name"]) for a in listed if a.get("author_name"))


def _parse_paper(source: str, name: str, record: Mapping[str, Any]) -> Paper:
    year = record.get("year")
    return Paper(
        id=f"{source}:{name}",
        title=record.get("title") or "",
        abstract=record.get("abstract") or "",
        authors=tuple(author for _, author in _list_authors(record)),
        venue=record.get("venue") or record.get("journal_name") or "",
        year=int(year) if year else None,
        references=tuple(f"{source}:{as_id(key)}" for key in record.get("references") or ()),
    )


def _parse_mention(
    row: Mapping[str, Any], names: tuple[str, str, str], block: str, paper: tuple[int, Authors]
) -> Signature:
    source, key, person = names
    info = row["author_info"]
    position = int(info.get("position") or 0)
    given = " ".join(filter(None, (info.get("first"), info.get("middle"))))
    return Signature(
        id=key if key.startswith(f"{source}_") else f"{source}_{key}",
        paper=paper[0],
        name=f"{info.get('last') or ''}, {given}",
        block=block,
        author=f"{source}:{person}",
        position=position,
        coauthors=tuple(name for at, name in paper[1] if at != position),
        affiliations=tuple(filter(None, info.get("affiliations") or ())),
        email=info.get("email") or "",
    )
