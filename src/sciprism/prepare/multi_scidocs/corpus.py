"""The papers of a benchmark: names, fields and citations in memory, texts on disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sciprism.datasets.data_root import DataRoot
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.papers.s2orc import check_shards
from sciprism.prepare.citations.corpus import CorpusBuilder, read_citation_table
from sciprism.prepare.citations.sources import PaperReader
from sciprism.prepare.graphs.citations import CitationGraph


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusInputs:
    """The files of a corpus: papers in any format, or folders with S2ORC's shards.

    edges: a table with the columns `citing` and `cited`, instead of the papers' own references. fields: those
    that count, () for all. shards: of S2ORC, those whose papers may be queries; candidates come from all.
    """

    files: tuple[Path, ...]
    edges: Path | None = None
    fields: tuple[str, ...] = ()
    shards: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.files:
            raise InputError("no papers to build a benchmark from; name files, or a folder with S2ORC's shards")
        check_shards(self.files, self.shards)


@dataclass(frozen=True, slots=True)
class BenchmarkCorpus:
    """Papers by row, each with a title, an abstract and a field.

    query_rows: the rows that may be queries. texts: the file with the papers, a line each. dropped: papers
    and citations. files: counts of each file read.
    """

    names: Sequence[str]
    fields: Sequence[tuple[str, ...]]
    query_rows: Sequence[int]
    graph: CitationGraph
    texts: Path
    dropped: DropReport
    files: Sequence[dict[str, object]]


def read_corpus(inputs: CorpusInputs, data_root: DataRoot, texts: Path) -> BenchmarkCorpus:
    """Read all papers once; memory holds ids, fields and citations, the file `texts` the texts.

    Papers without a title, an abstract or a field, and duplicates, are counted and dropped, with the
    citations of and by them. Raises InputError if none is left.
    """
    reader = PaperReader()
    dropped = reader.dropped
    query_ids: set[str] = set()

    def papers() -> Iterator[Paper]:
        for path in inputs.files:
            for paper, is_query in reader.read(path, data_root, inputs.shards):
                query_ids.update([paper.id] if is_query else ())
                fields = tuple(f for f in paper.fields if not inputs.fields or f in inputs.fields)
                yield replace(paper, fields=fields)
        for place in reader.unreadable():
            dropped.add("record that cannot be used", place)

    edges = None if inputs.edges is None else read_citation_table(data_root, inputs.edges)
    corpus = CorpusBuilder(_drop_reason, dropped).build(papers(), texts, edges)
    if not corpus.names:
        counts = ", ".join(f"{reason}: {each['count']:,}" for reason, each in dropped.to_json().items())
        raise InputError(
            f"{', '.join(map(str, inputs.files))}: no paper with title, abstract, field ({counts or 'none'})"
        )
    rows = [row for row, name in enumerate(corpus.names) if name in query_ids]
    return BenchmarkCorpus(corpus.names, corpus.fields, rows, corpus.graph, texts, dropped, reader.to_json())


def _drop_reason(paper: Paper) -> str:
    if any(character.isspace() for character in paper.id):
        return "id with white space"  # a file of judgements is separated by spaces
    if not paper.title:
        return "paper without title"
    if not paper.abstract:
        return "paper without abstract"
    return "" if paper.fields else "paper without field"
