"""`sciprism results pack`: packed results say what the folder says, and damaged ones are refused."""

import shutil

import numpy as np
import pytest

from build_commands import run
from sciprism.evaluation import results
from sciprism.evaluation.item_scores import (
    ItemScores,
    average_parts,
    bootstrap_interval,
    estimate,
    score_classes,
    score_label_sets,
    score_numbers,
)
from sciprism.evaluation.results import Measure, TaskResult

RESULTS, ITEMS = "own.results.jsonl.gz", "own.items.parquet"


def scored(random):
    """Return evidence of every shape: one score, counts by class, parts, gold and predicted numbers, none."""
    ids = tuple(f"paper {n}" for n in range(40))
    gold, predicted = random.integers(0, 3, (2, 40))
    many = [score_label_sets(ids, random.integers(0, 2, (40, 3)), random.integers(0, 2, (40, 3)), "f1_macro")]
    many *= 2
    return {
        "search": ItemScores(ids, random.random(40), "mean"),
        "classes": score_classes(ids[::-1], gold, predicted, "f1_macro"),
        "few-shot": average_parts(many),
        "years": score_numbers(ids, random.random(40), random.random(40), "kendall_tau"),
        "empty": ItemScores((), np.empty((0, 1)), "mean"),
    }


def write_results(root, names, *, seeds=(0,), first=0):
    """Write what `sciprism evaluate` writes: for each system and seed five tasks, and one that failed."""
    for number, name in enumerate(names, start=first):
        for seed in seeds:
            folder = root / results.folder_name(name, seed=seed) / "own"
            facts = {"suite": "own", "key": "k", "format": "search", "group": "", "seed": seed}
            facts |= {"system": {"name": name, "fingerprint": name}, "provenance": {"versions": {"numpy": "2"}}}
            for task, items in scored(np.random.default_rng([number, seed])).items():
                low, high = bootstrap_interval(items, seed=0)
                measure = Measure(value=estimate(items), low=low, high=high, n=len(items.ids))
                done = TaskResult(task=task, status="done", metrics={"first metric": measure}, **facts)
                results.write_result(folder, done, {"first metric": items})
            results.write_result(folder, TaskResult(task="lost", status="failed", reason="no data", **facts), {})
    return root


def reported(monkeypatch, capsys, folder):
    status, out, err = run(monkeypatch, capsys, "compare", folder, "--json")
    assert status == 0, err
    return out


def pack(monkeypatch, capsys, *words):
    status, out, err = run(monkeypatch, capsys, "results", "pack", *words)
    assert status == 0, err
    return out


@pytest.fixture
def folder(tmp_path):
    """Two systems with two seeds, whose items of a task are the same."""
    return write_results(tmp_path / "study", ["A", "B"], seeds=(0, 1))


def test_packed_results_give_the_report_of_the_folder(folder, tmp_path, monkeypatch, capsys):
    (folder / "B" / "own" / "items" / "search.parquet").unlink()  # the number without its items
    printed = pack(monkeypatch, capsys, folder, "-o", tmp_path / "packed")
    assert "own.results.jsonl.gz: 24 results of 4 systems" in printed
    assert {path.name for path in (tmp_path / "packed").iterdir()} == {RESULTS, ITEMS}
    expected = reported(monkeypatch, capsys, folder)
    for place in ("packed", f"packed/{RESULTS}"):
        assert reported(monkeypatch, capsys, tmp_path / place) == expected
    assert "the items behind the numbers are missing" in expected


def test_packing_again_changes_nothing_and_other_systems_stay(folder, tmp_path, monkeypatch, capsys):
    packed = tmp_path / "packed"
    pack(monkeypatch, capsys, folder, "-o", packed)
    before = {path: path.read_bytes() for path in packed.iterdir()}
    pack(monkeypatch, capsys, folder, "-o", packed)
    assert {path: path.read_bytes() for path in packed.iterdir()} == before
    later = write_results(tmp_path / "later", ["C"], first=2)
    pack(monkeypatch, capsys, later, "-o", packed)
    shutil.copytree(later / "C", folder / "C")
    assert reported(monkeypatch, capsys, packed) == reported(monkeypatch, capsys, folder)


def test_a_later_evaluation_in_the_same_folder_counts(folder, monkeypatch, capsys):
    pack(monkeypatch, capsys, folder, "-o", folder)
    for name in ("A", "B", "A--seed-1", "B--seed-1"):
        shutil.rmtree(folder / name)
    before = reported(monkeypatch, capsys, folder)
    write_results(folder, ["A"], first=7)
    after = reported(monkeypatch, capsys, folder)
    assert after != before and after.count('"task": "search"') == before.count('"task": "search"')


def cut(path):
    path.write_bytes(path.read_bytes()[:-100])


def of_another(path):
    other = path.parent.parent / "other"
    path.write_bytes((other / path.name).read_bytes())


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        (RESULTS, cut, f"{RESULTS} is damaged"),
        (ITEMS, cut, f"{ITEMS} is not the file that {RESULTS} was written with"),
        (ITEMS, of_another, f"{ITEMS} is not the file that {RESULTS} was written with"),
        (ITEMS, lambda path: path.unlink(), f"{ITEMS} is missing"),
        (RESULTS, lambda path: path.unlink(), "holds no results"),
    ],
)
def test_damaged_and_half_written_packs_are_refused(folder, tmp_path, monkeypatch, capsys, name, damage, message):
    packed = tmp_path / "packed"
    pack(monkeypatch, capsys, folder, "-o", packed)
    pack(monkeypatch, capsys, write_results(tmp_path / "made", ["C"]), "-o", tmp_path / "other")
    damage(packed / name)
    status, out, err = run(monkeypatch, capsys, "compare", packed)
    assert status == 2 and message in err and not out


def test_what_cannot_be_packed_is_named(folder, tmp_path, monkeypatch, capsys):
    (folder / "A" / "own").rename(folder / "A" / "moved")
    status, _, err = run(monkeypatch, capsys, "results", "pack", folder, "-o", tmp_path / "packed")
    assert status == 2 and "SYSTEM/SUITE/TASK.json" in err
