"""What commands say when a request cannot be met: a table of commands, exit statuses and words of the message."""

from __future__ import annotations

import errno
import json
import shlex
import shutil
from pathlib import Path

import pytest

from build_commands import run
from fake_encoder import FakeEncoder
from five_papers import PAPERS
from folders import snapshot
from sciprism.encoders.encoder import Encoder
from sciprism.papers.records import Paper
from sciprism.store import embed, writing

LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 90868376\n"
HTML = b"<!DOCTYPE html>\n<html><head><title>404 Not\n Found</title></head><body>gone</body></html>"
PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\x00\x00"
RECIPE = """name = "r"
model = { backbone = "all-MiniLM-L6-v2" }
[[stages]]
name = "first"
steps = 1
batch_size = 2
objective = { name = "contrast" }
sources = [{ file = "pairs.jsonl", format = "proximity" }]
"""

TABLE: list[tuple[str, int, tuple[str, ...]]] = [
    # an unknown paper names the nearest three, by id or title
    ("similar vecs --to cripsr --no-why", 2, ("no paper with the id or title 'cripsr'", "the nearest: 'crispr' (")),
    ("similar vecs --to Atention --no-why", 2, ("'attention' (Attention)",)),
    ("similar vecs --to 'a UNIVERSAL density  profile' --no-why", 0, ("[rotation]",)),
    ("similar vecs --to Twin --no-why", 2, ("2 papers of vecs have the title 'Twin'; name an id: 'twin-1', 'twin-2'",)),
    # what is no collection is told with a command that can be copied
    ("search refs.bib dark matter", 2, ("refs.bib is a file", "sciprism embed refs.bib -o refs-vectors, and name")),
    ("index papers --lexical", 2, ("papers is a folder without manifest.json", "embed papers -o papers-vectors")),
    ("search vec dark", 2, ("vec does not exist; collections next to it: vecs", "sciprism embed FILES -o vec")),
    ("search 'my refs.bib' x", 2, ("sciprism embed 'my refs.bib' -o 'my refs-vectors'",)),
    # inputs are checked before a model is loaded: this one does not exist
    ("embed gone.bib -o new --model nosuch", 2, ("gone.bib: no such file or folder",)),
    ("embed refs.bib -o file.txt --model nosuch", 2, ("file.txt is a file; name a folder",)),
    ("embed refs.bib -o v.parquet --model nosuch", 2, ("then: sciprism export FOLDER -o v.parquet",)),
    # files that are not what they should be
    ("inspect lfs.bib", 2, ("lfs.bib: a Git-LFS pointer, not the file of 90,868,376 bytes", "git lfs pull")),
    ("inspect page.bib", 2, ("page.bib: an HTML page (404 Not Found), not the file itself", "fetch it again")),
    ("inspect document.bib", 2, ("document.bib: a PDF document, not text",)),
    ("inspect binary.ris", 2, ("binary.ris: a binary file, not text",)),
    ("inspect empty.bib", 2, ("empty.bib: the file is empty",)),
    ("inspect utf16.jsonl", 0, ("read as utf-16",)),
    ("inspect page.bib refs.bib --skip-bad", 0, ("skipped: page.bib: an HTML page",)),
    ("describe lfs-model --pooling mean", 2, ("model.safetensors: a Git-LFS pointer",)),
    ("describe html-model --pooling mean", 2, ("pytorch_model.bin: an HTML page (404 Not Found)",)),
    ("describe other-model --pooling mean", 2, ("no weights", "onnx/model.onnx (ONNX), tf_model.h5 (Keras)")),
    ("describe bare-model --pooling mean", 2, ("no other weight files in it: was the download complete?",)),
    # recipes and what can be set
    ("train nosuch.toml -o run", 2, ("nosuch.toml: no such recipe; the nearest: ", "laptop/specter", "train --list")),
    ("train scimult-vanila -o run", 2, ("the nearest: scimult-vanilla, ",)),
    ("train page.toml -o run", 2, ("page.toml: an HTML page",)),
    ("train mine.toml -o run --set lr=1", 2, ("no key 'lr'; what can be set", "stages.first.optimizer.KEY: ", "lr, ")),
    ("train mine.toml -o run --set seed", 2, ("expected key=value; what can be set", "model.KEY: backbone")),
    ("train mine.toml -o run --set stages.last.steps=2", 2, ("has no 'last' there; it has first",)),
    ("train mine.toml -o run --set stages.first.stepz=2", 2, ("did you mean 'steps'", "known: ")),
    ("train", 2, ("name a recipe", "train --list")),
]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Path:
    """A folder with a collection, files that are no papers, and models that lack something."""
    folder = tmp_path_factory.mktemp("messages")
    twins = [Paper(id=f"twin-{number}", title="Twin", abstract=f"Of {number}.") for number in (1, 2)]
    embed([*PAPERS, *twins], FakeEncoder(), folder / "vecs")  # type: ignore[arg-type]
    contents = {
        "refs.bib": b"@misc{a, title={Dark matter}}",
        "my refs.bib": b"@misc{a, title={Dark matter}}",
        "papers/refs.bib": b"@misc{a, title={Dark matter}}",
        "file.txt": b"text",
        "lfs.bib": LFS,
        "page.bib": HTML,
        "page.toml": HTML,
        "document.bib": PDF,
        "binary.ris": bytes(range(256)) * 4,
        "empty.bib": b"",
        "utf16.jsonl": '{"id": "a", "title": "Größe"}\n'.encode("utf-16"),
        "mine.toml": RECIPE.encode(),
        "lfs-model/model.safetensors": LFS,
        "html-model/pytorch_model.bin": HTML,
        "other-model/tf_model.h5": b"\x89HDF",
        "other-model/onnx/model.onnx": b"onnx",
        "bare-model/notes.txt": b"nothing",
    }
    for name in ("lfs-model", "html-model", "other-model", "bare-model"):
        shutil.copytree(tiny_model, folder / name, ignore=shutil.ignore_patterns("*.safetensors"))
    for name, content in contents.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize(("command", "status", "words"), TABLE, ids=[command for command, *_ in TABLE])
def test_a_message_says_what_is_wrong_and_what_to_do(workspace, monkeypatch, capsys, command, status, words):
    monkeypatch.chdir(workspace)
    monkeypatch.delenv("SCIPRISM_DATA", raising=False)
    found, out, errors = run(monkeypatch, capsys, *shlex.split(command))
    said = " ".join((out + errors).split())
    assert found == status and "Traceback" not in said, said
    assert [word for word in words if word not in said] == [], said
    if status and "--json" not in command:
        found, out, errors = run(monkeypatch, capsys, *shlex.split(command), "--json")
        document = (
            json.loads(errors.splitlines()[-1]) if errors.count("\n") == 1 else json.loads(errors[errors.index("{") :])
        )
        assert found == status and document["schema"] == "sciprism.error/1" and not out


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
