"""Mentions of authors on papers, which author disambiguation groups by person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sciprism.drop_report import DropReport
from sciprism.papers.records import Paper


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """One mention of an author on a paper. author: the true person. block: first initial and surname."""

    id: str
    paper: int
    name: str
    block: str
    author: str
    position: int = 0
    coauthors: tuple[str, ...] = ()
    affiliations: tuple[str, ...] = ()
    email: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signatures:
    """Author mentions in blocks, and the blocks of train, dev and test.

    source: the data set of each mention, where there are several.
    """

    papers: Sequence[Paper]
    signatures: Sequence[Signature]
    train: frozenset[str]
    dev: frozenset[str]
    test: frozenset[str]
    source: Sequence[str] | None = None
    dropped: DropReport = field(default_factory=DropReport)
