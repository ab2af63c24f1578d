"""Write pairs of every requested shape as DPR-style files, a train and a dev file each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sciprism.datasets.open_data import Part
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.input_file import InputFile
from sciprism.papers.json_rows import NOT_READ
from sciprism.papers.records import Paper
from sciprism.prepare.example_folder import PARTS, ExampleFolder
from sciprism.prepare.filters import Filters
from sciprism.prepare.pair_shapes import PairShape, read_pair_rows, shapes
from sciprism.prepare.preparation import CountTable, Preparation, check_dev_share
from sciprism.prepare.sources.citation_corpus import CitationSources, CorpusBuilder, PaperReader
from sciprism.seeding import random_fraction
from sciprism.text.documents.document import Document, build_document, read_documents
from sciprism.text.tokenizer import read_json
from sciprism.training.examples import PAPERS_FILE, Example, PaperLookup, item_key

ROWS = "rows"
"""The shape of files whose rows are already pairs."""
REPORT = "pairs.json"
NO_TEXT = "a text of the pair is missing"
WORDS = ("source", "sheet", "query", "candidate")


@dataclass(frozen=True, slots=True, kw_only=True)
class PairSettings:
    """How pairs are built.

    edges: a table citing, cited instead of the papers' own references. dev: share of the papers (of rows: of
    the queries) that is held out, by hash. filters: which papers are dropped.
    """

    shapes: tuple[str, ...]
    edges: Path | None = None
    dev: float = 0.01
    seed: int = 0
    filters: Filters = field(default_factory=Filters)

    def __post_init__(self) -> None:
        check_dev_share(self.dev)
        for name in self.shapes:
            if name != ROWS:
                shapes[name]

    @property
    def held_out(self) -> dict[str, float]:
        """Return the settings that decide which papers are dev."""
        return {"dev": self.dev, "seed": self.seed}

    def part(self, name: str) -> Part:
        """Return the part of a paper, by a hash of its id."""
        return PARTS[random_fraction(self.seed, "dev", name) < self.dev]


@dataclass(slots=True)
class PairSource:
    """A source of pairs: a shape of its files, or a file of rows (no shape)."""

    name: str
    shape: PairShape | None
    files: Sequence[Path]
    dropped: DropReport = field(default_factory=DropReport)

    def file(self, part: Part) -> str:
        """Return the name of the file of one part."""
        return f"{part}/{self.name}.jsonl"

    @property
    def words(self) -> tuple[str, str, str]:
        """Return the lengths of the texts, and the roles of queries and candidates."""
        return (self.shape.lengths, self.shape.query, self.shape.candidate) if self.shape else ("", "query", "query")

    @property
    def inputs(self) -> dict[str, int]:
        """Return the name and the bytes of each input file; 0 for a folder."""
        return {file.name: file.stat().st_size if file.is_file() else 0 for file in self.files}

    def to_json(self, folder: ExampleFolder) -> dict[str, Any]:
        """Return the inputs, the written parts and what was dropped as JSON values."""
        parts: dict[str, Any] = {
            part: {"pairs": folder.counts[name], "sha256": folder.describe(name)["sha256"]}
            for part in PARTS
            if (name := self.file(part)) in folder.counts
        }
        return {"files": self.inputs, **parts, "dropped": self.dropped.to_json()}


def prepare_pairs(out: Path, files: Sequence[Path], settings: PairSettings) -> Preparation:
    """Write `train/SHAPE.jsonl`, `dev/SHAPE.jsonl` and `pairs.json` below `out`.

    Each file of rows is a separate source. A citation is dev if the citing paper is, and train if neither
    paper is dev. Other sources in `out` stay, and their entries in `pairs.json` too. Raises InputError if
    there is no pair, or if a source of other files would be replaced.
    """
    sources = _list_sources(files, settings)
    former = _read_former_report(out / REPORT, sources, settings)
    out.mkdir(parents=True, exist_ok=True)
    folder, dropped_papers = ExampleFolder(out), DropReport()
    with TemporaryDirectory(prefix=".papers-", dir=out) as texts:
        citations: Iterable[tuple[Paper, Paper]] = ()
        if any(source.shape and source.shape.built_from == "citation" for source in sources):
            citations = _Citations(Path(texts) / PAPERS_FILE, files, settings, dropped_papers)
        for source in sources:
            _write_source(folder, source, citations, settings)
    reports = {"papers and citations": dropped_papers} | {source.name: source.dropped for source in sources}
    if not any(folder.counts.values()):
        reasons = ", ".join(filter(None, map(str, reports.values())))
        raise InputError(f"no pair was built: {reasons or 'there was nothing to build one from'}")
    rows = [
        [source.name, *source.words, *(folder.counts.get(source.file(part), "") for part in PARTS)]
        for source in sources
    ]
    record = {
        "settings": settings.held_out,
        "sources": former.get("sources", {}) | {source.name: source.to_json(folder) for source in sources},
        "dropped": dropped_papers.to_json() or former.get("dropped", {}),
    }
    return Preparation(
        files=folder.counts,
        record=folder.write_manifest(REPORT, record),
        dropped=reports,
        tables=[CountTable(WORDS, PARTS, rows)],
    )


def _list_sources(files: Sequence[Path], settings: PairSettings) -> list[PairSource]:
    """Return a source of each shape, and of each file of rows."""
    sources = [PairSource(name, shapes[name], files) for name in settings.shapes if name != ROWS]
    for path in files if ROWS in settings.shapes else ():
        sources.append(PairSource(Path(path.name.removesuffix(".gz")).stem, None, [path]))
    names = Counter(source.name for source in sources)
    if repeated := [name for name, count in names.items() if count > 1]:
        raise InputError(f"two sources would be train/{repeated[0]}.jsonl; rename a file of rows")
    return sources


def _read_former_report(path: Path, sources: Sequence[PairSource], settings: PairSettings) -> dict[str, Any]:
    """Return the report of what a folder has already. Raises InputError if other files would be replaced."""
    if not path.exists():
        return {}
    former: dict[str, Any] = read_json(path)
    if former.get("settings") != settings.held_out:
        raise InputError(
            f"{path}: prepared with {former.get('settings')}, now {settings.held_out}, so that other "
            "papers would be held out; name another folder"
        )
    for source in sources:
        if former["sources"].get(source.name, {}).get("files", source.inputs) != source.inputs:
            raise InputError(
                f"{path.parent}/{source.file('train')} was built from other files; name another folder, or give "
                "all files"
            )
    return former


def _write_source(
    folder: ExampleFolder, source: PairSource, citations: Iterable[tuple[Paper, Paper]], settings: PairSettings
) -> None:
    """Write train and dev of a source. Each part reads everything, so what is dropped counts once."""
    dropped = source.dropped
    for part in PARTS if settings.dev else PARTS[:1]:
        if source.shape is None:
            examples = _row_examples(source.files, settings, part, dropped)
        elif source.shape.built_from == "citation":
            examples = _citation_examples(citations, source.shape, settings, part, dropped)
        else:
            examples = _document_examples(source.files, source.shape, settings, part, dropped)
        folder.write(source.file(part), examples)
        dropped = DropReport()


class _Citations:
    """Citing and cited papers, read anew at each iteration; their texts stay on disk."""

    def __init__(self, path: Path, files: Sequence[Path], settings: PairSettings, dropped: DropReport) -> None:
        reader = PaperReader(dropped=dropped)
        sources = CitationSources(files=tuple(files), edges=settings.edges, reader=reader)
        drop_reason = settings.filters.load_check()
        builder = CorpusBuilder(lambda paper: drop_reason(build_document(paper)), dropped)
        self._corpus = builder.build(sources, path, sources.read_edges())
        self._papers = PaperLookup(path)
        for place in reader.unreadable():
            dropped.add(NOT_READ, place)

    def __iter__(self) -> Iterator[tuple[Paper, Paper]]:
        names, cited = self._corpus.names, self._corpus.graph.cited
        for row, (start, end) in enumerate(pairwise(cited.bounds.tolist())):
            for other in cited.others[start:end].tolist():
                yield self._papers[names[row]], self._papers[names[other]]


def _citation_examples(
    citations: Iterable[tuple[Paper, Paper]],
    shape: PairShape,
    settings: PairSettings,
    part: Part,
    dropped: DropReport,
) -> Iterator[Example]:
    for citing, cited in citations:
        own_part = settings.part(citing.id)
        if own_part == "train" and settings.part(cited.id) == "dev":
            dropped.add("train paper that cites a dev paper", f"{citing.id} -> {cited.id}")
            continue
        examples = list(shape.build(citing, cited))
        if not examples:
            dropped.add(NO_TEXT, f"{citing.id} -> {cited.id}")
        if own_part == part:
            yield from examples


def _document_examples(
    files: Sequence[Path], shape: PairShape, settings: PairSettings, part: Part, dropped: DropReport
) -> Iterator[Example]:
    drop_reason = settings.filters.load_check()
    for path in files:
        for document in read_documents(path, dropped=dropped):
            if reason := drop_reason(document):
                dropped.add(reason, document.id)
                continue
            examples = list(shape.build(document))
            if not examples:
                dropped.add(NO_TEXT, document.id)
            for example in examples:
                if reason := _drop_reason_of_texts(example, drop_reason) if shape.excerpts else "":
                    dropped.add(reason, document.id)
                elif settings.part(document.id) == part:
                    yield example


def _row_examples(files: Sequence[Path], settings: PairSettings, part: Part, dropped: DropReport) -> Iterator[Example]:
    """Yield the pairs of rows whose query is of the part; either text may be the title of a test paper."""
    drop_reason = settings.filters.load_check()
    for path in files:
        for example in read_pair_rows(InputFile(path), seed=settings.seed, dropped=dropped):
            key = item_key(example.query)
            if reason := _drop_reason_of_texts(example, drop_reason):
                dropped.add(reason, key[:80])
            elif settings.part(key) == part:
                yield example


def _drop_reason_of_texts(example: Example, drop_reason: Callable[[Document], str]) -> str:
    """Return why a text of a pair is dropped, each checked as if it were a title; "" if none is."""
    items = (example.query, *example.positives, *example.negatives)
    texts = (item.abstract if isinstance(item, Paper) else item for item in items)
    papers = (Paper(id="", title=text) for text in texts if isinstance(text, str))
    return next(filter(None, (drop_reason(build_document(paper)) for paper in papers)), "")
