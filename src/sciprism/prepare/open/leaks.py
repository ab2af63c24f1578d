"""Papers of training examples that stand in a test of the open data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.sources import UNNAMED
from sciprism.datasets.split import SplitTable, names
from sciprism.evaluation.overlap import SHORT_ID
from sciprism.papers.records import Paper
from sciprism.training.examples import Example


def overlaps(home: DataRoot, examples: Iterable[Example]) -> list[str]:
    """Return "paper X stands in the test of ir_scifact" for each test paper of the examples, each once.

    Queries and candidates are looked up by id (of any of the data sets, or a DOI, PMID, arXiv id) and by
    title; so are the words of a query, which may be a title.
    """
    table = SplitTable.of(home)
    seen: set[bytes] = set()
    found: dict[str, None] = {}
    for paper in _papers(examples):
        text = f"{paper.id}\0{paper.title}\0{paper.abstract}"
        key = blake2b(text.encode("utf-8", "replace"), digest_size=12).digest()
        if key not in seen:
            seen.add(key)
            if tests := table.tests_of(*names(paper), *_ids(paper.id, table)):
                found[f"paper {_shown(paper)} stands in the test of {', '.join(tests)}"] = None
    return list(found)


def _papers(examples: Iterable[Example]) -> Iterator[Paper]:
    for example in examples:
        for item in (example.query, *example.positives, *example.negatives):
            if isinstance(item, Paper):
                yield item
            elif isinstance(item, str):
                yield Paper(id=UNNAMED, title=item)


def _ids(name: str, table: SplitTable) -> list[str]:
    """Return an id as each data set has it; nothing for one so short or plain that it means no one paper."""
    return [] if len(name) < SHORT_ID or name.isdigit() else [f"{data}:{name}" for data in table.tests]


def _shown(paper: Paper) -> str:
    return paper.id if paper.id not in ("", UNNAMED) else repr(paper.title[:80])
