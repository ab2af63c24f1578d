"""Match submissions with reviewers: from files to an assignment with reasons and an audit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sciprism.arrays import Integers
from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.uses.matching.assignment import AssignmentTask, SolvedAssignment, look_up, solve_assignment
from sciprism.uses.matching.audit import build_audit, describe_encoder, describe_result, hash_files
from sciprism.uses.matching.candidates import PairTable
from sciprism.uses.matching.conflicts import Conflict, ConflictInput, find_conflicts, list_unchecked
from sciprism.uses.matching.expertise import ExpertiseScorer
from sciprism.uses.matching.inputs import (
    MatchProgress,
    NoProgress,
    Submissions,
    collect_reviewers,
    encode_papers,
    read_submissions,
)
from sciprism.uses.matching.pair_files import PairReader
from sciprism.uses.matching.problem import GroupMinimum, Requirements
from sciprism.uses.matching.profiles import build_profiles, latest_year
from sciprism.uses.matching.result import AssignedPair, Matching
from sciprism.uses.matching.reviewers import Reviewer
from sciprism.uses.matching.score_sources import GivenScores, ScoreSource, VectorScores
from sciprism.uses.matching.scoring import Scoring
from sciprism.uses.matching.settings import MatchFiles, MatchSettings, parse_requirement
from sciprism.uses.matching.stated_pairs import (
    ForbiddenReport,
    StatedPairs,
    drop_allowed,
    join_forbidden,
    read_stated_pairs,
)
from sciprism.uses.matching.stored_papers import StoredVectors, open_vectors

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
    listed = [Path(each) if isinstance(each, str) else each for each in given]
    progress.begin("reading")
    inputs = _read(listed, reviewers, files, settings, skip_bad)
    paths = [each for each in listed if isinstance(each, Path)]
    stored = None if inputs.stated.scores is not None else open_vectors([*paths, *files.reviewer_papers])
    source, used = _open_scores(inputs, settings, _load(encoder, stored), (progress, stored))
    task = AssignmentTask(inputs.require(settings), source, inputs.stated, settings)
    solved = solve_assignment(task, progress)
    progress.begin("explaining")
    matching = _describe(inputs, source, solved)
    paths += [Path(reviewers)] if isinstance(reviewers, str | Path) else []
    parts = {
        "settings": settings.to_json(),
        "encoder": describe_encoder(used),
        "files": hash_files([*paths, *files.listed()]),
        **inputs.to_json(),
    }
    parts["counts"]["pairs considered"] = len(solved.all)
    matching.audit.update(build_audit({**parts, "result": describe_result(matching, solved)}))
    return matching


@dataclass(frozen=True, slots=True, eq=False)
class _Inputs:
    """All inputs, read and checked."""

    submissions: Submissions
    reviewers: list[Reviewer]
    stated: StatedPairs
    forbidden: ForbiddenReport
    conflicts: list[Conflict]
    unchecked: dict[str, str]
    dropped: Any
    year: int

    @property
    def ids(self) -> tuple[list[str], list[str]]:
        """Return the ids of submissions and reviewers."""
        return [paper.id for paper in self.submissions.papers], [each.id for each in self.reviewers]

    def require(self, settings: MatchSettings) -> Requirements:
        """Return the requirements of the assignment; reviews of earlier rounds count."""
        papers, reviewers = self.ids
        least, most = (
            np.array([default if value is None else value for value in values], np.int64)
            for default, values in (
                (settings.min_papers, [each.least for each in self.reviewers]),
                (settings.max_papers, [each.most for each in self.reviewers]),
            )
        )
        least = np.minimum(least, np.where([each.least is None for each in self.reviewers], most, least))
        earlier = self.stated.earlier_loads
        locked = self.stated.locked
        return Requirements(
            paper_ids=papers,
            reviewer_ids=reviewers,
            needs=np.full(len(papers), settings.per_paper, np.int64),
            least=_subtract(least, earlier),
            most=_subtract(most, earlier),
            forbidden=self.forbidden.pairs,
            locked=(locked.papers, locked.reviewers),
            groups=tuple(_find_group(self.reviewers, text) for text in settings.require),
        )

    def to_json(self) -> dict[str, Any]:
        """Return counts of what was read, forbidden, dropped and not checked."""
        report = self.submissions.report
        without_abstract = [paper.id for paper in self.submissions.papers if not paper.abstract]
        without_papers = [each.id for each in self.reviewers if not each.papers]
        return {
            "counts": {
                "submissions": len(self.submissions.papers),
                "submissions without abstract": len(without_abstract),
                "submissions without authors": sum(not paper.authors for paper in self.submissions.papers),
                "reviewers": len(self.reviewers),
                "reviewers without papers": len(without_papers),
                "papers of reviewers": sum(len(each.papers) for each in self.reviewers),
                "records skipped": report.skipped_count,
                "forbidden pairs": len(self.forbidden.pairs),
                "locked pairs": len(self.stated.locked),
                "bids above 0 on forbidden pairs": self.forbidden.contradictions,
            },
            "conflicts": self.forbidden.counts,
            "conflicts not checked": self.unchecked,
            "contradicting bids": self.forbidden.contradicted,
            "reviewers without papers": without_papers[:50],
            "submissions without abstract": without_abstract[:50],
            "dropped": self.dropped.to_json(),
            "skipped": [str(each) for each in report.skipped[:50]],
        }


def _read(
    submissions: list[Any],
    reviewers: Path | str | Sequence[Reviewer],
    files: MatchFiles,
    settings: MatchSettings,
    skip_bad: bool,
) -> _Inputs:
    found = read_submissions(submissions, files.authors, skip_bad=skip_bad)
    where = Path(reviewers) if isinstance(reviewers, str) else reviewers
    people = collect_reviewers(where, files, found.report, skip_bad=skip_bad)
    rows = [
        {name: row for row, name in enumerate(names)}
        for names in ([p.id for p in found.papers], [r.id for r in people])
    ]
    reader = PairReader(rows[0], rows[1], skip_bad)
    stated = read_stated_pairs(files, reader)
    year = settings.year or latest_year([*found.papers, *(paper for each in people for paper in each.papers)])
    known = ConflictInput(found.papers, found.authorships, people, year - settings.coauthor_years + 1)
    conflicts = drop_allowed(stated, find_conflicts(known, settings.conflicts))
    forbidden = join_forbidden(stated, conflicts, (list(rows[0]), list(rows[1])))
    return _Inputs(
        found, people, stated, forbidden, conflicts, list_unchecked(known, settings.conflicts), reader.dropped, year
    )


def _subtract(limits: Integers, earlier: Integers) -> Integers:
    return np.maximum(limits - earlier, 0) if len(earlier) else limits


def _find_group(reviewers: Sequence[Reviewer], text: str) -> GroupMinimum:
    column, value, minimum = parse_requirement(text)
    key = "".join(filter(str.isalnum, column.casefold()))
    members = np.array(
        [each.groups.get(key, each.groups.get(column, "")).casefold() == value.casefold() for each in reviewers]
    )
    if not members.any():
        columns = sorted({name for each in reviewers for name in each.groups})
        values = sorted({each.groups[key] for each in reviewers if key in each.groups})
        known = f"its values: {', '.join(values[:10])}" if values else f"columns: {', '.join(columns) or 'none'}"
        raise InputError(f"no reviewer has {column}={value}; {known}")
    return GroupMinimum(f"{column}={value}", members, minimum)


Load = Callable[[], "EncoderProtocol"]


def _load(encoder: EncoderProtocol | str | None, stored: StoredVectors | None) -> Load:
    """Return what loads the encoder where it is needed: that of the collections, the named one, or the default."""

    def load() -> EncoderProtocol:
        from sciprism.encoders.encoder import Encoder

        if encoder is not None and not isinstance(encoder, str):
            if stored is not None and encoder.fingerprint != stored.first.manifest.encoder.fingerprint:
                raise InputError(f"{stored.first.folder} holds vectors of another encoder")
            return encoder
        return stored.load_encoder(encoder or "") if stored is not None else Encoder.load(encoder or None)

    return load


def _open_scores(
    inputs: _Inputs, settings: MatchSettings, load: Load, context: tuple[MatchProgress, StoredVectors | None]
) -> tuple[ScoreSource, EncoderProtocol | None]:
    """Return the given scores, else those by vectors, and the encoder that made these."""
    if inputs.stated.scores is not None:
        return GivenScores(inputs.stated.scores, (len(inputs.ids[0]), len(inputs.ids[1]))), None
    if not any(each.papers for each in inputs.reviewers):
        raise InputError(
            f"none of {len(inputs.reviewers):,} reviewers has a paper, so there is nothing to score by; name papers "
            "with --reviewer-papers, or scores with --scores"
        )
    encoder = load()
    papers, profiles = build_profiles(
        inputs.reviewers, year=inputs.year, half_life=settings.half_life, authorship=settings.authorship
    )
    parts = {"submissions": inputs.submissions.papers, "reviewers' papers": papers}
    vectors = list(encode_papers(encoder, parts, *context).values())
    scorer = ExpertiseScorer(vectors[1], profiles, Scoring.parse(settings.scoring))
    return VectorScores(vectors[0], scorer, papers), encoder


def _describe(inputs: _Inputs, source: ScoreSource, solved: SolvedAssignment) -> Matching:
    pairs, stated = solved.pairs, inputs.stated
    papers, reviewers = inputs.ids
    bids = look_up(stated.bids, pairs, len(reviewers))
    locked = look_up(stated.locked, pairs, len(reviewers))
    near = source.explain(pairs.papers, pairs.reviewers)
    chances = solved.probabilities
    found = [
        AssignedPair(
            paper=papers[row],
            title=inputs.submissions.papers[row].title,
            reviewer=reviewers[number],
            score=round(float(pairs.scores[i]), 6),
            bid=float(bids[i]),
            value=float(solved.values[i]),
            papers=near[i],
            notes=("locked",) if locked[i] else ("score given",) if stated.scores is not None else (),
            probability=None if chances is None else float(chances[i]),
        )
        for i, (row, number) in enumerate(zip(pairs.papers.tolist(), pairs.reviewers.tolist(), strict=True))
    ]
    return Matching(
        pairs=found,
        reviewers=reviewers,
        audit={},
        conflicts=[(papers[c.paper], reviewers[c.reviewer], c.kind, c.reason) for c in inputs.conflicts],
        scored=lambda: _score_rows(papers, reviewers, solved.all),
    )


def _score_rows(papers: list[str], reviewers: list[str], pairs: PairTable) -> Iterator[tuple[str, str, float]]:
    for paper, number, score in zip(
        pairs.papers.tolist(), pairs.reviewers.tolist(), pairs.scores.tolist(), strict=True
    ):
        yield papers[paper], reviewers[number], round(score, 6)
