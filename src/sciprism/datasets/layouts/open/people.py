"""People: reviewers and the papers they could judge, authors and the papers that bear their names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import Reviewers
from sciprism.datasets.layouts.open.drawn import ELSEWHERE, as_rows, note_missing, tested
from sciprism.datasets.layouts.signatures import AuthorMentions
from sciprism.datasets.split import SplitTable
from sciprism.drop_report import DropReport
from sciprism.papers.records import Paper
from sciprism.papers.signatures import Signatures


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedReviewers:
    """Read `papers`, `reviewers` (whose papers they wrote) and `evaluations` (expertise, 1-5).

    newest: as many of a reviewer's latest papers make the profile, 0 for all.
    """

    path: str
    newest: int = 0

    def read(self, home: DataRoot) -> Reviewers:
        """Return profiles and rated pairs; a paper or a pair that is not there is counted."""
        tally = DropReport()
        known = {entry.paper.id: entry.paper for entry in tested(home, self.path, tally)}
        profiles = self._profiles(home, known, tally)
        rated = list(home.records(home.local(f"{self.path}/evaluations.jsonl.gz")))
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
                tally.add("rated pair that is not there", f"{record['reviewer_id']} {record['paper_id']}")
        return Reviewers(
            paper_ids=list(rows),
            papers=papers,
            reviewer_ids=list(profiles),
            profiles=[as_rows([rows[name] for name in profile]) for profile in profiles.values()],
            pairs=np.array(pairs, dtype=np.int64).reshape(-1, 2),
            ratings=np.array(ratings),
            tally=tally,
        )

    def _profiles(
        self, home: DataRoot, known: Mapping[str, Paper], tally: DropReport
    ) -> dict[str, list[str]]:
        profiles = {}
        for record in home.records(home.local(f"{self.path}/reviewers.jsonl.gz")):
            written = [known[name] for name in record["paper_ids"] if name in known]
            written.sort(key=lambda paper: (-(paper.year or 0), paper.id))
            profiles[record["reviewer_id"]] = [paper.id for paper in written[: self.newest or None]]
            for name in record["paper_ids"]:
                if name not in known:
                    tally.add("paper of a profile that is not there", name)
        return profiles


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitMentions:
    """Read author mentions and take out of train, and of dev, those on papers that are test papers elsewhere.

    papers: the data set whose ids the mentions name.
    """

    mentions: AuthorMentions
    papers: str = "conference_papers"

    def read(self, home: DataRoot) -> Signatures:
        """Return the mentions that are left; those taken out are counted."""
        found, table = self.mentions.read(home), SplitTable.of(home)
        tally = DropReport()
        note_missing(home, tally)
        tally.update(found.tally)
        kept = []
        for mention in found.signatures:
            part = table.part(f"{self.papers}:{found.papers[mention.paper].id}")
            wanted = {"train"} if mention.block in found.train else {"train", "dev"}
            if mention.block in found.test or part in wanted:
                kept.append(mention)
            else:
                tally.add(ELSEWHERE, mention.id)
        return replace(found, signatures=kept, tally=tally)
