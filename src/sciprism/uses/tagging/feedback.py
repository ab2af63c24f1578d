"""Teach a tagger which of its suggestions were right."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sciprism.arrays import Floats
from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.uses.tagging.tag_files import Judgement
from sciprism.uses.tagging.tag_matrix import TagMatrix
from sciprism.uses.tagging.tagged_papers import TaggedPapers
from sciprism.uses.tagging.tagger import Tagger
from sciprism.uses.tagging.training import Progress, TrainingSettings, train


@dataclass(frozen=True, slots=True)
class FeedbackReport:
    """What was learned from. unknown: judged tags that the vocabulary lacks; missing: ids of papers without text."""

    papers: int
    accepted: int
    rejected: int
    unknown: tuple[str, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Verdicts:
    accepted: frozenset[int]
    rejected: frozenset[int]


def learn_from_feedback(
    tagger: Tagger,
    judgements: Sequence[Judgement],
    papers: Sequence[Paper],
    vectors: Floats,
    *,
    settings: TrainingSettings | None = None,
    progress: Progress | None = None,
) -> tuple[Tagger, FeedbackReport]:
    """Train again with judged tags added to the papers of the tagger.

    papers, vectors: of the judged papers that the tagger does not have. A paper that it has keeps its other tags. Of
    a new paper only the judged labels count, as right or wrong: nobody said that it has no others.
    """
    data = tagger.training
    if data is None:
        raise InputError("this tagger was not trained; train one first with `sciprism tag train`")
    verdicts, unknown = _resolve(tagger, judgements)
    known = {paper.id: number for number, paper in enumerate(data.papers)}
    given = {paper.id: number for number, paper in enumerate(papers)}
    missing = tuple(id for id in verdicts if id not in known and id not in given)
    usable = {id: each for id, each in verdicts.items() if id not in missing}
    if not usable:
        raise InputError("none of the judged papers is in the tagger or among --papers; name the file that has them")
    merged = _judge_known(data, known, usable)
    new = [id for id in usable if id not in known]
    if new:
        rows = [given[id] for id in new]
        added = TaggedPapers(
            [papers[row] for row in rows],
            vectors[rows],
            TagMatrix.build((usable[id].accepted for id in new), len(tagger.vocabulary)),
            {number: usable[id].accepted | usable[id].rejected for number, id in enumerate(new)},
        )
        merged = merged.merge(added)
    learned = train(tagger.vocabulary, tagger.label_vectors, merged, settings=settings, progress=progress)
    learned.encoder = tagger.encoder
    counts = [sum(len(getattr(each, name)) for each in usable.values()) for name in ("accepted", "rejected")]
    return learned, FeedbackReport(len(usable), counts[0], counts[1], unknown, missing)


def list_unknown_papers(tagger: Tagger, judgements: Sequence[Judgement]) -> set[str]:
    """Return the ids of judged papers whose text the tagger does not have."""
    known = {paper.id for paper in tagger.training.papers} if tagger.training is not None else set()
    return {each.paper for each in judgements} - known


def _resolve(tagger: Tagger, judgements: Sequence[Judgement]) -> tuple[dict[str, _Verdicts], tuple[str, ...]]:
    """Return paper -> accepted and rejected labels, and the tags that the vocabulary lacks.

    Raises InputError for a tag of a paper that was both accepted and rejected.
    """
    verdicts: defaultdict[str, dict[int, bool]] = defaultdict(dict)
    unknown = dict[str, None]()
    for each in judgements:
        if (row := tagger.vocabulary.find(each.tag)) is None:
            unknown[each.tag] = None
        elif verdicts[each.paper].setdefault(row, each.accepted) != each.accepted:
            raise InputError(f"paper {each.paper}: the tag {each.tag} is accepted in one row, rejected in another")
    return {paper: _split(found) for paper, found in verdicts.items() if found}, tuple(unknown)


def _split(found: Mapping[int, bool]) -> _Verdicts:
    accepted = frozenset(row for row, right in found.items() if right)
    return _Verdicts(accepted, frozenset(found) - accepted)


def _judge_known(data: TaggedPapers, known: Mapping[str, int], verdicts: Mapping[str, _Verdicts]) -> TaggedPapers:
    """Return the tagger's papers with accepted tags added and rejected ones removed."""
    tags, judged = [set(data.tags[number].tolist()) for number in range(len(data.papers))], dict(data.judged)
    for id, each in verdicts.items():
        if (number := known.get(id)) is not None:
            tags[number] = (tags[number] | each.accepted) - each.rejected
            if number in judged:
                judged[number] = judged[number] | each.accepted | each.rejected
    return TaggedPapers(data.papers, data.vectors, TagMatrix.build(tags, data.tags.labels), judged)
