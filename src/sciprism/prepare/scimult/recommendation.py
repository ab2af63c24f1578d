"""The test file of recommendation: the user study's grades with texts from a papers file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sciprism.datasets.layouts.item_tables import count_missing_text
from sciprism.drop_report import DropReport
from sciprism.evaluation.suites.kanakia import read_study
from sciprism.papers.read import ReadReport, read_papers
from sciprism.papers.records import Paper
from sciprism.prepare.scimult.context import (
    MissingFilesError,
    PreparedDataSet,
    SciMultPrepareContext,
    build_paper_row,
)

FILE = "scimult/link_prediction_reranking/Recommendation_papers_test.json"
NO_PAPER, NO_TARGET = "recommending paper without a text, dropped", "recommendation without a text, dropped"

Grades = dict[str, dict[str, int]]


def write_recommendation(context: SciMultPrepareContext) -> PreparedDataSet:
    """Write the papers of the study that have a text; the first grade of a pair is used.

    Texts: any file or folder `recommendation/papers*` of a known format. The study's ids are those of
    Microsoft Academic Graph, which OpenAlex uses with a leading W.
    """
    study = context.need("recommendation/user_study_results.tsv", "user_study_results.tsv")
    sources = sorted((context.raw / "recommendation").glob("papers*"))
    if not sources:
        raise MissingFilesError("recommendation/papers.* (titles and abstracts of the study's papers)")
    dropped = DropReport()
    grades: Grades = {}
    for row in read_study(context.record_read(study), dropped):
        own_grades = grades.setdefault(row.paper, {})
        if row.recommended in own_grades:
            dropped.add("duplicate recommendation, the first grade is used", f"{row.paper} {row.recommended}")
        own_grades.setdefault(row.recommended, row.score)
    wanted = grades.keys() | {name for own_grades in grades.values() for name in own_grades}
    selected = _select_with_texts(grades, papers := _read_texts(context, sources, wanted, dropped), dropped)
    names = dict.fromkeys((*selected, *(name for own_grades in selected.values() for name in own_grades)))
    for name in names:
        count_missing_text(papers[name], name, dropped)
    rows = (build_paper_row(papers[name]) | {"paper": name, "score": selected.get(name, {})} for name in names)
    count = context.write(FILE, rows)
    pairs = sum(map(len, selected.values()))
    return PreparedDataSet(
        name="Recommendation",
        files=(FILE,),
        queries=len(selected),
        targets=round(pairs / max(len(selected), 1), 2),
        published=(137, 16.28),
        counts={"papers": count, "graded pairs": pairs},
        dropped=dropped,
    )


def _read_texts(
    context: SciMultPrepareContext, sources: Sequence[Path], wanted: set[str], dropped: DropReport
) -> dict[str, Paper]:
    papers: dict[str, Paper] = {}
    report = ReadReport()
    for paper in read_papers(sources, skip_bad=True, report=report):
        name = (paper.ids.get("mag") or paper.ids.get("openalex") or paper.id).removeprefix("W")
        if name in wanted:
            papers.setdefault(name, paper)
    for file in report.files:
        context.record_read(Path(file.path))
    for skipped in report.skipped:
        dropped.add("unusable record of the texts", str(skipped))
    return papers


def _select_with_texts(grades: Grades, papers: dict[str, Paper], dropped: DropReport) -> Grades:
    selected: Grades = {}
    for paper, own_grades in grades.items():
        if paper not in papers:
            dropped.add(NO_PAPER, paper)
            continue
        for name in own_grades:
            if name not in papers:
                dropped.add(NO_TARGET, f"{paper} {name}")
        if found := {name: grade for name, grade in own_grades.items() if name in papers}:
            selected[paper] = found
        else:
            dropped.add("paper without a remaining recommendation", paper)
    return selected
