"""Match submissions with reviewers: from files to an assignment with reasons and an audit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.read import ReadReport
from sciprism.papers.records import Paper
from sciprism.progress import Progress, show_nothing
from sciprism.store import StoredCollection
from sciprism.store.manifest import is_collection
from sciprism.uses.collection import check_same_space, find_encoder
from sciprism.uses.matching.assignment import AssignmentTask, GroupMinimum, PairScores, Requirements, solve_assignment
from sciprism.uses.matching.conflicts import (
    ConflictInput,
    ForbiddenReport,
    find_conflicts,
    join_forbidden,
    list_unchecked,
)
from sciprism.uses.matching.expertise import ExpertiseScorer, build_profiles, encode_papers, read_vectors
from sciprism.uses.matching.result import Matching, build_audit, build_details, describe_pairs
from sciprism.uses.matching.reviewers import (
    Authorship,
    IdIndex,
    PairReader,
    Reviewer,
    ReviewerIndex,
    StatedPairs,
    list_papers,
    normalize_id,
    read_authorships,
    read_reviewers,
    read_stated_pairs,
    split_pairs,
)
from sciprism.uses.matching.settings import MatchFiles, MatchSettings, parse_requirement, parse_scoring

if TYPE_CHECKING:
    from sciprism.encoders.protocols import EncoderProtocol

NO_FILES = MatchFiles()
COAUTHOR_YEARS = 3  # in which a joint paper is a conflict
MAX_LISTED = 50  # submissions, reviewers or records of one kind that an audit lists; all are counted


def match(
    submissions: Sequence[Path | str] | Sequence[Paper] | Path | str,
    reviewers: Path | str | Sequence[Reviewer],
    *,
    settings: MatchSettings | None = None,
    files: MatchFiles = NO_FILES,
    encoder: EncoderProtocol | str | None = None,
    skip_bad: bool = False,
    progress: Progress = show_nothing,
) -> Matching:
    """Assign reviewers to submissions, with reasons and an audit.

    submissions: paper files, or papers. reviewers: a folder with one paper file each, a table or JSON lines, or
    reviewers in memory. encoder: or a model's name; default: the model that ships. skip_bad: unusable records, and
    pairs of unknown ids, are dropped and counted. Raises InputError where an input is wrong, or no assignment
    satisfies the requirements: it names the submissions or reviewers and the constraint.
    """
    settings, report, dropped = settings or MatchSettings(), ReadReport(), DropReport()
    given = [submissions] if isinstance(submissions, str | Path) else submissions
    items = [Path(item) if isinstance(item, str) else item for item in given]
    paths = [item for item in items if isinstance(item, Path)]
    progress("reading")
    papers, authorships = _read_submissions(items, files.authors, skip_bad, report)
    if isinstance(reviewers, str | Path):
        paths.append(Path(reviewers))
        reviewers = read_reviewers(paths[-1], files.reviewer_papers, skip_bad=skip_bad, report=report, dropped=dropped)
    people = _check_reviewers(reviewers)
    ids, numbers = [paper.id for paper in papers], [reviewer.id for reviewer in people]
    stated = read_stated_pairs(files, PairReader(IdIndex(ids), ReviewerIndex(people), skip_bad, dropped))
    written = (paper for reviewer in people for paper in reviewer.papers)
    year = max((paper.year or 0 for paper in (*papers, *written)), default=0)
    compared = ConflictInput(papers, authorships, people, year - COAUTHOR_YEARS + 1)
    forbidden = join_forbidden(stated, find_conflicts(compared, settings.conflicts), (ids, numbers))
    described = _describe_inputs(papers, people, stated, forbidden)
    described["conflicts not checked"] = list_unchecked(compared, settings.conflicts)
    described["dropped"] = dropped.to_json()
    described["skipped"] = [str(record) for record in report.skipped[:MAX_LISTED]]
    described["counts"]["records skipped"] = report.skipped_count
    required = _require(papers, people, stated, forbidden, settings)
    if stated.scores is not None:
        scores, encoder = PairScores.of_file(stated.scores, required.shape), None
    else:
        if not any(reviewer.papers for reviewer in people):
            raise InputError(
                f"none of {len(people):,} reviewers has a paper, so there is nothing to score by; name papers with "
                "--reviewer-papers, or scores with --scores"
            )
        stored = [StoredCollection.open(path) for path in (*paths, *files.reviewer_papers) if is_collection(path)]
        check_same_space(stored)
        encoder = find_encoder(encoder or "", stored)
        own, profiles = build_profiles(people)
        parts = {"submissions": papers, "reviewers' papers": own}
        submitted, vectors = encode_papers(encoder, parts, read_vectors(stored), progress).values()
        scorer = ExpertiseScorer(submitted, vectors, profiles, parse_scoring(settings.scoring))
        scores = PairScores(scorer.score_all(progress), explain=partial(scorer.find_nearest, own))
        versions = described["counts"]["papers of reviewers"] - sum(map(len, profiles))
        described["counts"]["papers listed in several versions"] = versions
    task = AssignmentTask(required, scores, stated, settings)
    progress("assigning")
    solved = solve_assignment(task)
    progress("explaining")
    assigned, considered = describe_pairs(task, papers, solved), solved.all
    details = build_details(task, papers, people, solved, assigned)
    matching = Matching(
        pairs=assigned,
        reviewers=numbers,
        audit={},
        conflicts=[(ids[c.paper], numbers[c.reviewer], c.kind, c.reason) for c in forbidden.conflicts],
        details=details | {"forbidden": [[*pair, reason] for pair, reason in forbidden.reasons.items()]},
        scored=lambda: (
            (ids[row], numbers[number], round(float(score), 6))
            for row, number, score in zip(considered.papers, considered.reviewers, considered.scores, strict=True)
        ),
    )
    hashed = [*paths, *files.listed()]
    matching.audit.update(build_audit(matching, solved, settings, encoder, files=hashed, inputs=described))
    return matching


def _check_reviewers(reviewers: Sequence[Reviewer]) -> list[Reviewer]:
    """Return reviewers with normalized ids; InputError for none, or two of one id."""
    if not reviewers:
        raise InputError("no reviewer")
    people = [replace(reviewer, id=normalize_id(reviewer.id)) for reviewer in reviewers]
    ids = Counter(reviewer.id for reviewer in people)
    if repeated := next((id for id, count in ids.items() if count > 1), ""):
        raise InputError(f"two reviewers have the id {repeated!r}")
    return people


def _require(
    papers: Sequence[Paper],
    people: Sequence[Reviewer],
    stated: StatedPairs,
    forbidden: ForbiddenReport,
    settings: MatchSettings,
) -> Requirements:
    """Return the requirements of the assignment; reviews of earlier rounds count."""
    limits = list[tuple[int, int]]()
    for person in people:
        most = settings.max_papers if person.most is None else person.most
        least = person.least or 0
        if least > most:
            raise InputError(
                f"reviewer {person.id} must review at least {least} submissions, and at most {most}; change "
                "--max-papers or the limits in the table"
            )
        limits.append((least, most))
    left = np.maximum(np.array(limits, np.int64) - stated.list_loads(len(people))[:, None], 0)
    return Requirements(
        paper_ids=[paper.id for paper in papers],
        reviewer_ids=[reviewer.id for reviewer in people],
        needs=np.full(len(papers), settings.per_paper, np.int64),
        least=left[:, 0],
        most=left[:, 1],
        forbidden=split_pairs(forbidden.reasons),
        locked=split_pairs(stated.list_constrained(1)),
        groups=tuple(_find_group(people, text) for text in settings.require),
    )


def _describe_inputs(
    papers: Sequence[Paper], people: Sequence[Reviewer], stated: StatedPairs, forbidden: ForbiddenReport
) -> dict[str, Any]:
    """Return counts of what was read and forbidden."""
    without_abstract = [paper.id for paper in papers if not paper.abstract]
    without_papers = [reviewer.id for reviewer in people if not reviewer.papers]
    return {
        "counts": {
            "submissions": len(papers),
            "submissions without abstract": len(without_abstract),
            "submissions without authors": sum(not paper.authors for paper in papers),
            "reviewers": len(people),
            "reviewers without papers": len(without_papers),
            "papers of reviewers": sum(len(reviewer.papers) for reviewer in people),
            "forbidden pairs": len(forbidden.reasons),
            "locked pairs": len(stated.list_constrained(1)),
            "bids above 0 on forbidden pairs": len(forbidden.contradicted),
        },
        "conflicts": forbidden.counts,
        "contradicting bids": forbidden.contradicted[:MAX_LISTED],
        "reviewers without papers": without_papers[:MAX_LISTED],
        "submissions without abstract": without_abstract[:MAX_LISTED],
    }


def _read_submissions(
    given: Sequence[Path | Paper], authors: Path | None, skip_bad: bool, report: ReadReport
) -> tuple[list[Paper], list[Authorship]]:
    """Return submissions of files or in memory, and what files say of their authors."""
    lists = (list_papers(item, skip_bad, report) if isinstance(item, Path) else [item] for item in given)
    papers = [replace(paper, id=normalize_id(paper.id)) for paper in chain.from_iterable(lists)]
    if not papers:
        raise InputError("no submission to assign; name a file that holds papers")
    first: dict[str, Paper] = {}
    for paper in papers:
        if (other := first.setdefault(paper.id, paper)) is not paper:
            places = f" ({other.place} and {paper.place})" if paper.place else ""
            raise InputError(f"two submissions have the id {paper.id!r}{places}; ids must be distinct")
    index, of_paper = IdIndex(first), [Authorship()] * len(papers)
    for path in (*(item for item in given if isinstance(item, Path)), *([authors] if authors else [])):
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
