"""Mentions of authors on papers: the folders of S2AND, the open data, and the tables of custom tasks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sciprism.datasets.data_root import DataRoot, as_id, require_data_file
from sciprism.datasets.inputs import Signatures
from sciprism.datasets.layouts.custom import parse_part, split_by_hash
from sciprism.datasets.layouts.item_tables import (
    TableRow,
    check_references,
    clean_text,
    find_papers,
    find_table,
    read_item_table,
    read_rows,
)
from sciprism.datasets.layouts.open_data import ELSEWHERE
from sciprism.datasets.open_data import MISSING_DATA, PARTS, SplitTable
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.records import Paper, Signature

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
    source's name, so sources stay separate.
    """

    path: str = "s2and_mini"
    sources: tuple[str, ...] = SOURCES
    seed: int = 0

    def read(self, data_root: DataRoot) -> Signatures:
        """Return the mentions of all sources; mentions without a cluster or a paper are dropped."""
        folder = data_root.local(self.path, OBTAIN)
        dropped = DropReport()
        papers: list[Paper] = []
        journals: dict[str, str] = {}
        mentions: list[Signature] = []
        named: list[str] = []
        parts: dict[str, set[str]] = {part: set() for part in PARTS}
        for source in self.sources:
            split, blocks_of = self._read_split(data_root, folder, source, dropped)
            of_source = self._mentions(data_root, folder / source, papers, journals, blocks_of, dropped)
            mentions += of_source
            named += [source] * len(of_source)
            blocks = sorted({mention.block for mention in of_source})
            split = split or _split_blocks(blocks, self.seed)
            for block in blocks:
                if block in split:
                    parts[split[block]].add(block)
                else:
                    dropped.add("block in no part", block)
        train, dev, test = (frozenset(parts[part]) for part in PARTS)
        return Signatures(
            papers=papers,
            signatures=mentions,
            train=train,
            dev=dev,
            test=test,
            source=named,
            journals=journals,
            dropped=dropped,
        )

    def _mentions(
        self,
        data_root: DataRoot,
        folder: Path,
        papers: list[Paper],
        journals: dict[str, str],
        blocks_of: Mapping[str, str],
        dropped: DropReport,
    ) -> list[Signature]:
        """Return the mentions of one source; add its papers and their journals to those of others."""
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
            year = record.get("year")
            paper = Paper(
                id=f"{source}:{as_id(key)}",
                title=record.get("title") or "",
                abstract=record.get("abstract") or "",
                authors=tuple(author for _, author in authors[as_id(key)]),
                venue=record.get("venue") or "",
                year=int(year) if year else None,
                references=tuple(f"{source}:{as_id(name)}" for name in record.get("references") or ()),
            )
            papers.append(paper)
            journals[paper.id] = record.get("journal_name") or ""
        mentions = []
        for key, row in data_root.members(find_source_file(folder, "signatures")):
            name = as_id(row["paper_id"])
            if key in people and name in rows:
                info = row["author_info"]
                position = int(info.get("position") or 0)
                given = " ".join(filter(None, (info.get("first"), info.get("middle"))))
                mention = Signature(
                    id=key if key.startswith(f"{source}_") else f"{source}_{key}",
                    paper=rows[name],
                    name=f"{info.get('last') or ''}, {given}",
                    block=f"{source}: {blocks_of.get(key) or info['block']}",
                    author=f"{source}:{people[key]}",
                    position=position,
                    coauthors=tuple(author for at, author in authors[name] if at != position),
                    affiliations=tuple(filter(None, info.get("affiliations") or ())),
                    email=info.get("email") or "",
                )
                mentions.append(mention)
            else:
                dropped.add("mention without a cluster or a paper", f"{source} {key}")
        return mentions

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
    return require_data_file(folder, f"{folder.name}_{kind}.json", obtain=OBTAIN)


def _split_blocks(blocks: Sequence[str], seed: int) -> dict[str, str]:
    order = np.random.default_rng(seed).permutation(len(blocks))
    ends = [round(share * len(blocks)) for share in (0.8, 0.9)]  # where dev and test begin, as in S2AND
    return {blocks[n]: PARTS[int(np.searchsorted(ends, at, "right"))] for at, n in enumerate(order)}


def _list_authors(record: Mapping[str, Any]) -> Authors:
    listed = record.get("authors") or ()
    return tuple((int(a.get("position") or 0), a["author_name"]) for a in listed if a.get("author_name"))


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomMentions:
    """Read mentions of authors on papers, each with its true author.

    data: a folder with `papers` and `signatures`: signature_id, paper_id, name, author_id, and optionally
    block (default: first initial and surname), position (of the author on the paper, from 0), affiliations,
    email and split. Without a split, blocks are sampled by a hash of their names:
    `split_by_hash` selects test, then dev among the rest. allow_missing: score although many papers are absent.
    """

    data: str = ""
    papers: tuple[str, ...] = ()
    signatures: str = ""
    allow_missing: bool = False

    def read(self, data_root: DataRoot) -> Signatures:  # noqa: ARG002 (the signature of layouts)
        """Return the mentions and their papers; mentions of unknown papers are counted."""
        dropped = DropReport(keep_all=True)
        table = read_item_table(find_papers(self.data, self.papers), dropped)
        papers = [paper for paper in table.items if isinstance(paper, Paper)]
        mentions: dict[str, Signature] = {}
        splits: dict[str, str] = {}
        unknown: list[str] = []
        for row in read_rows(find_table(self.data, self.signatures, "signatures")):
            if row.id("paper_id") not in table:
                unknown.append(row.id("paper_id"))
                dropped.add("mention of an unknown paper", row.id("signature_id", "id"))
                continue
            place = table.row(row.id("paper_id"))
            mention = _parse_row(row, place, papers[place])
            if mention.id in mentions:
                raise row.error(f"duplicate signature {mention.id}")
            mentions[mention.id] = mention
            if splits.setdefault(mention.block, part := parse_part(row)) != part:
                raise row.error(f"block {mention.block!r} is in two splits, {splits[mention.block]!r} and {part!r}")
        total = len(mentions) + len(unknown)
        check_references("papers of mentions", unknown, total, table.ids, self.allow_missing)
        parts = splits
        if not any(splits.values()):
            parts = split_by_hash(dict.fromkeys(splits, ""))
            rest = dict.fromkeys((block for block in splits if parts[block] != "test"), "")
            drawn = [block for block, part in split_by_hash(rest, seed=1).items() if part == "test"]
            parts |= dict.fromkeys(drawn, "dev")
            for block, part in parts.items():
                dropped.add(f"no split: {part} block sampled by a hash of its name", block)
        train, dev, test = (frozenset(block for block in parts if parts[block] == part) for part in PARTS)
        return Signatures(
            papers=papers, signatures=list(mentions.values()), train=train, dev=dev, test=test, dropped=dropped
        )


def _parse_row(row: TableRow, place: int, paper: Paper) -> Signature:
    name = as_id(row.need("name")).strip()
    position = int(row.number("position")) if row.get("position") is not None else -1
    others = [other for n, other in enumerate(paper.authors) if n != position]
    return Signature(
        id=row.id("signature_id", "id"),
        paper=place,
        name=name,
        block=_build_block_name(name) if row.get("block") is None else as_id(row.get("block")).strip(),
        author=row.id("author_id", "author"),
        position=max(position, 0),
        coauthors=tuple(others if position >= 0 else [other for other in others if other != name]),
        affiliations=row.several("affiliations", "affiliation"),
        email=clean_text(row.get("email")),
    )


def _build_block_name(name: str) -> str:
    """Return first initial and surname in lower case, equal for "Ada Lovelace" and "Lovelace, Ada"."""
    surname, comma, given = (part.strip() for part in name.partition(","))
    if not comma:
        given, _, surname = surname.rpartition(" ")
    return f"{given[:1]} {surname}".strip().lower()


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
        papers = [Paper.from_json({name: record.get(name) for name in _FIELDS}) for record in records.values()]
        mentions = []
        for row in rows:
            if row["paper_id"] not in places:
                dropped.add("mention of an unknown paper", str(row["signature_id"]))
                continue
            place = places[row["paper_id"]]
            position, authors = int(row.get("position") or 0), papers[place].authors
            listed = tuple(records[row["paper_id"]].get("affiliations") or ())
            mention = Signature(
                id=str(row["signature_id"]),
                paper=place,
                name=row["name"],
                block=row["block"],
                author=str(row["author_id"]),
                position=position,
                coauthors=tuple(name for i, name in enumerate(authors) if i != position),
                affiliations=listed[position : position + 1] if len(listed) == len(authors) else listed,
                email=row.get("email") or "",
            )
            mentions.append(mention)
        train, dev, test = (frozenset(sampled[part]) for part in PARTS)
        return Signatures(papers=papers, signatures=mentions, train=train, dev=dev, test=test, dropped=dropped)

    def _blocks(self, data_root: DataRoot, dropped: DropReport) -> dict[str, dict[str, list[dict[str, Any]]]]:
        blocks: dict[str, dict[str, list[dict[str, Any]]]] = {part: defaultdict(list) for part in PARTS}
        for path in _find_files(data_root, self.signatures, "signatures"):
            for where, row in data_root.located_records(path):
                if missing := [name for name in REQUIRED if not row.get(name)]:
                    raise InputError(f"{where}: no {', '.join(missing)}")
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
    paths = sorted(path for path in place.iterdir() if path.name.startswith(stem) and ".jsonl" in path.suffixes)
    if not paths:
        raise InputError(f"{place} has no {stem}*.jsonl or {stem}*.jsonl.gz")
    return paths


_FIELDS = ("id", "title", "abstract", "authors", "venue", "year", "references")


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitMentions:
    """Read author mentions without those in train and dev on papers that are test papers elsewhere.

    papers: the data set whose ids the mentions refer to.
    """

    mentions: AuthorMentions
    papers: str = "conference_papers"

    def read(self, data_root: DataRoot) -> Signatures:
        """Return the retained mentions; dropped ones are counted."""
        given, table, retained = self.mentions.read(data_root), SplitTable.load(data_root), []
        given.dropped.add_all(MISSING_DATA, table.missing)
        for mention in given.signatures:
            part = table.part(f"{self.papers}:{given.papers[mention.paper].id}")
            wanted = {"train"} if mention.block in given.train else {"train", "dev"}
            if mention.block in given.test or part in wanted:
                retained.append(mention)
            else:
                given.dropped.add(ELSEWHERE, mention.id)
        return replace(given, signatures=retained)
