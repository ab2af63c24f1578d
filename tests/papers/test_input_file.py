import gzip
import io
import sys
import tracemalloc
from pathlib import Path
from types import SimpleNamespace

import pytest

from sciprism.errors import InputError
from sciprism.papers.input_file import InputFile


def input_file_of(tmp_path: Path, data: bytes, name: str = "x.txt") -> InputFile:
    path = tmp_path / name
    path.write_bytes(data)
    return InputFile(path)


def texts(file: InputFile) -> list[str]:
    return [text for _, text in file.lines()]


def test_a_chosen_encoding_decides_and_an_unknown_one_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes("Größe é č".encode("cp1250"))
    file = InputFile(path, encoding="windows-1250")
    assert (file.head(), texts(file), file.encoding, file.guessed) == ("Größe é č", ["Größe é č"], "cp1250", False)
    file = InputFile(path, encoding="utf-8")
    assert (texts(file), file.damaged_characters) == (["Gr\ufffde \ufffd \ufffd"], 3)
    assert texts(InputFile(path, encoding="ascii")) == ["Gr\ufffd\ufffde \ufffd \ufffd"]
    with pytest.raises(InputError, match="unknown encoding 'cp1525'; for example: utf-8"):
        InputFile(path, encoding="cp1525")
    path.write_bytes("Größe".encode("utf-8-sig"))
    assert texts(InputFile(path, encoding="cp1252")) == ["Größe"]  # the file itself says what it is


def test_gzip_is_known_by_its_bytes(tmp_path: Path) -> None:
    packed = gzip.compress(b"one\ntwo\n")
    assert texts(input_file_of(tmp_path, packed, "no-suffix")) == ["one", "two"]
    assert texts(input_file_of(tmp_path, b"plain\n", "plain.gz")) == ["plain"]
    assert input_file_of(tmp_path, packed, "Refs.BIB.gz").name == "refs.bib"


@pytest.mark.parametrize(("length", "after"), [(-9, b""), (-6, b"other "), (None, b"garbage")])
def test_damaged_gzip_names_the_file(tmp_path: Path, length: int | None, after: bytes) -> None:
    packed = gzip.compress(bytes(range(256)) * 400)
    file = input_file_of(tmp_path, packed[:length] + after, "refs.gz")
    with pytest.raises(InputError, match=r"refs\.gz: the gzip file is truncated or damaged"):
        texts(file)


def test_unreadable_file_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be opened"):
        texts(InputFile(tmp_path))


@pytest.mark.parametrize("packed", [False, True])
def test_standard_input_is_read_after_its_head(monkeypatch: pytest.MonkeyPatch, packed: bool) -> None:
    lines = [f"line {number}" for number in range(20_000)]
    data = "\n".join(lines).encode()
    stream = io.BytesIO(gzip.compress(data) if packed else data)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=stream))
    file = InputFile(Path("-"))
    assert file.head().startswith("line 0\nline 1\n")
    assert texts(file) == lines
    assert not stream.closed


def test_memory_is_flat(tmp_path: Path) -> None:
    lines = (f"line {number} of some fifty characters, no more I believe\n" for number in range(300_000))
    file = input_file_of(tmp_path, gzip.compress("".join(lines).encode()))
    tracemalloc.start()
    assert sum(1 for _ in file.lines()) == 300_000
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2_000_000  # of 18 million bytes
