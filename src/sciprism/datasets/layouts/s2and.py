"""The folders of S2AND: signatures, papers, clusters and the division of blocks, one folder per source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.rows import as_id
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.papers.signatures import Signature, Signatures

SOURCES = ("arnetminer", "inspire", "kisti", "pubmed", "qian", "zbmath")
Authors = tuple[tuple[int, str], ...]  # position and name
PARTS = ("train", "dev", "test")
SHARES = (0.8, 0.9)
"""Where dev and test begin among shuffled blocks that come without a division (S2AND's own shares)."""
OBTAIN = (
    "fetch s3://ai2-s2-research-public/scirepeval/test/s2and without credentials, or make the small version "
    "with: sciprism prepare s2and-mini FOLDER -o OUT"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class S2andFolders:
    """Read `<source>/<source>_{signatures,papers,clusters}.json` and `blocks/block_sigs_<source>.json`.

    Each part of a division is a list of block names, or an object of them with their signatures. Without that
    file blocks are divided 80 : 10 : 10 by the seed, and named so in the result. Sources keep to themselves:
    ids and blocks bear their names. A venue that is missing is replaced by the journal.
    """

    path: str = "s2and_mini"
    sources: tuple[str, ...] = SOURCES
    seed: int = 0

    def read(self, home: DataRoot) -> Signatures:
        """Return the mentions of all sources; mentions without a cluster or a paper are left out."""
        folder = home.local(self.path, OBTAIN)
        tally = DropReport()
        papers: list[Paper] = []
        mentions: list[Signature] = []
        named: list[str] = []
        parts: dict[str, set[str]] = {part: set() for part in PARTS}
        for source in self.sources:
            division, blocks_of = self._division(home, folder, source, tally)
            found = self._mentions(home, folder / source, (papers, blocks_of), tally)
            mentions += found
            named += [source] * len(found)
            blocks = sorted({mention.block for mention in found})
            division = division or _shuffled(blocks, self.seed)
            for block in blocks:
                if block in division:
                    parts[division[block]].add(block)
                else:
                    tally.add("block in no part", block)
        train, dev, test = (frozenset(parts[part]) for part in PARTS)
        return Signatures(
            papers=papers, signatures=mentions, train=train, dev=dev, test=test, source=named, tally=tally
        )

    def _mentions(
        self, home: DataRoot, place: Path, shared: tuple[list[Paper], Mapping[str, str]], tally: DropReport
    ) -> list[Signature]:
        """Return the mentions of one source and put its papers behind those of the others."""
        papers, blocks_of = shared
        source = place.name
        people = _people(home, source_file(place, "clusters"))
        rows: dict[str, int] = {}
        authors: dict[str, Authors] = {}
        for key, record in home.members(source_file(place, "papers")):
            rows[as_id(key)], authors[as_id(key)] = len(papers), _authors(record)
            papers.append(_paper(source, as_id(key), record))
        found = []
        for key, row in home.members(source_file(place, "signatures")):
            paper = as_id(row["paper_id"])
            if key in people and paper in rows:
                block = f"{source}: {blocks_of.get(key) or row['author_info']['block']}"
                found.append(_mention(row, (source, key, people[key]), block, (rows[paper], authors[paper])))
            else:
                tally.add("mention without a cluster or a paper", f"{source} {key}")
        return found

    def _division(
        self, home: DataRoot, folder: Path, source: str, tally: DropReport
    ) -> tuple[dict[str, str], dict[str, str]]:
        """Return block -> part, and signature -> block where the file says it."""
        path = folder / "blocks" / f"block_sigs_{source}.json"
        if not path.exists():
            tally.add("source without a division of blocks, divided by the seed", source)
            return {}, {}
        division: dict[str, str] = {}
        of_signature: dict[str, str] = {}
        for part, blocks in home.members(path):
            if part not in PARTS or not isinstance(blocks, list | dict):
                raise InputError(f"{path}: {part!r} is no list of blocks for train, dev or test")
            for block in blocks:
                division[f"{source}: {block}"] = part
                for key in blocks[block] if isinstance(blocks, dict) else ():
                    of_signature[as_id(key)] = block
        return division, of_signature


def source_file(place: Path, kind: str) -> Path:
    """Return `<source>/<source>_<kind>.json`. Raises InputError where it is not there."""
    path = place / f"{place.name}_{kind}.json"
    if not path.is_file():
        raise InputError(f"{path} is not there; {OBTAIN}")
    return path


def _people(home: DataRoot, path: Path) -> dict[str, str]:
    return {as_id(key): as_id(name) for name, row in home.members(path) for key in row["signature_ids"]}


def _shuffled(blocks: Sequence[str], seed: int) -> dict[str, str]:
    order = np.random.default_rng(seed).permutation(len(blocks))
    ends = [round(share * len(blocks)) for share in SHARES]
    return {blocks[n]: PARTS[int(np.searchsorted(ends, at, "right"))] for at, n in enumerate(order)}


def _authors(record: Mapping[str, Any]) -> Authors:
    listed = record.get("authors") or ()
    return tuple((int(a.get("position") or 0), a["author_name"]) for a in listed if a.get("author_name"))


def _paper(source: str, name: str, record: Mapping[str, Any]) -> Paper:
    year = record.get("year")
    return Paper(
        id=f"{source}:{name}",
        title=record.get("title") or "",
        abstract=record.get("abstract") or "",
        authors=tuple(author for _, author in _authors(record)),
        venue=record.get("venue") or record.get("journal_name") or "",
        year=int(year) if year else None,
        references=tuple(f"{source}:{as_id(key)}" for key in record.get("references") or ()),
    )


def _mention(
    row: Mapping[str, Any],
    names: tuple[str, str, str],
    block: str,
    paper: tuple[int, Authors],
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
        coauthors=tuple(name for place, name in paper[1] if place != position),
        affiliations=tuple(filter(None, info.get("affiliations") or ())),
        email=info.get("email") or "",
    )
