"""A process ends with its status: no thread of Arrow reads through a Python object, for which it would wait at exit."""

import io
import threading

import pytest

from build_commands import sciprism
from fake_encoder import FakeEncoder, some_papers
from sciprism.papers import read_papers
from sciprism.papers.readers import tables
from sciprism.store import embed


def test_arrow_reads_python_objects_in_the_thread_that_asks(tmp_path, monkeypatch) -> None:
    embed(some_papers(600), FakeEncoder(), tmp_path / "vecs")
    seen = set()
    table = next((tmp_path / "vecs" / "papers").glob("*.parquet"))

    class Stream(io.FileIO):
        def read(self, size=-1):
            seen.add(threading.get_ident())
            return super().read(size)

    monkeypatch.setattr(tables, "_open_table", lambda _: Stream(table))
    assert len(list(read_papers(table))) == 600
    assert seen == {threading.get_ident()}


@pytest.mark.slow
def test_a_search_that_finds_nothing_ends_with_status_2(tmp_path) -> None:
    (tmp_path / "a.csv").write_text("id,title\na,Frogs of one pond\nb,Toads of two ponds\n")
    assert sciprism("embed", "a.csv", "-o", "v", cwd=tmp_path).returncode == 0
    assert sciprism("index", "v", "--lexical", cwd=tmp_path).returncode == 0
    words = ("search", "v", "pond", "--venue", "Nowhere", "--mode", "lexical")
    assert [sciprism(*words, cwd=tmp_path).returncode for _ in range(12)] == [2] * 12
