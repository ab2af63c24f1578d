"""Write pairs of every requested shape as DPR-style files, a train and a dev file each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.files import sha256, write_json
from sciprism.papers.input_file import InputFile
from sciprism.papers.json_records import NOT_READ
from sciprism.papers.records import Paper
from sciprism.prepare.citations.corpus import CorpusBuilder
from sciprism.prepare.citations.sources import CitationSources, PaperReader
from sciprism.prepare.pairs.rows import read_pair_rows
from sciprism.prepare.pairs.shapes import PairShape, shapes
from sciprism.prepare.text.filters import Filters
from sciprism.seeding import random_fraction
from sciprism.text.documents.document import Document
from sciprism.text.documents.papers import build_document
from sciprism.text.documents.read import read_documents
from sciprism.text.tokenizer import read_json
from sciprism.training.examples import Example, item_key, write_examples
from sciprism.training.paper_lookup import PAPERS_FILE, PaperLookup

ROWS = "rows"
"""The shape of files whose rows are already pairs."""
REPORT = "pairs.json"
NO_TEXT = "a text of the pair is missing"
PARTS = ("train", "dev")


@dataclass(slots=True)
class PairFile:
    """A written file and its number of pairs."""

    file: Path
    pairs: int


@dataclass(slots=True)
class PreparedPairs:
    """What was written of each source, a shape or a file of rows.

    inputs: source -> input file -> bytes. parts: source -> part -> file. dropped: by source. dropped_papers:
    papers and citations.
    """

    inputs: dict[str, dict[str, int]] = field(default_factory=dict)
    parts: dict[str, dict[str, PairFile]] = field(default_factory=dict)
    dropped: dict[str, DropReport] = field(default_factory=dict)
    dropped_papers: DropReport = field(default_factory=DropReport)

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return {
            "sources": {
                name: {"files": self.inputs[name]}
                | {part: {"pairs": each.pairs, "sha256": sha256(each.file)} for part, each in parts.items()}
                | {"dropped": self.dropped[name].to_json()}
                for name, parts in self.parts.items()
            },
            "dropped": self.dropped_papers.to_json(),
        }


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
        if not 0 <= self.dev < 1:
            raise InputError(f"a share of {self.dev} for dev; it must be 0 or more, and less than 1")
        for name in self.shapes:
            if name != ROWS:
                shapes[name]

    @property
    def held_out(self) -> dict[str, float]:
        """Return the settings that decide which papers are dev."""
        return {"dev": self.dev, "seed": self.seed}

    def part(self, name: str) -> str:
        """Return the part of a paper, by a hash of its id."""
        return PARTS[random_fraction(self.seed, "dev", name) < self.dev]


def prepare_pairs(out: Path, files: Sequence[Path], settings: PairSettings) -> PreparedPairs:
    """Write `train/SHAPE.jsonl`, `dev/SHAPE.jsonl` and `pairs.json` below `out`.

    Each file of rows is a separate source. A citation is dev if the citing paper is, and train if neither
    paper is dev. Other sources in `out` stay, and their entries in `pairs.json` too. Raises InputError if
    there is no pair, or if a source of other files would be replaced.
    """
    sources = _list_sources(files, settings)
    prepared = PreparedPairs()
    for name, (_, own) in sources.items():
        prepared.inputs[name] = {each.name: each.stat().st_size if each.is_file() else 0 for each in own}
    former = _read_former_report(out, prepared, settings)
    out.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".papers-", dir=out) as folder:
        citations: Iterable[tuple[Paper, Paper]] = ()
        if any(shape and shape.built_from == "citation" for shape, _ in sources.values()):
            citations = _Citations(Path(folder) / PAPERS_FILE, files, settings, prepared.dropped_papers)
        for name, (shape, own) in sources.items():
            dropped = prepared.dropped[name] = DropReport()
            prepared.parts[name] = {}
            for part in PARTS if settings.dev else PARTS[:1]:
                if shape is None:
                    examples = _row_examples(own, settings, part, dropped)
                elif shape.built_from == "citation":
                    examples = _citation_examples(citations, shape, settings, part, dropped)
                else:
                    examples = _document_examples(own, shape, settings, part, dropped)
                path = out / part / f"{name}.jsonl"
                prepared.parts[name][part] = PairFile(path, write_examples(examples, path))
                dropped = DropReport()  # each part reads everything; what is dropped counts once
    if not any(part.pairs for parts in prepared.parts.values() for part in parts.values()):
        reports = (prepared.dropped_papers, *prepared.dropped.values())
        reasons = [f"{reason} {report.count(reason):,}" for report in reports for reason in report.ids]
        raise InputError(f"no pair was built: {', '.join(reasons) or 'there was nothing to build one from'}")
    report = prepared.to_json()
    report["sources"] = former.get("sources", {}) | report["sources"]
    report["dropped"] = report["dropped"] or former.get("dropped", {})
    write_json(out / REPORT, {"version": version("sciprism"), "settings": settings.held_out} | report)
    return prepared


def _list_sources(files: Sequence[Path], settings: PairSettings) -> dict[str, tuple[PairShape | None, Sequence[Path]]]:
    """Return each source with its shape, None for rows, and its input files."""
    named = [(name, shapes[name], files) for name in settings.shapes if name != ROWS]
    rows = files if ROWS in settings.shapes else ()
    sources = [*named, *((Path(path.name.removesuffix(".gz")).stem, None, [path]) for path in rows)]
    names = Counter(name for name, _, _ in sources)
    if repeated := [name for name, count in names.items() if count > 1]:
        raise InputError(f"two sources would be train/{repeated[0]}.jsonl; rename a file of rows")
    return {name: (shape, own) for name, shape, own in sources}


def _read_former_report(out: Path, prepared: PreparedPairs, settings: PairSettings) -> dict[str, Any]:
    """Return the report of what a folder has already. Raises InputError if other files would be replaced."""
    if not (out / REPORT).exists():
        return {}
    former = read_json(out / REPORT)
    if former.get("settings") != settings.held_out:
        raise InputError(
            f"{out / REPORT}: prepared with {former.get('settings')}, now {settings.held_out}, so that other "
            "papers would be held out; name another folder"
        )
    for name, own in prepared.inputs.items():
        if former["sources"].get(name, {}).get("files", own) != own:
            raise InputError(
                f"{out}/train/{name}.jsonl was built from other files; name another folder, or give all files"
            )
    return former  # type: ignore[no-any-return]


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
    part: str,
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
    files: Sequence[Path], shape: PairShape, settings: PairSettings, part: str, dropped: DropReport
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


def _row_examples(files: Sequence[Path], settings: PairSettings, part: str, dropped: DropReport) -> Iterator[Example]:
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
