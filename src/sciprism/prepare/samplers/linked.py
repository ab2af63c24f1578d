"""Examples out of triplets that are drawn from links between papers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sciprism.papers.records import Paper
from sciprism.prepare.samplers.drawing import Sampled, drawn, lowest
from sciprism.prepare.samplers.triplets import Triplets
from sciprism.training.examples import Example

ALONE = "no link to another paper"


def from_links(
    draw: Triplets,
    papers: Sequence[Paper],
    queries: Iterable[str] | None,
    *,
    most: int,
    workers: int,
    report: Sampled,
) -> Iterator[Example]:
    """Yield what is drawn for each paper that has links, in their order.

    queries: ids of the papers that may be queries, None for all. most: examples, 0 for all.
    """
    wanted = None if queries is None else {*queries}
    able = []
    for row, name in enumerate(draw.names):
        if wanted is None or name in wanted:
            if draw.links.answers(row):
                able.append(row)
            else:
                report.dropped.add(ALONE, name)
    asked = [able[at] for at in lowest([draw.names[row] for row in able], most, draw.seed, report.dropped)]
    for row, found in zip(asked, drawn(draw, asked, workers), strict=True):
        report.add(found)
        positives, negatives = (
            [papers[other] for other in rows] for rows in (found.positives, found.negatives)
        )
        yield Example(papers[row], tuple(positives), tuple(negatives))
