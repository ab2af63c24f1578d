"""Kill commands and fill their disk, and run them again: their files are those of a run that was not killed."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from build_sources import write_recipe
from open_sources import write_open_data
from sciprism.databases import qdrant  # noqa: F401 - before the forks, which count what is written to it
from sciprism.databases.database import open_database
from sciprism.encoders.checkpoints.names import resolve
from sciprism.encoders.new_models import create_encoder
from sciprism.uses.screening.decisions import read_decisions
from torture_forks import HUNG, MEMORY, NEVER, SLOW, USE, Ended, Tally, import_all, measure, start, wait

LANDMARKS = Path(__file__).parents[1] / "examples" / "landmarks" / "landmarks.jsonl"
TIMES = {"seconds", "date", "created", "started", "finished", "time", "written", "command"}
"""Keys of JSON that two runs of one command have different values for."""
TASKS = """[[task]]
name = "words"
protocol = "retrieve"
format = "search"
data = "words"
metric = ["ndcg@10"]
"""
SCREENED = 60
Files = dict[str, bytes]


def read_outputs(folder: Path) -> Files:
    """Return what the files of a folder hold, without the times in JSON."""
    return {
        str(path.relative_to(folder)): without_times(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix not in (".lock", ".log") and path.name != ".lock"
    }


def without_times(path: Path) -> bytes:
    content = path.read_bytes()
    if path.suffix != ".json":
        return content

    def prune(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: prune(each) for key, each in value.items() if key not in TIMES}
        return [prune(each) for each in value] if isinstance(value, list) else value

    whole = json.loads(content)
    pruned = prune(whole)
    if pruned != whole and isinstance(pruned, dict):
        pruned.pop("checksum", None)  # of the times, too
    return json.dumps(pruned, sort_keys=True).encode()


def read_database(folder: Path, address: str) -> Files:
    """Return the key and version of each paper in a database, in a process of its own: one at a time may open it."""
    place, pid = folder / "rows.json", os.fork()
    if not pid:
        os.chdir(folder)
        with open_database(address) as database:
            record = database.read_record()
            assert record is not None
            rows = sorted(database.read_versions().items())
        place.write_text(json.dumps([record.complete, rows]))
        os._exit(0)
    assert wait(pid, HUNG) == 0
    return {"rows": place.read_bytes()}


def read_screened(folder: Path) -> Files:
    """Return the ids of the records that are decided."""
    decisions, _ = read_decisions(folder / "decisions.csv")
    return {"ids": "\n".join(sorted(decision.id for decision in decisions)).encode()}


def count_lost_decisions(folder: Path) -> int:
    """Return how many decisions the desk counted before it was killed that are not on the disk."""
    left = re.findall(r"([\d,]+) not screened", (folder / "log.txt").read_text(errors="replace"))
    shown = SCREENED - int(left[-1].replace(",", "")) if left else 0
    return max(0, shown - len(read_decisions(folder / "out" / "decisions.csv")[0]))


@dataclass(frozen=True)
class Command:
    """A command: its words, what it writes, how that is read, and what a kill may have lost before it runs again."""

    words: str
    output: str = "out"
    read: Callable[[Path], Files] = read_outputs
    lost: Callable[[Path], int] = lambda _: 0


COMMANDS = {
    "embed": Command("embed papers.jsonl -o out --model tiny"),
    "index": Command("index collection --lexical", "collection"),
    "evaluate": Command("evaluate random bm25 --tasks tasks.toml -o out"),
    "train": Command("train recipe.toml -o out --device cpu", "out/contrast/model"),
    "prepare citations": Command("prepare citations cited.jsonl -o out"),
    "prepare open": Command("prepare open --data data -o out"),
    "prepare pairs": Command("prepare pairs cited.jsonl -o out --dev 0.2"),
    "prepare text": Command("prepare text mine=cited.jsonl -o out --vocab-size 300 --length 64 --dev 0.1"),
    "prepare lexical": Command("prepare lexical tiny search.jsonl -o out/model --width 8"),
    "push to Qdrant": Command(
        "push collection --to qdrant:///proc/self/cwd/out/qdrant/papers",
        read=partial(read_database, address="qdrant:///proc/self/cwd/qdrant/papers"),
    ),
    "tag": Command("tag papers.jsonl --vocabulary labels.csv -o out/tags.csv --model tiny"),
    "tag train": Command("tag train tagged.jsonl --vocabulary labels.csv -o out/tagger --model tiny"),
    "match": Command(
        "match papers.jsonl --reviewers profiles -o out/assignments.csv --per-paper 2 --max-papers 40 --model tiny"
    ),
    "screen": Command(
        "screen papers.jsonl --decisions out/decisions.csv --model words", read=read_screened, lost=count_lost_decisions
    ),
    "recommend": Command("recommend --library mine.jsonl --new papers.jsonl -o out/ranked.csv --model tiny"),
    "dedupe": Command("dedupe papers.jsonl mine.jsonl -o out/merged.jsonl"),
    "disambiguate": Command("disambiguate papers.jsonl -o out/authors.csv"),
}


def write_inputs(folder: Path) -> None:
    """Write what the commands read."""
    lines = LANDMARKS.read_text(encoding="utf-8").splitlines(keepends=True)
    papers = [json.loads(line) for line in lines]
    (folder / "papers.jsonl").write_text("".join(lines[:SCREENED]), encoding="utf-8")
    (folder / "mine.jsonl").write_text("".join(lines[50:90]), encoding="utf-8")
    (folder / "labels.csv").write_text("id,name\na,genetics\nb,geology\n")
    (folder / "keys.txt").write_text("i\ne\nr too old\nu\n" * SCREENED)  # more than there are records
    cited = [
        {**papers[i], "references": [papers[j]["id"] for j in range(max(0, i - 6), i)]} for i in range(len(papers))
    ]
    tagged = [{**paper, "keywords": [["genetics", "geology"][i % 2]]} for i, paper in enumerate(papers[:60])]
    for name, rows in {"cited": cited, "tagged": tagged}.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(paper) + "\n" for paper in rows))
    (folder / "profiles").mkdir()
    for number in range(6):
        (folder / "profiles" / f"r{number}.jsonl").write_text("".join(lines[100 + 5 * number : 105 + 5 * number]))
    write_task(folder)
    write_open_data(folder / "data")
    write_recipe(folder, folder / "tiny")
    if not (pid := os.fork()):  # whose threads no later fork inherits
        shape = {"layers": 2, "hidden": 32, "heads": 2, "intermediate": 64, "positions": 64, "types": 2}
        create_encoder(shape, resolve(None)[1] / "tokenizer.json", max_length=32, device="cpu").save(folder / "tiny")
        os._exit(0)
    assert wait(pid, HUNG) == 0
    assert wait(start("embed papers.jsonl -o collection --model tiny", folder), HUNG) == 0, (
        folder / "log.txt"
    ).read_text()


def write_task(folder: Path) -> None:
    """Write a custom task of searches whose only relevant document has their word."""
    (folder / "words" / "qrels").mkdir(parents=True)
    with (folder / "words" / "corpus.jsonl").open("w") as file:
        file.writelines(json.dumps({"_id": f"d{i}", "title": f"word{i}", "text": ""}) + "\n" for i in range(300))
    with (folder / "words" / "queries.jsonl").open("w") as file:
        file.writelines(json.dumps({"_id": f"q{i}", "text": f"word{i}"}) + "\n" for i in range(40))
    rows = [f"q{i}\td{i}\t1" for i in range(40)]
    (folder / "words" / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *rows]) + "\n")
    (folder / "tasks.toml").write_text(TASKS)


def copy_inputs(inputs: Path, folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(inputs, folder)
    (folder / "out").mkdir()
    (folder / "log.txt").unlink(missing_ok=True)
    return folder


@dataclass(frozen=True)
class Whole:
    """A run that was not killed: what it wrote and of how many bytes, what it took, how often it changed the disk."""

    files: Files
    names: frozenset[str]
    ended: Ended
    changes: int
    size: int


def run_whole(work: Path, command: Command) -> Whole:
    folder = copy_inputs(work / "inputs", work / "trial")  # where killed ones run too, as some files name their folder
    ended = measure(start(command.words, folder, NEVER), HUNG)
    assert ended.status == 0, (command.words, ended, (folder / "log.txt").read_text())
    use = json.loads((folder / USE).read_text())
    import_all(use["modules"])
    size = sum(path.stat().st_size for path in (folder / "out").rglob("*") if path.is_file())
    files = command.read(folder / command.output)
    return Whole(files, frozenset(files), ended, use["changes"], size)


def torture_commands(count: int, draw: random.Random, work: Path) -> dict[str, Tally]:
    """Kill each command so many times in all, alternately by time and by changes of the disk, and run it again."""
    tallies = {}
    for name, command in COMMANDS.items():
        _, one, other = (run_whole(work, command) for _ in range(3))  # the first one imports
        same = {path: content for path, content in one.files.items() if other.files.get(path) == content}
        whole = replace(one, files=same)
        tally = tallies[name] = Tally()
        tally.counts["files compared"] = len(same)
        tally.counts["files of other bytes in each run"] = len(one.files) - len(same)
        wanted = -(-count // len(COMMANDS))
        for number in range(3 * wanted):  # some end before they are killed
            if tally.counts["killed"] == wanted:
                break
            folder = copy_inputs(work / "inputs", work / "trial")
            changes = draw.randrange(whole.changes) if number % 2 else None
            seconds = HUNG if number % 2 else draw.uniform(0, whole.ended.seconds)
            judge_kill(tally, measure(start(command.words, folder, changes), seconds), folder, command, whole)
        print(f"{name:<20} {tally}", flush=True)
    return tallies


def judge_kill(tally: Tally, killed: Ended, folder: Path, command: Command, whole: Whole) -> None:
    """Run a killed command again, and compare its files with those of a whole run."""
    tally.counts["killed" if killed.status in (None, -signal.SIGKILL) else "ended before the kill"] += 1
    if lost := command.lost(folder):
        tally.add("lost", f"{command.words}: {lost} of what was counted as stored")
    again = measure(start(command.words, folder), HUNG)
    log = (folder / "log.txt").read_text(errors="replace")
    compare_use(tally, [killed, again], command, whole)
    if again.status is None:
        tally.add("hung", command.words)
    elif again.status != 0 or "Traceback" in log:
        tally.add("lost", f"{command.words}: status {again.status}: {log[-1500:]}")
    else:
        made = command.read(folder / command.output)
        other = [path for path, content in whole.files.items() if made.get(path) != content]
        left = sorted(made.keys() - whole.names)
        tally.add("lost" if other else "whole", f"{command.words}: {other} differ" if other else "")
        if left:
            tally.add("left behind", f"{command.words}: {left}")


def compare_use(tally: Tally, runs: list[Ended], command: Command, whole: Whole) -> None:
    """Compare the time and the memory of runs with those of a whole run."""
    for run in runs:
        tally.measure("seconds of the processor", run.seconds)
        tally.measure("seconds above a whole run", slower := run.seconds - whole.ended.seconds)
        tally.measure("MB above a whole run", larger := run.megabytes - whole.ended.megabytes)
        if slower > SLOW:
            tally.add("slow", f"{command.words}: {slower:.1f} s above a whole run")
        if larger > MEMORY / (1 << 20):
            tally.add("large", f"{command.words}: {larger:.0f} MB above a whole run")


def fill_disks(count: int, draw: random.Random, work: Path) -> dict[str, Tally]:
    """Run commands whose disk is full after a random number of bytes; it grows, and the same command ends."""
    tally, place = Tally(), work / "small"
    place.mkdir()
    names = [name for name, each in COMMANDS.items() if each.output.startswith("out") and each.read is read_outputs]
    runs = {name: run_whole(work, COMMANDS[name]) for name in names[: count or 0]}
    for number in range(count):
        command = COMMANDS[name := names[number % len(names)]]
        folder = copy_inputs(work / "inputs", work / "trial")
        shutil.rmtree(folder / "out")
        (folder / "out").symlink_to(place)
        size = draw.randrange(4096, 4096 + 2 * runs[name].size)
        if mount(place, f"size={size}"):
            tally.counts["skipped, no right to mount"] += 1
            continue
        try:
            fill_disk(tally, command, folder, place, size, runs[name].files)
        finally:
            subprocess.run(["umount", str(place)], check=False)
    print(f"{'full disks':<20} {tally}", flush=True)
    return {"all": tally}


def fill_disk(tally: Tally, command: Command, folder: Path, place: Path, size: int, whole: Files) -> None:
    """Run a command on a small disk, and again on a larger one."""
    status = wait(start(command.words, folder), HUNG)
    log = (folder / "log.txt").read_text(errors="replace")
    if status == 0:
        tally.add("enough")
        return
    named = (
        status is not None and ("No space left on device" in log or "requested and" in log) and "Traceback" not in log
    )
    tally.add("named" if named else "not named", "" if named else f"{command.words}, {size} bytes: {log[-1500:]}")
    mount(place, "remount,size=64m")
    status = wait(start(command.words, folder), HUNG)
    made = read_outputs(place / command.output[4:])
    missing = [path for path in whole if path not in made]
    tally.add("lost" if status or missing else "whole", f"{command.words}: {missing}" if status or missing else "")


def mount(place: Path, options: str) -> int:
    return subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)], capture_output=True).returncode
