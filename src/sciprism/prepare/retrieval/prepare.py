"""Write a retrieval set as NASA-IR is built, in BEIR's layout, with a declaration to be scored by."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.files import commit, sha256, write_json, write_lines
from sciprism.papers.reading import ReadReport, read_papers
from sciprism.papers.records import Paper
from sciprism.prepare.retrieval.fillers import Fillers
from sciprism.prepare.retrieval.pairs import Annotated, read_annotated, same
from sciprism.seeding import random_bits, random_fraction

By = Literal["paragraph", "question"]
REPORT = "ir.json"
TASKS = "tasks.toml"
HEAD = "query-id\tcorpus-id\tscore"
DECLARATION = """[[task]]
name = "{name}"
protocol = "retrieve"
format = "search"
metric = ["recall@10", "ndcg@10", "mrr"]
data = "."
split = "test"
without_itself = false
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a retrieval set is made.

    fillers: abstracts beside the annotated paragraphs. dev: the share of paragraphs, or of questions, whose
    judgements go to dev. by: "paragraph": a document is judged in dev or in test; "question" as NASA-IR,
    where questions about one paragraph fall on both sides, so that what is tuned on dev has seen documents
    of the test. seed: of fillers and parts.
    """

    fillers: int
    dev: float = 0.2
    by: By = "paragraph"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.fillers < 0:
            raise InputError(f"{self.fillers} fillers; it must be 0 or more")
        if not 0 <= self.dev < 1:
            raise InputError(f"a share of {self.dev} for dev; it must be 0 or more, and less than 1")
        if self.by not in get_args(By):
            raise InputError(f"a division by {self.by!r}; known: {', '.join(get_args(By))}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What was written. questions: part -> how many; seen: papers gone through; able: with an abstract."""

    paragraphs: int
    fillers: int
    questions: Mapping[str, int]
    seen: int
    able: int
    pairs: DropReport
    papers: DropReport
    report: ReadReport = field(default_factory=ReadReport)


def prepare_ir(questions: Path, papers: Sequence[Path], out: Path, made: Settings) -> Prepared:
    """Write corpus.jsonl, queries.jsonl, qrels/dev.tsv and test.tsv, tasks.toml, and ir.json with all counts.

    Documents are texts without titles, as in NASA-IR: a title would tell fillers from paragraphs. Ids begin
    with d and q and hash the text; they never coincide, and stay the same when fillers or parts change.
    """
    if "-" in map(str, papers):
        raise InputError("papers are read twice, which standard input cannot be; name files")
    dropped, report = DropReport(), ReadReport()
    annotated = read_annotated(questions, dropped)
    parts = divide(annotated, made)

    def read() -> Iterator[Paper]:
        report.files.clear()
        report.skipped.clear()
        report.ignored = 0
        return read_papers(papers, skip_bad=True, report=report)

    fillers = Fillers(read, (pair.paragraph for pair in annotated), made.fillers, seed=made.seed)
    documents = write_lines(out / "corpus.jsonl", _documents(annotated, fillers), errors="replace")
    queries = {question: query_id(question) for pair in annotated for question in pair.questions}
    lines = (_line(name, question) for question, name in queries.items())
    write_lines(out / "queries.jsonl", lines, errors="replace")
    for part, rows in parts.items():
        write_lines(out / "qrels" / f"{part}.tsv", (HEAD, *rows))
    name = f"{questions.name.partition('.')[0]}-ir"
    commit(out / TASKS, lambda file: file.write(DECLARATION.format(name=_safe(name)).encode()))
    done = Prepared(
        paragraphs=len(annotated),
        fillers=documents - len(annotated),
        questions={part: len(rows) for part, rows in parts.items()},
        seen=fillers.seen,
        able=fillers.able,
        pairs=dropped,
        papers=fillers.dropped,
        report=report,
    )
    write_json(out / REPORT, _told(done, made, questions))
    return done


def divide(annotated: Sequence[Annotated], made: Settings) -> dict[str, list[str]]:
    """Return dev (where a share was asked for) and test -> their rows of judgements.

    The share of paragraphs, or of questions, whose hash is lowest goes to dev; at least one where there are
    two. Raises InputError where the test would be empty.
    """
    units: dict[str, list[str]] = {}
    for pair in annotated:
        for question in pair.questions:
            unit = pair.paragraph if made.by == "paragraph" else question
            row = f"{query_id(question)}\t{document_id(pair.paragraph)}\t1"
            units.setdefault(same(unit), []).append(row)
    order = sorted(units, key=lambda unit: random_fraction(made.seed, "dev", unit))
    most = len(order) - 1
    count = min(most, max(1, round(made.dev * len(order)))) if made.dev else 0
    if made.dev and not count:
        raise InputError(f"one {made.by} cannot be divided into dev and test; pass --dev 0")
    chosen = set(order[:count])
    parts = {
        "dev": [row for unit, rows in units.items() if unit in chosen for row in rows],
        "test": [row for unit, rows in units.items() if unit not in chosen for row in rows],
    }
    return {part: rows for part, rows in parts.items() if rows}


def document_id(text: str) -> str:
    """Return a document's id: d and 16 digits that its text decides."""
    return f"d{random_bits('document', same(text)):016x}"


def query_id(text: str) -> str:
    """Return a question's id: q and 16 digits that its text decides."""
    return f"q{random_bits('query', same(text)):016x}"


def _documents(annotated: Iterable[Annotated], fillers: Iterable[Paper]) -> Iterator[str]:
    for pair in annotated:
        yield _line(document_id(pair.paragraph), pair.paragraph)
    for paper in fillers:
        yield _line(document_id(paper.abstract), paper.abstract, {"paper": paper.id})


def _line(name: str, text: str, metadata: Mapping[str, str] | None = None) -> str:
    row = {"_id": name, "text": text, "metadata": metadata or {}}
    return json.dumps(row, ensure_ascii=False)


def _safe(name: str) -> str:
    return "".join(c if c.isascii() and (c.isalnum() or c in "._=+-") else "-" for c in name).lstrip("._=+-")


def _told(done: Prepared, made: Settings, questions: Path) -> dict[str, Any]:
    read = [
        {"file": Path(file.path).name, "papers": file.papers, "skipped": file.skipped}
        for file in done.report.files
    ]
    return {
        "settings": asdict(made),
        "questions": {"file": questions.name, "sha256": sha256(questions)},
        "papers": read,
        "paragraphs": done.paragraphs,
        "fillers": done.fillers,
        "drawn from": done.able,
        "judgements": dict(done.questions),
        "dropped": {"pairs": done.pairs.to_json(), "papers": done.papers.to_json()},
    }
