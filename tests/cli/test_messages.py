"""What commands say when a request cannot be met; the table of commands and words is in `messages.toml`."""

from __future__ import annotations

import errno
import gzip
import io
import json
import shlex
import shutil
import tomllib
from pathlib import Path

import pytest

from build_commands import run
from damage_trials import write_results
from fake_encoder import FakeEncoder
from five_papers import PAPERS
from folders import snapshot
from sciprism.encoders.encoder import Encoder
from sciprism.papers.records import Paper
from sciprism.store import embed, writing

LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 90868376\n"
HTML = b"<!DOCTYPE html>\n<html><head><title>404 Not\n Found</title></head><body>gone</body></html>"
PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\x00\x00"

MESSAGES = tomllib.loads(Path(__file__).with_name("messages.toml").read_text(encoding="utf-8"))
STATUS = {"refused": 2, "done": 0}
TABLE = [(command, STATUS[kind], words) for kind in STATUS for command, words in MESSAGES[kind].items()]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Path:
    """A folder with a collection, files that are no papers, and models that lack something."""
    folder = tmp_path_factory.mktemp("messages")
    twins = [Paper(id=f"twin-{number}", title="Twin", abstract=f"Of {number}.") for number in (1, 2)]
    embed([*PAPERS, *twins], FakeEncoder(), folder / "vecs")  # type: ignore[arg-type]
    embed(twins, FakeEncoder(), folder / "small" / "two")  # type: ignore[arg-type]
    write_results(folder / "results")
    cited = [
        {"id": f"p{n}", "title": f"Paper {n}", "abstract": f"On {n}.", "fields": ["Art"], "references": [f"p{n + 1}"]}
        for n in range(60)
    ]
    contents = {name: content.encode() for name, content in MESSAGES["files"].items()} | {
        "a.jsonl": "\n".join(map(json.dumps, cited)).encode(),
        "excel.xlsx": (Path(__file__).parents[1] / "papers" / "samples" / "excel.xlsx").read_bytes(),
        "lfs.bib": LFS,
        "page.bib": HTML,
        "page.toml": HTML,
        "document.bib": PDF,
        "binary.ris": bytes(range(256)) * 4,
        "utf16.jsonl": '{"id": "a", "title": "Größe"}\n'.encode("utf-16"),
        "packed.jsonl": gzip.compress(b"{}"),
        "lfs-model/model.safetensors": LFS,
        "html-model/pytorch_model.bin": HTML,
        "other-model/tf_model.h5": b"\x89HDF",
    }
    shutil.copytree(tiny_model, folder / "tiny-model")
    for name in ("lfs-model", "html-model", "other-model", "bare-model"):
        shutil.copytree(tiny_model, folder / name, ignore=shutil.ignore_patterns("*.safetensors"))
    for name, content in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def read_files(folder: Path) -> dict[str, bytes]:
    return {name: content for name, content in snapshot(folder).items() if not name.endswith(".lock")}


@pytest.mark.parametrize(("command", "status", "words"), TABLE, ids=[command for command, *_ in TABLE])
def test_a_message_says_what_is_wrong_and_what_to_do(workspace, monkeypatch, capsys, command, status, words):
    monkeypatch.chdir(workspace)
    monkeypatch.delenv("SCIPRISM_DATA", raising=False)
    monkeypatch.setattr("sciprism.uses.mapping.has_packages", lambda: True)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    before = read_files(workspace)
    found, out, errors = run(monkeypatch, capsys, *shlex.split(command))
    said = " ".join((out + errors).split())
    assert found == status and "Traceback" not in said and "never-printed" not in said, said
    assert [word for word in words if word not in said] == [], said
    if status and "--json" not in command:
        found, out, errors = run(monkeypatch, capsys, *shlex.split(command), "--json")
        document = json.loads(errors[errors.index('{"schema"') :] if errors.count("\n") > 1 else errors)
        assert found == status == document["exit"] and not out
        assert list(document) == ["schema", "error", "exit"] and document["schema"] == "sciprism.error/1"
    assert read_files(workspace) == before, "nothing is written"


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), 1, "No space left on device: 'out'"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), 1, "Disk quota exceeded: 'out'"),
        (OSError(errno.EROFS, "Read-only file system", "out/x"), 2, "Read-only file system: 'out/x'"),
        (PermissionError(errno.EACCES, "Permission denied", "out/x"), 2, "Permission denied: 'out/x'"),
    ],
)
@pytest.mark.parametrize("command", ["export sciprism-small -o out", "evaluate random --tasks t.toml -o out"])
def test_the_disk_is_named_in_every_command(monkeypatch, capsys, command, error, status, words):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(Encoder, "load", fail)
    monkeypatch.setattr("sciprism.evaluation.run.select_tasks", fail)
    found, _, errors = run(monkeypatch, capsys, *command.split())
    assert found == status and words in errors and errors.count("\n") == 1


def test_an_interrupted_run_stores_what_it_computed(tmp_path, monkeypatch, capsys, tiny_model):
    """Batches are saved between shards; a second run computes none of them again, and the end is the same."""
    rows = [json.dumps({"id": str(n), "title": f"Dark matter {n}", "abstract": "wave " * n}) for n in range(60)]
    (tmp_path / "refs.jsonl").write_text("\n".join(rows))
    monkeypatch.chdir(tmp_path)
    options = ("--model", tiny_model, "--pooling", "mean", "--threads", "1", "--precision", "float32")
    assert run(monkeypatch, capsys, "embed", "refs.jsonl", "-o", "whole", *options)[0] == 0
    monkeypatch.setattr(writing, "SAVE_SECONDS", 0.0)
    real, calls = Encoder.vectors, []

    def stop_at_the_third(self, batch):
        calls.append(batch)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(self, batch)

    with monkeypatch.context() as patched:
        patched.setattr(Encoder, "vectors", stop_at_the_third)
        status, _, errors = run(monkeypatch, capsys, "embed", "refs.jsonl", "-o", "stopped", *options)
    assert status == 130 and "vectors of the next ones are saved; the same command continues" in errors
    saved = writing.count_unfinished(Path("stopped"))
    assert saved > 0
    first = next(Path("stopped/unfinished").glob("*.npz"))
    first.write_bytes(first.read_bytes()[:-30])  # damaged: its batch is computed again
    assert run(monkeypatch, capsys, "embed", "refs.jsonl", "-o", "stopped", *options)[0] == 0
    assert snapshot(tmp_path / "stopped") == snapshot(tmp_path / "whole")
