"""The test file of recommendations, from the user study of Kanakia et al. (2019), with the recommender's own order."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.layouts.item_tables import count_missing_text
from sciprism.datasets.rows import as_id
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.read import ReadReport, read_papers
from sciprism.papers.records import Paper
from sciprism.prepare.scimult.context import MissingFilesError, PreparedDataSet, SciMultPrepareContext, build_paper_row

STUDY_FILE = "scimult/link_prediction_reranking/Recommendation_papers_test.json"
NO_PAPER, NO_TARGET = "recommending paper without a text, dropped", "recommendation without a text, dropped"

Place = tuple[float, float]  # rank and negative similarity of a recommendation, infinity where the study has none
NO_PLACE = math.inf, math.inf
COLUMNS = ("StudyScore", "ComputedRankGlobal", "Similarity")
Study = dict[str, dict[str, tuple[int, Place]]]  # paper -> recommended paper -> its grade and place


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
    graded: Study = {}
    for paper, recommended, grade, place in read_study(context.record_read(study), dropped):
        if recommended in graded.setdefault(paper, {}):
            dropped.add("duplicate recommendation, the first grade is used", f"{paper} {recommended}")
        graded[paper].setdefault(recommended, (grade, place))
    papers = _read_texts(context, sources, graded.keys() | set(chain.from_iterable(graded.values())), dropped)
    selected = _select_with_texts(graded, papers, dropped)
    names = dict.fromkeys(chain(selected, *selected.values()))
    rows = []
    for name in names:
        count_missing_text(papers[name], name, dropped)
        grades = {other: grade for other, (grade, _) in selected.get(name, {}).items()}
        places = {other: place for other, (_, place) in selected.get(name, {}).items() if place != NO_PLACE}
        ranks = {"score": grades, "rank": sorted(places, key=places.__getitem__)}
        rows.append(build_paper_row(papers[name]) | {"paper": name} | ranks)
    count = context.write(STUDY_FILE, rows)
    pairs = sum(map(len, selected.values()))
    return PreparedDataSet(
        files=(STUDY_FILE,),
        queries=len(selected),
        targets=round(pairs / max(len(selected), 1), 2),
        counts={"papers": count, "graded pairs": pairs},
        dropped=dropped,
    )


def _read_texts(
    context: SciMultPrepareContext, sources: Sequence[Path], wanted: set[str], dropped: DropReport
) -> dict[str, Paper]:
    papers, report = dict[str, Paper](), ReadReport()
    for paper in read_papers(sources, skip_bad=True, report=report):
        name = (paper.ids.get("mag") or paper.ids.get("openalex") or paper.id).removeprefix("W")
        if name in wanted:
            papers.setdefault(name, paper)
    for file in report.files:
        context.record_read(Path(file.path))
    for skipped in report.skipped:
        dropped.add("unusable record of the texts", str(skipped))
    return papers


def _select_with_texts(graded: Study, papers: dict[str, Paper], dropped: DropReport) -> Study:
    selected: Study = {}
    for paper, judged in graded.items():
        if paper not in papers:
            dropped.add(NO_PAPER, paper)
            continue
        dropped.add_all(NO_TARGET, (f"{paper} {name}" for name in judged if name not in papers))
        if with_text := {name: judgement for name, judgement in judged.items() if name in papers}:
            selected[paper] = with_text
        else:
            dropped.add("paper without a remaining recommendation", paper)
    return selected


def read_study(path: Path, dropped: DropReport) -> Iterator[tuple[str, str, int, Place]]:
    """Yield (paper, recommended paper, the user's score from 1 to 5, its place) of `user_study_results.tsv`.

    Places sort as the recommender ranked: `ComputedRankGlobal` is filled for its ten best, which have the highest
    `Similarity`; the others follow by that. Rows with an empty score or 0 are counted. Raises InputError for a score
    that is no number.
    """
    for where, row in DataRoot().located_records(path):
        if "StudyScore" not in row:
            raise InputError(f"{path}: no column StudyScore; it has {', '.join(map(str, row))}")
        paper, recommended = as_id(row.get("PaperId")), as_id(row.get("RecommendedPaperId"))
        score, rank, similarity = (_read_number(row.get(name), where) for name in COLUMNS)
        if score and score < math.inf:
            yield paper, recommended, int(score), (rank, -similarity if similarity < math.inf else math.inf)
        else:
            dropped.add("recommendation without a score", f"{paper} {recommended}")


def _read_number(value: object, where: str) -> float:
    """Return the number of a cell, infinity for an empty one."""
    text = str("" if value is None else value).strip()
    try:
        return float(text) if text.lower() not in ("", "null", "nan") else math.inf
    except ValueError:
        raise InputError(f"{where}: {text!r} is not a number") from None
