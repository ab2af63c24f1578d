"""`sciprism tokenizer`: learn a vocabulary, put tokenizers side by side."""

import json
import shutil

from build_commands import run


def papers(path):
    rows = [{"id": n, "title": "Phosphorylated kinase", "abstract": "A kinase binds."} for n in range(30)]
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def test_learned_and_compared(tmp_path, monkeypatch, capsys):
    (tmp_path / "all.txt").write_text("The kinase binds\n\nDark matter\n" * 20)
    learned = tmp_path / "own"
    words = ("tokenizer", "train", papers(tmp_path / "all.jsonl"), "-o", learned, "--vocab-size", 330)
    status, out, _ = run(monkeypatch, capsys, *words)
    assert status == 0 and out.startswith(f"{learned}: ")
    bare = tmp_path / "bare"
    assert run(monkeypatch, capsys, "tokenizer", "train", tmp_path / "all.txt", "-o", bare, "--vocab-size", 261)[0] == 0
    domains = ("--texts", f"biology={tmp_path / 'all.jsonl'}", "--texts", f"other={tmp_path / 'all.txt'}")
    status, out, _ = run(monkeypatch, capsys, "tokenizer", "compare", bare, learned, *domains)
    assert status == 0
    lines = [line.split() for line in out.splitlines()]
    assert lines[0] == ["tokens", "biology", "%", "per", "word", "other", "%", "per", "word"]
    assert lines[1][2] == "+0.0" and float(lines[2][2]) < -50  # words became tokens
    size = json.loads((learned / "tokenizer.json").read_text())["model"]["vocab"]
    assert ["own", str(len(size) + 1)] in [line[:2] for line in lines]  # and the mask


def test_models_by_name_and_folders_of_every_kind(tmp_path, monkeypatch, capsys, tiny_model, tiny_encoder):
    """A packaged name, a folder of ours, one of sentence-transformers, a tokenizer's folder and file."""
    (tmp_path / "some.txt").write_text("dark matter in galaxies\n")
    folder = tmp_path / "own"
    tiny_encoder.save(folder)
    modules = [{"idx": 0, "name": "0", "path": "inner", "type": "sentence_transformers.models.Transformer"}]
    shutil.copytree(tiny_model, tmp_path / "st" / "inner")
    (tmp_path / "st" / "modules.json").write_text(json.dumps(modules))
    bare = tmp_path / "bare"
    bare.mkdir()
    shutil.copy(folder / "tokenizer.json", bare)
    names = ("sciprism-small", folder, tmp_path / "st", bare, bare / "tokenizer.json")
    words = ("tokenizer", "compare", *names, "--texts", f"all={tmp_path / 'some.txt'}")
    status, out, err = run(monkeypatch, capsys, *words)
    assert status == 0, err
    counts = {line.split()[0]: line.split()[1] for line in out.splitlines()[1 : 1 + len(names)]}
    assert counts["sciprism-small"] == "4"
    assert counts["own"] == counts["st"] == counts["bare"] == counts["tokenizer.json"]


def test_records_that_cannot_be_used_are_counted(tmp_path, monkeypatch, capsys):
    papers(tmp_path / "some.jsonl")
    with (tmp_path / "some.jsonl").open("a") as file:
        file.write('\n{"id": "x"}\nno record\n')
    words = ("tokenizer", "train", tmp_path / "some.jsonl", "-o", tmp_path / "own", "--vocab-size", 300)
    status, _, err = run(monkeypatch, capsys, *words)
    assert status == 0 and "2 of 32 records cannot be used; `sciprism inspect` says why" in err
