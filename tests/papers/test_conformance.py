"""Every paper reader, also one added tomorrow: its sample is read, and damage to it never hurts."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from build_zotero import build_zotero
from format_samples import BINARY
from sciprism.errors import InputError
from sciprism.papers import Paper, ReadReport, read_papers
from sciprism.papers.input_paths import InputPart
from sciprism.papers.readers.registry import paper_readers

NAMES = sorted(paper_readers)
BUILT = {"zotero": ("zotero.sqlite", build_zotero)}
"""Binary formats: a file name, and what writes the sample."""
TEXTS = sorted(paper_readers.keys() - {*BUILT, *BINARY})


@pytest.fixture(scope="session")
def sample(samples: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return the function that gives the sample of a reader."""
    folder = tmp_path_factory.mktemp("built")
    for file, build in BUILT.values():
        build(folder / file)

    def find(name: str) -> Path:
        return folder / BUILT[name][0] if name in BUILT else samples[name]

    return find


@pytest.mark.parametrize("name", NAMES)
def test_sample_is_recognized_and_read(name: str, sample) -> None:
    report = ReadReport()
    papers = list(read_papers([sample(name)], report=report))
    assert report.files[0].format == name
    assert len(papers) > 1
    assert report.papers == len(papers)
    assert report.skipped_count == 0
    assert len({paper.id for paper in papers}) == len(papers)
    assert any(paper.abstract for paper in papers)
    assert any(paper.year for paper in papers) or name in ("annif", "beir")  # which have none
    assert [Paper.from_json(paper.to_json()) for paper in papers] == papers


@pytest.mark.parametrize("name", NAMES)
def test_sample_reads_alike_compressed_misnamed_and_with_other_line_ends(name: str, sample, tmp_path: Path) -> None:
    content, papers = sample(name).read_bytes(), list(read_papers([sample(name)]))
    others = {f"{sample(name).name}.gz": gzip.compress(content), "papers.txt": content}
    if name in TEXTS:
        others[sample(name).name] = b"\xef\xbb\xbf" + content.replace(b"\n", b"\r\n")
    for place, changed in others.items():
        (tmp_path / place).write_bytes(changed)
        assert list(read_papers([tmp_path / place])) == papers, place


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_truncation_keeps_what_came_before(name: str, data: st.DataObject, read, sample) -> None:
    whole, _ = read(f"{name}.whole", sample(name).read_bytes(), reader=name)
    content = sample(name).read_bytes()
    cut = content[: data.draw(st.integers(0, len(content)))]
    try:
        papers, report = read(f"{name}.cut", cut, reader=name, skip_bad=True)
    except InputError:
        assert name == "tables" and len(cut) < content.index(b"\n")  # not even a whole header
        return
    assert [paper.id for paper in papers[:-1]] == [paper.id for paper in whole[: len(papers[:-1])]]
    assert len(papers) + report.skipped_count >= 1


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_damage_is_an_input_error_or_counted(name: str, data: st.DataObject, read, sample) -> None:
    """Damage may leave nothing of the sample."""
    content = bytearray(sample(name).read_bytes())
    if data.draw(st.booleans()):
        content[:] = data.draw(
            st.binary(max_size=300) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace"))
        )
    for _ in range(data.draw(st.integers(0, 4))):
        start = data.draw(st.integers(0, len(content)))
        content[start : start + data.draw(st.integers(0, 20))] = data.draw(st.binary(max_size=12))
    try:
        papers, report = read(f"{name}.damaged", bytes(content), reader=name, skip_bad=True)
    except InputError:
        return
    assert report.papers == len(papers)
    assert papers or report.skipped_count


@pytest.mark.parametrize("name", NAMES)
def test_two_parts_of_a_sample_are_the_whole(name: str, sample) -> None:
    """A reader may leave out what another part reads, and must not lose or number it otherwise."""
    whole = {paper.place: paper for paper in read_papers([sample(name)])}
    parts = [InputPart(number, 2) for number in (1, 2)]
    found = [{paper.place: paper for paper in read_papers([sample(name)], part=part)} for part in parts]
    assert found[0] | found[1] == whole and not found[0].keys() & found[1].keys() and all(found)
