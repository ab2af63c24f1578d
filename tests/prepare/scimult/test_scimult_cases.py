"""What writers make of published files: each case has the files, what is recorded and written, and what is read back.

The cases are in `scimult_cases.json` (`build_cases`).
"""

import json
from collections import Counter
from importlib import import_module
from math import log2
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from build_cases import describe, read_cases, write_files
from build_data import lines, text
from folders import snapshot
from sciprism.datasets.layouts import published
from sciprism.errors import InputError
from sciprism.evaluation.run import evaluate
from sciprism.prepare.scimult import maple, retrieval
from sciprism.prepare.scimult.context import MissingFilesError
from sciprism.training.examples import read_examples

CASES = read_cases(Path(__file__).with_name("scimult_cases.json"))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_case(case, raw, context, tmp_path):
    write_files(raw.folder, case["files"])
    write_files(tmp_path / "expected", case.get("written", {}))
    module, _, name = case["writer"].partition(":")
    write = getattr(import_module(f"sciprism.prepare.scimult.{module}"), name)
    try:
        made = describe(write(context))
    except (InputError, MissingFilesError) as error:
        assert case.get("error", "no error is expected") in str(error).replace(f"{raw.folder}/", "")
    else:
        assert made == case.get("made")
    assert snapshot(context.out) == snapshot(tmp_path / "expected")
    for reading in case.get("read", ()):
        layout = getattr(published, reading["layout"].partition(":")[2])
        declared = TypeAdapter(layout).validate_json(json.dumps(reading["settings"]))
        assert describe(declared.read(context.written)) == reading["found"]


def test_a_label_stands_in_100_pairs_at_most(raw, context):
    raw.topics()
    raw.maple("Computer_Science", [{"paper": str(i), "label": ["11"]} for i in range(101)])
    data_set = maple.write_cs_journal(context)
    assert (data_set.queries, data_set.targets) == (100, 100)
    assert data_set.dropped.count("pair beyond the maximum of its label") == 1


def test_coarse(raw, context, monkeypatch):
    """Two papers a field; 3 stands in both, for Art if it is drawn there; Computer_Science is no field."""
    monkeypatch.setattr(maple, "PAPERS_PER_FIELD", 2)
    raw.maple("Art", [{"paper": i} for i in "123"] + [{"paper": "0", "title": "", "abstract": ""}])
    raw.maple("Political_Science_MAG", [{"paper": i} for i in "345"])
    raw.maple("Computer_Science", [{"paper": "9"}])
    data_set = maple.write_coarse(context)
    assert (data_set.queries, data_set.targets, len(data_set.missing_inputs)) == (4, 4, 16)
    examples = list(read_examples(context.out / "pretrain/coarse.jsonl", query="paper", candidate="label"))
    assert Counter(example.positives[0].id for example in examples) == {"Art": 2, "Political_Science": 2}
    label = examples[-1].positives[0]
    assert (label.name, label.definition) == ("political science", "")


STUDY_OF_BOTH = """PaperId\tRecommendedPaperId\tMethod\tStudyScore\tSimilarity\tComputedRankByMethod\tComputedRankGlobal
10\t14\tContent\t4\t\t\t
10\t13\tContent\t5\t0.6\t2\t
10\t12\tBehavior\t2\t0.7\t3\t
10\t11\tBehavior\t1\t0.9\t1\t1
"""


def test_ranks_of_the_recommender_are_scored_as_a_system(context):
    """Its order is 11 (its global rank), 12 and 13 (by similarity), 14 (which it does not rank): grades 1, 2, 5, 4."""
    text(context.raw / "recommendation/user_study_results.tsv", STUDY_OF_BOTH)
    lines(context.raw / "recommendation/papers.jsonl", [{"id": i, "title": f"Paper {i}"} for i in range(10, 15)])
    retrieval.write_recommendation(context)
    (result,) = evaluate("kanakia", "scimult/recommendation", context.out)
    gains = [grade / log2(place + 1) for place, grade in enumerate((1, 2, 5, 4), 1)]
    best = [grade / log2(place + 1) for place, grade in enumerate((5, 4, 2, 1), 1)]
    assert result.metrics["ndcg@5"].value == pytest.approx(sum(gains) / sum(best))
