"""Reviewers with their papers and ratings; mentions of authors on papers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import MatchInput
from sciprism.datasets.layouts.open.sampling import (
    ELSEWHERE,
    count_missing_data_sets,
    read_test_entries,
    to_rows,
)
from sciprism.datasets.layouts.signatures import AuthorMentions
from sciprism.datasets.signatures import Signatures
from sciprism.datasets.split import SplitTable
from sciprism.drop_report import DropReport
from sciprism.papers.records import Paper


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
        known = {entry.paper.id: entry.paper for entry in read_test_entries(data_root, self.path, dropped)}
        profiles = self._profiles(data_root, known, dropped)
        rated = list(data_root.records(data_root.local(f"{self.path}/evaluations.jsonl.gz")))
        wanted = {record["paper_id"] for record in rated}.union(*profiles.values())
        papers = [paper for paper in known.values() if paper.id in wanted]
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

    def _profiles(self, data_root: DataRoot, known: Mapping[str, Paper], dropped: DropReport) -> dict[str, list[str]]:
        profiles = {}
        for record in data_root.records(data_root.local(f"{self.path}/reviewers.jsonl.gz")):
            written = [known[name] for name in record["paper_ids"] if name in known]
            written.sort(key=lambda paper: (-(paper.year or 0), paper.id))
            profiles[record["reviewer_id"]] = [paper.id for paper in written[: self.newest or None]]
            for name in record["paper_ids"]:
                if name not in known:
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
        found, table = self.mentions.read(data_root), SplitTable.load(data_root)
        dropped = DropReport()
        count_missing_data_sets(data_root, dropped)
        dropped.update(found.dropped)
        retained = []
        for mention in found.signatures:
            part = table.part(f"{self.papers}:{found.papers[mention.paper].id}")
            wanted = {"train"} if mention.block in found.train else {"train", "dev"}
            if mention.block in found.test or part in wanted:
                retained.append(mention)
            else:
                dropped.add(ELSEWHERE, mention.id)
        return replace(found, signatures=retained, dropped=dropped)
