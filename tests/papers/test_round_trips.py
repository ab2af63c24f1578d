"""Records that are written in the way of a format come back as they were."""

from __future__ import annotations

import json
from html import escape
from textwrap import wrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sciprism.papers.cleaning import clean_text, decode_latex

TEXT = st.text(alphabet="abcXYZäßé漢0123 .,:()!?'-/&<>", min_size=1, max_size=120).map(clean_text)
PLAIN = TEXT.filter(lambda text: text and not text.endswith(" /"))  # no catalogue's title
NAMES = st.lists(st.text("abcé", min_size=1), max_size=3, unique=True)
ROWS = st.lists(st.tuples(PLAIN, PLAIN, NAMES, st.integers(1500, 2030)), min_size=1, max_size=5)


def fold(text: str, indent: str) -> str:
    return "\n".join(wrap(text, 60, subsequent_indent=indent, break_on_hyphens=False))


def list_names(tag: str, names: list[str]) -> str:
    return "".join(f"{tag}{name}\n" for name in names)


def style(text: object) -> str:
    return f'<style face="normal" size="100%">{escape(str(text))}</style>'


WRITERS = {
    "ris": lambda i, t, a, n, y: (
        f"TY  - JOUR\nID  - k{i}\nTI  - {t}\nAB  - {a}\n{list_names('AU  - ', n)}PY  - {y}\nER  - \n\n"
    ),
    "enw": lambda i, t, a, n, y: f"%F k{i}\n{list_names('%A ', n)}%T {t}\n%D {y}\n%X {a}\n\n",
    "typed.enw": lambda i, t, a, n, y: f"%0 Journal Article\n{WRITERS['enw'](i, t, a, n, y)}",
    "nbib": lambda i, t, a, n, y: (
        f"PMID- k{i}\n{fold(f'TI  - {t}', '      ')}\n{fold(f'AB  - {a}', '      ')}\n"
        f"{list_names('FAU - ', n)}DP  - {y}\n\n"
    ),
    "ciw": lambda i, t, a, n, y: (
        f"PT J\n{fold(f'TI {t}', '   ')}\n{fold(f'AB {a}', '   ')}\n{list_names('AU ', n)}PY {y}\nUT k{i}\nER\n\n"
    ),
    "bib": lambda i, t, a, n, y: (
        f"@article{{k{i},\n title = {{{t}}}, author = {{{' and '.join(n)}}},\n abstract = {{{a}}},\n year = {y}\n}}\n"
    ),
    "xml": lambda i, t, a, n, y: (
        f"<record><label>k{i}</label><contributors><authors>{''.join(f'<author>{style(name)}</author>' for name in n)}"
        f"</authors></contributors><titles><title>{style(t)}</title></titles><dates><year>{style(y)}</year></dates>"
        f"<abstract>{style(a)}</abstract></record>"
    ),
    "csl.json": lambda i, t, a, n, y: json.dumps(
        {
            "id": f"k{i}",
            "title": t,
            "abstract": a,
            "author": [{"family": name} for name in n],
            "issued": {"raw": str(y)},
        }
    ),
}
AROUND = {"ciw": "FN Clarivate Analytics Web of Science\n{}EF", "xml": "<xml><records>{}</records></xml>"}


@pytest.mark.parametrize("name", WRITERS)
@settings(max_examples=60, deadline=None)
@given(rows=ROWS)
def test_what_is_written_comes_back(read, name: str, rows) -> None:
    text = "\n".join(WRITERS[name](i, *row) for i, row in enumerate(rows, 1))
    papers, _ = read(f"written.{name}", AROUND.get(name, "{}").replace("{}", text))
    plain = (lambda text: clean_text(decode_latex(text))) if name == "bib" else clean_text
    assert [(p.id, p.title, p.abstract, p.authors, p.year) for p in papers] == [
        (f"k{i}", plain(title), plain(abstract), tuple(names), year)
        for i, (title, abstract, names, year) in enumerate(rows, 1)
    ]
