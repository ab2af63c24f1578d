from __future__ import annotations

import csv
import io

from hypothesis import given, settings
from hypothesis import strategies as st

from sciprism.papers.bibliographic_fields import split_names
from sciprism.papers.cleaning import clean_text

PLAIN = st.text(alphabet="abcXYZäß漢019 .,:;|\"\t\n'!", min_size=1, max_size=40).filter(clean_text)


def test_a_column_shows_how_its_cells_join_values(read) -> None:
    rows = [f'{n},T,"{a}",{k}' for n, a, k in ((1, "Ann Alder, Bo Birch", "a and b"), (2, "Cy Cedar", "c and d and e"))]
    three = '3,T,"Ann Alder, Bo Birch, Cy Cedar",'
    papers, _ = read("joined.csv", "\n".join(["id,title,author,keywords", *rows, three]))
    assert papers[0].authors == ("Ann Alder", "Bo Birch") and papers[0].keywords == ("a", "b")
    papers, _ = read("joined.csv", "\n".join(["id,title,author,keywords", *rows, '3,T,"Elm, Eve",f;g']))
    assert papers[0].authors == ("Bo Birch Ann Alder",) and papers[0].keywords == ("a and b",)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(PLAIN, PLAIN, st.lists(st.text("abcé", min_size=2), max_size=3)), min_size=1, max_size=6),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_written_then_read_is_equal(read, rows, delimiter, quoting) -> None:
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=delimiter, quoting=quoting, lineterminator="\n")
    writer.writerow(["id", "title", "abstract", "authors"])
    for i, (title, abstract, names) in enumerate(rows):
        writer.writerow([f"k{i}", title, abstract, "; ".join(names)])
    papers, _ = read("written.csv", buffer.getvalue())
    assert [(p.id, p.title, p.abstract, p.authors) for p in papers] == [
        (f"k{i}", clean_text(title), clean_text(abstract), split_names(";".join(names)))
        for i, (title, abstract, names) in enumerate(rows)
    ]
