from __future__ import annotations

import textwrap

from hypothesis import given, settings
from hypothesis import strategies as st

WORDS = st.lists(st.text(alphabet="abcXYZäé019.,:()-", min_size=1, max_size=9), min_size=1, max_size=40).map(" ".join)


def test_records_without_end_and_junk(read) -> None:
    papers, report = read(
        "savedrecs.txt",
        "FN Clarivate Analytics Web of Science\nVR 1.0\nPT J\nAU Doe, J\nTI One\nUT WOS:1\nER\n\n\n"
        "PT B\nCA Society of Sand\nTI Two\nBN 978-0\nEA MAY 2020\nUT WOS:2\nPT J\nAU Roe, R\nUT WOS:3\nER\n\nEF",
        skip_bad=True,
    )
    assert [(paper.id, paper.authors, paper.year) for paper in papers] == [
        ("WOS:1", ("J Doe",), None),
        ("WOS:2", ("Society of Sand",), 2020),
    ]
    assert papers[1].ids == {"isbn": "978-0"}
    assert str(report.skipped[0]).endswith("record 3 (line 16): no title and no abstract")


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(WORDS, WORDS, st.integers(1500, 2030)), min_size=1, max_size=6))
def test_written_then_read_is_equal(read, rows) -> None:
    def wrap(tag: str, text: str) -> str:
        lines = textwrap.wrap(text, 40, break_on_hyphens=False)
        return f"{tag} " + "\n   ".join(lines) + "\n"

    text = "".join(
        f"PT J\n{wrap('TI', f't{title}')}{wrap('AB', f't{abstract}')}PY {year}\nUT WOS:{i}\nER\n\n"
        for i, (title, abstract, year) in enumerate(rows)
    )
    papers, _ = read("w.txt", f"FN Clarivate Analytics Web of Science\nVR 1.0\n{text}EF")
    assert [(p.id, p.title, p.abstract, p.year) for p in papers] == [
        (f"WOS:{i}", f"t{title}", f"t{abstract}", year) for i, (title, abstract, year) in enumerate(rows)
    ]


def test_words_like_tags_are_text_and_tags_between_records_are_counted(read) -> None:
    papers, report = read(
        "savedrecs.txt",
        "FN Clarivate Analytics Web of Science\nVR 1.0\nPT J\nTI One\nAB We saw\nER positive cells,\nPT was short, "
        "on\nMR images\nEF rose.\nPY 2001\nUT WOS:1\nER\n\n"
        "C1 Database: all\nset 1 AND set 2\n\nPT J\nTI Two\nUT WOS:2\nER\n\nEF",
    )
    assert [(paper.title, paper.year) for paper in papers] == [("One", 2001), ("Two", None)]
    assert papers[0].abstract == "We saw ER positive cells, PT was short, on MR images EF rose."
    assert report.files[0].note == "not papers: 2 other lines"
