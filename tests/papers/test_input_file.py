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


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1252", "Müller, J. and François Lévêque"),
        ("latin-1", "Größe é è"),
        ("cp1250", "Dvořák, Petr; Wałęsa, Świątek"),
        ("cp1254", "Bu çalışmada öğrencilerin görüşleri incelenmiş, yeni bir yöntem önerilmiştir."),
        ("cp1252", "“Smart quotes” – and Ångström’s law"),
        ("mac_roman", "Müller, J. and François Lévêque"),
        ("cp1251", "Исследование свойств новых материалов"),
        ("gb18030", "中国科学院关于深度学习的研究"),
        ("cp932", "日本語の論文についての研究"),
        ("euc_kr", "한국어 논문에 대한 연구"),
        ("big5", "中國科學院關於深度學習的研究"),
    ],
)
def test_encodings_are_found_and_reported(tmp_path: Path, encoding: str, text: str) -> None:
    file = input_file_of(tmp_path, f"TI  - plain\nAB  - {text}\n".encode(encoding))
    assert texts(file) == ["TI  - plain", f"AB  - {text}"]
    assert file.encoding
    assert file.redecoded_lines == 1
    assert text in file.head()


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


def test_one_foreign_line_leaves_the_others_alone(tmp_path: Path) -> None:
    file = input_file_of(tmp_path, "Größe ☃\n".encode() + "Größe\n".encode("latin-1") + "漢字\n".encode())
    assert texts(file) == ["Größe ☃", "Größe", "漢字"]
    assert file.redecoded_lines == 1


def test_a_broken_character_does_not_spoil_its_line(tmp_path: Path) -> None:
    file = input_file_of(tmp_path, "漢字漢字".encode()[:-1])
    assert texts(file) == ["漢字漢\ufffd"]
    assert (file.damaged_characters, file.redecoded_lines, file.encoding) == (1, 0, "")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_byte_order_marks(tmp_path: Path, encoding: str) -> None:
    file = input_file_of(tmp_path, "Größe\n漢字".encode(encoding))
    assert texts(file) == ["Größe", "漢字"]
    assert file.head() == "Größe\n漢字"
    assert "".join(file.chunks(3)) == "Größe\n漢字"


def test_line_ends_and_control_characters(tmp_path: Path) -> None:
    file = input_file_of(tmp_path, b"a\r\nb\rc\n\nta\tb\x00\x07x\x0by\x1a")
    assert list(file.lines()) == [(1, "a"), (2, "b"), (3, "c"), (4, ""), (5, "ta\tbx y")]
    assert file.removed_characters == 3


def test_gzip_is_known_by_its_bytes(tmp_path: Path) -> None:
    packed = gzip.compress(b"one\ntwo\n")
    assert texts(input_file_of(tmp_path, packed, "no-suffix")) == ["one", "two"]
    assert texts(input_file_of(tmp_path, b"plain\n", "plain.gz")) == ["plain"]
    assert input_file_of(tmp_path, packed, "Refs.BIB.gz").name == "refs.bib"


@pytest.mark.parametrize("damage", ["truncated", "corrupt", "garbage after"])
def test_damaged_gzip_names_the_file(tmp_path: Path, damage: str) -> None:
    packed = bytearray(gzip.compress(bytes(range(256)) * 400))
    if damage == "truncated":
        packed = packed[:-9]
    elif damage == "corrupt":
        packed[-6] ^= 0xFF
    else:
        packed += b"garbage"
    file = input_file_of(tmp_path, bytes(packed), "refs.gz")
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
