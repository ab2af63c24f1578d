"""Mentions of authors and their papers in JSON lines; blocks split into train, dev and test."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.open_data import PARTS
from sciprism.datasets.signatures import Signature, Signatures
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.records import Paper

REQUIRED = ("signature_id", "paper_id", "name", "author_id", "block")


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorMentions:
    """Read `signatures.jsonl(.gz)` of one folder and `papers*.jsonl(.gz)` of another.

    A mention has signature_id, paper_id, position, name, author_id, block and split; a block is in one split.
    max_train, max_dev, max_test: papers of each part, 0 for all; whole blocks are sampled in a seeded order
    until the next one would exceed the number. Where a paper has as many affiliations as authors, each author
    gets one; else all of them.
    """

    signatures: str
    papers: str
    max_train: int = 2000
    max_dev: int = 1000
    max_test: int = 3000
    seed: int = 0

    def read(self, data_root: DataRoot) -> Signatures:
        """Return the mentions of the sampled blocks and their papers."""
        dropped = DropReport()
        blocks = self._blocks(data_root, dropped)
        sampled = {part: self._sample_blocks(part, blocks[part], dropped) for part in PARTS}
        rows = [row for part in PARTS for block in sampled[part] for row in blocks[part][block]]
        wanted = {str(row["paper_id"]) for row in rows}
        records = {
            str(record["id"]): record
            for path in _find_files(data_root, self.papers, "papers")
            for record in data_root.records(path)
            if str(record.get("id")) in wanted
        }
        places = {record_id: number for number, record_id in enumerate(records)}
        papers = [_parse_paper(record) for record in records.values()]
        mentions = []
        for row in rows:
            if row["paper_id"] not in places:
                dropped.add("mention of an unknown paper", str(row["signature_id"]))
                continue
            place = places[row["paper_id"]]
            affiliations = records[row["paper_id"]].get("affiliations") or ()
            mentions.append(_parse_mention(row, place, papers[place], affiliations))
        train, dev, test = (frozenset(sampled[part]) for part in PARTS)
        return Signatures(papers=papers, signatures=mentions, train=train, dev=dev, test=test, dropped=dropped)

    def _blocks(self, data_root: DataRoot, dropped: DropReport) -> dict[str, dict[str, list[dict[str, Any]]]]:
        """Return part -> block -> mentions."""
        blocks: dict[str, dict[str, list[dict[str, Any]]]] = {part: defaultdict(list) for part in PARTS}
        for path in _find_files(data_root, self.signatures, "signatures"):
            for number, row in enumerate(data_root.records(path), 1):
                if missing := [name for name in REQUIRED if not row.get(name)]:
                    raise InputError(f"{path}, record {number}: no {', '.join(missing)}")
                if row.get("split") in blocks:
                    blocks[row["split"]][row["block"]].append(row)
                else:
                    dropped.add("mention in no part", str(row["signature_id"]))
        for one, other in (("train", "dev"), ("train", "test"), ("dev", "test")):
            if shared := sorted(blocks[one].keys() & blocks[other].keys()):
                raise InputError(f"{self.signatures}: block {shared[0]!r} is in both {one} and {other}")
        return blocks

    def _sample_blocks(self, part: str, blocks: Mapping[str, list[dict[str, Any]]], dropped: DropReport) -> list[str]:
        limit = {"train": self.max_train, "dev": self.max_dev, "test": self.max_test}[part]
        if not limit:
            return list(blocks)
        names = sorted(blocks)
        order = np.random.default_rng(self.seed).permutation(len(names)).tolist()
        selected: list[str] = []
        papers: set[str] = set()
        for number in order:
            papers |= {str(row["paper_id"]) for row in blocks[names[number]]}
            if selected and len(papers) > limit:
                break
            selected.append(names[number])
        for number in order[len(selected) :]:
            dropped.add(f"{part} block beyond {limit:,} papers", names[number])
        return selected


def _find_files(data_root: DataRoot, folder: str, stem: str) -> list[Path]:
    place = data_root.local(folder)
    found = sorted(path for path in place.iterdir() if path.name.startswith(stem) and ".jsonl" in path.suffixes)
    if not found:
        raise InputError(f"{place} has no {stem}*.jsonl or {stem}*.jsonl.gz")
    return found


def _parse_paper(record: Mapping[str, Any]) -> Paper:
    return Paper(
        id=str(record["id"]),
        title=record.get("title") or "",
        abstract=record.get("abstract") or "",
        authors=tuple(record.get("authors") or ()),
        venue=record.get("venue") or "",
        year=record.get("year"),
        references=tuple(map(str, record.get("references") or ())),
    )


def _parse_mention(row: Mapping[str, Any], place: int, paper: Paper, affiliations: Iterable[str]) -> Signature:
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
