from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from sciprism.papers.cleaning import clean_text

TEXT = st.text(alphabet="abcXYZäßé漢0123 .,:()!?'-/", min_size=1, max_size=50)
PLAIN = TEXT.filter(lambda text: clean_text(text).removesuffix(" /") == clean_text(text) != "")  # no catalogue's title


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(PLAIN, PLAIN, st.lists(st.text("abcé", min_size=1), max_size=3), st.integers(1500, 2030)),
        min_size=1,
    )
)
def test_written_then_read_is_equal(read, rows) -> None:
    text = "".join(
        f"TY  - JOUR\nID  - k{i}\nTI  - {title}\nAB  - {abstract}\n"
        + "".join(f"AU  - {name}\n" for name in names)
        + f"PY  - {year}\nER  - \n\n"
        for i, (title, abstract, names, year) in enumerate(rows)
    )
    papers, _ = read("written.ris", text)
    assert [(p.id, p.title, p.abstract, p.authors, p.year) for p in papers] == [
        (f"k{i}", clean_text(title), clean_text(abstract), tuple(dict.fromkeys(names)), year)
        for i, (title, abstract, names, year) in enumerate(rows)
    ]
