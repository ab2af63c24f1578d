"""Tag papers by one call: papers and a vocabulary, or a trained tagger."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from sciprism.errors import InputError
from sciprism.papers import read_labels, read_papers
from sciprism.papers.records import Label, Paper
from sciprism.store import StoredCollection
from sciprism.uses.collection import load_encoder
from sciprism.uses.tagging.paper_vectors import PAPER_BLOCK, TagVectors, check_same_vectors
from sciprism.uses.tagging.storage import FACTS_FILE, is_tagger, load_tagger
from sciprism.uses.tagging.suggestions import PaperTags, TagChoice
from sciprism.uses.tagging.vocabulary import Vocabulary
from sciprism.uses.tagging.zero_shot import build_zero_shot

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder


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
    return _suggest(records, lambda block: opened.suggest(block, vectors.encode_papers(block), choice))


def load_vectors(model: str | Encoder, tagger: Path | None, collections: Sequence[StoredCollection] = ()) -> TagVectors:
    """Load the model of the vectors: as named, that of the tagger or of a collection, or the default."""
    from sciprism.encoders.encoder import Encoder

    if isinstance(model, Encoder):
        vectors = TagVectors(model)
    elif tagger is not None:
        vectors = TagVectors(Encoder.load(model or _read_facts(tagger)["name"]))
    elif collections:
        vectors = TagVectors(load_encoder(collections[0], model))
    else:
        vectors = TagVectors(Encoder.load(model or None))
    if tagger is not None:
        check_same_vectors(_read_facts(tagger), vectors)
    return vectors


def _read_facts(tagger: Path) -> dict[str, str]:
    if not is_tagger(tagger):
        raise InputError(f"{tagger} is no tagger: it has no {FACTS_FILE}; make one with `sciprism tag train`")
    facts: dict[str, str] = json.loads((tagger / FACTS_FILE).read_text(encoding="utf-8"))["encoder"]
    return facts


def _read_vocabulary(vocabulary: str | Path | Sequence[str | Path] | Sequence[Label]) -> Iterable[Label]:
    if isinstance(vocabulary, str | Path):
        return read_labels(vocabulary)
    labels = [each for each in vocabulary if isinstance(each, Label)]
    return labels or read_labels([each for each in vocabulary if not isinstance(each, Label)])


def _suggest(
    papers: Iterator[Paper], suggest: Callable[[list[Paper]], Iterator[list[PaperTags]]]
) -> Iterator[PaperTags]:
    while block := list(islice(papers, PAPER_BLOCK)):
        for tagged in suggest(block):
            yield from tagged
