"""Write pairs of texts of every requested shape as DPR-style files, a train and a dev file each."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from pydantic import model_validator

from sciprism.datasets.open_data import Part
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.evaluation.task import read_sizes
from sciprism.files import create_work_folder
from sciprism.formats import Role
from sciprism.papers.input_file import InputFile
from sciprism.papers.records import Paper
from sciprism.papers.rows import NOT_READ
from sciprism.prepare.filters import Filters
from sciprism.prepare.preparation import PARTS, CountTable, DevShare, ExampleFolder, Preparation, Settings
from sciprism.prepare.sources.citation_corpus import CitationSources, PaperReader, build_corpus
from sciprism.registry import Registry
from sciprism.seeding import random_bits, random_fraction
from sciprism.text.documents.document import PARAGRAPH_BREAK, Document, build_document, read_documents
from sciprism.text.sentences import split_sentences
from sciprism.text.tokenizer import read_json
from sciprism.training.examples import PAPERS_FILE, Example, PaperLookup, item_key

MAX_BODY = 5_000  # characters of a body in a pair: more than any encoder here reads
MIN_SENTENCE = 20  # characters of a sentence: shorter ones are headings or splitting errors

Examples = Iterator[Example]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairShape:
    """One shape. query, candidate: the roles of a file's texts in a recipe. lengths: s2p, p2p or s2s.

    build: yields the pairs of one document, of one citation (citing and cited paper), or of a file whose rows
    are pairs: built_from. excerpts: its texts are excerpts, each of which may occur in a test by itself.
    """

    query: Role
    candidate: Role = "paper"
    lengths: str
    build: Callable[..., Examples]
    built_from: Literal["document", "citation", "file"] = "document"
    excerpts: bool = False


shapes: Registry[PairShape] = Registry("shape of pairs")


def _title_abstract(document: Document) -> Examples:
    paper = document.paper
    if paper.title and paper.abstract:
        yield Example(paper.title, (Paper(id=paper.id, abstract=paper.abstract),))


def _title_body(document: Document) -> Examples:
    """Take the text after the title and, if it is known, after the abstract."""
    title, rest = document.paper.title, document.text
    for part in (title, document.paper.abstract):
        rest = rest.removeprefix(part).strip() if part else rest
    body = rest[:MAX_BODY].replace(PARAGRAPH_BREAK, " ")
    if title and body:
        yield Example(title, (Paper(id=document.id, abstract=body),))


def _neighbour_sentences(document: Document) -> Examples:
    """Take the first and the second sentence of an abstract, the third and the fourth, and so on."""
    paper = document.paper
    sentences = [sentence for sentence in split_sentences(paper.abstract) if len(sentence) >= MIN_SENTENCE]
    for one, other in zip(sentences[::2], sentences[1::2], strict=False):
        yield Example(one, (Paper(id=paper.id, abstract=other),))


def _first_sentence(document: Document, *, query: Literal["title", "sentence"]) -> Examples:
    """Take the title with the abstract's first sentence, or that sentence, as a search, with the rest."""
    paper = document.paper
    first, *rest = [text for text in split_sentences(paper.abstract) if len(text) >= MIN_SENTENCE] or [""]
    if query == "title" and paper.title and first:
        yield Example(paper.title, (Paper(id=paper.id, abstract=first),))
    elif query == "sentence" and rest:
        yield Example(first, (Paper(id=paper.id, abstract=" ".join(rest)),))


def _citing_cited(citing: Paper, cited: Paper, *, text: Literal["title", "abstract"]) -> Examples:
    """Take the title, or the abstract, of both papers alone."""
    if getattr(citing, text) and getattr(cited, text):
        one, other = (Paper(id=paper.id, **{text: getattr(paper, text)}) for paper in (citing, cited))
        yield Example(one, (other,))


shapes["title-abstract"] = PairShape(query="query", lengths="s2p", build=_title_abstract)
shapes["title-body"] = PairShape(query="query", lengths="s2p", build=_title_body)
shapes["neighbour-sentences"] = PairShape(query="query", lengths="s2s", build=_neighbour_sentences, excerpts=True)
shapes["title-first-sentence"] = PairShape(
    query="query", lengths="s2s", build=partial(_first_sentence, query="title"), excerpts=True
)
shapes["first-sentence-rest"] = PairShape(
    query="query", lengths="s2p", build=partial(_first_sentence, query="sentence"), excerpts=True
)
shapes["citing-cited-abstracts"] = PairShape(
    query="paper", lengths="p2p", build=partial(_citing_cited, text="abstract"), built_from="citation"
)
shapes["citing-cited-titles"] = PairShape(
    query="paper", lengths="s2s", build=partial(_citing_cited, text="title"), built_from="citation"
)

ROW_FORMATS = '["a", "b"], ["anchor", "positive", "negative"], {"set": [..]} or {"query", "pos", "neg"}'


def read_pair_rows(source: InputFile, *, seed: int, dropped: DropReport) -> Iterator[Example]:
    """Yield the pairs of a file of JSON lines, plain or gzip; rows of an unknown format are counted.

    A set of n texts gives n - 1 pairs: each text with the next, in an order by hash with the seed.
    """
    for line, words in source.lines():
        if not words.strip():
            continue
        name = f"{source.path.name}, line {line}"
        try:
            for example in _examples(json.loads(words), seed):
                if example.query == example.positives[0]:
                    dropped.add("pair of a text and itself", name)
                else:
                    yield example
        except (ValueError, RecursionError) as error:
            dropped.add(NOT_READ, f"{name}: {error}"[:300])


def _examples(value: Any, seed: int) -> list[Example]:
    if isinstance(value, Mapping) and "set" in value:
        texts = sorted(_texts(value["set"], 2), key=lambda text: random_bits(seed, text))
        return [Example(one, (other,)) for one, other in pairwise(texts)]
    if isinstance(value, Mapping) and "query" in value:
        (query,) = _texts([value["query"]], 1)
        positives = _texts(_as_list(value.get("pos")), 1)
        return [Example(query, positives, _texts(_as_list(value.get("neg") or []), 0))]
    query, positive, *negatives = _texts(value, 2)
    return [Example(query, (positive,), tuple(negatives))]


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _texts(value: Any, min_count: int) -> tuple[str, ...]:
    valid = isinstance(value, list) and all(isinstance(text, str) and text.strip() for text in value)
    if not valid or len(value) < min_count:
        raise ValueError(f"expected {ROW_FORMATS}")
    return tuple(value)


ROWS = "rows"  # the shape of files whose rows are already pairs
shapes[ROWS] = PairShape(
    query="query", candidate="query", lengths="", build=read_pair_rows, built_from="file", excerpts=True
)
REPORT = "pairs.json"
PUBLISHED = {name: counts["pairs"] for name, counts in read_sizes("indus/10").items()}
"""Pairs of the sources of INDUS' recipes (Table 10)."""
NO_TEXT = "a text of the pair is missing"
WORDS = ("source", "sheet", "query", "candidate")


class PairSettings(Settings):
    """How pairs are built.

    edges: a table citing, cited instead of the papers' own references. dev: share of the papers (of rows: of
    the queries) that is held out, by hash. filters: which papers are dropped.
    """

    shapes: tuple[str, ...]
    edges: Path | None = None
    dev: DevShare = 0.01
    seed: int = 0
    filters: Filters = Filters()

    @model_validator(mode="after")
    def _check(self) -> PairSettings:
        for name in self.shapes:
            shapes[name]
        return self

    def part(self, name: str) -> Part:
        """Return the part of a paper, by a hash of its id."""
        return PARTS[random_fraction(self.seed, "dev", name) < self.dev]


@dataclass(slots=True)
class PairSource:
    """A source of pairs: a shape of all files, or one file of rows."""

    name: str
    shape: PairShape
    files: Sequence[Path]
    dropped: DropReport = field(default_factory=DropReport)

    def file(self, part: Part) -> str:
        """Return the name of the file of one part."""
        return f"{part}/{self.name}.jsonl"

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
        published = {"published": PUBLISHED[self.name]} if self.name in PUBLISHED else {}
        return {"files": self.inputs, **parts, **published, "dropped": self.dropped.to_json()}


def prepare_pairs(out: Path, files: Sequence[Path], settings: PairSettings) -> Preparation:
    """Write `train/SHAPE.jsonl`, `dev/SHAPE.jsonl` and `pairs.json` below `out`.

    Each file of rows is a separate source. A citation is dev if the citing paper is, and train if neither
    paper is dev. Other sources in `out` stay, and their entries in `pairs.json` too. Raises InputError if
    there is no pair, or if a source of other files would be replaced.
    """
    sources = [PairSource(name, shapes[name], files) for name in settings.shapes if name != ROWS]
    for path in files if ROWS in settings.shapes else ():
        sources.append(PairSource(Path(path.name.removesuffix(".gz")).stem, shapes[ROWS], [path]))
    if repeated := [name for name, count in Counter(source.name for source in sources).items() if count > 1]:
        raise InputError(f"two sources would be train/{repeated[0]}.jsonl; rename a file of rows")
    held_out = {"dev": settings.dev, "seed": settings.seed}  # what decides which papers are dev
    former = _read_former_report(out / REPORT, sources, held_out)
    folder, dropped_papers = ExampleFolder(out), DropReport()
    with create_work_folder(out, ".papers-") as texts:
        citations: Iterable[tuple[Paper, Paper]] = ()
        if any(source.shape.built_from == "citation" for source in sources):
            citations = _Citations(texts / PAPERS_FILE, files, settings, dropped_papers)
        for source in sources:
            _write_source(folder, source, citations, settings)
    reports = {"papers and citations": dropped_papers} | {source.name: source.dropped for source in sources}
    if not any(folder.counts.values()):
        reasons = ", ".join(filter(None, map(str, reports.values())))
        raise InputError(f"no pair was built: {reasons or 'there was nothing to build one from'}")
    record = {
        "settings": held_out,
        "sources": former.get("sources", {}) | {source.name: source.to_json(folder) for source in sources},
        "dropped": dropped_papers.to_json() or former.get("dropped", {}),
    }
    rows: list[list[str | int]] = [
        [s.name, s.shape.lengths, s.shape.query, s.shape.candidate, *(folder.counts.get(s.file(p), "") for p in PARTS)]
        for s in sources
    ]
    table = CountTable(WORDS, PARTS, rows)
    return Preparation(
        files=folder.counts,
        record=folder.write_manifest(REPORT, record),
        dropped=reports,
        tables=[table.with_column("INDUS, Table 10", PUBLISHED)],
    )


def _read_former_report(path: Path, sources: Sequence[PairSource], held_out: dict[str, float]) -> dict[str, Any]:
    """Return the report of what a folder has already. Raises InputError if other files would be replaced."""
    if not path.exists():
        return {}
    former: dict[str, Any] = read_json(path)
    if former.get("settings") != held_out:
        raise InputError(
            f"{path}: prepared with {former.get('settings')}, now {held_out}, so that other "
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
    drop_reason, dropped = settings.filters.load_check(), source.dropped

    def examples(part: Part) -> Iterator[Example]:
        """Yield the pairs of a part; an excerpt may be the title of a test paper."""
        for name, group_part, pairs in _read_groups(source, citations, settings, drop_reason, dropped):
            if not pairs:
                dropped.add(NO_TEXT, name)
            for example in pairs:
                if reason := _drop_reason_of_texts(example, drop_reason) if source.shape.excerpts else "":
                    dropped.add(reason, name)
                elif group_part == part:
                    yield example

    for part in PARTS if settings.dev else PARTS[:1]:
        folder.write(source.file(part), examples(part))
        dropped = DropReport()


class _Citations:
    """Citing and cited papers, read anew at each iteration; their texts stay on disk."""

    def __init__(self, path: Path, files: Sequence[Path], settings: PairSettings, dropped: DropReport) -> None:
        reader = PaperReader(dropped=dropped)
        sources = CitationSources(files=tuple(files), edges=settings.edges, reader=reader)
        drop_reason = settings.filters.load_check()
        self._corpus = build_corpus(
            sources, path, lambda paper: drop_reason(build_document(paper)), dropped, sources.read_edges()
        )
        self._papers = PaperLookup(path)
        for place in reader.unreadable():
            dropped.add(NOT_READ, place)

    def __iter__(self) -> Iterator[tuple[Paper, Paper]]:
        names, cited = self._corpus.names, self._corpus.graph.cited
        for row, (start, end) in enumerate(pairwise(cited.bounds.tolist())):
            for other in cited.others[start:end].tolist():
                yield self._papers[names[row]], self._papers[names[other]]


def _read_groups(
    source: PairSource,
    citations: Iterable[tuple[Paper, Paper]],
    settings: PairSettings,
    drop_reason: Callable[[Document], str],
    dropped: DropReport,
) -> Iterator[tuple[str, Part, list[Example]]]:
    """Yield (name, part, pairs) of each citation, document or row of a source."""
    shape = source.shape
    if shape.built_from == "citation":
        for citing, cited in citations:
            name, part = f"{citing.id} -> {cited.id}", settings.part(citing.id)
            if part == "train" and settings.part(cited.id) == "dev":
                dropped.add("train paper that cites a dev paper", name)
            else:
                yield name, part, list(shape.build(citing, cited))
        return
    for path in source.files:
        if shape.built_from == "file":
            for example in shape.build(InputFile(path), seed=settings.seed, dropped=dropped):
                key = item_key(example.query)
                yield key[:80], settings.part(key), [example]
            continue
        for document in read_documents(path, dropped=dropped):
            if reason := drop_reason(document):
                dropped.add(reason, document.id)
            else:
                yield document.id, settings.part(document.id), list(shape.build(document))


def _drop_reason_of_texts(example: Example, drop_reason: Callable[[Document], str]) -> str:
    """Return why a text of a pair is dropped, each checked as if it were a title; "" if none is."""
    items = (example.query, *example.positives, *example.negatives)
    texts = (item.abstract if isinstance(item, Paper) else item for item in items)
    papers = (Paper(id="", title=text) for text in texts if isinstance(text, str))
    return next(filter(None, (drop_reason(build_document(paper)) for paper in papers)), "")
