"""People in the open data: reviewers with their papers and ratings, and mentions of authors in JSON lines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import MatchInput, Signatures
from sciprism.datasets.layouts.open.sampling import ELSEWHERE, count_missing_data_sets, read_test_entries, to_rows
from sciprism.datasets.open_data import PARTS
from sciprism.datasets.split import SplitTable
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.records import Paper, Signature

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
    affiliations_of_author = places[position : position + 1] if len(places) == len(paper.authors) else places
    return Signature(
        id=str(row["signature_id"]),
        paper=place,
        name=row["name"],
        block=row["block"],
        author=str(row["author_id"]),
        position=position,
        coauthors=tuple(name for i, name in enumerate(paper.authors) if i != position),
        affiliations=affiliations_of_author,
        email=row.get("email") or "",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedReviewers:
    """Read `papers`, `reviewers` (whose papers they wrote) and `evaluations` (expertise, 1-5).

    newest: how many of a reviewer's latest papers are the profile, 0 for all.
    """

    path: str
    newest: int = 0

    def read(self, data_root: DataRoot) -> MatchInput:
        """Return profiles and rated pairs; unknown papers and pairs are counted."""
        dropped = DropReport()
        papers_by_id = {entry.paper.id: entry.paper for entry in read_test_entries(data_root, self.path, dropped)}
        profiles = self._profiles(data_root, papers_by_id, dropped)
        rated = list(data_root.records(data_root.local(f"{self.path}/evaluations.jsonl.gz")))
        wanted = {record["paper_id"] for record in rated}.union(*profiles.values())
        papers = [paper for paper in papers_by_id.values() if paper.id in wanted]
        rows = {paper.id: row for row, paper in enumerate(papers)}
        numbers = {name: number for number, name in enumerate(profiles)}
        pairs, ratings = [], []
        for record in rated:
            if record["paper_id"] in rows and record["reviewer_id"] in numbers:
                pairs.append((rows[record["paper_id"]], numbers[record["reviewer_id"]]))
                ratings.append(float(record["expertise"]))
            else:
                dropped.add("rated pair without a record", f"{record['reviewer_id']} {record['paper_id']}")
        return MatchInput(
            paper_ids=list(rows),
            papers=papers,
            reviewer_ids=list(profiles),
            profiles=[to_rows([rows[name] for name in profile]) for profile in profiles.values()],
            pairs=np.array(pairs, dtype=np.int64).reshape(-1, 2),
            ratings=np.array(ratings),
            dropped=dropped,
        )

    def _profiles(self, data_root: DataRoot, papers: Mapping[str, Paper], dropped: DropReport) -> dict[str, list[str]]:
        profiles = {}
        for record in data_root.records(data_root.local(f"{self.path}/reviewers.jsonl.gz")):
            written = [papers[name] for name in record["paper_ids"] if name in papers]
            written.sort(key=lambda paper: (-(paper.year or 0), paper.id))
            profiles[record["reviewer_id"]] = [paper.id for paper in written[: self.newest or None]]
            for name in record["paper_ids"]:
                if name not in papers:
                    dropped.add("paper of a profile without a record", name)
        return profiles


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitMentions:
    """Read author mentions without those in train and dev on papers that are test papers elsewhere.

    papers: the data set whose ids the mentions refer to.
    """

    mentions: AuthorMentions
    papers: str = "conference_papers"

    def read(self, data_root: DataRoot) -> Signatures:
        """Return the retained mentions; dropped ones are counted."""
        given, table = self.mentions.read(data_root), SplitTable.load(data_root)
        dropped = DropReport()
        count_missing_data_sets(data_root, dropped)
        dropped.update(given.dropped)
        retained = []
        for mention in given.signatures:
            part = table.part(f"{self.papers}:{given.papers[mention.paper].id}")
            wanted = {"train"} if mention.block in given.train else {"train", "dev"}
            if mention.block in given.test or part in wanted:
                retained.append(mention)
            else:
                dropped.add(ELSEWHERE, mention.id)
        return replace(given, signatures=retained, dropped=dropped)
