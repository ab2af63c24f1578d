import gzip
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from format_samples import write_samples
from sciprism.errors import InputError, MissingExtraError
from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.read import ReadReport, read_labels
from sciprism.papers.readers.registry import label_readers
from sciprism.papers.records import Label


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_samples(tmp_path_factory.mktemp("samples"), "labels")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("labels")


def read(path: Path, reader: str, columns: dict[str, str] | None = None) -> list[Label | BadRecord]:
    return list(label_readers[reader].read(InputFile(path), ReadOptions(columns=columns or {})))


def test_every_reader_has_a_sample(samples: dict[str, Path]):
    assert sorted(samples) == sorted(label_readers)


@pytest.mark.parametrize("reader", sorted(label_readers))
def test_sample_finds_its_reader_plain_and_packed(reader: str, samples: dict[str, Path], folder: Path):
    path = samples[reader]
    packed = folder / f"{path.name}.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    report = ReadReport()
    plain = list(read_labels(path, skip_bad=True, report=report))
    assert report.files[0].format == reader
    assert plain == list(read_labels(packed, skip_bad=True))
    assert len(plain) >= 2
    assert all(label.id and label.name for label in plain)


def test_skos_without_rdflib_names_the_extra(samples: dict[str, Path], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "rdflib", None)
    with pytest.raises(MissingExtraError, match=r"sciprism\[labels\]"):
        read(samples["skos"], "skos")


@pytest.mark.parametrize("reader", sorted(label_readers))
@given(data=st.binary(max_size=150), cut=st.integers(0, 3000), noise=st.binary(max_size=4))
def test_broken_files_raise_nothing_but_input_errors(
    folder: Path, samples: dict[str, Path], reader: str, data: bytes, cut: int, noise: bytes
):
    path, whole = folder / samples[reader].name, samples[reader].read_bytes()
    for content in (data, whole[:cut], whole[:cut] + noise + whole[cut:]):
        path.write_bytes(content)
        report = ReadReport()
        try:
            found = list(read_labels(path, reader=reader, skip_bad=True, report=report))
        except InputError:
            continue
        assert len(found) + report.skipped_count > 0
