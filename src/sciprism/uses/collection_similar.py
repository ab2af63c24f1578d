"""Papers of a collection that are similar to one of them, or to papers from elsewhere, for programs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from sciprism.errors import InputError
from sciprism.papers.read import read_papers
from sciprism.papers.records import Paper
from sciprism.store import Filter, StoredCollection
from sciprism.store.filters import check_filter
from sciprism.uses.rankings import Hit
from sciprism.uses.similar import similar, similar_to_papers

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder


def build_filter(stored: StoredCollection, filters: dict[str, Any]) -> Filter:
    """Return the filter of a search; InputError for an unknown one, or one that no paper passes."""
    try:
        chosen = Filter(**filters)
    except TypeError:
        raise InputError(f"filters are year_from, year_to, venue, field, not {', '.join(filters)}") from None
    check_filter(stored, chosen)
    return chosen


class SimilarPapers:
    """The papers of a collection that are nearest to one."""

    stored: StoredCollection

    @property
    def encoder(self) -> Encoder:
        """Return the encoder that made the vectors."""
        raise NotImplementedError

    @overload
    def similar(
        self, to: str | Paper, k: int = 10, *, mode: str = ..., why: bool = ..., **filters: Any
    ) -> list[Hit]: ...
    @overload
    def similar(
        self, to: Iterable[Paper] | Path, k: int = 10, *, mode: str = ..., why: bool = ..., **filters: Any
    ) -> list[list[Hit]]: ...
    def similar(
        self,
        to: str | Paper | Iterable[Paper] | Path,
        k: int = 10,
        *,
        mode: str = "exact",
        why: bool = False,
        **filters: Any,
    ) -> list[Hit] | list[list[Hit]]:
        """Rank the papers nearest to one of the collection, without it; arguments as for `search`.

        to: its id, DOI or title, or the beginning of one id; or a paper from elsewhere, which the collection's model
        encodes. Of several papers, or the Path of a file of papers, a list of rankings.

        >>> [hit.id for hit in library.similar("dna", k=1)]
        ['folding']
        >>> new = Paper(id="new", title="The structure of protein chains")
        >>> [hit.id for hit in library.similar(new, k=1)]
        ['folding']
        """
        chosen = build_filter(self.stored, filters)
        if isinstance(to, str):
            encoder = self.encoder if why else None
            return list(similar(self.stored, encoder, to, k, mode=mode, filter=chosen).hits)
        papers = [to] if isinstance(to, Paper) else list(read_papers(to) if isinstance(to, Path) else to)
        found = similar_to_papers(self.stored, self.encoder, papers, k, mode=mode, filter=chosen, why=why)
        rankings = [list(ranking.hits) for ranking in found]
        return rankings[0] if isinstance(to, Paper) else rankings
