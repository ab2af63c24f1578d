from __future__ import annotations

from textwrap import wrap

from hypothesis import given, settings
from hypothesis import strategies as st

from sciprism.papers.cleaning import clean_text

TEXT = st.text(alphabet="abcXYZäßé漢0123 .,:()!?'-/", min_size=1, max_size=200)
PLAIN = TEXT.filter(lambda text: clean_text(text).removesuffix(" /") == clean_text(text) != "")  # no catalogue's title


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(PLAIN, PLAIN), min_size=1, max_size=5))
def test_written_then_read_is_equal(read, rows) -> None:
    def lines(tag: str, text: str) -> str:
        return "\n".join(wrap(f"{tag:<4}- {text}", 88, subsequent_indent="      ", break_on_hyphens=False)) + "\n"

    rows = [(clean_text(title), clean_text(abstract)) for title, abstract in rows]
    text = "\n".join(
        f"PMID- {i}\n" + lines("TI", title) + lines("AB", abstract) for i, (title, abstract) in enumerate(rows, 1)
    )
    papers, _ = read("written.nbib", text)
    assert [(paper.title, paper.abstract) for paper in papers] == rows
