"""Write pairs of every shape asked for as DPR-style files, a train and a dev file each."""

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
from sciprism.papers.records import Paper
from sciprism.papers.source import Source
from sciprism.prepare.citations.corpus import Gathering
from sciprism.prepare.citations.sources import Papers, Read
from sciprism.prepare.pairs.rows import read_rows
from sciprism.prepare.pairs.shapes import Shape, shapes
from sciprism.prepare.text.filters import Filters
from sciprism.seeding import random_fraction
from sciprism.text.documents.document import NOT_READ, Document
from sciprism.text.documents.papers import of_paper
from sciprism.text.documents.reading import read_documents
from sciprism.text.tokenizer import read_json
from sciprism.training.examples import Example, key_of, write_examples
from sciprism.training.paper_file import NAME, PaperFile

ROWS = "rows"
"""The shape of files whose rows are pairs already."""
ACCOUNT = "pairs.json"
ACROSS = "train paper that cites a dev paper"
NO_TEXT = "a text of the pair is missing"
PARTS = ("train", "dev")


@dataclass(slots=True)
class Part:
    """A file that was written: its pairs and its checksum."""

    file: Path
    pairs: int


@dataclass(slots=True)
class Pairs:
    """What came of each source, a shape or a file of rows: part -> file, and what was dropped.

    files: that it was made of, name -> bytes. dropped: of the papers themselves.
    """

    files: dict[str, dict[str, int]] = field(default_factory=dict)
    parts: dict[str, dict[str, Part]] = field(default_factory=dict)
    lost: dict[str, DropReport] = field(default_factory=dict)
    dropped: DropReport = field(default_factory=DropReport)

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return {
            "sources": {
                name: {"files": self.files[name]}
                | {part: {"pairs": each.pairs, "sha256": sha256(each.file)} for part, each in parts.items()}
                | {"dropped": self.lost[name].to_json()}
                for name, parts in self.parts.items()
            },
            "dropped": self.dropped.to_json(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How pairs are made.

    citations: a table citing, cited instead of papers' own references. dev: the share of papers (of rows: of
    queries) that is held out, by hash. filters: which papers may take part.
    """

    shapes: tuple[str, ...]
    citations: Path | None = None
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
        """Return what decides which papers are dev."""
        return {"dev": self.dev, "seed": self.seed}

    def part(self, name: str) -> str:
        """Return the part of a paper, by a hash of its id."""
        return PARTS[random_fraction(self.seed, "dev", name) < self.dev]


def prepare_pairs(out: Path, files: Sequence[Path], settings: Settings) -> Pairs:
    """Write `train/SHAPE.jsonl`, `dev/SHAPE.jsonl` and `pairs.json` below `out`; of rows a source each file.

    A citation is dev where the citing paper is, and train where neither is dev. What `out` holds already
    stays, and its account too. Raises InputError where nothing gave a pair, or something would be lost.
    """
    wanted = _wanted(files, settings)
    made = Pairs(files={name: {each.name: _size(each) for each in own} for name, (_, own) in wanted.items()})
    before = _before(out, made, settings)
    out.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".papers-", dir=out) as folder:
        citations: Iterable[tuple[Paper, Paper]] = ()
        if any(name != ROWS and shapes[name].of == "citation" for name in settings.shapes):
            citations = _Citations(Path(folder) / NAME, files, settings, made.dropped)
        for name, (shape, own) in wanted.items():
            lost = made.lost[name] = DropReport()
            made.parts[name] = {}
            for part in PARTS if settings.dev else PARTS[:1]:
                if shape is None:
                    found = _rows(own, settings, part, lost)
                elif shape.of == "citation":
                    found = _cited(citations, shape, settings, part, lost)
                else:
                    found = _documents(own, shape, settings, part, lost)
                path = out / part / f"{name}.jsonl"
                made.parts[name][part] = Part(path, write_examples(found, path))
                lost = DropReport()  # what is dropped is told once, not for each part
    if not any(part.pairs for parts in made.parts.values() for part in parts.values()):
        reasons = [f"{r} {t.count(r):,}" for t in (made.dropped, *made.lost.values()) for r in t.ids]
        raise InputError(f"no pair was made: {', '.join(reasons) or 'there was nothing to make one of'}")
    told = made.to_json()
    told["sources"] = before.get("sources", {}) | told["sources"]
    told["dropped"] = told["dropped"] or before.get("dropped", {})
    write_json(out / ACCOUNT, {"version": version("sciprism"), "settings": settings.held_out} | told)
    return made


def _wanted(files: Sequence[Path], settings: Settings) -> dict[str, tuple[Shape | None, Sequence[Path]]]:
    """Return of each source its shape, None for rows, and the files that it is made of."""
    named = [(name, shapes[name], files) for name in settings.shapes if name != ROWS]
    rows = files if ROWS in settings.shapes else ()
    sources = [*named, *((Path(path.name.removesuffix(".gz")).stem, None, [path]) for path in rows)]
    names = Counter(name for name, _, _ in sources)
    if twice := [name for name, count in names.items() if count > 1]:
        raise InputError(f"two sources would be train/{twice[0]}.jsonl; rename a file of rows")
    return {name: (shape, own) for name, shape, own in sources}


def _before(out: Path, made: Pairs, settings: Settings) -> dict[str, Any]:
    """Return the account of what a folder holds already; refuse to replace what other files gave."""
    if not (out / ACCOUNT).exists():
        return {}
    known = read_json(out / ACCOUNT)
    if known.get("settings") != settings.held_out:
        raise InputError(
            f"{out / ACCOUNT}: made with {known.get('settings')}, now {settings.held_out}, so that other "
            "papers would be held out; name another folder"
        )
    for name, own in made.files.items():
        if known["sources"].get(name, {}).get("files", own) != own:
            raise InputError(
                f"{out}/train/{name}.jsonl was made of other files; name another folder, or give all at once"
            )
    return known  # type: ignore[no-any-return]


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


class _Citations:
    """Citing and cited papers, read anew each time; their texts stay on disk."""

    def __init__(self, path: Path, files: Sequence[Path], settings: Settings, dropped: DropReport) -> None:
        read = Read(dropped=dropped)
        papers = Papers(files=tuple(files), citations=settings.citations, read=read)
        fault = settings.filters.judge()
        gathering = Gathering(lambda paper: fault(of_paper(paper)), dropped)
        self._corpus = gathering.corpus(papers, path, papers.edges())
        self._papers = PaperFile(path)
        unnamed = read.report.skipped_count - len(read.report.skipped)
        for name in [*map(str, read.report.skipped), *["another"] * unnamed]:
            dropped.add(NOT_READ, name)

    def __iter__(self) -> Iterator[tuple[Paper, Paper]]:
        names, cited = self._corpus.names, self._corpus.graph.cited
        for row, (start, end) in enumerate(pairwise(cited.bounds.tolist())):
            for other in cited.others[start:end].tolist():
                yield self._papers[names[row]], self._papers[names[other]]


def _cited(
    citations: Iterable[tuple[Paper, Paper]], shape: Shape, settings: Settings, part: str, lost: DropReport
) -> Iterator[Example]:
    for citing, cited in citations:
        mine = settings.part(citing.id)
        if mine == "train" and settings.part(cited.id) == "dev":
            lost.add(ACROSS, f"{citing.id} -> {cited.id}")
            continue
        examples = list(shape.make(citing, cited))
        if not examples:
            lost.add(NO_TEXT, f"{citing.id} -> {cited.id}")
        if mine == part:
            yield from examples


def _documents(
    files: Sequence[Path], shape: Shape, settings: Settings, part: str, lost: DropReport
) -> Iterator[Example]:
    fault = settings.filters.judge()
    for path in files:
        for document in read_documents(path, dropped=lost):
            if reason := fault(document):
                lost.add(reason, document.id)
                continue
            examples = list(shape.make(document))
            if not examples:
                lost.add(NO_TEXT, document.id)
            for example in examples:
                if reason := _fault_of_texts(example, fault) if shape.cut else "":
                    lost.add(reason, document.id)
                elif settings.part(document.id) == part:
                    yield example


def _rows(files: Sequence[Path], settings: Settings, part: str, lost: DropReport) -> Iterator[Example]:
    """Yield the pairs of rows whose query is of the part; the words of both sides may name a test paper."""
    fault = settings.filters.judge()
    for path in files:
        for example in read_rows(Source(path), seed=settings.seed, dropped=lost):
            if reason := _fault_of_texts(example, fault):
                lost.add(reason, key_of(example.query)[:80])
            elif settings.part(key_of(example.query)) == part:
                yield example


def _fault_of_texts(example: Example, fault: Callable[[Document], str]) -> str:
    """Return why a text of a pair may take no part, each as if it were a title; "" where all may."""
    texts = (example.query, *example.positives, *example.negatives)
    told = (text.abstract if isinstance(text, Paper) else text for text in texts)
    papers = (Paper(id="", title=text) for text in told if isinstance(text, str))
    return next(filter(None, (fault(of_paper(paper)) for paper in papers)), "")
