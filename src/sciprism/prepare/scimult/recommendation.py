"""The test file of recommendation: the user study's grades with texts from a papers file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sciprism.datasets.layouts.item_tables import note_text
from sciprism.drop_report import DropReport
from sciprism.evaluation.suites.kanakia import read_study
from sciprism.papers.reading import ReadReport, read_papers
from sciprism.papers.records import Paper
from sciprism.prepare.scimult.desk import Desk, Made, MissingFilesError, paper_row

FILE = "scimult/link_prediction_reranking/Recommendation_papers_test.json"
NO_PAPER, NO_TARGET = "recommending paper without a text, left out", "recommendation without a text, left out"

Grades = dict[str, dict[str, int]]


def recommendation(desk: Desk) -> Made:
    """Write the papers of the study whose texts there are; the first grade of a pair counts.

    Texts: any file or folder `recommendation/papers*` that a paper reader knows. The study's ids are those of
    Microsoft Academic Graph, which OpenAlex kept with a W in front.
    """
    study = desk.need("recommendation/user_study_results.tsv", "user_study_results.tsv")
    sources = sorted((desk.raw / "recommendation").glob("papers*"))
    if not sources:
        raise MissingFilesError("recommendation/papers.* (titles and abstracts of the study's papers)")
    tally = DropReport()
    grades: Grades = {}
    for row in read_study(desk.note(study), tally):
        mine = grades.setdefault(row.paper, {})
        if row.recommended in mine:
            tally.add("recommendation graded again, the first counts", f"{row.paper} {row.recommended}")
        mine.setdefault(row.recommended, row.score)
    wanted = grades.keys() | {name for mine in grades.values() for name in mine}
    kept = _with_texts(grades, papers := _texts(desk, sources, wanted, tally), tally)
    count = desk.write(FILE, _rows(kept, papers, tally))
    pairs = sum(map(len, kept.values()))
    mean = round(pairs / max(len(kept), 1), 2)
    counts = {"papers": count, "graded pairs": pairs}
    return Made(
        name="Recommendation",
        files=(FILE,),
        first=len(kept),
        second=mean,
        published=(137, 16.28),
        counts=counts,
        tally=tally,
    )


def _texts(desk: Desk, sources: Sequence[Path], wanted: set[str], tally: DropReport) -> dict[str, Paper]:
    papers: dict[str, Paper] = {}
    report = ReadReport()
    for paper in read_papers(sources, skip_bad=True, report=report):
        if (name := _mag_id(paper)) in wanted:
            papers.setdefault(name, paper)
    for file in report.files:
        desk.note(Path(file.path))
    for skipped in report.skipped:
        tally.add("unusable record of the texts", str(skipped))
    return papers


def _with_texts(grades: Grades, papers: dict[str, Paper], tally: DropReport) -> Grades:
    kept: Grades = {}
    for paper, mine in grades.items():
        if paper not in papers:
            tally.add(NO_PAPER, paper)
            continue
        for name in mine:
            if name not in papers:
                tally.add(NO_TARGET, f"{paper} {name}")
        if found := {name: grade for name, grade in mine.items() if name in papers}:
            kept[paper] = found
        else:
            tally.add("paper without any recommendation left", paper)
    return kept


def _rows(kept: Grades, papers: dict[str, Paper], tally: DropReport) -> Iterator[dict[str, Any]]:
    names = dict.fromkeys((*kept, *(name for mine in kept.values() for name in mine)))
    for name in names:
        note_text(papers[name], name, tally)
        yield paper_row(papers[name]) | {"paper": name, "score": kept.get(name, {})}


def _mag_id(paper: Paper) -> str:
    found = paper.ids.get("mag") or paper.ids.get("openalex") or paper.id
    return found.removeprefix("W")
