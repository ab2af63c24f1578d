"""Files are written by one helper, which flushes and renames; other places are listed here, with the reason."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from sciprism.errors import InputError
from sciprism.files import cache_folder, create_work_folder, open_draft, replace_folder, write_atomically, write_json


def test_a_full_disk_names_the_file_and_the_bytes_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.json"

    def fill(file: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match=r"No space left on device: .*new/a\.json"):
        write_atomically(path, fill)
    assert [*path.parent.iterdir()] == []
    write_json(path, {"kept": True})
    with pytest.raises(OSError, match=r"No space .*a\.json"):
        write_atomically(path, fill)
    assert path.read_text() == '{\n "kept": true\n}\n' and [*path.parent.iterdir()] == [path]


def test_what_cannot_be_written_is_an_input_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot write .*file/a\.json: .* name a path that you can write to"):
        write_json(tmp_path / "file" / "a.json", {})


def test_a_work_folder_is_gone_at_the_end_and_so_are_those_of_killed_runs(tmp_path: Path) -> None:
    left = tmp_path / "out" / ".papers-killed"
    left.mkdir(parents=True)
    (left / "papers.jsonl.part").write_text("half")
    with create_work_folder(tmp_path / "out", ".papers-") as folder:
        assert [*folder.parent.glob(".papers-*")] == [folder] and [*folder.iterdir()] == []
        (folder / "a").write_text("a")
        with pytest.raises(InputError, match="another sciprism process"), create_work_folder(folder.parent, ".papers-"):
            pass
    assert [path.name for path in (tmp_path / "out").iterdir() if path.name != ".lock"] == []


def test_a_folder_that_cannot_be_written_whole_leaves_the_former_one_and_no_draft(tmp_path: Path) -> None:
    folder = tmp_path / "tagger"
    with open_draft(folder) as draft:
        (draft / "first").touch()
        replace_folder(folder, draft)
    with pytest.raises(OSError, match="full"), open_draft(folder) as draft:
        (draft / "second").touch()
        raise OSError(errno.ENOSPC, "the disk is full")
    assert [str(path.relative_to(tmp_path)) for path in sorted(tmp_path.rglob("*"))] == ["tagger", "tagger/first"]


def test_a_cache_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SCIPRISM_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(InputError, match=r"file.cache: Not a directory; set SCIPRISM_CACHE to a folder that can be"):
        cache_folder()
    monkeypatch.setenv("SCIPRISM_CACHE", str(tmp_path / "new"))
    assert cache_folder().is_dir()
