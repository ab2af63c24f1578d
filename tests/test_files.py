"""Files are written by one helper, which flushes and renames; other places are listed here, with the reason."""

from __future__ import annotations

import ast
import errno
from pathlib import Path

import pytest

import sciprism
from sciprism.errors import InputError
from sciprism.files import create_work_folder, open_draft, replace_folder, write_atomically, write_json

SOURCE = Path(sciprism.__file__).parent
OPENERS = {"open", "ZipFile", "fdopen"}  # with a mode that writes
WRITERS = {
    *("write_text", "write_bytes", "save_file", "write_tensors"),
    *("copyfile", "copytree", "NamedTemporaryFile", "TemporaryFile"),
}
"""Functions that open a file by its name, and write it. A writer that gets an open file is not among them."""

DRAFT = "a file of a draft, which `place_folder` or `replace_folder` flushes and renames"
ADDED = "adds lines at the end, flushed; half a line is removed when it is read"
TEMPORARY = "is gone when the command ends"
ELSEWHERE = {
    "encoders/cached_encoder.py": "adds rows at the end, flushed; half a row is removed when it is read",
    "encoders/checkpoints/backbone.py": f"{DRAFT}; a cache, named by its checksum",
    "encoders/checkpoints/converters/scirepeval.py": DRAFT,
    "encoders/checkpoints/folder.py": DRAFT,
    "encoders/checkpoints/sentence_transformers.py": DRAFT,
    "encoders/export.py": DRAFT,
    "files.py": "the helper",
    "index/faiss_indexes.py": "faiss writes its file itself; it is flushed and renamed there",
    "index/lexical.py": f"mapped arrays of the index, {DRAFT.removeprefix('a file of a draft, which ')}",
    "papers/input_file.py": TEMPORARY,
    "prepare/patients.py": TEMPORARY,
    "prepare/scimult/pretraining.py": TEMPORARY,
    "prepare/sources/citation_corpus.py": TEMPORARY,
    "prepare/text.py": TEMPORARY,
    "service/matches.py": DRAFT,
    "store/parts.py": DRAFT,
    "training/learners/masked_lm.py": DRAFT,
    "training/run.py": DRAFT,
    "training/run_folder.py": f"{DRAFT}; metrics, of which a checkpoint counts the lines",
    "uses/screening/decisions.py": ADDED,
    "uses/tagging/suggestions.py": ADDED,
}


def opens_to_write(source: str) -> list[str]:
    """Return the calls of a module that open a file by its name to write it."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    found = []
    for call in calls:
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        arguments = [*call.args[:2], *(keyword.value for keyword in call.keywords if keyword.arg == "mode")]
        texts = [each.value for each in arguments if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        is_mode = any(set(text) <= set("rwaxbt+") and set(text) & set("wax+") for text in texts)
        if name in WRITERS or (name in OPENERS and is_mode):
            found.append(ast.unparse(call))
    return found


def test_what_opens_a_file_to_write_it_is_the_helper_or_listed() -> None:
    modules = {str(path.relative_to(SOURCE)): path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}
    assert {name for name, source in modules.items() if opens_to_write(source)} == set(ELSEWHERE)


def test_each_way_to_open_a_file_is_found() -> None:
    ways = (
        'open(p, "w")',
        'p.open("ab")',
        'open(p, mode="r+")',
        "p.write_text(t)",
        "save_file(a, p)",
        'ZipFile(p, "w")',
    )
    assert all(opens_to_write(way) for way in ways)
    assert not any(opens_to_write(way) for way in ("open(p)", 'p.open("rb")', 'open("w.txt")', "file.write(b)"))


def test_a_full_disk_names_the_file_and_the_bytes_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.json"

    def fill(file: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match=r"new/a\.json: the disk is full \(No space left .*\), [\d,]+ bytes are free; "):
        write_atomically(path, fill)
    assert [*path.parent.iterdir()] == []
    write_json(path, {"kept": True})
    with pytest.raises(OSError, match=r"a\.json: the disk is full"):
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
