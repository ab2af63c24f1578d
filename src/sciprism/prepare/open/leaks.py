"""Find test papers of the open data in training examples."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.open_data import UNNAMED
from sciprism.datasets.split import SplitTable, list_paper_keys
from sciprism.evaluation.overlap import SHORT_ID
from sciprism.papers.records import Paper
from sciprism.training.examples import Example


def find_leaks(data_root: DataRoot, examples: Iterable[Example]) -> list[str]:
    """Return "paper X is in the test of ir_scifact" once for each test paper of the examples.

    Queries and candidates are looked up by id (of any data set, DOI, PMID, arXiv id) and by title; the words
    of a query may be a title.
    """
    table = SplitTable.load(data_root)
    seen: set[bytes] = set()
    found: dict[str, None] = {}
    items = (item for each in examples for item in (each.query, *each.positives, *each.negatives))
    for item in items:
        paper = Paper(id=UNNAMED, title=item) if isinstance(item, str) else item
        if not isinstance(paper, Paper):  # a label
            continue
        text = f"{paper.id}\0{paper.title}\0{paper.abstract}"
        key = blake2b(text.encode("utf-8", "replace"), digest_size=12).digest()
        if key not in seen:
            seen.add(key)
            plain = len(paper.id) < SHORT_ID or paper.id.isdigit()  # such an id identifies no paper
            own_keys = [] if plain else [f"{data}:{paper.id}" for data in table.tests]
            if tests := table.tests_of(*list_paper_keys(paper), *own_keys):
                shown = paper.id if paper.id not in ("", UNNAMED) else repr(paper.title[:80])
                found[f"paper {shown} is in the test of {', '.join(tests)}"] = None
    return list(found)
