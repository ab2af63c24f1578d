"""Parts: what is merged is what one process stores; what would mix, lose or double something is refused."""

from __future__ import annotations

import errno
import json
import os
import shutil
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from build_parts import LAYOUT, PAPERS, describe, embed_parts, write_input, write_papers
from fake_encoder import FakeEncoder, some_papers
from folders import snapshot
from sciprism.errors import DamagedFileError, InputError, RunFailedError
from sciprism.files import lock_file
from sciprism.papers import read_papers
from sciprism.papers.division import PartNumber
from sciprism.store import CollectionLayout, StoredCollection, delete, embed
from sciprism.store.parts import PartInput, PartsStatus, embed_part, merge, read_status
from sciprism.store.parts.state import (
    PartReporter,
    PartState,
    PartStatus,
    lock_path,
    part_folder,
    read_state,
    state_path,
    write_state,
)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_input(tmp_path_factory.mktemp("input"))


@pytest.fixture(scope="module")
def whole(files: list[Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("whole") / "c"
    embed(read_papers(files), FakeEncoder(), folder, layout=LAYOUT)
    return describe(folder)


@pytest.fixture(scope="module")
def unmerged(files: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parts") / "c"
    embed_parts(files, folder, 3)
    return folder


@pytest.fixture
def parts(unmerged: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(unmerged, tmp_path / "c"))


def run(files: list[Path], folder: Path, part: str, encoder: FakeEncoder | None = None, **options: Any) -> Any:
    layout = options.pop("layout", LAYOUT)
    source = PartInput(paths=files, **options)
    return embed_part(source, encoder or FakeEncoder(), folder, PartNumber.parse(part), layout=layout)


@pytest.mark.parametrize("count", [1, 2, 11])
def test_parts_are_what_one_process_stores(
    files: list[Path], whole: dict[str, Any], tmp_path: Path, count: int
) -> None:
    embed_parts(files, tmp_path / "c", count)
    before = {path.stat().st_ino for path in (tmp_path / "c" / "parts").rglob("*.npy")}
    report = merge(tmp_path / "c")
    assert describe(tmp_path / "c") == whole
    assert (report.papers, report.duplicates, report.bad) == (PAPERS, 42, 0)
    assert before == {p.stat().st_ino for p in (tmp_path / "c" / "vectors").rglob("*.npy")}, "vectors were copied"
    assert not (tmp_path / "c" / "parts").exists()


def test_a_part_waits_for_a_worker_that_still_holds_it(files: list[Path], parts: Path) -> None:
    """As one of a lost machine may for a moment: `patience` says how long."""
    held = threading.Event()

    def hold() -> None:
        with lock_file(lock_path(parts, PartNumber(1, 3)), "busy"):
            held.set()
            time.sleep(1.0)

    worker = threading.Thread(target=hold)
    worker.start()
    held.wait()
    source = PartInput(paths=files)
    with pytest.raises(InputError, match="is being written by another sciprism process"):
        embed_part(source, FakeEncoder(), parts, PartNumber(1, 3), layout=LAYOUT, patience=0)
    assert embed_part(source, FakeEncoder(), parts, PartNumber(1, 3), layout=LAYOUT, patience=600).finished_before
    worker.join()


def test_the_papers_of_all_parts_are_estimated_from_those_counted() -> None:
    parts = [PartStatus(1, "done", 100, 100), PartStatus(2, "embedding", 10, 200), PartStatus(3, "waiting")]
    assert PartsStatus("parts", 110, parts).expected == 450
    assert PartsStatus("parts", 0, parts[2:]).expected is None


def test_one_file_without_repeats_is_stored_in_the_order_of_one_process(tmp_path: Path) -> None:
    file = write_papers(tmp_path / "papers.jsonl", some_papers(3000))
    layout = CollectionLayout(shard_size=256)
    embed(read_papers([file]), FakeEncoder(), tmp_path / "one", layout=layout)
    for part in ("2/3", "1/3", "3/3"):
        run([file], tmp_path / "c", part, layout=layout)
    merge(tmp_path / "c")
    one, many = (StoredCollection.open(tmp_path / name) for name in ("one", "c"))
    assert one.papers(range(3000)) == many.papers(range(3000))
    vectors = (next((tmp_path / name / "vectors").iterdir()) for name in ("one", "c"))
    assert snapshot(next(vectors)) == snapshot(next(vectors)), "and its vectors are the same bytes"


def test_a_merged_collection_is_one_like_any_other(files: list[Path], parts: Path, tmp_path: Path) -> None:
    merge(parts)
    embed(read_papers(files), FakeEncoder(), tmp_path / "one", layout=LAYOUT)
    more = [*some_papers(50, 5000), replace(some_papers(1)[0], abstract="Another text.")]
    for folder in (parts, tmp_path / "one"):
        report = embed(more, FakeEncoder(), folder)
        assert (report.new, report.changed, report.papers) == (50, 1, PAPERS + 50)
        assert embed(read_papers(files), FakeEncoder(), folder).unchanged >= PAPERS - 1
        delete(folder, ["p7", "p803"])
        report = embed(more[:40], FakeEncoder(), folder, prune=True)
        assert (report.papers, report.pruned) == (40, PAPERS + 50 - 2 - 40)
    assert describe(parts) == describe(tmp_path / "one")


def test_the_same_part_again_does_nothing_and_a_merged_one_is_told(files: list[Path], parts: Path) -> None:
    before, encoder = snapshot(parts), FakeEncoder()
    report = run(files, parts, "2/3", encoder)
    assert report.finished_before and report.counts["new"] and snapshot(parts) == before and not encoder.encoded
    merge(parts)
    before = snapshot(parts)
    assert run(files, parts, "2/3").merged and merge(parts).merged_before
    assert snapshot(parts) == before


def test_more_parts_than_papers(tmp_path: Path) -> None:
    file = write_papers(tmp_path / "papers.jsonl", some_papers(3))
    for part in ("1/3", "2/3", "3/3"):
        run([file], tmp_path / "c", part)
    assert merge(tmp_path / "c").papers == 3


def test_an_input_without_papers_is_not_merged(tmp_path: Path) -> None:
    file = tmp_path / "papers.jsonl"
    file.write_text('{"id": "a", "title": "", "abstract": ""}\n')
    for part in ("1/2", "2/2"):
        run([file], tmp_path / "c", part, skip_bad=True)
    with pytest.raises(InputError, match=r"no part of .* has a paper"):
        merge(tmp_path / "c")


def change(folder: Path, wanted: dict[str, Any], files: list[Path]) -> dict[str, Any]:
    """Return the arguments of `run` for a part that does not fit the others."""
    return {"files": files, "folder": folder, "part": "1/3", **wanted}


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"part": "1/4"}, "begun with another plan: 3 parts, not 4; repeat the first command"),
        ({"encoder": FakeEncoder("other", "zzz")}, r"the model fake \(fingerprint f0, .*not other \(fingerprint zzz"),
        ({"layout": CollectionLayout(formats=LAYOUT.formats, shard_size=100)}, "dtype int8, not float32"),
        ({"layout": replace(LAYOUT, formats=("proximity",))}, "formats proximity, classification, not proximity"),
        ({"missing_abstract": "skip"}, "missing_abstract 'title', not 'skip'"),
        ({"reader": "jsonl"}, "reader '', not 'jsonl'"),
    ],
)
def test_a_part_that_does_not_fit_is_refused(
    files: list[Path], parts: Path, wanted: dict[str, Any], message: str
) -> None:
    before = snapshot(parts)
    with pytest.raises(InputError, match=message):
        run(**change(parts, wanted, files))
    after = snapshot(parts)
    assert {name: after[name] for name in before} == before and not set(after) - set(before) - {
        "parts/1-of-4.lock",
        ".lock",
    }


def test_an_input_that_differs_between_workers_is_refused(tmp_path: Path) -> None:
    files = write_input(tmp_path / "in", 400)
    run(files, tmp_path / "c", "1/2")
    with pytest.raises(InputError, match=r"2 files missing now \(.*1-small.jsonl\)"):
        run([files[0], *files[3:]], tmp_path / "c", "2/2")
    with pytest.raises(InputError, match="the files in another order"):
        run([*files[1:], files[0]], tmp_path / "c", "2/2")
    more = write_papers(tmp_path / "in" / "more.jsonl", some_papers(3, 9000))
    with pytest.raises(InputError, match=r"1 file new \(.*more.jsonl\)"):
        run([*files, more], tmp_path / "c", "2/2")
    kept = files[5].read_bytes()
    write_papers(files[5], some_papers(5, 9000))
    with pytest.raises(InputError, match=r"1 file changed since \(.*5-small.jsonl\)"):
        run(files, tmp_path / "c", "2/2")
    with pytest.raises(InputError, match=r"is named twice"):
        run([*files, files[0]], tmp_path / "new", "2/2")
    files[5].write_bytes(kept)
    run(files, tmp_path / "c", "2/2")
    assert merge(tmp_path / "c").papers == 400


def test_bytes_that_no_sample_holds_are_compared_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change that keeps a file's size and its samples is found by the part that read it, else by the merge."""
    monkeypatch.setattr("sciprism.store.parts.plan.SAMPLES", 2)
    monkeypatch.setattr("sciprism.store.parts.plan.SAMPLE", 10)
    file = write_papers(tmp_path / "papers.jsonl", some_papers(600))
    content = file.read_bytes()
    other = content.replace(b"Title 300 ", b"Title 999 ")
    assert len(other) == len(content) and other != content
    run([file], tmp_path / "c", "1/2")
    file.write_bytes(other)
    with pytest.raises(InputError, match=r"papers.jsonl has changed since part 1/2 began; restore the file"):
        run([file], tmp_path / "c", "1/2")
    run([file], tmp_path / "c", "2/2")
    before = snapshot(tmp_path / "c")
    with pytest.raises(InputError, match=r"papers.jsonl was not the same for part 1/2 and part 2/2"):
        merge(tmp_path / "c")
    assert snapshot(tmp_path / "c") == before


def test_a_file_that_changes_while_it_is_read(tmp_path: Path) -> None:
    file = write_papers(tmp_path / "papers.jsonl", some_papers(300))

    class Changing(FakeEncoder):
        def encode(self, items: Any, **options: Any) -> Any:
            os.utime(file, ns=(1, 1))
            return super().encode(items, **options)

    with pytest.raises(InputError, match="changed while it was read"):
        run([file], tmp_path / "c", "1/2", Changing())
    assert read_status(tmp_path / "c").parts[0].stage == "failed"


def test_merging_needs_all_parts_done_and_once(files: list[Path], parts: Path) -> None:
    third = part_folder(parts, PartNumber(3, 3))
    states = [state_path(parts, PartNumber(number, 3)) for number in (1, 2, 3)]
    kept = states[1].read_bytes()
    states[1].unlink()
    state = read_state(parts, PartNumber(3, 3))
    assert state is not None
    write_state(parts, PartNumber(3, 3), state.model_copy(update={"stage": "failed", "error": "the disk is full"}))
    message = r"cannot be merged yet: part 2/3 has not begun; .*; part 3/3 failed \(the disk is full\); run it again"
    with pytest.raises(InputError, match=message):
        merge(parts)
    states[1].write_bytes(kept)
    with lock_file(lock_path(parts, PartNumber(3, 3)), "busy"), pytest.raises(InputError, match="part 3/3 is at work"):
        merge(parts)
    assert run(files, parts, "3/3").papers
    shutil.copytree(third, third.with_name("3-of-4"))
    with pytest.raises(InputError, match="3-of-4 is not of these 3 parts"):
        merge(parts)
    shutil.rmtree(third.with_name("3-of-4"))
    merge(parts)


def test_a_part_under_the_name_of_another_is_refused(files: list[Path], parts: Path) -> None:
    one, two = (PartNumber(number, 3) for number in (1, 2))
    shutil.rmtree(part_folder(parts, two))
    shutil.copytree(part_folder(parts, one), part_folder(parts, two))
    with pytest.raises(InputError, match=r"2-of-3 holds a paper of another part .*: was a folder copied"):
        merge(parts)
    shutil.copy(state_path(parts, one), state_path(parts, two))
    with pytest.raises(InputError, match="part 2/3 is of another plan"):
        merge(parts)
    with pytest.raises(InputError, match="2-of-3 is not of this plan; delete it"):
        run(files, parts, "2/3")
    for path in (parts / "parts").glob("2-of-3*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    run(files, parts, "2/3")
    assert merge(parts).papers == PAPERS


def test_vectors_of_two_models_are_never_merged(parts: Path) -> None:
    path = part_folder(parts, PartNumber(2, 3)) / "manifest.json"
    text = json.loads(path.read_text())
    text["encoder"]["fingerprint"] = "other"
    stored = StoredCollection.open(path.parent)
    encoder = stored.manifest.encoder.model_copy(update={"fingerprint": "other"})
    stored.manifest.model_copy(update={"encoder": encoder}).write(path.parent)
    with pytest.raises(InputError, match=r"holds vectors of fake \(fingerprint other\), the plan is of fake"):
        merge(parts)


def test_a_part_that_another_command_changed_is_refused(parts: Path) -> None:
    stored = StoredCollection.open(part_folder(parts, PartNumber(1, 3)))
    delete(stored.folder, [stored.papers([0])[0].id])
    with pytest.raises(InputError, match="1-of-3 was changed after its part was done"):
        merge(parts)


def test_a_damaged_part_is_refused(parts: Path) -> None:
    path = next((part_folder(parts, PartNumber(2, 3)) / "papers").glob("*.parquet"))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(DamagedFileError, match="is damaged"):
        merge(parts)


@pytest.mark.parametrize("skip_bad", ["never", "at work", "at the merge"])
def test_papers_of_one_id_in_two_parts_are_settled_as_one_process_does(tmp_path: Path, skip_bad: str) -> None:
    """The first of the input is stored; another text or another paper of its id is an error, or is counted."""
    first, other = some_papers(600), some_papers(3, 9000)
    later = [
        replace(first[0], year=1700),  # other details
        replace(first[1], abstract="Another text."),
        replace(other[0], id="p2"),  # another paper
        first[3],
    ]
    files = [
        write_papers(tmp_path / "a.jsonl", first),  # divided; its first block is of part 1
        write_papers(tmp_path / "b.jsonl", [*later, *other]),  # of part 2
        write_papers(tmp_path / "c.jsonl", some_papers(20, 7000)),  # of part 1: it is larger
    ]
    at_work = skip_bad == "at work"
    for part in ("1/2", "2/2"):
        run(files, tmp_path / "c", part, skip_bad=at_work)
    if skip_bad == "never":
        before = snapshot(tmp_path / "c")
        message = r"b.jsonl, record 2 .*: paper 'p1', .*: it came before with another text, .*a.jsonl, record 2 .*"
        with pytest.raises(InputError, match=message + "--skip-bad"):
            merge(tmp_path / "c")
        with pytest.raises(InputError, match="came before with another text"):
            embed(read_papers(files), FakeEncoder(), tmp_path / "one", layout=LAYOUT)
        assert snapshot(tmp_path / "c") == before
        return
    report = merge(tmp_path / "c", skip_bad=not at_work)
    one = embed(read_papers(files), FakeEncoder(), tmp_path / "one", layout=LAYOUT, skip_bad=True)
    assert (report.papers, report.duplicates, report.bad) == (one.papers, one.duplicates, one.bad) == (623, 2, 2)
    assert describe(tmp_path / "c") == describe(tmp_path / "one")
    assert one.reasons[0] == report.reasons[0]


def test_a_part_cannot_run_twice_at_once(files: list[Path], tmp_path: Path) -> None:
    (tmp_path / "c" / "parts").mkdir(parents=True)
    with (
        lock_file(lock_path(tmp_path / "c", PartNumber(1, 2)), "busy"),
        pytest.raises(InputError, match=r"part 1/2 of .* is being written by another"),
    ):
        run(files, tmp_path / "c", "1/2")


def act_elsewhere(folder: Path, part: PartNumber, beats: int) -> threading.Thread:
    """Be a worker on a machine whose locks are not seen here, that writes so often and then dies."""
    state = read_state(folder, part)
    assert state is not None
    state = state.model_copy(update={"stage": "embedding", "machine": "elsewhere", "host": "node7", "run": "x"})
    write_state(folder, part, state)

    def beat() -> None:
        for number in range(beats):
            time.sleep(0.05)
            write_state(folder, part, state.model_copy(update={"beat": 100 + number}))

    thread = threading.Thread(target=beat)
    thread.start()
    return thread


@pytest.mark.slow
def test_without_locks_between_machines_a_counter_decides(
    files: list[Path], parts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No clock is compared: the times of the files are of another century."""
    monkeypatch.setattr("sciprism.store.parts.state.INTERVAL", 0.2)
    part = PartNumber(2, 3)
    thread = act_elsewhere(parts, part, 60)
    os.utime(state_path(parts, part), (0, 0))
    assert read_status(parts).parts[1].stage == "embedding"
    with pytest.raises(InputError, match=r"part 2/3 of .* is being written by node7"):
        run(files, parts, "2/3")
    with pytest.raises(InputError, match="part 2/3 is at work"):
        merge(parts)
    thread.join()
    os.utime(state_path(parts, part), (4e9, 4e9))
    assert read_status(parts).parts[1].stage == "stopped"
    with pytest.raises(InputError, match="part 2/3 stopped before its end; run it again"):
        merge(parts)
    run(files, parts, "2/3")
    assert merge(parts).papers == PAPERS


def test_of_two_workers_without_locks_the_first_gives_way(
    files: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sciprism.store.parts.state.INTERVAL", 0.05)
    folder, part = tmp_path / "c", PartNumber(1, 2)

    class Overtaken(FakeEncoder):
        def encode(self, items: Any, **options: Any) -> Any:
            if not self.encoded:
                act_elsewhere(folder, part, 10).join()
            time.sleep(0.2)
            return super().encode(items, **options)

    with pytest.raises(RunFailedError, match=r"part 1/2 of .* is also run by node7"):
        run(files, folder, "1/2", Overtaken())
    state = read_state(folder, part)
    assert state is not None and state.host == "node7", "the state of the other worker is left alone"


def test_a_worker_that_is_overtaken_at_its_end_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its reports go on after one that could not be written."""
    monkeypatch.setattr("sciprism.store.parts.state.INTERVAL", 0.02)
    part, failed = PartNumber(1, 2), threading.Event()

    def replace_nothing(self: Path, target: Path) -> Path:
        failed.set()
        raise PermissionError(errno.EACCES, "Permission denied")

    reporter = PartReporter(tmp_path, part, PartState(part=1, parts=2, plan="p"))
    with pytest.raises(RunFailedError, match="is also run by node7"), reporter.report():
        with monkeypatch.context() as patch:
            patch.setattr(Path, "replace", replace_nothing)
            assert failed.wait(60)
        act_elsewhere(tmp_path, part, 10).join()


def test_a_full_disk_fails_the_part_and_the_same_command_continues(
    files: list[Path], whole: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, done = Path.replace, [0]

    def replace_until_full(self: Path, target: Path) -> Path:
        if self.suffix == ".part" and ".npy" in self.name:
            done[0] += 1
            if done[0] > 5:
                raise OSError(errno.ENOSPC, "No space left on device")
        return real(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", replace_until_full)
        with pytest.raises(OSError, match="the disk is full"):
            run(files, tmp_path / "c", "1/2")
    (part, _) = read_status(tmp_path / "c").parts
    assert part.stage == "failed" and "the disk is full" in part.error and part.done > 0
    embed_parts(files, tmp_path / "c", 2)
    merge(tmp_path / "c")
    assert describe(tmp_path / "c") == whole


def test_status_from_the_first_part_to_the_merge(files: list[Path], tmp_path: Path) -> None:
    folder, seen = tmp_path / "c", []

    class Watched(FakeEncoder):
        def encode(self, items: Any, **options: Any) -> Any:
            seen.append(read_status(folder))
            return super().encode(items, **options)

    with pytest.raises(InputError, match="holds no parts"):
        read_status(folder)
    report = run(files, folder, "2/2", Watched())
    first = seen[0]
    assert first.count() == {"embedding": 1, "waiting": 1} and first.total is None and first.stage == "parts"
    assert first.parts[1].papers == report.counts["read"] and first.parts[0].papers is None
    run(files, folder, "1/2", Watched())
    last = read_status(folder)
    assert last.count() == {"done": 2} and last.total == last.papers == PAPERS + 42 and last.seconds_left == 0
    merge(folder)
    assert (read_status(folder).stage, read_status(folder).papers) == ("merged", PAPERS)


def test_folders_that_hold_something_else_are_refused(files: list[Path], tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("x")
    with pytest.raises(InputError, match=r"holds thesis.tex but no parts.json"):
        run(files, tmp_path / "other", "1/2")
    embed(some_papers(3), FakeEncoder(), tmp_path / "c")
    assert (read_status(tmp_path / "c").stage, read_status(tmp_path / "c").papers) == ("collection", 3)
    with pytest.raises(InputError, match="is a collection; parts make a new one"):
        run(files, tmp_path / "c", "1/2")
    with pytest.raises(InputError, match="is a file"):
        run(files, files[0], "1/2")
    run(files, tmp_path / "p", "1/2")
    with pytest.raises(InputError, match="holds parts that are not merged; continue one with --part"):
        embed(some_papers(3), FakeEncoder(), tmp_path / "p")
    with pytest.raises(InputError, match=r"holds parts that are not merged; .*sciprism merge"):
        StoredCollection.open(tmp_path / "p")
    with pytest.raises(InputError, match="can be read only once"):
        run([Path("-")], tmp_path / "new", "1/2")


def test_a_damaged_plan_is_refused(files: list[Path], parts: Path) -> None:
    path = parts / "parts.json"
    path.write_text(path.read_text().replace('"parts": 3', '"parts": 4'))
    for use in (lambda: run(files, parts, "1/3"), lambda: merge(parts), lambda: read_status(parts)):
        with pytest.raises(InputError, match="damaged"):
            use()


def test_parts_of_workers_with_disks_of_their_own_are_gathered(
    files: list[Path], whole: dict[str, Any], tmp_path: Path
) -> None:
    for part in (1, 2):
        run(files, tmp_path / f"disk{part}", f"{part}/2")
    shutil.copytree(tmp_path / "disk2" / "parts", tmp_path / "disk1" / "parts", dirs_exist_ok=True)
    merge(tmp_path / "disk1")
    assert describe(tmp_path / "disk1") == whole
