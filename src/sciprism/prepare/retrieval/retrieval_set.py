"""Write a retrieval set built like NASA-IR, in BEIR's layout, with its task declaration."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Literal, get_args

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.files import sha256, write_atomically, write_json, write_lines
from sciprism.papers.read import ReadReport, read_papers
from sciprism.papers.records import Paper
from sciprism.prepare.preparation import Preparation, check_dev_share
from sciprism.prepare.retrieval.distractors import DistractorSampler
from sciprism.prepare.retrieval.questions import AnnotatedParagraph, normalize_text, read_annotated_paragraphs
from sciprism.seeding import random_bits, random_fraction

SplitBy = Literal["paragraph", "question"]
REPORT = "ir.json"
TASKS = "tasks.toml"
DECLARATION = """[[task]]
name = "{name}"
protocol = "retrieve"
format = "search"
metric = ["recall@10", "ndcg@10", "mrr"]
data = "."
split = "test"
without_itself = false
remark = "{paragraphs:,} annotated paragraphs among {others:,} other abstracts; dev and test are divided by {by}"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalSettings:
    """How a retrieval set is built.

    distractors: abstracts next to the annotated paragraphs. dev: share of the paragraphs, or of the
    questions, whose judgements are dev. split_by: "paragraph": a document is judged in dev or in test;
    "question" as NASA-IR, where questions about one paragraph are in both, so that dev knows documents of the
    test. seed: of distractors and split.
    """

    distractors: int
    dev: float = 0.2
    split_by: SplitBy = "paragraph"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.distractors < 0:
            raise InputError(f"{self.distractors} distractors; it must be 0 or more")
        check_dev_share(self.dev)
        if self.split_by not in get_args(SplitBy):
            raise InputError(f"split by {self.split_by!r}; known: {', '.join(get_args(SplitBy))}")


def prepare_ir(questions: Path, papers: Sequence[Path], out: Path, settings: RetrievalSettings) -> Preparation:
    """Write corpus.jsonl, queries.jsonl, qrels/dev.tsv and test.tsv, tasks.toml, and ir.json with all counts.

    Documents are texts without titles, as in NASA-IR: a title would distinguish distractors from paragraphs.
    Ids begin with d and q and hash the text; they are distinct, and do not depend on distractors and split.
    """
    if "-" in map(str, papers):
        raise InputError("papers are read twice, which standard input cannot be; name files")
    dropped, report = DropReport(), ReadReport()
    annotated = read_annotated_paragraphs(questions, dropped)
    parts = split_judgements(annotated, settings)
    paragraphs = (pair.paragraph for pair in annotated)
    reader = partial(_read_anew, papers, report)
    distractors = DistractorSampler(reader, paragraphs, settings.distractors, seed=settings.seed)
    files = _write_files(out, annotated, distractors, parts)
    name = re.sub(r"[^A-Za-z0-9._=+-]", "-", f"{questions.name.partition('.')[0]}-ir").lstrip("._=+-")
    counts = {"paragraphs": len(annotated), "others": distractors.count, "by": settings.split_by}
    write_atomically(out / TASKS, lambda file: file.write(DECLARATION.format(name=name, **counts).encode()))
    record = {
        "settings": asdict(settings),
        "questions": {"file": questions.name, "sha256": sha256(questions)},
        "papers": [
            {"file": Path(file.path).name, "papers": file.papers, "skipped": file.skipped} for file in report.files
        ],
        "paragraphs": len(annotated),
        "distractors": distractors.count,
        "sampled from": distractors.usable,
        "judgements": {part: len(rows) for part, rows in parts.items()},
        "dropped": {"pairs": dropped.to_json(), "papers": distractors.dropped.to_json()},
    }
    write_json(out / REPORT, record)
    done = Preparation(files=files, record=record, read=report.files)
    done.dropped = {"questions": dropped, "papers": distractors.dropped}
    found = ", ".join(f"{len(rows):,} questions in {part}" for part, rows in parts.items())
    done.notes = [
        f"{len(annotated):,} paragraphs and {distractors.count:,} distractors; {found}",
        f"distractors are sampled from {distractors.usable:,} abstracts of {distractors.seen:,} papers",
        f"to score it: sciprism evaluate MODEL --tasks {out / TASKS} -o RESULTS",
    ]
    return done


def _read_anew(papers: Sequence[Path], report: ReadReport) -> Iterator[Paper]:
    """Read the papers from the start; the report counts one reading."""
    report.files.clear()
    report.skipped.clear()
    report.ignored = 0
    return read_papers(papers, skip_bad=True, report=report)


def _write_files(
    out: Path,
    annotated: Sequence[AnnotatedParagraph],
    distractors: Iterable[Paper],
    parts: Mapping[str, Sequence[str]],
) -> dict[str, int]:
    """Write the files in BEIR's layout; return the number of documents, questions and judgements of each."""

    def documents() -> Iterator[str]:
        for pair in annotated:
            yield _line(document_id(pair.paragraph), pair.paragraph)
        for paper in distractors:
            yield _line(document_id(paper.abstract), paper.abstract, {"paper": paper.id})

    files = {"corpus.jsonl": write_lines(out / "corpus.jsonl", documents(), errors="replace")}
    queries = {question: query_id(question) for pair in annotated for question in pair.questions}
    lines = (_line(name, question) for question, name in queries.items())
    files["queries.jsonl"] = write_lines(out / "queries.jsonl", lines, errors="replace")
    for part, rows in parts.items():
        write_lines(out / "qrels" / f"{part}.tsv", ("query-id\tcorpus-id\tscore", *rows))
        files[f"qrels/{part}.tsv"] = len(rows)
    return files


def split_judgements(annotated: Sequence[AnnotatedParagraph], settings: RetrievalSettings) -> dict[str, list[str]]:
    """Return dev (unless its share is 0) and test -> their rows of judgements.

    The share of paragraphs, or of questions, with the lowest hashes is dev; at least one if there are two.
    Raises InputError if the test would be empty.
    """
    units: dict[str, list[str]] = {}
    for pair in annotated:
        for question in pair.questions:
            unit = pair.paragraph if settings.split_by == "paragraph" else question
            row = f"{query_id(question)}\t{document_id(pair.paragraph)}\t1"
            units.setdefault(normalize_text(unit), []).append(row)
    order = sorted(units, key=lambda unit: random_fraction(settings.seed, "dev", unit))
    count = min(len(order) - 1, max(1, round(settings.dev * len(order)))) if settings.dev else 0
    if settings.dev and not count:
        raise InputError(f"one {settings.split_by} cannot be split into dev and test; pass --dev 0")
    dev = set(order[:count])
    parts = {
        "dev": [row for unit, rows in units.items() if unit in dev for row in rows],
        "test": [row for unit, rows in units.items() if unit not in dev for row in rows],
    }
    return {part: rows for part, rows in parts.items() if rows}


def document_id(text: str) -> str:
    """Return a document's id: d and 16 digits, a hash of its text."""
    return f"d{random_bits('document', normalize_text(text)):016x}"


def query_id(text: str) -> str:
    """Return a question's id: q and 16 digits, a hash of its text."""
    return f"q{random_bits('query', normalize_text(text)):016x}"


def _line(name: str, text: str, metadata: Mapping[str, str] | None = None) -> str:
    return json.dumps({"_id": name, "text": text, "metadata": metadata or {}}, ensure_ascii=False)
