"""Match submissions with reviewers: from files to an assignment with reasons and an audit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.read import ReadReport
from sciprism.papers.records import Paper
from sciprism.uses.matching.assignment import AssignmentTask, PairScores, solve_assignment
from sciprism.uses.matching.conflicts import ConflictInput, find_conflicts, list_unchecked
from sciprism.uses.matching.expertise import ExpertiseScorer, build_profiles
from sciprism.uses.matching.pair_files import (
    ForbiddenReport,
    PairReader,
    StatedPairs,
    join_forbidden,
    read_stated_pairs,
)
from sciprism.uses.matching.persons import IdIndex, normalize_id
from sciprism.uses.matching.program import GroupMinimum, Requirements
from sciprism.uses.matching.result import Matching, build_audit, build_details, describe_pairs
from sciprism.uses.matching.reviewers import (
    NO_AUTHORSHIP,
    Authorship,
    Reviewer,
    ReviewerIndex,
    list_papers,
    read_authorships,
    read_reviewers,
)
from sciprism.uses.matching.settings import (
    MatchFiles,
    MatchProgress,
    MatchSettings,
    NoProgress,
    Scoring,
    parse_requirement,
)
from sciprism.uses.matching.vectors import encode_papers, load_match_encoder, open_vectors

if TYPE_CHECKING:
    from sciprism.encoders.protocols import EncoderProtocol

NO_FILES = MatchFiles()
MAX_LISTED = 50  # submissions, reviewers or records of one kind that an audit lists; all are counted


def match(
    submissions: Sequence[Path | str] | Sequence[Paper] | Path | str,
    reviewers: Path | str | Sequence[Reviewer],
    *,
    settings: MatchSettings | None = None,
    files: MatchFiles = NO_FILES,
    encoder: EncoderProtocol | str | None = None,
    skip_bad: bool = False,
    progress: MatchProgress | None = None,
) -> Matching:
    """Assign reviewers to submissions, with reasons and an audit.

    submissions: paper files, or papers. reviewers: a folder with one paper file each, a table or JSON lines, or
    reviewers in memory. encoder: or a model's name; default: the model that ships. skip_bad: unusable records, and
    pairs of unknown ids, are dropped and counted. Raises InputError where an input is wrong, or no assignment
    satisfies the requirements: it names the submissions or reviewers and the constraint.
    """
    settings, progress = settings or MatchSettings(), progress or NoProgress()
    given = [submissions] if isinstance(submissions, str | Path) else list(submissions)
    items = [Path(item) if isinstance(item, str) else item for item in given]
    paths = [item for item in items if isinstance(item, Path)]
    progress.begin("reading")
    inputs = read_inputs(items, reviewers, files, settings, skip_bad)
    required, described = inputs.require(settings), inputs.to_json()
    if inputs.stated.scores is not None:
        scores, encoder = PairScores.of_file(inputs.stated.scores, required.shape), None
    else:
        encoder, scores, rows = _score_papers(inputs, settings, encoder, [*paths, *files.reviewer_papers], progress)
        listed = described["counts"]["papers of reviewers"]
        described["counts"]["papers listed in several versions"] = listed - rows
    task = AssignmentTask(required, scores, inputs.stated, settings)
    progress.begin("assigning")
    solved = solve_assignment(task)
    progress.begin("explaining")
    ids, considered = (required.paper_ids, required.reviewer_ids), solved.all
    assigned = describe_pairs(task, inputs.submissions, solved)
    details = build_details(task, inputs.submissions, inputs.reviewers, solved, assigned)
    matching = Matching(
        pairs=assigned,
        reviewers=ids[1],
        audit={},
        conflicts=[(ids[0][c.paper], ids[1][c.reviewer], c.kind, c.reason) for c in inputs.forbidden.conflicts],
        details=details | {"forbidden": [[*pair, reason] for pair, reason in inputs.forbidden.reasons.items()]},
        scored=lambda: (
            (ids[0][row], ids[1][number], round(float(score), 6))
            for row, number, score in zip(considered.papers, considered.reviewers, considered.scores, strict=True)
        ),
    )
    hashed = [*paths, *([Path(reviewers)] if isinstance(reviewers, str | Path) else []), *files.listed()]
    matching.audit.update(build_audit(matching, solved, settings, encoder, files=hashed, inputs=described))
    return matching


def _score_papers(
    inputs: MatchInputs,
    settings: MatchSettings,
    encoder: EncoderProtocol | str | None,
    paths: Sequence[Path],
    progress: MatchProgress,
) -> tuple[EncoderProtocol, PairScores, int]:
    """Return the encoder, the scores by its vectors, and the number of papers in all profiles.

    paths: those of collections hold vectors.
    """
    stored = open_vectors(paths)
    if not any(reviewer.papers for reviewer in inputs.reviewers):
        raise InputError(
            f"none of {len(inputs.reviewers):,} reviewers has a paper, so there is nothing to score by; name papers "
            "with --reviewer-papers, or scores with --scores"
        )
    loaded = load_match_encoder(encoder, stored)
    papers, profiles = build_profiles(
        inputs.reviewers, year=inputs.year, half_life=settings.half_life, authorship=settings.authorship
    )
    parts = {"submissions": inputs.submissions, "reviewers' papers": papers}
    submissions, vectors = encode_papers(loaded, parts, progress, stored).values()
    scorer = ExpertiseScorer(submissions, vectors, profiles, Scoring.parse(settings.scoring))
    progress.begin("scoring", "reviewers", len(profiles))
    scores = PairScores(
        scorer.score_all(progress.update), explain=lambda rows, numbers: scorer.find_nearest(papers, rows, numbers)
    )
    return loaded, scores, sum(len(profile.rows) for profile in profiles)


@dataclass(frozen=True, slots=True, eq=False)
class MatchInputs:
    """All inputs, read and checked. report: records that were skipped; dropped: pairs of unknown ids."""

    submissions: list[Paper]
    reviewers: list[Reviewer]
    stated: StatedPairs
    forbidden: ForbiddenReport
    unchecked: dict[str, str]
    report: ReadReport
    dropped: DropReport
    year: int

    def require(self, settings: MatchSettings) -> Requirements:
        """Return the requirements of the assignment; reviews of earlier rounds count."""
        most = np.array([settings.max_papers if r.most is None else r.most for r in self.reviewers], np.int64)
        limits = zip(self.reviewers, most.tolist(), strict=True)
        least = np.array([min(settings.min_papers, m) if r.least is None else r.least for r, m in limits], np.int64)
        for number in np.flatnonzero(least > most):
            raise InputError(
                f"reviewer {self.reviewers[number].id} must review at least {least[number]} submissions, and at most "
                f"{most[number]}; change --min-papers, --max-papers or the limits in the table"
            )
        papers, reviewers = np.array(list(self.forbidden.reasons), np.int64).reshape(-1, 2).T
        return Requirements(
            paper_ids=[paper.id for paper in self.submissions],
            reviewer_ids=[reviewer.id for reviewer in self.reviewers],
            needs=np.full(len(self.submissions), settings.per_paper, np.int64),
            least=np.maximum(least - self.stated.earlier_loads, 0),
            most=np.maximum(most - self.stated.earlier_loads, 0),
            forbidden=(papers, reviewers),
            locked=(self.stated.locked.papers, self.stated.locked.reviewers),
            groups=tuple(_find_group(self.reviewers, text) for text in settings.require),
        )

    def to_json(self) -> dict[str, Any]:
        """Return counts of what was read, forbidden, dropped and not checked."""
        without_abstract = [paper.id for paper in self.submissions if not paper.abstract]
        without_papers = [reviewer.id for reviewer in self.reviewers if not reviewer.papers]
        return {
            "counts": {
                "submissions": len(self.submissions),
                "submissions without abstract": len(without_abstract),
                "submissions without authors": sum(not paper.authors for paper in self.submissions),
                "reviewers": len(self.reviewers),
                "reviewers without papers": len(without_papers),
                "papers of reviewers": sum(len(reviewer.papers) for reviewer in self.reviewers),
                "records skipped": self.report.skipped_count,
                "forbidden pairs": len(self.forbidden.reasons),
                "locked pairs": len(self.stated.locked),
                "bids above 0 on forbidden pairs": len(self.forbidden.contradicted),
            },
            "conflicts": self.forbidden.counts,
            "conflicts not checked": self.unchecked,
            "contradicting bids": self.forbidden.contradicted[:MAX_LISTED],
            "reviewers without papers": without_papers[:MAX_LISTED],
            "submissions without abstract": without_abstract[:MAX_LISTED],
            "dropped": self.dropped.to_json(),
            "skipped": [str(record) for record in self.report.skipped[:MAX_LISTED]],
        }


def read_inputs(
    submissions: Sequence[Path | Paper],
    reviewers: Path | str | Sequence[Reviewer],
    files: MatchFiles,
    settings: MatchSettings,
    skip_bad: bool,
) -> MatchInputs:
    """Read submissions, reviewers and what the files state of pairs, and find the conflicts."""
    report, dropped = ReadReport(), DropReport()
    papers, authorships = _read_submissions(submissions, files.authors, skip_bad, report)
    if isinstance(reviewers, str | Path):
        papers_of = files.reviewer_papers
        people = read_reviewers(Path(reviewers), papers_of, skip_bad=skip_bad, report=report, dropped=dropped)
    else:
        people = [replace(reviewer, id=normalize_id(reviewer.id)) for reviewer in reviewers]
    if not people:
        raise InputError("no reviewer")
    ids = [paper.id for paper in papers], [reviewer.id for reviewer in people]
    if len(set(ids[1])) < len(people):
        raise InputError(f"two reviewers have the id {next(id for id in ids[1] if ids[1].count(id) > 1)!r}")
    reader = PairReader(IdIndex(ids[0]), ReviewerIndex(people), skip_bad, dropped)
    stated = read_stated_pairs(files, reader, len(people))
    years = [p.year for p in (*papers, *(p for reviewer in people for p in reviewer.papers)) if p.year is not None]
    year = settings.year or max(years, default=0)
    compared = ConflictInput(papers, authorships, people, year - settings.coauthor_years + 1)
    forbidden = join_forbidden(stated, find_conflicts(compared, settings.conflicts), ids)
    unchecked = list_unchecked(compared, settings.conflicts)
    return MatchInputs(papers, people, stated, forbidden, unchecked, report, dropped, year)


def _read_submissions(
    given: Sequence[Path | Paper], authors: Path | None, skip_bad: bool, report: ReadReport
) -> tuple[list[Paper], list[Authorship]]:
    """Return submissions of files or in memory, and what files say of their authors."""
    paths = [item for item in given if isinstance(item, Path)]
    papers = [item for item in given if isinstance(item, Paper)]
    for path in paths:
        papers += list_papers(path, skip_bad, report)
    if not papers:
        raise InputError("no submission to assign; name a file that holds papers")
    papers = [replace(paper, id=normalize_id(paper.id)) for paper in papers]
    first: dict[str, Paper] = {}
    for paper in papers:
        if (other := first.setdefault(paper.id, paper)) is not paper:
            places = f" ({other.place} and {paper.place})" if paper.place else ""
            raise InputError(f"two submissions have the id {paper.id!r}{places}; ids must be distinct")
    index, of_paper = IdIndex(first), [NO_AUTHORSHIP] * len(papers)
    for path in (*paths, *([authors] if authors else [])):
        found = [(row, said) for id, said in read_authorships(path).items() if (row := index.find(id)) is not None]
        for row, said in found:
            of_paper[row] = of_paper[row].join(said)
        if path == authors and not found:
            raise InputError(f"{authors} names authors of none of the submissions; its column paper holds their ids")
    return papers, of_paper


def _find_group(reviewers: Sequence[Reviewer], text: str) -> GroupMinimum:
    column, value, minimum = parse_requirement(text)
    key = "".join(filter(str.isalnum, column.casefold()))
    members = np.array([r.groups.get(key, r.groups.get(column, "")).casefold() == value.casefold() for r in reviewers])
    if not members.any():
        columns = sorted({name for reviewer in reviewers for name in reviewer.groups})
        values = sorted({reviewer.groups[key] for reviewer in reviewers if key in reviewer.groups})
        choices = f"its values: {', '.join(values[:10])}" if values else f"columns: {', '.join(columns) or 'none'}"
        raise InputError(f"no reviewer has {column}={value}; {choices}")
    return GroupMinimum(f"{column}={value}", members, minimum)
