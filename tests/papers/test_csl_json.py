from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
FIELDS = (
    "id",
    "title",
    "abstract",
    "author",
    "issued",
    "container-title",
    "keyword",
    "note",
    "DOI",
    "number",
    "subtitle",
    "created",
    "reference",
    "message",
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=6), min_size=1, max_size=4))
def test_any_json_is_a_paper_or_counted(read, rows) -> None:
    papers, report = read("any.json", json.dumps(rows), reader="csl_json", skip_bad=True)
    assert len(papers) + report.skipped_count == len(rows)
