"""How an input is divided: every record in one part, the parts about equal, nothing but the sizes decides."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_encoder import some_papers
from sciprism.errors import InputError
from sciprism.papers import ReadReport, read_papers
from sciprism.papers.division import BLOCK_RECORDS, InputShare, PartNumber, divide_files, take_turns


@pytest.mark.parametrize("text", ["0/4", "5/4", "4", "1/0", "a/b", "-1/4", "1/4/2", "", "1/1000000"])
def test_a_part_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"part '.*'"):
        PartNumber.parse(text)


def test_a_part_is_read_and_written() -> None:
    part = PartNumber.parse(" 2/8 ")
    assert (part.number, part.count, str(part), part.folder) == (2, 8, "2/8", "2-of-8")


SIZES = st.lists(st.integers(0, 10_000), max_size=60)


def build_shares(division: dict[str, Any], count: int) -> list[InputShare]:
    return [InputShare(PartNumber(number, count), division) for number in range(1, count + 1)]


@given(sizes=SIZES, count=st.integers(1, 9), records=st.integers(1, 3000))
def test_each_record_is_in_one_part(sizes: list[int], count: int, records: int) -> None:
    division = divide_files(sizes, count)
    assert len(division) == len(sizes)
    names = {f"f{i}": weights for i, weights in enumerate(division)}
    shares = build_shares(names, count)
    for name in list(names)[:5]:
        for number in {1, records, BLOCK_RECORDS, BLOCK_RECORDS + 1}:
            readers = [share for share in shares if share.reads_record(name, number)]
            assert len(readers) == 1 and readers[0].reads_file(name)


def find_loads(sizes: list[int], count: int) -> dict[int, float]:
    loads = dict.fromkeys(range(1, count + 1), 0.0)
    for size, weights in zip(sizes, divide_files(sizes, count), strict=True):
        total = sum(weight for _, weight in weights)
        for part, weight in weights:
            loads[part] += size * weight / total
    return loads


@given(sizes=st.lists(st.integers(0, 1_000), min_size=1, max_size=80), count=st.integers(1, 60))
def test_parts_are_about_equal(sizes: list[int], count: int) -> None:
    loads = find_loads(sizes, count)
    assert abs(sum(loads.values()) - sum(sizes)) < 1e-6
    assert max(loads.values()) <= 1.4 * max(sum(sizes), 1) / count


def test_files_of_one_size_are_divided_exactly() -> None:
    assert set(find_loads([1000] * 64, 16).values()) == {4000.0}
    assert divide_files([1000] * 3, 3) == [((1, 1),), ((2, 1),), ((3, 1),)]
    assert divide_files([1000], 4) == [((1, 1), (2, 1), (3, 1), (4, 1))]
    assert take_turns(divide_files([1000], 4)[0]) == (1, 2, 3, 4)


def test_a_part_reads_few_files_that_it_divides_with_others() -> None:
    """Sixty large files, such as a dump of Semantic Scholar, in 64 parts: else each part would read all of them."""
    division = divide_files([10**10 + number for number in range(60)], 64)
    read = Counter(part for weights in division for part, _ in weights)
    assert sorted(read) == list(range(1, 65)) and max(read.values()) <= 3
    assert max(find_loads([10**10] * 60, 64).values()) < 1.05 * 60 * 10**10 / 64


def test_turns_are_spread_by_weight() -> None:
    turns = take_turns([(4, 5), (7, 2), (9, 1)])
    assert Counter(turns) == {4: 5, 7: 2, 9: 1} and turns[0] == 4
    assert max(len(run) for run in "".join(map(str, turns)).split("7")) < 6


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    found = []
    for number in range(4):
        path = tmp_path / "works" / f"part={number}" / "papers.jsonl"
        path.parent.mkdir(parents=True)
        papers = some_papers(300, 300 * number)
        path.write_text("".join(json.dumps(paper.to_json()) + "\n" for paper in papers) + "{broken\n")
        found.append(path)
    return found


def test_shares_of_files_and_blocks_are_the_whole_input(files: list[Path]) -> None:
    whole = ReadReport()
    papers = list(read_papers(files, skip_bad=True, report=whole))
    both = [(1, 1), (2, 1)]
    division = {str(files[0]): [(1, 1)], str(files[1]): [(2, 1)], str(files[2]): both, str(files[3]): both}
    found, skipped = [], 0
    for number in (1, 2):
        report = ReadReport()
        share = InputShare(PartNumber(number, 2), division)
        found += list(read_papers(files, skip_bad=True, report=report, share=share))
        assert report.skipped_count and len(report.files) == 3
        skipped += report.skipped_count
    assert sorted(found, key=lambda p: int(p.id[1:])) == papers and skipped == whole.skipped_count == 4
    assert {paper.id: paper.place for paper in found} == {paper.id: paper.place for paper in papers}


def test_a_file_that_is_no_file_of_papers_is_counted_by_one_part(files: list[Path]) -> None:
    files[2].write_text("<!DOCTYPE html><html><body>404</body></html>")
    counts = []
    for number in (1, 2, 3):
        report = ReadReport()
        share = InputShare(PartNumber(number, 3), {str(path): [(1, 1), (2, 1), (3, 1)] for path in files})
        list(read_papers(files, skip_bad=True, report=report, share=share))
        counts.append(sum("HTML" in str(each) for each in report.skipped))
    assert sorted(counts) == [0, 0, 1]


def test_a_file_that_was_not_divided_is_refused(files: list[Path]) -> None:
    share = InputShare(PartNumber(1, 2), {str(files[0]): [(1, 1)]})
    with pytest.raises(InputError, match="was not in the input when it was divided"):
        list(read_papers(files, skip_bad=True, share=share))


@pytest.mark.parametrize("pattern", ["works/*/papers.jsonl", "works/**", "works/part=?", "work*", "works/part=[0-3]"])
def test_a_pattern_stands_for_what_it_matches(files: list[Path], monkeypatch: pytest.MonkeyPatch, pattern: str) -> None:
    folder = files[0].parents[2]
    (folder / "works" / "part=0" / ".hidden.jsonl").write_text("no\n")
    for base in ("", f"{folder}/"):
        monkeypatch.chdir(folder)
        papers = list(read_papers([base + pattern], skip_bad=True))
        assert [paper.id for paper in papers] == [f"p{i}" for i in range(1200)]


def test_a_pattern_without_matches_and_a_name_with_brackets(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no file or folder matches this pattern"):
        read_papers([tmp_path / "*.jsonl"])
    path = tmp_path / "a[1]*.jsonl"
    path.write_text(json.dumps(some_papers(1)[0].to_json()) + "\n")
    (tmp_path / "a1.jsonl").write_text("no")
    assert [paper.id for paper in read_papers([path])] == ["p0"]
