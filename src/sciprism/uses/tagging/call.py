"""Tag papers by one call: with a vocabulary or a trained tagger, by vectors of papers and labels in one space."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sciprism.arrays import Floats, Rows
from sciprism.encoders.cached_encoder import CachedEncoder, TextProgress
from sciprism.errors import InputError
from sciprism.formats import Format
from sciprism.papers import read_labels, read_papers
from sciprism.papers.records import Label, Paper
from sciprism.store import StoredCollection
from sciprism.uses.collection import load_encoder
from sciprism.uses.tagging.suggestions import PaperTags, TagChoice
from sciprism.uses.tagging.tagger import build_zero_shot, load_tagger, read_facts
from sciprism.uses.tagging.vocabulary import Vocabulary

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder


PAPER_BLOCK = 4096  # papers that are in memory together, where they are only tagged
FORMATS: tuple[Format, ...] = ("proximity", "search", "classification")
"""Formats in whose space papers and labels may both be, the better one first."""


def tag(
    papers: str | Path | Iterable[Paper],
    *,
    vocabulary: str | Path | Sequence[str | Path] | Sequence[Label] = (),
    tagger: str | Path | None = None,
    choice: TagChoice | None = None,
    model: str | Encoder = "",
) -> Iterator[PaperTags]:
    """Yield the labels suggested for each paper, best first, with probabilities and reasons.

    papers: a file, a folder, or papers; they are read in blocks. vocabulary: files of labels, or labels; or else
    tagger: a folder that `sciprism tag train` made. choice: how many and which labels. model: that encodes papers and
    labels; by default the tagger's, or the model that ships. Raises InputError where neither or both are given.

    >>> from sciprism import Label, Paper, tag
    >>> subjects = [Label(id="sky", name="galaxies"), Label(id="life", name="cell division")]
    >>> (paper,) = tag([Paper(id="1", title="A survey of nearby galaxies")], vocabulary=subjects)
    >>> paper.tags[0].uri, paper.tags[0].why
    ('sky', "found in title: 'galaxies'; its meaning is near (cosine 0.53)")
    """
    if (tagger is None) == (not vocabulary):
        raise InputError("name a vocabulary or a tagger, one of them")
    folder = None if tagger is None else Path(tagger)
    vectors = load_vectors(model, folder)
    if folder is not None:
        opened = load_tagger(folder)
    else:
        labels = Vocabulary(_read_vocabulary(vocabulary))
        opened = build_zero_shot(labels, vectors.encode_labels(labels.labels))
    records = read_papers(papers) if isinstance(papers, str | Path) else iter(papers)
    blocks = iter(lambda: list(islice(records, PAPER_BLOCK)), [])
    parts = (part for block in blocks for part in opened.suggest(block, vectors.encode_papers(block), choice))
    return chain.from_iterable(parts)


def load_vectors(model: str | Encoder, tagger: Path | None, collections: Sequence[StoredCollection] = ()) -> TagVectors:
    """Load the model of the vectors: as named, that of the tagger or of a collection, or the default."""
    from sciprism.encoders.encoder import Encoder

    trained = read_facts(tagger)["encoder"] if tagger is not None else None
    if isinstance(model, Encoder):
        encoder = model
    elif trained is None and collections:
        encoder = load_encoder(collections[0], model)
    else:
        encoder = Encoder.load(model or (trained["name"] if trained is not None else None))
    vectors = TagVectors(encoder)
    if trained is not None and any(trained.get(name) != vectors.facts[name] for name in ("fingerprint", "space")):
        raise InputError(
            f"the tagger was trained on vectors of {trained.get('name')}, which differ from those of {encoder.name}; "
            "name the folder of its model with --model"
        )
    return vectors


def _read_vocabulary(vocabulary: str | Path | Sequence[str | Path] | Sequence[Label]) -> Iterable[Label]:
    if isinstance(vocabulary, str | Path):
        return read_labels(vocabulary)
    labels = [item for item in vocabulary if isinstance(item, Label)]
    return labels or read_labels([item for item in vocabulary if not isinstance(item, Label)])


class TagVectors:
    """An encoder in the format in which papers and labels compare. cache: the folder of vectors."""

    def __init__(self, encoder: Encoder, cache: Path | None = None) -> None:
        self.encoder = encoder
        self._cached = CachedEncoder(encoder, cache)
        shared = [
            format
            for format in FORMATS
            if format in encoder.formats and encoder.space(format, "paper") == encoder.space(format, "label")
        ]
        if not shared:
            raise InputError(f"{encoder.name} has no format in which papers and labels compare; use another model")
        self.format = shared[0]

    @property
    def facts(self) -> dict[str, Any]:
        """Return what vectors must agree in: name, fingerprint, format and space."""
        facts = {"name": self.encoder.name, "fingerprint": self.encoder.fingerprint, "format": self.format}
        return facts | {"space": self._space, "options": dict(self.encoder.options)}

    @property
    def _space(self) -> str:
        return self.encoder.space(self.format, "paper")

    def encode_labels(self, labels: Sequence[Label], progress: TextProgress | None = None) -> Floats:
        """Return the vectors of labels' names and definitions, (labels, e)."""
        self._cached.watch(progress)
        return self._cached.encode(list(labels), format=self.format, role="label")

    def encode_papers(self, papers: Sequence[Paper], progress: TextProgress | None = None) -> Floats:
        """Return the vectors of papers, (n, e)."""
        self._cached.watch(progress)
        return self._cached.encode(list(papers), format=self.format, role="paper")

    def iterate_collection(
        self, stored: StoredCollection, chosen: Rows | None = None
    ) -> Iterator[tuple[list[Paper], Floats]]:
        """Yield the papers of a collection, all or those of some rows, and their stored vectors in blocks.

        Raises InputError as `read_collection` does.
        """
        stored.check_encoder(self.encoder)
        chosen = stored.live if chosen is None else chosen
        for start in range(0, len(chosen), PAPER_BLOCK):
            rows = chosen[start : start + PAPER_BLOCK]
            yield stored.papers(rows), stored.read_rows(self._space, rows).block(0, len(rows))

    def read_collection(self, stored: StoredCollection) -> tuple[list[Paper], Floats]:
        """Return the papers of a collection and their stored vectors; InputError where another model made them."""
        parts = list(self.iterate_collection(stored))
        empty = np.empty((0, self.encoder.dim), np.float32)
        return [paper for papers, _ in parts for paper in papers], np.concatenate([empty, *(v for _, v in parts)])
