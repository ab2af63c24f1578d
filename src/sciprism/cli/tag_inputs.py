"""What the commands of `sciprism tag` read: vocabularies, taggers, papers with vectors, tagged papers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

from sciprism.cli.options import Reading, read_lines
from sciprism.cli.output import ProgressDisplay, echo, print_skip_counts, print_skipped
from sciprism.errors import InputError

if TYPE_CHECKING:
    from sciprism.arrays import Floats
    from sciprism.papers import Paper
    from sciprism.store import StoredCollection
    from sciprism.uses.tagging.evidence import TaggedPapers
    from sciprism.uses.tagging.suggestions import TagChoice
    from sciprism.uses.tagging.tag_files import Judgement, TagReport
    from sciprism.uses.tagging.tagger import Tagger, TagVectors
    from sciprism.uses.tagging.vocabulary import Vocabulary

MAX_NOTES = 5  # notes on a vocabulary that are printed; the others are counted


@dataclass(frozen=True, kw_only=True)
class VocabularyFiles:
    """Where a vocabulary is."""

    vocabulary: Annotated[tuple[Path, ...], "SKOS (Turtle, RDF/XML), MeSH XML, CSV, TSV or JSONL; repeatable."] = ()
    language: Annotated[str, "Language of the labels' names, such as de; else English."] = ""

    def read(self) -> tuple[Vocabulary, list[str]]:
        """Read the vocabulary and say on standard error what was left out of it; return the notes too."""
        from sciprism.papers.input_file import ReadOptions
        from sciprism.papers.read import ReadReport, read_labels
        from sciprism.uses.tagging.vocabulary import Vocabulary

        report = ReadReport()
        options = ReadOptions(language=self.language)
        labels = list(read_labels(self.vocabulary, options=options, skip_bad=True, report=report))
        vocabulary = Vocabulary(labels)
        print_skipped(report.skipped, report.skipped_count)
        notes = [f"{file.path}: {file.note}" for file in report.files if file.note] + vocabulary.notes
        for note in notes[:MAX_NOTES]:
            echo(note, error=True)
        if more := len(notes[MAX_NOTES:]):
            echo(f"and {more:,} more notes on the vocabulary", error=True)
        return vocabulary, notes


@dataclass(frozen=True, kw_only=True)
class TaggerChoice(VocabularyFiles):
    """What suggests tags: a trained tagger, or a vocabulary."""

    tagger: Annotated[Path | None, "A trained tagger, which has its vocabulary."] = None

    def check(self, tagged: str = "") -> None:
        """Raise InputError unless one of the two is named. tagged: papers whose votes a trained tagger has already."""
        if (self.tagger is None) == (not self.vocabulary):
            raise InputError("name one of --vocabulary FILE and --tagger FOLDER")
        if tagged and self.tagger is not None:
            raise InputError("--tagged goes with --vocabulary; a tagger knows the papers it was trained on")

    def open(
        self,
        vectors: TagVectors,
        read_tagged: Callable[[Vocabulary, TagVectors], tuple[TaggedPapers, TagReport]] | None = None,
    ) -> tuple[Tagger, TagReport | None]:
        """Read the trained tagger, or build one from the vocabulary, with similar tagged papers if there are any.

        Return the report on these too.
        """
        from sciprism.uses.tagging.tagger import build_zero_shot, load_tagger

        if self.tagger is not None:
            return load_tagger(self.tagger), None
        labels, _ = self.read()
        data, report = read_tagged(labels, vectors) if read_tagged is not None else (None, None)
        with ProgressDisplay("encoding", "labels", len(labels)) as display:
            label_vectors = vectors.encode(labels.labels, "label", display)
        return build_zero_shot(labels, label_vectors, tagged=data), report


@dataclass(frozen=True, kw_only=True)
class LabelChoice:
    """Which labels are suggested; an excluded name that ends in .txt is a file of names."""

    exclude: Annotated[tuple[str, ...], "A label never to suggest, or a .txt with one a line; repeatable."] = ()
    branch: Annotated[tuple[str, ...], "Only this label and those below it; repeatable."] = ()
    parents: Annotated[str, "Labels above suggested ones: keep, drop or add."] = "keep"

    def build(self, limit: int, threshold: float | None) -> TagChoice:
        """Return which candidates are suggested."""
        from sciprism.uses.tagging.suggestions import Parents, TagChoice

        given = [read_lines(name) if name.endswith(".txt") else [name] for name in self.exclude]
        return TagChoice(
            limit=limit,
            threshold=threshold,
            excluded=[name for names in given for name in names],
            branch=self.branch,
            parents=cast("Parents", self.parents),
        )


def open_vectors(model: str, tagger: Path | None, inputs: Sequence[str]) -> TagVectors:
    """Load the model of the vectors: as named, that of the tagger or of an input collection, or the default."""
    from sciprism.uses.tagging.tagger import load_vectors

    return load_vectors(model, tagger, [stored for name in inputs if (stored := _open_collection(name)) is not None])


def _open_collection(name: str) -> StoredCollection | None:
    """Open a collection of `sciprism embed`; None for files of papers."""
    from sciprism.store import StoredCollection
    from sciprism.store.manifest import is_collection

    return StoredCollection.open(name) if is_collection(name) else None


def read_papers_with_vectors(name: str, reading: Reading, vectors: TagVectors) -> tuple[list[Paper], Floats]:
    """Return papers and their vectors: stored ones of a collection, else encoded ones."""
    from sciprism.papers import ReadReport

    if (stored := _open_collection(name)) is not None:
        return vectors.read_collection(stored)
    report = ReadReport()
    papers = list(reading.read_files([name], report))
    print_skip_counts(report.files, error=True)
    if not papers:
        raise InputError(f"{name} has no paper that can be tagged")
    return papers, encode_papers(papers, vectors)


@dataclass(frozen=True, slots=True)
class PaperBlocks:
    """Papers with their vectors, block by block, and how many there are in all."""

    total: int
    blocks: Iterable[tuple[list[Paper], Floats]]


def stream_papers(name: str, reading: Reading, vectors: TagVectors) -> PaperBlocks:
    """Return papers and vectors in blocks: stored ones of a collection, else encoded where they are needed.

    A file is read once before, so that a bad record is found before the work; standard input is held in memory.
    """
    from sciprism.papers import ReadReport

    if (stored := _open_collection(name)) is not None:
        return PaperBlocks(len(stored), vectors.iterate_collection(stored))
    report = ReadReport()
    papers = reading.read_files([name], report)
    again = name != "-" and not Path(name).is_fifo()
    held = [] if again else list(papers)
    with ProgressDisplay("reading", "papers") as display:
        total = sum(1 for _ in display.count(papers)) if again else len(held)
    print_skip_counts(report.files, error=True)
    if not total:
        raise InputError(f"{name} has no paper that can be tagged")
    opened = reading.read_files([name], ReadReport()) if again else iter(held)
    return PaperBlocks(total, _encode_blocks(opened, vectors))


def _encode_blocks(papers: Iterator[Paper], vectors: TagVectors) -> Iterator[tuple[list[Paper], Floats]]:
    from sciprism.encoders.languages import warn_of_other_languages
    from sciprism.papers.languages import count_other_languages
    from sciprism.uses.tagging.tagger import PAPER_BLOCK

    others, total = Counter[str](), 0
    while block := list(islice(papers, PAPER_BLOCK)):
        others += count_other_languages(f"{paper.title} {paper.abstract}" for paper in block)
        total += len(block)
        yield block, vectors.encode(block)
    if others:
        warn_of_other_languages(vectors.encoder, others, total, "papers")


def encode_papers(papers: Sequence[Paper], vectors: TagVectors) -> Floats:
    """Encode papers with a display of progress."""
    with ProgressDisplay("encoding", "papers", len(papers)) as display:
        return vectors.encode(papers, progress=display)


@dataclass(frozen=True, kw_only=True)
class TagPlaces:
    """Where the tags of papers are: in a table, or in a field of the papers."""

    tags: Annotated[Path | None, "A table with columns paper, uri: the papers' tags."] = None
    tags_in: Annotated[str, "Where the papers have their tags: keywords or fields.", "--tags-in"] = "keywords"

    def __post_init__(self) -> None:
        if self.tags_in not in ("keywords", "fields"):
            raise InputError(f"--tags-in {self.tags_in!r} is not keywords or fields")

    def read(
        self, name: str, reading: Reading, vocabulary: Vocabulary, vectors: TagVectors
    ) -> tuple[TaggedPapers, TagReport]:
        """Read the papers of a file, folder or collection; those without a known tag are left out and counted."""
        from sciprism.drop_report import DropReport
        from sciprism.uses.tagging.evidence import TaggedPapers, TagMatrix
        from sciprism.uses.tagging.tag_files import is_annif_folder, read_annif_folder, read_tag_table, resolve_tags

        path, dropped, table = Path(name), DropReport(), dict[str, list[str]]()
        where = f"--tags {self.tags}" if self.tags else f"the field {self.tags_in} (--tags-in)"
        if self.tags is None and not reading.reader and is_annif_folder(path):
            papers = read_annif_folder(path, dropped=dropped, skip_bad=reading.skip_bad)
            rows = encode_papers(papers, vectors)
        else:
            papers, rows = read_papers_with_vectors(name, reading, vectors)
        if self.tags is not None:
            table = read_tag_table(self.tags, dropped)
            named = [table.pop(paper.id, []) for paper in papers]
        else:
            named = [list(getattr(paper, self.tags_in)) for paper in papers]
        rows_of_tags, report = resolve_tags(named, vocabulary, dropped)
        report.unused = len(table)
        usable = [number for number, labels in enumerate(rows_of_tags) if labels]
        if not usable:
            examples = ", ".join(repr(tag) for tag, _ in report.unknown.most_common(3))
            lacking = f"; not in the vocabulary: {examples}" if examples else ""
            several = ", ".join(map(repr, [*report.homonyms][:3]))
            lacking += f"; names of several labels: {several}" if several else ""
            raise InputError(
                f"{name}: no paper has a tag of the vocabulary in {where}{lacking or '; there are no tags'}"
            )
        matrix = TagMatrix.build((rows_of_tags[number] for number in usable), len(vocabulary))
        return TaggedPapers([papers[number] for number in usable], rows[usable], matrix), report


def read_judged_papers(
    tagger: Tagger, judgements: Sequence[Judgement], name: str, reading: Reading, open_vectors: Callable[[], TagVectors]
) -> tuple[list[Paper], Floats]:
    """Return the judged papers whose text the tagger lacks, and their vectors; a model is loaded for these alone."""
    import numpy as np

    from sciprism.papers import ReadReport
    from sciprism.uses.tagging.tagger import list_unknown_papers

    needed = list_unknown_papers(tagger, judgements)
    if not needed or not name:
        return [], np.empty((0, tagger.label_vectors.shape[1]), np.float32)
    if (stored := _open_collection(name)) is not None:
        papers, rows = open_vectors().read_collection(stored)
        chosen = [number for number, paper in enumerate(papers) if paper.id in needed]
        return [papers[number] for number in chosen], rows[chosen]
    report = ReadReport()
    papers = [paper for paper in reading.read_files([name], report) if paper.id in needed]
    print_skip_counts(report.files, error=True)
    return papers, encode_papers(papers, open_vectors())
