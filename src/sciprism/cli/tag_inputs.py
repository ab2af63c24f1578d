"""What the commands of `sciprism tag` read: vocabularies, taggers, papers with vectors, tagged papers."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from sciprism.cli.output import ProgressDisplay, print_skip_counts, print_skipped
from sciprism.errors import InputError

if TYPE_CHECKING:
    from sciprism.arrays import Floats
    from sciprism.papers import Paper, ReadReport
    from sciprism.store import StoredCollection
    from sciprism.uses.tagging.call import TagVectors
    from sciprism.uses.tagging.suggestions import TagChoice
    from sciprism.uses.tagging.tag_files import Judgement, TagReport
    from sciprism.uses.tagging.tagged_papers import TaggedPapers
    from sciprism.uses.tagging.tagger import Tagger
    from sciprism.uses.tagging.vocabulary import Vocabulary

MAX_NOTES = 5
"""Notes on a vocabulary that are printed; the others are counted."""


@dataclass(frozen=True, slots=True)
class PaperInput:
    """Where papers are: a file, folder or collection; how a file is read."""

    name: str
    reader: str = ""
    skip_bad: bool = False


@dataclass(frozen=True, slots=True)
class TaggedPapersInput:
    """Where tagged papers are, and their tags: in a table, or in a field of the papers."""

    papers: PaperInput
    table: Path | None = None
    field: str = "keywords"

    def __post_init__(self) -> None:
        if self.field not in ("keywords", "fields"):
            raise InputError(f"--tags-in {self.field!r} is not keywords or fields")


def choose_tags(
    limit: int, threshold: float | None, exclude: Sequence[str], branch: Sequence[str], parents: str
) -> TagChoice:
    """Return which candidates are suggested; an excluded name that ends in .txt is a file of names."""
    from typing import cast

    from sciprism.uses.tagging.suggestions import Parents, TagChoice

    names = [each for name in exclude for each in (_read_names(Path(name)) if name.endswith(".txt") else [name])]
    return TagChoice(
        limit=limit, threshold=threshold, excluded=names, branch=list(branch), parents=cast("Parents", parents)
    )


def read_vocabulary(paths: Sequence[Path], language: str) -> tuple[Vocabulary, list[str]]:
    """Read a vocabulary and say on standard error what was left out of it; return the notes too."""
    from sciprism.papers.input_file import ReadOptions
    from sciprism.papers.read import ReadReport, read_labels
    from sciprism.uses.tagging.vocabulary import Vocabulary

    report = ReadReport()
    labels = read_labels(paths, options=ReadOptions(language=language), skip_bad=True, report=report)
    vocabulary = Vocabulary(labels)
    print_skipped(report.skipped, report.skipped_count)
    notes = [f"{file.path}: {file.note}" for file in report.files if file.note] + vocabulary.notes
    for note in notes[:MAX_NOTES]:
        print(note, file=sys.stderr)
    if more := len(notes[MAX_NOTES:]):
        print(f"and {more:,} more notes on the vocabulary", file=sys.stderr)
    return vocabulary, notes


def open_vectors(model: str, tagger: Path | None, inputs: Sequence[str]) -> TagVectors:
    """Load the model of the vectors: as named, that of the tagger or of an input collection, or the default."""
    from sciprism.uses.tagging.call import load_vectors

    return load_vectors(model, tagger, [stored for name in inputs if (stored := _open_collection(name)) is not None])


def _open_collection(name: str) -> StoredCollection | None:
    """Open a collection of `sciprism embed`; None for files of papers."""
    from sciprism.store import StoredCollection
    from sciprism.store.manifest import is_collection

    return StoredCollection.open(name) if is_collection(name) else None


def open_tagger(
    folder: Path | None,
    vocabulary: Sequence[Path],
    language: str,
    vectors: TagVectors,
    tagged: TaggedPapersInput | None,
) -> Tagger:
    """Read a trained tagger, or build one from a vocabulary, with similar tagged papers if there are any."""
    from sciprism.uses.tagging.storage import load_tagger
    from sciprism.uses.tagging.tagger import build_zero_shot

    if folder is not None:
        return load_tagger(folder)
    labels, _ = read_vocabulary(vocabulary, language)
    data = read_tagged(tagged, labels, vectors)[0] if tagged is not None else None
    with ProgressDisplay("encoding", "labels", len(labels)) as display:
        label_vectors = vectors.encode_labels(labels.labels, lambda done, _: display.update(done))
    return build_zero_shot(labels, label_vectors, tagged=data)


def read_papers_with_vectors(source: PaperInput, vectors: TagVectors) -> tuple[list[Paper], Floats]:
    """Return papers and their vectors: stored ones of a collection, else encoded ones."""
    from sciprism.papers import ReadReport

    if (stored := _open_collection(source.name)) is not None:
        return vectors.read_collection(stored)
    report = ReadReport()
    papers = list(_read(source, report))
    print_skip_counts(report.files, error=True)
    if not papers:
        raise InputError(f"{source.name} has no paper that can be tagged")
    return papers, encode_papers(papers, vectors)


@dataclass(frozen=True, slots=True)
class PaperBlocks:
    """Papers with their vectors, block by block, and how many there are in all."""

    total: int
    blocks: Iterable[tuple[list[Paper], Floats]]


def stream_papers(source: PaperInput, vectors: TagVectors) -> PaperBlocks:
    """Return papers and vectors in blocks: stored ones of a collection, else encoded where they are needed.

    A file is read once before, so that a bad record is found before the work; standard input is held in memory.
    """
    from sciprism.papers import ReadReport

    if (stored := _open_collection(source.name)) is not None:
        return PaperBlocks(len(stored), vectors.iterate_collection(stored))
    report = ReadReport()
    papers = _read(source, report)
    again = source.name != "-" and not Path(source.name).is_fifo()
    held = [] if again else list(papers)
    with ProgressDisplay("reading", "papers") as display:
        total = sum(1 for _ in display.count(papers)) if again else len(held)
    print_skip_counts(report.files, error=True)
    if not total:
        raise InputError(f"{source.name} has no paper that can be tagged")
    opened = _read(source, ReadReport()) if again else iter(held)
    return PaperBlocks(total, _encode_blocks(opened, vectors))


def _read(source: PaperInput, report: ReadReport) -> Iterator[Paper]:
    from sciprism.papers import read_papers

    return read_papers([source.name], reader=source.reader, skip_bad=source.skip_bad, report=report)


def _encode_blocks(papers: Iterator[Paper], vectors: TagVectors) -> Iterator[tuple[list[Paper], Floats]]:
    from sciprism.uses.tagging.call import PAPER_BLOCK

    while block := list(islice(papers, PAPER_BLOCK)):
        yield block, vectors.encode_papers(block)


def encode_papers(papers: Sequence[Paper], vectors: TagVectors) -> Floats:
    """Encode papers with a display of progress."""
    with ProgressDisplay("encoding", "papers", len(papers)) as display:
        return vectors.encode_papers(papers, lambda done, _: display.update(done))


def read_tagged(
    source: TaggedPapersInput, vocabulary: Vocabulary, vectors: TagVectors
) -> tuple[TaggedPapers, TagReport]:
    """Read papers with tags of a vocabulary; those without a known tag are left out and counted."""
    from sciprism.uses.tagging.tag_files import is_annif_corpus, read_annif_corpus, read_tag_table, resolve_tags
    from sciprism.uses.tagging.tagged_papers import TaggedPapers, TagMatrix

    path = Path(source.papers.name)
    if source.table is None and not source.papers.reader and is_annif_corpus(path):
        papers, named = read_annif_corpus(path)
        rows = encode_papers(papers, vectors)
    else:
        papers, rows = read_papers_with_vectors(source.papers, vectors)
        if source.table is not None:
            table = read_tag_table(source.table)
            named = [table.pop(paper.id, []) for paper in papers]
        else:
            table, named = {}, [list(getattr(paper, source.field)) for paper in papers]
    tags, report = resolve_tags(papers, named, vocabulary)
    report.unused = len(table) if source.table is not None else 0
    usable = [number for number, labels in enumerate(tags) if labels]
    if not usable:
        where = f"--tags {source.table}" if source.table else f"the field {source.field} (--tags-in)"
        examples = ", ".join(repr(name) for name, _ in report.unknown.most_common(3))
        found = f"; not in the vocabulary: {examples}" if examples else "; there are no tags"
        raise InputError(f"{source.papers.name}: no paper has a tag of the vocabulary in {where}{found}")
    matrix = TagMatrix.build((tags[number] for number in usable), len(vocabulary))
    return TaggedPapers([papers[number] for number in usable], rows[usable], matrix), report


def read_judged_papers(
    tagger: Tagger, judgements: Sequence[Judgement], source: PaperInput, model: tuple[str, Path]
) -> tuple[list[Paper], Floats]:
    """Return the judged papers whose text the tagger lacks, with their vectors. model: as named, and the tagger."""
    import numpy as np

    from sciprism.papers import ReadReport
    from sciprism.uses.tagging.training import list_unknown_papers

    needed = list_unknown_papers(tagger, judgements)
    if not needed or not source.name:
        return [], np.empty((0, tagger.label_vectors.shape[1]), np.float32)
    vectors = open_vectors(*model, [])
    if (stored := _open_collection(source.name)) is not None:
        papers, rows = vectors.read_collection(stored)
        chosen = [number for number, paper in enumerate(papers) if paper.id in needed]
        return [papers[number] for number in chosen], rows[chosen]
    papers = [paper for paper in _read(source, ReadReport()) if paper.id in needed]
    return papers, encode_papers(papers, vectors)


def _read_names(path: Path) -> list[str]:
    from sciprism.papers.input_file import InputFile

    return [line.strip() for _, line in InputFile(path).lines() if line.strip()]
