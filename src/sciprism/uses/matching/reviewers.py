"""Who reviews, who wrote a submission, and what a chair states of pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sciprism.papers.records import Paper


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewer:
    """A reviewer; only the id is required.

    groups: column -> value, such as seniority -> senior. least, most: submissions to review; None: as for all.
    """

    id: str
    name: str = ""
    emails: tuple[str, ...] = ()
    institutions: tuple[str, ...] = ()
    groups: Mapping[str, str] = field(default_factory=dict)
    least: int | None = None
    most: int | None = None
    papers: tuple[Paper, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Authorship:
    """What a file of submissions says of the authors beyond their names: profile ids, e-mails, institutions."""

    ids: tuple[str, ...] = ()
    emails: tuple[str, ...] = ()
    institutions: tuple[str, ...] = ()
