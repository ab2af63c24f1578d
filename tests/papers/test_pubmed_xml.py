import gzip
import tracemalloc
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sciprism.errors import InputError
from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.read import read_papers
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.records import Paper

SAMPLE = Path(__file__).parent / "samples" / "pubmed_xml.xml"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pubmed") / "papers.xml"


def read(path: Path, content: str | bytes | None = None) -> list[Paper | BadRecord]:
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return list(paper_readers["pubmed_xml"].read(InputFile(path), ReadOptions()))


def article(inner: str, pmid: int | str = 1, after: str = "") -> str:
    return (
        f"<PubmedArticle><MedlineCitation><PMID>{pmid}</PMID><Article>{inner}</Article>{after}"
        "</MedlineCitation></PubmedArticle>"
    )


def articles(*written: str) -> str:
    return f"<?xml version='1.0'?>\n<PubmedArticleSet>\n{''.join(written)}</PubmedArticleSet>"


def test_sample():
    assert read(SAMPLE) == [
        Paper(
            id="90000001",
            title="Uptake of CO2 by Fucus vesiculosus in the tidal zone: a controlled trial.",
            abstract="BACKGROUND: Bladder wrack is said to take up carbon at low tide. "
            "METHODS: We weighed forty plants at p<0.05. Uptake doubled.",
            authors=("Åsa K Brandström", "JQ Doe Jr", "Tidal Zone Study Group"),
            venue="Invented journal of tidal medicine",
            year=1998,
            keywords=("Fucus", "Carbon Dioxide", "tidal zone"),
            references=("90000003", "90000004"),
            ids={"pmid": "90000001", "doi": "10.9999/tidal.1", "pmcid": "PMC9000001"},
        ),
        Paper(
            id="90000002",
            title="[A letter about wrack].",
            venue="Invent Lett",
            year=2021,
            ids={"pmid": "90000002"},
        ),
        Paper(
            id="90000003",
            title="On wrack",
            abstract="Wrack grows on stones.",
            authors=("Ann Somebody",),
            venue="Seaweeds of invented shores",
            year=1970,
            ids={"pmid": "90000003", "doi": "10.9999/book.7"},
        ),
    ]


@pytest.mark.parametrize(
    ("date", "year"),
    [
        ("<PubDate><Year>2004</Year><Month>Feb</Month></PubDate>", 2004),
        ("<PubDate><MedlineDate>Spring 2000</MedlineDate></PubDate>", 2000),
        ("<PubDate><MedlineDate>2000-2001</MedlineDate></PubDate>", 2000),
        ("<PubDate><MedlineDate>no date</MedlineDate></PubDate>", None),
        ("<PubDate/>", None),
    ],
)
def test_dates(file: Path, date: str, year: int | None):
    (paper,) = read(file, articles(article(f"<Journal><JournalIssue>{date}</JournalIssue></Journal>")))
    assert isinstance(paper, Paper)
    assert paper.year == year


def test_vernacular_title_and_other_doi(file: Path):
    inner = "<ArticleTitle/><VernacularTitle>Über Tang</VernacularTitle>"
    inner += "<ELocationID EIdType='doi'>10.1/x</ELocationID>"
    (paper,) = read(file, articles(article(inner)))
    assert paper == Paper(id="1", title="Über Tang", ids={"pmid": "1", "doi": "10.1/x"})


def test_what_pubmed_says_of_titles_names_and_abstracts(file: Path):
    """A title that is not available, the name before its erratum, an abstract in another language alone."""
    name = (
        "<Author ValidYN='{}'><LastName>{}</LastName><ForeName>R J</ForeName><Identifier Source='ORCID'>{}</Identifier>"
    )
    authors = name.format("Y", "Whitley", 1) + "</Author>" + name.format("N", "Whitely", 2) + "</Author>"
    other = "<OtherAbstract Type='Publisher' Language='{}'><AbstractText>{}</AbstractText></OtherAbstract>"
    (paper,) = read(
        file,
        articles(
            article(
                "<ArticleTitle>[Not Available].</ArticleTitle><VernacularTitle>Les marées.</VernacularTitle>"
                f"<AuthorList>{authors}</AuthorList>",
                after=other.format("fre", "La mer."),
            )
        ),
    )
    assert (paper.title, paper.authors, paper.orcids) == ("Les marées.", ("R J Whitley",), {"R J Whitley": "1"})
    assert paper.abstract == "La mer."
    (paper,) = read(
        file,
        articles(article("<Abstract><AbstractText>The sea.</AbstractText></Abstract>", after=other.format("fre", "x"))),
    )
    assert paper.abstract == "The sea."


def test_a_power_is_not_read_as_a_number(file: Path):
    title = "<ArticleTitle>From <b>10<sup>6</sup></b> cells, <i>E<sub>2</sub></i>, <sup>13</sup>C</ArticleTitle>"
    assert read(file, articles(article(title)))[0].title == "From 10⁶ cells, E2, 13C"


@pytest.mark.parametrize("fault", ["<", "&", "</b>", "\x01", "<i>", "]]>", "\udcff"])
@pytest.mark.parametrize("line_end", ["\n", ""])
def test_reading_goes_on_after_a_record_with_a_fault(file: Path, fault: str, line_end: str):
    for wrong in ({500}, {0, 1}, {998, 999}):
        text = [f"A <b>study</b> {'of frogs ' * 30}{fault * (n in wrong)} <b>in ponds</b>" for n in range(1000)]
        records = [article(f"<ArticleTitle>{title}</ArticleTitle>", n) + line_end for n, title in enumerate(text)]
        content = articles("", *records).encode(errors="surrogateescape")
        found = read(file, content)
        bad = [record for record in found if isinstance(record, BadRecord)]
        ids = [record.id for record in found if isinstance(record, Paper)]
        assert ids == [str(n) for n in range(1000) if n not in wrong]
        assert [record.number - 1 for record in bad] == sorted(wrong) == [found.index(record) for record in bad]
        if line_end:
            lines = content.decode(errors="surrogateescape").split("\n")
            assert all(f"<PMID>{record.number - 1}</PMID>" in lines[(record.line or 0) - 1] for record in bad)


def test_truncated_file(file: Path):
    whole = SAMPLE.read_bytes()
    first, fault = read(file, whole[: whole.index(b"90000002</PMID>")])
    assert isinstance(first, Paper)
    assert isinstance(fault, BadRecord)
    assert fault.number == 2


BOMB = """<?xml version="1.0"?><!DOCTYPE PubmedArticleSet [
<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>"""


FAR = f"<!--{'far from the start' * 10_000}--><!DOCTYPE x [<!ENTITY % a 'b'>]>"


@pytest.mark.parametrize("doctype", [BOMB, '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>', FAR])
def test_entities_are_refused(file: Path, doctype: str):
    (fault,) = read(
        file, doctype + f"<PubmedArticleSet>{article('<ArticleTitle>&a;</ArticleTitle>')}</PubmedArticleSet>"
    )
    assert isinstance(fault, BadRecord)
    assert "entity 'a'" in fault.reason
    assert "refused" in fault.reason
    with pytest.raises(InputError, match=r"papers\.xml, record 1: .*entities are refused"):
        list(read_papers(file, reader="pubmed_xml"))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1"])
def test_declared_encodings(file: Path, encoding: str):
    text = articles(article("<ArticleTitle>Ærø</ArticleTitle>")).replace("?>", f" encoding='{encoding}'?>")
    assert read(file, text.encode(encoding)) == [Paper(id="1", title="Ærø", ids={"pmid": "1"})]


@pytest.mark.parametrize("encoding", ["big5", "no-such-code"])
def test_encodings_that_xml_cannot_have(file: Path, encoding: str):
    (fault,) = read(file, f"<?xml version='1.0' encoding='{encoding}'?><PubmedArticleSet/>")
    assert isinstance(fault, BadRecord)
    assert "convert the file to UTF-8" in fault.reason


def test_packed_file_that_breaks_off_is_an_input_error(file: Path):
    packed = gzip.compress(articles(article("<ArticleTitle>T</ArticleTitle>") * 2000).encode())
    with pytest.raises(InputError, match="truncated"):
        read(file, packed[:-40])


def test_memory_is_flat(file: Path):
    def peak(count: int) -> int:
        body = article(
            f"<ArticleTitle>T</ArticleTitle><Abstract><AbstractText>{'word ' * 200}</AbstractText></Abstract>"
        )
        file.write_text(f"<PubmedArticleSet>{body * count}</PubmedArticleSet>")
        tracemalloc.start()
        assert sum(1 for _ in paper_readers["pubmed_xml"].read(InputFile(file), ReadOptions())) == count
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(10)
    assert peak(3000) < 1.5 * peak(300)


# What XML 1.0 can carry; a carriage return would come back as a line end.
texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff"))


@given(st.lists(st.tuples(texts, texts, texts, st.integers(1500, 2099)), min_size=1, max_size=5))
def test_written_articles_come_back(file: Path, written: list[tuple[str, str, str, int]]):
    content = articles(
        *(
            article(
                f"<Journal><JournalIssue><PubDate><Year>{year}</Year></PubDate></JournalIssue></Journal>"
                f"<ArticleTitle>{escape(title)}</ArticleTitle>"
                f"<Abstract><AbstractText>{escape(abstract)}</AbstractText></Abstract>"
                f"<AuthorList><Author><LastName>{escape(author)}</LastName></Author></AuthorList>",
                number,
            )
            for number, (title, abstract, author, year) in enumerate(written)
        )
    )
    assert read(file, content) == [
        Paper(
            id=str(number),
            title=" ".join(title.split()),
            abstract=" ".join(abstract.split()),
            authors=tuple(filter(None, [" ".join(author.split())])),
            year=year,
            ids={"pmid": str(number)},
        )
        for number, (title, abstract, author, year) in enumerate(written)
    ]
