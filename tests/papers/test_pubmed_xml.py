import tracemalloc
from pathlib import Path

import pytest

from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.records import Paper


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


@pytest.mark.parametrize("fault", ["<", "&", "</b>", "<i>", "]]>"])
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
