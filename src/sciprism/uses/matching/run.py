"""Match submissions with reviewers: from files to an assignment with reasons and an audit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.uses.matching.assignment import AssignmentTask, SolvedAssignment, solve_assignment
from sciprism.uses.matching.expertise import ExpertiseScorer, build_profiles
from sciprism.uses.matching.inputs import (
    MatchInputs,
    MatchProgress,
    NoProgress,
    encode_papers,
    load_match_encoder,
    open_vectors,
    read_inputs,
)
from sciprism.uses.matching.pair_scores import GivenScores, ScoreSource, VectorScores
from sciprism.uses.matching.program import Requirements
from sciprism.uses.matching.result import AssignedPair, Matching, build_audit, build_details
from sciprism.uses.matching.reviewers import Reviewer
from sciprism.uses.matching.settings import MatchFiles, MatchSettings, Scoring

if TYPE_CHECKING:
    from sciprism.encoders.protocols import EncoderProtocol

NO_FILES = MatchFiles()


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
    required = inputs.require(settings)
    if inputs.stated.scores is not None:
        source: ScoreSource = GivenScores(inputs.stated.scores, required.shape)
        encoder = None
    else:
        encoder, source = _score_by_vectors(inputs, settings, encoder, [*paths, *files.reviewer_papers], progress)
    solved = solve_assignment(AssignmentTask(required, source, inputs.stated, settings), progress)
    progress.begin("explaining")
    matching = _describe(inputs, required, source, solved)
    paths += [Path(reviewers)] if isinstance(reviewers, str | Path) else []
    hashed = [*paths, *files.listed()]
    described = inputs.to_json()
    if isinstance(source, VectorScores):
        listed = described["counts"]["papers of reviewers"]
        described["counts"]["papers listed in several versions"] = listed - len(source.scorer.profiles.rows)
    matching.audit.update(build_audit(matching, solved, settings, encoder, files=hashed, inputs=described))
    return matching


def _score_by_vectors(
    inputs: MatchInputs,
    settings: MatchSettings,
    encoder: EncoderProtocol | str | None,
    paths: Sequence[Path],
    progress: MatchProgress,
) -> tuple[EncoderProtocol, VectorScores]:
    """Return the scores by vectors, and the encoder that made these. paths: those of collections hold vectors."""
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
    return loaded, VectorScores(
        submissions, ExpertiseScorer(vectors, profiles, Scoring.parse(settings.scoring)), papers
    )


def _describe(inputs: MatchInputs, required: Requirements, source: ScoreSource, solved: SolvedAssignment) -> Matching:
    pairs, table, stated = solved.pairs, solved.all, inputs.stated
    papers, reviewers = inputs.ids
    bids = stated.bids.look_up(pairs.papers, pairs.reviewers, len(reviewers))
    locked = stated.locked.look_up(pairs.papers, pairs.reviewers, len(reviewers))
    near = source.explain(pairs.papers, pairs.reviewers)
    probabilities = solved.probabilities
    assigned = [
        AssignedPair(
            paper=papers[row],
            title=inputs.submissions[row].title,
            reviewer=reviewers[number],
            score=round(float(pairs.scores[i]), 6),
            bid=float(bids[i]),
            value=float(solved.values[i]),
            papers=near[i],
            notes=("locked",) if locked[i] else ("score given",) if stated.scores is not None else (),
            probability=None if probabilities is None else float(probabilities[i]),
        )
        for i, (row, number) in enumerate(zip(pairs.papers.tolist(), pairs.reviewers.tolist(), strict=True))
    ]
    return Matching(
        pairs=assigned,
        reviewers=reviewers,
        audit={},
        conflicts=[(papers[c.paper], reviewers[c.reviewer], c.kind, c.reason) for c in inputs.conflicts],
        details=build_details(inputs, required, source, solved, assigned),
        scored=lambda: (
            (papers[row], reviewers[number], round(score, 6))
            for row, number, score in zip(
                table.papers.tolist(), table.reviewers.tolist(), table.scores.tolist(), strict=True
            )
        ),
    )
