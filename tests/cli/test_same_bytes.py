"""Every command that writes gives the same bytes in two processes with different PYTHONHASHSEED."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
from pathlib import Path

import pytest

from build_commands import sciprism
from build_sources import write_recipe
from open_sources import write_open_data
from sciprism import Encoder
from sciprism.training.examples import Example, write_examples

TASKS = """
[[task]]
name = "find"
protocol = "retrieve"
format = "search"
data = "set"
metric = ["ndcg@10", "recall@2"]
"""
LANDMARKS = Path(__file__).parents[2] / "examples" / "landmarks" / "landmarks.jsonl"
COMMANDS = """
embed in/a.jsonl -o out --model in/model
merge in/part-1 in/part-2 -o out
index in/vecs --lexical
index in/vecs --approximate
calibrate in/vecs --by fields,keywords
export in/vecs -o out/v.parquet
export in/vecs -o out/v.npy
export in/model -o out
map in/vecs -o out/map.html --neighbours out/n.csv
dedupe in/twice.jsonl -o out/merged.ris --review out/pairs.csv
disambiguate in/a.jsonl -o out/authors.csv
recommend --library in/a.jsonl --new in/b.jsonl -o out/ranked --model in/model
match assign in/b.jsonl --reviewers in/profiles -o out/a.csv --per-paper 2 --max-papers 60 --model in/model
match report -a in/match/a.csv -o out
tag train in/a.jsonl --vocabulary in/labels.csv --tags-in fields -o out --model in/model
tag feedback in/tagger in/tags.csv --papers in/b.jsonl -o out
tag suggest in/b.jsonl --vocabulary in/labels.csv -o out/tags.csv --model in/model
tag suggest in/b.jsonl --tagger in/tagger -o out/tags.jsonl --model in/model
screen records in/labelled.csv -o out/included.csv
screen simulate in/labelled.csv -o out/curve.svg --seeds 2 --model in/model
prepare citations in/cited.jsonl -o out --sampling-exponent 0.5 --dev 0.2
prepare pairs in/cited.jsonl -o out --shapes title-abstract,citing-cited-titles
prepare text a=in/a.jsonl b=in/b.jsonl -o out --vocab-size 600 --length 64 --weight b=1.5 --dev 0.1
prepare lexical in/model in/pairs.jsonl -o out --width 8
prepare negatives in/pairs.jsonl -o out --model in/model --ranks 1-20
prepare multi-scidocs in/cited.jsonl -o out --negatives 20
prepare open -o out --data in/open
tokenizer train in/a.jsonl -o out --vocab-size 600
train in/recipe/recipe.toml -o out --device cpu
evaluate in/model bm25 random --tasks in/tasks.toml -o out
prepare ir in/questions.jsonl in/a.jsonl -o out --distractors 20
results pack in/results -o out
compare in/results -o out/report.html
"""
PREPARED = """
match assign in/b.jsonl --reviewers in/profiles -o in/match/a.csv --model in/model --per-paper 2 --max-papers 60
tag train in/a.jsonl --vocabulary in/labels.csv --tags-in fields -o in/tagger --model in/model
tag suggest in/b.jsonl --tagger in/tagger -o in/tags.csv --model in/model
evaluate in/model bm25 --tasks in/tasks.toml -o in/results
embed in/a.jsonl -o in/vecs --model in/model
embed in/a.jsonl in/b.jsonl -o in/part-1 --part 1/2 --model in/model
embed in/a.jsonl in/b.jsonl -o in/part-2 --part 2/2 --model in/model
"""


def write_rows(path: Path, rows: list[dict]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture(scope="module")
def inputs(tmp_path_factory, tiny_model: Path) -> Path:
    """Inputs of all commands in a folder `in`, made by this process."""
    folder = tmp_path_factory.mktemp("inputs")
    given = folder / "in"
    rows = [json.loads(line) for line in LANDMARKS.read_text().splitlines()]
    draw = random.Random(0)
    write_rows(given / "a.jsonl", rows[:80])
    write_rows(given / "b.jsonl", rows[80:100])
    write_rows(given / "twice.jsonl", [*rows[:40], *(row | {"id": f"{row['id']}x"} for row in rows[:20])])
    cited = [row | {"references": [other["id"] for other in draw.sample(rows[:80], 9)]} for row in rows[:80]]
    write_rows(given / "cited.jsonl", cited)
    for number in range(4):
        write_rows(given / "profiles" / f"r{number}.jsonl", rows[number * 20 : number * 20 + 20])
    fields = sorted({name for row in rows for name in row["fields"]})
    (given / "labels.csv").write_text("\n".join(["id,name", *(f"f{n},{name}" for n, name in enumerate(fields))]))
    labelled = [f'{row["id"]},"{row["title"]}",{int("physics" in row["fields"])}' for row in rows[:80]]
    (given / "labelled.csv").write_text("\n".join(["id,title,included", *labelled]))
    Encoder.load(tiny_model, pooling="mean", device="cpu").save(given / "model")
    (given / "recipe").mkdir()
    write_recipe(given / "recipe", Path("in/model"), steps=6)
    write_examples((Example(row["title"], (row["abstract"],)) for row in rows[:80]), given / "pairs.jsonl")
    write_rows(
        given / "set" / "corpus.jsonl", [{"_id": row["id"], "title": row["title"], "text": ""} for row in rows[:80]]
    )
    write_rows(given / "set" / "queries.jsonl", [{"_id": row["id"], "text": row["abstract"]} for row in rows[:20]])
    write_rows(given / "questions.jsonl", [{"paragraph": f"Of {n}.", "questions": [f"Why {n}?"]} for n in range(10)])
    (given / "set" / "qrels").mkdir()
    qrels = ["query-id\tcorpus-id\tscore", *(f"{row['id']}\t{row['id']}\t1" for row in rows[:20])]
    (given / "set" / "qrels" / "test.tsv").write_text("\n".join(qrels))
    (given / "tasks.toml").write_text(TASKS)
    write_open_data(given / "open")
    for words in PREPARED.strip().splitlines():
        done = sciprism(*words.split(), cwd=folder)
        assert done.returncode == 0, done.stderr
    tags = given / "tags.csv"
    tags.write_text(re.sub(r"(?m),$", ",yes", tags.read_text()))  # the column verdict
    return folder


# Times, and the checksums of files that hold them; TensorBoard names its files by the time.
TIMES = re.compile(rb'"(?:date|seconds|[a-z_]*per_second|checksum)": *(?:"[^"]*"|\{[^}]*\}|[\d.e-]+)')
TIMED = re.compile(r"/tensorboard/|/metrics\.jsonl|/checksums\.json|/state\.json|/\.lock$|__pycache__")


def run_seeded(inputs: Path, folder: Path, words: str, seed: int) -> dict[str, bytes]:
    """Run a command in a copy of the inputs; return all files that it leaves, without times."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(inputs, folder)
    if "-o out/" in words:
        (folder / "out").mkdir()
    environment = os.environ | {"PYTHONHASHSEED": str(seed), "SCIPRISM_CACHE": str(folder.parent / f"cache{seed}")}
    done = sciprism(*words.split(), cwd=folder, env=environment)
    assert done.returncode == 0, done.stderr + done.stdout
    files = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    return {name: TIMES.sub(b"", path.read_bytes()) for name, path in files.items() if not TIMED.search(f"/{name}")}


@pytest.mark.slow
@pytest.mark.parametrize("words", COMMANDS.strip().splitlines())
def test_the_hash_seed_changes_nothing(inputs: Path, tmp_path: Path, words: str) -> None:
    one, other = (run_seeded(inputs, tmp_path / "run", words, seed) for seed in (1, 2))
    assert one.keys() == other.keys()
    assert [name for name in one if one[name] != other[name]] == []
