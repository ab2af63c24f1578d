"""Parts: what is merged is what one process stores; what would mix, lose or double something is refused."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from build_parts import LAYOUT, describe, embed_parts, embed_whole, load, write_input, write_papers
from fake_encoder import FakeEncoder, some_papers
from folders import snapshot
from sciprism.errors import DamagedFileError, InputError
from sciprism.papers.input_paths import InputPart
from sciprism.store import StoredCollection, delete
from sciprism.store.embed import EmbedInput
from sciprism.store.parts import embed_part, merge


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_input(tmp_path_factory.mktemp("input"))


@pytest.fixture(scope="module")
def unmerged(files: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parts")
    embed_parts(files, folder, 3, skip_bad=True)
    return folder


@pytest.fixture
def parts(unmerged: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(unmerged, tmp_path / "parts"))


def test_parts_are_what_one_process_stores(files: list[Path], tmp_path: Path) -> None:
    embed_whole(files, tmp_path / "whole", skip_bad=True)
    for count in (1, 2, 7):
        parts, merged = tmp_path / f"parts-{count}", tmp_path / f"merged-{count}"
        embed_parts(files, parts, count, skip_bad=True)
        before = snapshot(parts)
        merge([parts], merged, load, skip_bad=True)
        assert describe(merged) == describe(tmp_path / "whole") and snapshot(parts) == before
        inodes = {path.stat().st_ino for path in parts.rglob("*.npy")}
        assert inodes <= {path.stat().st_ino for path in merged.rglob("*.npy")}, "vectors were copied"


def test_records_without_an_equal_one_need_no_encoder_and_keep_their_order(tmp_path: Path) -> None:
    file = write_papers(tmp_path / "papers.jsonl", [*some_papers(900), *some_papers(20)])
    embed_parts([file], tmp_path / "parts", 4)
    report = merge([tmp_path / "parts"], tmp_path / "c", lambda _stored: pytest.fail("an encoder was loaded"))
    stored = StoredCollection.open(tmp_path / "c")
    assert (report.papers, report.duplicates, report.read) == (900, 20, 920)
    assert [paper.id for paper in stored.papers(stored.live)] == [f"p{number}" for number in range(900)]


@pytest.mark.parametrize("skip_bad", [False, True])
def test_another_paper_of_one_id_is_an_error_or_counted(tmp_path: Path, skip_bad: bool) -> None:
    first, other = some_papers(2, 9000)
    others = [*some_papers(300, 1000), replace(first, id="p2"), replace(other, id="p1003")]
    papers = {"a": some_papers(300), "b": others}
    files = [write_papers(tmp_path / f"{name}.jsonl", each) for name, each in papers.items()]
    embed_parts(files, tmp_path / "parts", 2, skip_bad=True)
    if not skip_bad:
        with pytest.raises(InputError, match=r"b.jsonl, record 301.*'p2'.*another paper has this id.*--skip-bad"):
            merge([tmp_path / "parts"], tmp_path / "c", load)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "b.jsonl", "parts"]
        return
    embed_whole(files, tmp_path / "whole", skip_bad=True)
    report = merge([tmp_path / "parts"], tmp_path / "c", load, skip_bad=True)
    assert report.bad == 2 and len(report.reasons) == 1
    assert describe(tmp_path / "c") == describe(tmp_path / "whole")


def test_more_parts_than_papers_and_none_at_all(tmp_path: Path) -> None:
    file = write_papers(tmp_path / "papers.jsonl", some_papers(3))
    embed_parts([file], tmp_path / "parts", 5)
    assert merge([tmp_path / "parts"], tmp_path / "c", load).papers == 3
    file.write_text('{"id": "a", "title": "", "abstract": ""}\n')
    embed_parts([file], tmp_path / "none", 2, skip_bad=True)
    with pytest.raises(InputError, match="no part has a paper"):
        merge([tmp_path / "none"], tmp_path / "d", load)


def run(files: list[Path], folder: Path, part: str, encoder: FakeEncoder | None = None, **options: Any) -> None:
    layout = options.pop("layout", LAYOUT)
    source = EmbedInput(paths=files, skip_bad=True, part=InputPart.parse(part), **options)
    embed_part(source, encoder or FakeEncoder(), folder, layout=layout)


def test_an_interrupted_part_continues_and_a_done_one_encodes_nothing(files: list[Path], parts: Path) -> None:
    class Stopped(FakeEncoder):
        def encode(self, items: Any, **options: Any) -> Any:
            if self.encoded > 200:
                raise KeyboardInterrupt
            return super().encode(items, **options)

    shutil.rmtree(parts / "2")
    with pytest.raises(KeyboardInterrupt):
        run(files, parts / "2", "2/3", Stopped())
    with pytest.raises(InputError, match=r"parts/2 is not finished; embed it again with --part 2/3"):
        merge([parts], parts.parent / "c", load)
    for expected in (True, False):
        encoder = FakeEncoder()
        run(files, parts / "2", "2/3", encoder)
        assert bool(encoder.encoded) is expected
    merge([parts / name for name in ("3", "1", "2")], parts.parent / "c", load, skip_bad=True)


OTHER, FLOAT16 = FakeEncoder("other", "zzz"), replace(LAYOUT, dtype="float16")


@pytest.mark.parametrize(
    ("begun", "options", "message"),
    [
        (True, {"part": "1/3"}, "was begun with part 2, not 1; repeat its first command"),
        (True, {"part": "2/4"}, "parts '3', not '4'"),
        (True, {"missing_abstract": "skip"}, "missing_abstract 'title', not 'skip'"),
        (True, {"encoder": OTHER}, "holds vectors of fake, fingerprint f0; not of other"),
        (True, {"layout": FLOAT16}, "made with dtype int8, not float16"),
        (False, None, r"part 2/3 is missing: embed it with --part"),
        (False, {"encoder": OTHER}, "parts/1 has the model f0, .*parts/2 zzz; delete one"),
        (False, {"layout": FLOAT16}, "parts/1 has the dtype int8, .*parts/2 float16"),
        (False, {"missing_abstract": "skip"}, "parts/1 is of missing_abstract 'title', not 'skip' as .*parts/2 is"),
        (False, {"part": "1/3"}, "parts/1 and .*parts/2 are both part 1"),
        (False, {"files": []}, r"00.jsonl None, not 'file 22, "),
    ],
)
def test_a_part_of_something_else_is_neither_continued_nor_merged(
    files: list[Path], parts: Path, begun: bool, options: dict[str, Any] | None, message: str
) -> None:
    more = write_papers(parts.parent / "00.jsonl", some_papers(3, 9000))
    given = {"folder": parts / "2", "part": "2/3", "files": files} | (options or {})
    given["files"] = given["files"] or [*files, more]
    if begun:
        with pytest.raises(InputError, match=message):
            run(**given)
        return
    shutil.rmtree(parts / "2")
    if options is not None:
        run(**given)
    with pytest.raises(InputError, match=message):
        merge([parts], parts.parent / "c", load, skip_bad=True)
    assert not (parts.parent / "c").exists()


def test_a_changed_file_or_part_is_found(tmp_path: Path) -> None:
    file = write_papers(tmp_path / "papers.jsonl", some_papers(300))
    embed_parts([file], tmp_path / "parts", 2)
    write_papers(file, some_papers(300, 1))
    with pytest.raises(InputError, match=r"was begun with .*papers.jsonl 'file 1, .* bytes, .*', not 'file 1, "):
        run([file], tmp_path / "parts" / "1", "1/2")
    first = StoredCollection.open(tmp_path / "parts" / "1")
    damaged = first.folder / "papers" / "000000.parquet"
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 1
    damaged.rename(tmp_path / "kept")
    damaged.write_bytes(content)
    with pytest.raises(DamagedFileError, match=r"000000.parquet is damaged"):
        merge([tmp_path / "parts"], tmp_path / "c", load)
    (tmp_path / "kept").rename(damaged)
    delete(first.folder, ["p1"])
    with pytest.raises(InputError, match="was changed after its part was embedded"):
        merge([tmp_path / "parts"], tmp_path / "c", load)


def test_what_holds_no_part_is_refused(files: list[Path], parts: Path, tmp_path: Path) -> None:
    embed_whole(files[1:3], tmp_path / "c")
    for folder in (tmp_path / "c", files[0]):
        with pytest.raises(InputError, match=r"neither is a part nor holds one"):
            merge([folder], tmp_path / "new", load)
    with pytest.raises(InputError, match=r"is a collection and no part; name a new folder for part 1/2"):
        run(files, tmp_path / "c", "1/2")
    with pytest.raises(InputError, match=r"exists; name a new folder"):
        merge([parts], tmp_path / "c", load)
