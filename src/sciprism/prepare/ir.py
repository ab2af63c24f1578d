"""Write a retrieval set built like NASA-IR: annotated questions, and random abstracts as distractors."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import heappush, heapreplace
from pathlib import Path
from typing import Literal

from sciprism.datasets.layouts.item_tables import TableRow, clean_text, read_rows
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.files import sha256, write_atomically, write_json, write_lines
from sciprism.papers.read import ReadReport, read_papers
from sciprism.papers.records import Paper
from sciprism.prepare.preparation import Count, DevShare, Preparation, Settings
from sciprism.seeding import random_bits, random_fraction

PARAGRAPH = ("paragraph", "context", "passage", "text")
QUESTIONS = ("questions", "question", "query", "queries")


Annotated = dict[str, tuple[str, ...]]  # paragraph -> the questions that only it answers


def normalize_text(text: str) -> str:
    """Return a text in lower case, white space folded: equal texts compare equal."""
    return " ".join(text.casefold().split())


def read_annotated_paragraphs(path: Path, dropped: DropReport) -> Annotated:
    """Return each paragraph once with its questions, in the order of the file.

    Rows have a paragraph and a question, or a list `questions`; or the file is SQuAD's, version 1 or 2, whose
    questions without an answer are dropped. A question with two paragraphs has no single answer and is
    dropped. Raises InputError if no pair is left.
    """
    paragraphs: dict[str, str] = {}
    questions_of: dict[str, dict[str, str]] = {}  # paragraph -> its distinct questions
    holders: dict[str, set[str]] = {}
    for where, paragraph, question in _pairs(path, dropped):
        if not paragraph or not question:
            dropped.add(f"row without a {'question' if paragraph else 'paragraph'}", where)
            continue
        key, question_key = normalize_text(paragraph), normalize_text(question)
        paragraphs.setdefault(key, paragraph)
        if question_key in questions_of.setdefault(key, {}):
            dropped.add("duplicate question of a paragraph", question)
        questions_of[key].setdefault(question_key, question)
        holders.setdefault(question_key, set()).add(key)
    annotated: Annotated = {}
    for key, questions in questions_of.items():
        unique = []
        for question_key, question in questions.items():
            if len(holders[question_key]) > 1:
                dropped.add("question with several paragraphs", question)
            else:
                unique.append(question)
        if unique:
            annotated[paragraphs[key]] = tuple(unique)
        else:
            dropped.add("paragraph without a unique question", paragraphs[key][:80])
    if not annotated:
        raise InputError(
            f"{path}: no question with its paragraph; rows have {PARAGRAPH[0]} and {QUESTIONS[1]} (or a list "
            f"{QUESTIONS[0]}), or the file is in SQuAD's layout"
        )
    return annotated


def _pairs(path: Path, dropped: DropReport) -> Iterator[tuple[str, str, str]]:
    """Yield (place, paragraph, question); a missing text is empty."""
    for row in read_rows(path):
        if row.has("paragraphs"):
            yield from _article(row, dropped)
            continue
        paragraph, questions = clean_text(row.get(*PARAGRAPH)), row.get(*QUESTIONS)
        for question in questions if isinstance(questions, list) else [questions]:
            yield row.where, paragraph, clean_text(question)


def _article(row: TableRow, dropped: DropReport) -> Iterator[tuple[str, str, str]]:
    """Yield the place, the paragraph and each answerable question of one article in SQuAD's layout."""
    try:
        for paragraph in row.need("paragraphs"):
            for entry in paragraph["qas"]:
                if not entry.get("is_impossible") and entry.get("answers", True):
                    yield row.where, clean_text(paragraph["context"]), clean_text(entry["question"])
                else:
                    dropped.add("question without an answer", str(entry.get("id", "")))
    except (KeyError, TypeError, AttributeError) as error:
        raise row.error(f"not SQuAD's layout: {type(error).__name__}: {error}") from error


SHARED_WORDS = 13
"""An abstract that shares so many words in a row with a paragraph is the paragraph, or has a part of it."""


class DistractorSampler:
    """Sample `count` distinct abstracts: those with the lowest hashes of text and seed.

    papers: returns the papers anew at each call; they are read twice, and memory holds the hashes of the
    sampled ones. paragraphs: no distractor equals one or shares `SHARED_WORDS` words in a row with one. seen:
    papers read. usable: those of them whose abstract can be a distractor, duplicates too.
    """

    def __init__(
        self, papers: Callable[[], Iterable[Paper]], paragraphs: Iterable[str], count: int, *, seed: int
    ) -> None:
        self.papers = papers
        self.count = count
        self.seed = seed
        self.dropped = DropReport()
        self.seen = self.usable = 0
        self._paragraphs = {normalize_text(paragraph) for paragraph in paragraphs}
        self._runs = {run for paragraph in self._paragraphs for run in _word_runs(paragraph)}

    def __iter__(self) -> Iterator[Paper]:
        """Yield the sampled papers in the order of their files. Raises InputError if there are too few."""
        sampled = self._sample() if self.count else set()
        if len(sampled) < self.count:
            raise InputError(
                f"{self.count:,} distractors requested, but the papers have {len(sampled):,} abstracts that "
                "can be distractors; name more papers or request fewer"
            )
        for paper in self.papers() if sampled else ():
            key = random_bits(self.seed, normalize_text(paper.abstract))
            if key in sampled and paper.abstract:
                sampled.remove(key)
                yield paper

    def _sample(self) -> set[int]:
        lowest: list[int] = []  # a heap of negated hashes: the highest of the lowest comes first
        sampled: set[int] = set()
        for paper in self.papers():
            self.seen += 1
            text = normalize_text(paper.abstract)
            if reason := self._drop_reason(text):
                self.dropped.add(reason, paper.id)
                continue
            self.usable += 1
            key = random_bits(self.seed, text)
            if key in sampled:
                self.dropped.add("duplicate abstract", paper.id)
            elif len(lowest) < self.count:
                heappush(lowest, -key)
                sampled.add(key)
            elif key < -lowest[0]:
                sampled.remove(-heapreplace(lowest, -key))
                sampled.add(key)
        return sampled

    def _drop_reason(self, text: str) -> str:
        if not text:
            return "paper without an abstract"
        if text in self._paragraphs:
            return "abstract that is an annotated paragraph"
        if any(run in self._runs for run in _word_runs(text)):
            return f"abstract that shares {SHARED_WORDS} words in a row with an annotated paragraph"
        return ""


def _word_runs(text: str) -> Iterator[str]:
    words = text.split()
    return (" ".join(words[start : start + SHARED_WORDS]) for start in range(len(words) - SHARED_WORDS + 1))


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
remark = "{paragraphs:,} annotated paragraphs among {others:,} other abstracts; dev and test are divided by paragraph"
"""


class RetrievalSettings(Settings):
    """How a retrieval set is built.

    distractors: abstracts next to the annotated paragraphs. dev: share of the paragraphs whose judgements are dev.
    seed: of distractors and split.
    """

    distractors: Count
    dev: DevShare = 0.2
    seed: int = 0


def prepare_ir(questions: Path, papers: Sequence[Path], out: Path, settings: RetrievalSettings) -> Preparation:
    """Write corpus.jsonl, queries.jsonl, qrels/dev.tsv and test.tsv, tasks.toml, and ir.json with all counts.

    Documents are texts without titles, as in NASA-IR: a title would distinguish distractors from paragraphs.
    Ids begin with d and q and hash the text; they are distinct, and do not depend on distractors and split.
    """
    if "-" in map(str, papers):
        raise InputError("papers are read twice, which standard input cannot be; name files")
    dropped, reports = DropReport(), [ReadReport()]

    def read_anew() -> Iterator[Paper]:
        reports.append(ReadReport())
        return read_papers(papers, skip_bad=True, report=reports[-1])

    annotated = read_annotated_paragraphs(questions, dropped)
    parts = split_judgements(annotated, settings)
    distractors = DistractorSampler(read_anew, annotated, settings.distractors, seed=settings.seed)
    files = _write_files(out, annotated, distractors, parts)
    name = re.sub(r"[^A-Za-z0-9._=+-]", "-", f"{questions.name.partition('.')[0]}-ir").lstrip("._=+-")
    counts = {"paragraphs": len(annotated), "others": distractors.count}
    write_atomically(out / TASKS, lambda file: file.write(DECLARATION.format(name=name, **counts).encode()))
    record = {
        "settings": settings.model_dump(),
        "questions": {"file": questions.name, "sha256": sha256(questions)},
        "papers": [{"file": Path(f.path).name, "papers": f.papers, "skipped": f.skipped} for f in reports[-1].files],
        "paragraphs": len(annotated),
        "distractors": distractors.count,
        "sampled from": distractors.usable,
        "judgements": {part: len(rows) for part, rows in parts.items()},
        "dropped": {"pairs": dropped.to_json(), "papers": distractors.dropped.to_json()},
    }
    write_json(out / REPORT, record)
    split = ", ".join(f"{len(rows):,} questions in {part}" for part, rows in parts.items())
    notes = [
        f"{len(annotated):,} paragraphs and {distractors.count:,} distractors; {split}",
        f"distractors are sampled from {distractors.usable:,} abstracts of {distractors.seen:,} papers",
        f"to score it: sciprism evaluate MODEL --tasks {out / TASKS} -o RESULTS",
    ]
    reasons = {"questions": dropped, "papers": distractors.dropped}
    return Preparation(files=files, record=record, read=reports[-1].files, dropped=reasons, notes=notes)


def _write_files(
    out: Path, annotated: Annotated, distractors: Iterable[Paper], parts: Mapping[str, Sequence[str]]
) -> dict[str, int]:
    """Write the files in BEIR's layout; return the number of documents, questions and judgements of each."""

    def documents() -> Iterator[str]:
        for paragraph in annotated:
            yield _line(hash_id("document", paragraph), paragraph)
        for paper in distractors:
            yield _line(hash_id("document", paper.abstract), paper.abstract, {"paper": paper.id})

    files = {"corpus.jsonl": write_lines(out / "corpus.jsonl", documents(), errors="replace")}
    queries = dict.fromkeys(question for questions in annotated.values() for question in questions)
    lines = (_line(hash_id("query", question), question) for question in queries)
    files["queries.jsonl"] = write_lines(out / "queries.jsonl", lines, errors="replace")
    for part, rows in parts.items():
        write_lines(out / "qrels" / f"{part}.tsv", ("query-id\tcorpus-id\tscore", *rows))
        files[f"qrels/{part}.tsv"] = len(rows)
    return files


def split_judgements(annotated: Annotated, settings: RetrievalSettings) -> dict[str, list[str]]:
    """Return dev (unless its share is 0) and test -> their rows of judgements.

    The share of paragraphs with the lowest hashes is dev, at least one, so that a document is judged in dev or in
    test. Raises InputError if the test would be empty.
    """
    order = sorted(annotated, key=lambda paragraph: random_fraction(settings.seed, "dev", normalize_text(paragraph)))
    count = min(len(order) - 1, max(1, round(settings.dev * len(order)))) if settings.dev else 0
    if settings.dev and not count:
        raise InputError("one paragraph cannot be split into dev and test; add questions")
    dev = set(order[:count])
    parts: dict[str, list[str]] = {"dev": [], "test": []}
    for paragraph, questions in annotated.items():
        document = hash_id("document", paragraph)
        parts["dev" if paragraph in dev else "test"] += [f"{hash_id('query', q)}\t{document}\t1" for q in questions]
    return {part: rows for part, rows in parts.items() if rows}


def hash_id(kind: Literal["document", "query"], text: str) -> str:
    """Return the id of a document or query: d or q and 16 digits, a hash of its text."""
    return f"{kind[0]}{random_bits(kind, normalize_text(text)):016x}"


def _line(name: str, text: str, metadata: Mapping[str, str] | None = None) -> str:
    return json.dumps({"_id": name, "text": text, "metadata": metadata or {}}, ensure_ascii=False)
