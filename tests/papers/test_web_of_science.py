from __future__ import annotations

import textwrap

from hypothesis import given, settings
from hypothesis import strategies as st

WORDS = st.lists(st.text(alphabet="abcXYZäé019.,:()-", min_size=1, max_size=9), min_size=1, max_size=40).map(" ".join)


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
