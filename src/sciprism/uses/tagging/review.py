"""A review of suggested tags: papers with their suggestions, and what a person decides of each."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from sciprism.errors import InputError
from sciprism.files import explain_write_errors
from sciprism.uses.tagging.suggestions import PaperTags, Tag

YES, NO, NONE = "yes", "no", ""


class TagReview:
    """Suggestions, as `write_tags` writes them in the format jsonl, and the decisions on them.

    papers: id -> its suggestions, in the order of the file. verdicts: paper and uri -> yes or no. A decision is on the
    disk when its call returns; a line that a kill left half-written is not read.
    """

    def __init__(self, suggestions: Path, decisions: Path) -> None:
        with suggestions.open(encoding="utf-8", newline="\n") as file:  # texts may hold other ends of lines
            read = [
                PaperTags(row["id"], row["title"], tuple(Tag(**tag) for tag in row["tags"]))
                for row in map(json.loads, file)
            ]
        self.papers = {paper.id: paper for paper in read if paper.tags}
        self.tags = {(paper.id, tag.uri): tag for paper in self.papers.values() for tag in paper.tags}
        self.verdicts: dict[tuple[str, str], str] = {}
        self._decisions = decisions
        for line in decisions.read_bytes().splitlines() if decisions.is_file() else ():
            with suppress(ValueError):
                self._apply(*json.loads(line))

    def decide(self, paper: str, uri: str, verdict: str) -> None:
        """Store a verdict, "" to withdraw one. Raises InputError for another one, or a tag that is not suggested."""
        if verdict not in (YES, NO, NONE) or (paper, uri) not in self.tags:
            raise InputError(f"no verdict {verdict!r} is possible on the tag {uri!r} of {paper!r}; state yes or no")
        line = "\n" + json.dumps([paper, uri, verdict])
        with explain_write_errors(self._decisions), self._decisions.open("a", encoding="utf-8") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        self._apply(paper, uri, verdict)

    def reject_rest(self, paper: str) -> None:
        """Reject each tag of a paper that has no verdict."""
        while uri := self.find_open(paper):
            self.decide(paper, uri, NO)

    def undo(self) -> str:
        """Withdraw the latest verdict that stands; return the paper's id, "" where there is none."""
        if not self.verdicts:
            return ""
        paper, uri = next(reversed(self.verdicts))
        self.decide(paper, uri, NONE)
        return paper

    def find_open(self, paper: str) -> str:
        """Return the uri of a paper's first tag without a verdict, "" where each has one. Raises InputError."""
        if paper not in self.papers:
            raise InputError(f"no tags are suggested for {paper!r}")
        return next((tag.uri for tag in self.papers[paper].tags if (paper, tag.uri) not in self.verdicts), "")

    def next_paper(self, after: str = "") -> str:
        """Return the first paper with a tag to decide, of those after a paper if there is one; "" for none."""
        left = [paper for paper in self.papers if self.find_open(paper)]
        order = {paper: place for place, paper in enumerate(self.papers)}
        later = (paper for paper in left if order[paper] > order.get(after, -1))
        return next(later, next(iter(left), ""))

    def counts(self) -> Counter[str]:
        """Return how many tags are suggested, and have each verdict."""
        return Counter(self.verdicts.values()) + Counter(tags=len(self.tags))

    def accepted(self) -> Iterator[PaperTags]:
        """Yield each paper with its accepted tags alone."""
        for id, paper in self.papers.items():
            yield replace(paper, tags=tuple(tag for tag in paper.tags if self.verdicts.get((id, tag.uri)) == YES))

    def _apply(self, paper: str, uri: str, verdict: str) -> None:
        self.verdicts.pop((paper, uri), None)  # the latest is the last
        if verdict and (paper, uri) in self.tags:
            self.verdicts[paper, uri] = verdict
