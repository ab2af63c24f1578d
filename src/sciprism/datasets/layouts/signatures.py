"""Mentions of authors in JSON lines, with papers beside them; blocks divided into train, dev and test."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sciprism.datasets.data_root import DataRoot
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.papers.signatures import Signature, Signatures

PARTS = ("train", "dev", "test")


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorMentions:
    """Read `signatures.jsonl(.gz)` of one folder and `papers*.jsonl(.gz)` of another.

    A mention has signature_id, paper_id, position, name, author_id, block and split; a block lies in one
    split. max_train, max_dev, max_test: papers to keep in each part; whole blocks are drawn in a seeded order
    until the next one would go beyond the number. 0 keeps all.
    Where a paper states as many affiliations as authors, each author has his own; else all of them.
    """

    signatures: str
    papers: str
    max_train: int = 2000
    max_dev: int = 1000
    max_test: int = 3000
    seed: int = 0

    def read(self, home: DataRoot) -> Signatures:
        """Return the mentions of the drawn blocks and their papers."""
        tally = DropReport()
        blocks = self._blocks(home, tally)
        drawn = {part: self._draw(part, blocks[part], tally) for part in PARTS}
        rows = [row for part in PARTS for block in drawn[part] for row in blocks[part][block]]
        records = _records(home, self.papers, {str(row["paper_id"]) for row in rows})
        places = {record_id: number for number, record_id in enumerate(records)}
        affiliations = {key: record.get("affiliations") or () for key, record in records.items()}
        papers = [_paper(record) for record in records.values()]
        mentions = []
        for row in rows:
            if row["paper_id"] not in places:
                tally.add("mention without its paper", str(row["signature_id"]))
                continue
            place = places[row["paper_id"]]
            mentions.append(_mention(row, place, papers[place], affiliations[row["paper_id"]]))
        train, dev, test = (frozenset(drawn[part]) for part in PARTS)
        return Signatures(papers=papers, signatures=mentions, train=train, dev=dev, test=test, tally=tally)

    def _blocks(self, home: DataRoot, tally: DropReport) -> dict[str, dict[str, list[dict[str, Any]]]]:
        """Return part -> block -> mentions."""
        blocks: dict[str, dict[str, list[dict[str, Any]]]] = {part: defaultdict(list) for part in PARTS}
        for path in _files(home, self.signatures, "signatures"):
            for number, row in enumerate(home.records(path), 1):
                missing = [
                    k for k in ("signature_id", "paper_id", "name", "author_id", "block") if not row.get(k)
                ]
                if missing:
                    raise InputError(f"{path}, record {number}: no {', '.join(missing)}")
                if row.get("split") in blocks:
                    blocks[row["split"]][row["block"]].append(row)
                else:
                    tally.add("mention in no part", str(row["signature_id"]))
        for one, other in (("train", "dev"), ("train", "test"), ("dev", "test")):
            if shared := sorted(blocks[one].keys() & blocks[other].keys()):
                raise InputError(f"{self.signatures}: block {shared[0]!r} lies in both {one} and {other}")
        return blocks

    def _draw(self, part: str, blocks: Mapping[str, list[dict[str, Any]]], tally: DropReport) -> list[str]:
        most = {"train": self.max_train, "dev": self.max_dev, "test": self.max_test}[part]
        if not most:
            return list(blocks)
        names = sorted(blocks)
        order = np.random.default_rng(self.seed).permutation(len(names)).tolist()
        kept: list[str] = []
        papers: set[str] = set()
        for number in order:
            papers |= {str(row["paper_id"]) for row in blocks[names[number]]}
            if kept and len(papers) > most:
                break
            kept.append(names[number])
        for number in order[len(kept) :]:
            tally.add(f"{part} block beyond {most:,} papers", names[number])
        return kept


def _files(home: DataRoot, folder: str, stem: str) -> list[Path]:
    place = home.local(folder)
    found = sorted(
        path for path in place.iterdir() if path.name.startswith(stem) and ".jsonl" in path.suffixes
    )
    if not found:
        raise InputError(f"{place} has no {stem}*.jsonl or {stem}*.jsonl.gz")
    return found


def _records(home: DataRoot, folder: str, wanted: set[str]) -> dict[str, dict[str, Any]]:
    return {
        str(record["id"]): record
        for path in _files(home, folder, "papers")
        for record in home.records(path)
        if str(record.get("id")) in wanted
    }


def _paper(record: Mapping[str, Any]) -> Paper:
    return Paper(
        id=str(record["id"]),
        title=record.get("title") or "",
        abstract=record.get("abstract") or "",
        authors=tuple(record.get("authors") or ()),
        venue=record.get("venue") or "",
        year=record.get("year"),
        references=tuple(map(str, record.get("references") or ())),
    )


def _mention(row: Mapping[str, Any], place: int, paper: Paper, affiliations: Iterable[str]) -> Signature:
    position = int(row.get("position") or 0)
    places = tuple(affiliations)
    own = places[position : position + 1] if len(places) == len(paper.authors) else places
    return Signature(
        id=str(row["signature_id"]),
        paper=place,
        name=row["name"],
        block=row["block"],
        author=str(row["author_id"]),
        position=position,
        coauthors=tuple(name for i, name in enumerate(paper.authors) if i != position),
        affiliations=own,
        email=row.get("email") or "",
    )
