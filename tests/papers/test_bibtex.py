from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sciprism.errors import InputError
from sciprism.papers.cleaning import clean_text, decode_latex


def one(read, entry: str):
    papers, _ = read("one.bib", entry)
    assert len(papers) == 1
    return papers[0]


@pytest.mark.parametrize(
    ("latex", "plain"),
    [
        (r"{\"U}ber K{\"o}rper", "Über Körper"),
        (r"\'{e}t\'e na\"{\i}ve na\"\i ve", "été naïve naïve"),
        (r"\v{S}imon \c{C}a\u{g}lar Erd\H{o}s \L{}ukasz Stra{\ss}e", "Šimon Çağlar Erdős Łukasz Straße"),
        (r"{\O}rsted, {\AA}ngstr{\"o}m, \o re", "Ørsted, Ångström, øre"),
        (r"\r{a} \k{a} \d{a} \~n \=o \.z", "å ą ạ ñ ō ż"),
        (r"{\relax Ch}omsky", "Chomsky"),
        (r"50\% of R\&D in C\# for \$5", "50% of R&D in C# for $5"),
        (r"\textit{in vivo} {\em and} \textbf{x} \mbox{AdS/CFT} \texttt{code}", "in vivo and x AdS/CFT code"),
        (r"pages 1--9 --- all~of ``them''", "pages 1–9 — all of “them”"),
        (r"$\alpha$-decay at $x \leq \frac{a}{b}$", "α-decay at x ≤ a/b"),
        (r"CO$_2$, H$_{2}$O, 10$^{-3}$", "CO2, H2O, 10^-3"),
        ("costs $5 and $6", "costs $5 and $6"),
        (r"see \cite{x} and \href{http://x.org}{there} \url{http://y.org}", "see  and there http://y.org"),
        (r"\unknown{kept} and \ourmethod wins", "kept and ourmethod wins"),
        (r"a \{set\} b", "a {set} b"),
        (r"first\\second", "first second"),
        ("plain", "plain"),
    ],
)
def test_latex_becomes_plain(latex: str, plain: str) -> None:
    assert decode_latex(latex) == plain


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=r"\{}$~-`'^abEiß_% &" + '"', max_size=60))
def test_latex_never_fails_and_never_invents_letters(text: str) -> None:
    decoded = decode_latex(text)
    assert not {"\ue000", "\ue001", "\ue002"} & set(decoded)
    if "\\" not in text:
        assert [c for c in decoded if c.isalpha()] == [c for c in text if c.isalpha()]


def test_names_are_given_first(read) -> None:
    paper = one(
        read,
        r"@book{k, title={T}, author={Knuth, Donald E. and de la Cruz, Jos{\'e} and {Barnes and Noble}"
        r" and King, Jr, Martin Luther and Niels Bohr AND others}}",
    )
    assert paper.authors == (
        "Donald E. Knuth",
        "José de la Cruz",
        "Barnes and Noble",
        "Martin Luther King Jr",
        "Niels Bohr",
    )


def test_values_are_joined_and_macros_resolved(read) -> None:
    papers, _ = read(
        "macros.bib",
        '@string{pr = "Phys. Rev."}\n@STRING(let = {Letters})\n'
        "@article{a, title = {T}, journal = pr # { } # LET, year = 1999, month = 10 # jan}",
    )
    assert papers[0].venue == "Phys. Rev. Letters"
    assert papers[0].year == 1999


def test_ids_of_all_systems(read) -> None:
    paper = one(
        read,
        r"@article{a, title={T}, doi={10.1000/a\_b}, url={https://x.org/a--b~c}, eprint={2101.00001v2},"
        " archivePrefix={arXiv}, pmid={123}, isbn={978-3}}",
    )
    assert paper.ids == {
        "doi": "10.1000/a_b",
        "url": "https://x.org/a--b~c",
        "arxiv": "2101.00001",
        "pmid": "123",
        "isbn": "978-3",
    }
    scholar = one(read, "@article{b, title={T}, journal={arXiv preprint arXiv:1706.03762}, year={2017}}")
    assert scholar.ids == {"arxiv": "1706.03762"}


def test_the_pmid_in_notes_of_publishers_and_the_article_number_of_scopus(read) -> None:
    paper = one(read, "@article{a, title={T}, note ={PMID: 123}, art_number={e12}, doi={10.5555/a}}")
    assert (paper.ids, paper.pages) == ({"doi": "10.5555/a", "pmid": "123"}, "e12")
    assert one(read, "@article{a, title={T}, note={cited By 4}, pmid={7}}").ids == {"pmid": "7"}


def test_journals_that_ads_names_by_commands(read) -> None:
    for journal, name in [
        (r"{\apj}", "Astrophysical Journal"),
        (r"{\mnras}", "Monthly Notices of the Royal Astronomical Society"),
        (r"{{\prd }}", "Physical Review D"),
        (r"{\ourjournal}", "ourjournal"),
        ("{Nature}", "Nature"),
    ]:
        assert one(read, f"@article{{a, title={{T}}, journal = {journal}}}").venue == name


def test_what_an_entry_leaves_to_its_parent_is_counted(read) -> None:
    child = "@inproceedings{%s, title={%s}, crossref={conf}%s}\n"
    whole = child % ("b", "B", ", booktitle={Conf}, year=1999")
    parent = "@proceedings{conf, title={Proceedings}, booktitle={Conf}, year=1999}"
    papers, report = read("children.bib", child % ("a", "A", ", year=1999") + whole + parent)
    assert [(paper.venue, paper.year) for paper in papers] == [("", 1999), ("Conf", 1999), ("Conf", 1999)]
    assert [file.note for file in report.files] == ["1 unfollowed crossref (a)"]


def test_odd_layouts(read) -> None:
    papers, _ = read(
        "odd.bib",
        "mail me@home.org {x}\n@article\n{a, title = {Brace below}}@misc{b, title={Same line}}\n"
        '@article(c, title = "Quotes, {"} and (these)", year = "1990") @comment{@article{no, title={No}}}\n'
        "@preamble{ {\\newcommand{\\x}{y}} }\n@Article{d,Title={Upper},,}",
        skip_bad=True,
    )
    assert [paper.id for paper in papers[:3]] == ["a", "b", "c"]
    assert papers[2].title == 'Quotes, " and (these)'
    assert "No" not in [paper.title for paper in papers]


def test_truncated_file_is_one_bad_record_with_its_line(read) -> None:
    text = "@article{a,\n title={First}}\n\n@article{b,\n title={Second},\n abstract={cut o"
    with pytest.raises(InputError, match=r"cut\.bib, record 2 \(line 4\): the entry is never closed.*--skip-bad"):
        read("cut.bib", text)
    papers, report = read("cut.bib", text, skip_bad=True)
    assert [paper.id for paper in papers] == ["a"]
    assert [(bad.number, bad.line) for bad in report.skipped] == [(2, 4)]


def test_entries_after_an_open_one_are_read(read) -> None:
    text = "@article{a, title={open, year=2000}\n\n@article{b,\n title={Whole}\n}\n@article{c, title={x} year={1}}\n"
    papers, report = read("open.bib", text, skip_bad=True)
    assert [paper.id for paper in papers] == ["b"]
    assert [(bad.number, bad.line) for bad in report.skipped] == [(1, 1), (3, 6)]
    assert "comma" in report.skipped[1].reason


def test_an_entry_without_its_brace_is_reported_and_the_next_is_read(read) -> None:
    text = (
        "@article{a, title={A}}\n@unpublished\n\n@article{d, title={D}}\n@Article e, title={E}}\n@misc{f, title={F}}\n"
    )
    papers, report = read("lost.bib", f"thanks to @jane for\n@janes list of articles\n{text}@book", skip_bad=True)
    assert [paper.id for paper in papers] == ["a", "d", "f"]
    assert [(bad.number, bad.line) for bad in report.skipped] == [(2, 4), (4, 7), (6, 9)]
    assert all("without its opening brace" in bad.reason for bad in report.skipped)


def test_file_truncated_inside_a_type_is_reported(read) -> None:
    papers, report = read("type.bib", "@article{a, title={T}}\n@arti", skip_bad=True)
    assert len(papers) == 1
    assert report.skipped[0].line == 2


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "title": st.text(alphabet="abcXYZäßŁé0123 .,:;()!?'/=@\"#", min_size=1, max_size=40).filter(
                    lambda text: not clean_text(text).endswith(" /")  # as of a library's catalogue
                ),
                "abstract": st.text(alphabet="abc\n 漢字αβ.,=()", max_size=80),
                "year": st.integers(1500, 2030),
            }
        ),
        min_size=1,
        max_size=5,
    )
)
def test_written_then_read_is_equal(read, rows) -> None:
    rows = [row for row in rows if clean_text(row["title"]) and "''" not in row["title"]]
    if not rows:
        return
    text = "".join(
        f"@article{{k{i},\n  title = {{{row['title']}}},\n"
        f"  abstract = {{{row['abstract']}}},\n  year = {row['year']}\n}}\n"
        for i, row in enumerate(rows)
    )
    papers, _ = read("written.bib", text)
    assert [paper.id for paper in papers] == [f"k{i}" for i in range(len(rows))]
    assert [paper.title for paper in papers] == [clean_text(row["title"]) for row in rows]
    assert [paper.abstract for paper in papers] == [clean_text(row["abstract"]) for row in rows]
    assert [paper.year for paper in papers] == [row["year"] for row in rows]


def test_tildes_and_carets_that_zotero_spells_out_stay() -> None:
    assert decode_latex(r"{\textasciitilde}10{\textasciicircum}6 a~b") == "~10^6 a b"
