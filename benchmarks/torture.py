"""Kill commands and fill their disk: count what is lost, silent or hung.

kills: a command is killed at a random moment, or at its n-th change of the disk, and run again; its files are then
those of a run that was not killed. disks: a small file system in memory, which needs root, grows after the command
failed. From the repository root:

    python benchmarks/torture.py -o results/reliability.json
    python benchmarks/torture.py --parts kills --kills 20 --seed 5
"""

from __future__ import annotations

import importlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "builders"), str(ROOT / "tests")]

from build_sources import write_recipe  # noqa: E402
from kill_switch import EVENTS, WRITING  # noqa: E402
from measurement import build_parser, processor_seconds, provenance, write_result  # noqa: E402
from open_sources import write_open_data  # noqa: E402
from sciprism.cli.main import main as run_command  # noqa: E402
from sciprism.encoders.checkpoints.names import resolve  # noqa: E402
from sciprism.encoders.new_models import create_encoder  # noqa: E402
from sciprism.uses.screening.session import read_decisions  # noqa: E402

HUNG = 60.0  # seconds of the processor, for a command that takes a few
PATIENCE = 10  # times as long it may wait for the disk and for other work
SLOW = 5.0  # seconds of the processor above a whole run
MEMORY = 500  # MB above a whole run
PACKAGES = ["sciprism", "torch", "numpy", "pyarrow", "faiss-cpu", "bm25s", "xxhash"]
LANDMARKS = ROOT / "examples" / "landmarks" / "landmarks.jsonl"
Files = dict[str, bytes]

USE = "use.json"
NEVER = 1 << 60  # changes, which no command makes


@dataclass
class Tally:
    """Counts of outcomes, and a line for each outcome that must not be."""

    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def add(self, outcome: str, fault: str = "") -> None:
        self.counts[outcome] += 1
        if fault:
            self.faults.append(f"{outcome}: {fault}"[:2000])
            print("  ", self.faults[-1], flush=True)

    def merge(self, other: Tally) -> None:
        self.counts.update(other.counts)
        self.faults += other.faults


def kill_at_change(number: int, folder: Path) -> Callable[[], int]:
    """Let this process kill itself before its n-th change of the disk below a folder; return what counts them."""
    made = 0

    def count() -> None:
        nonlocal made
        if made >= number:
            os.kill(os.getpid(), signal.SIGKILL)
        made += 1

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event not in EVENTS or not str(arguments[0]).startswith((str(folder), "out", "collection", "work")):
            return
        if event != "open" or arguments[2] & WRITING:
            count()

    sys.addaudithook(hook)
    return lambda: made


@dataclass(frozen=True)
class Ended:
    """How a process ended: its exit status, None for one that was killed; seconds of the processor and peak MB."""

    status: int | None
    seconds: float
    megabytes: float


def start(words: str, folder: Path, changes: int | None = None) -> int:
    """Fork a process that runs a command in a folder; its messages are appended to log.txt, keys.txt is its input.

    Its data sets are those of the folder, not those of this machine. changes: how many it may make; USE then
    holds how many it made, and the modules that it imported.
    """
    if pid := os.fork():
        return pid
    status = 1
    try:
        os.setpgid(0, 0)  # with what it starts, so that a kill reaches all
        os.chdir(folder)
        os.environ |= {"SCIPRISM_CACHE": str(folder / "cache"), "SCIPRISM_DATA": str(folder / "data")}
        log = os.open("log.txt", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.dup2(os.open("keys.txt" if Path("keys.txt").exists() else os.devnull, os.O_RDONLY), 0)
        sys.stdin = os.fdopen(0, closefd=False)
        sys.argv = ["sciprism", *words.split()]
        counted = kill_at_change(NEVER if changes is None else changes, folder)
        try:
            run_command()
            status = 0
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else bool(stop.code)
        except BaseException:  # noqa: BLE001 - of the command, which must not raise any
            traceback.print_exc()
        Path(USE).write_text(json.dumps({"changes": counted(), "modules": [*sys.modules]}))
    finally:
        with suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def measure(pid: int, seconds: float) -> Ended:
    """Wait for a process and what it started; it is killed after so many seconds of the processor.

    Other work on the machine makes no difference; a process that waits for long is killed too.
    """
    end, killed = time.monotonic() + PATIENCE * HUNG, False
    while not (done := os.wait4(pid, os.WNOHANG))[0]:
        if time.monotonic() > end or processor_seconds(pid) >= seconds:
            for kill in (os.killpg, os.kill):  # a process that has not made its group yet, too
                with suppress(ProcessLookupError):
                    kill(pid, signal.SIGKILL)
            done, killed = os.wait4(pid, 0), True
            break
        time.sleep(0.002)
    usage = done[2]
    status = None if killed else os.waitstatus_to_exitcode(done[1])
    return Ended(status, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def read_log(folder: Path) -> str:
    return (folder / "log.txt").read_text(errors="replace")[-1500:]


TIMES = {"seconds", "date", "created", "started", "finished", "time", "written", "command", "checksum"}
"""Keys of JSON that two runs of one command have different values for; a checksum is of these too."""
TASK = '[[task]]\nname = "words"\nprotocol = "retrieve"\nformat = "search"\ndata = "words"\nmetric = ["ndcg@10"]\n'
SCREENED = 60


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

    def prune(found: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in found.items() if key not in TIMES}

    return json.dumps(json.loads(content, object_hook=prune), sort_keys=True).encode()


def read_screened(folder: Path) -> Files:
    """Return the ids of the records that are decided."""
    return {"ids": "\n".join(sorted(each.id for each in read_decisions(folder / "decisions.csv")[0])).encode()}


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
        {**paper, "references": [each["id"] for each in papers[max(0, i - 6) : i]]} for i, paper in enumerate(papers)
    ]
    write_rows(folder / "cited.jsonl", cited)
    words = ["genetics", "geology"]
    write_rows(folder / "tagged.jsonl", [{**paper, "keywords": [words[i % 2]]} for i, paper in enumerate(papers[:60])])
    (folder / "profiles").mkdir()
    for number in range(6):
        (folder / "profiles" / f"r{number}.jsonl").write_text("".join(lines[100 + 5 * number : 105 + 5 * number]))
    (folder / "words" / "qrels").mkdir(parents=True)  # a custom task of searches for the one document with their word
    write_rows(
        folder / "words" / "corpus.jsonl", [{"_id": f"d{i}", "title": f"word{i}", "text": ""} for i in range(300)]
    )
    write_rows(folder / "words" / "queries.jsonl", [{"_id": f"q{i}", "text": f"word{i}"} for i in range(40)])
    rows = ["query-id\tcorpus-id\tscore", *(f"q{i}\td{i}\t1" for i in range(40))]
    (folder / "words" / "qrels" / "test.tsv").write_text("\n".join(rows) + "\n")
    (folder / "tasks.toml").write_text(TASK)
    write_open_data(folder / "data")
    write_recipe(folder, folder / "tiny")
    if not (pid := os.fork()):  # whose threads no later fork inherits
        shape = {"layers": 2, "hidden": 32, "heads": 2, "intermediate": 64, "positions": 64, "types": 2}
        create_encoder(shape, resolve(None)[1] / "tokenizer.json", max_length=32, device="cpu").save(folder / "tiny")
        os._exit(0)
    assert measure(pid, HUNG).status == 0
    assert measure(start("embed papers.jsonl -o collection --model tiny", folder), HUNG).status == 0, read_log(folder)


def write_rows(path: Path, rows: list[Any]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


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
    ended = measure(start(command.words, folder), HUNG)
    assert ended.status == 0, (command.words, ended, read_log(folder))
    use = json.loads((folder / USE).read_text())
    for name in use["modules"]:  # so that the next forks have them: a kill then falls into their work
        with suppress(Exception):  # of a module that another one imports in its own way
            importlib.import_module(name)
    size = sum(path.stat().st_size for path in (folder / "out").rglob("*") if path.is_file())
    files = command.read(folder / command.output)
    return Whole(files, frozenset(files), ended, use["changes"], size)


def kill_commands(count: int, draw: random.Random, work: Path) -> Iterator[tuple[str, Tally]]:
    """Kill each command so many times in all, alternately by time and by changes of the disk, and run it again."""
    for name, command in COMMANDS.items():
        _, one, other = (run_whole(work, command) for _ in range(3))  # the first one imports
        same = {path: content for path, content in one.files.items() if other.files.get(path) == content}
        tally = Tally(Counter({"files compared": len(same), "files of other bytes": len(one.files) - len(same)}))
        wanted = -(-count // len(COMMANDS))
        for number in range(3 * wanted):  # some end before they are killed
            if tally.counts["killed"] == wanted:
                break
            folder = copy_inputs(work / "inputs", work / "trial")
            changes = draw.randrange(one.changes) if number % 2 else None
            seconds = HUNG if number % 2 else draw.uniform(0, one.ended.seconds)
            killed = measure(start(command.words, folder, changes), seconds)
            judge_kill(tally, killed, folder, command, replace(one, files=same))
        yield name, tally


def judge_kill(tally: Tally, killed: Ended, folder: Path, command: Command, whole: Whole) -> None:
    """Run a killed command again, and compare its files, time and memory with those of a whole run."""
    tally.counts["killed" if killed.status in (None, -signal.SIGKILL) else "ended before the kill"] += 1
    if lost := command.lost(folder):
        tally.add("lost", f"{command.words}: {lost} of what was counted as stored")
    again = measure(start(command.words, folder), HUNG)
    for run in (killed, again):
        if run.seconds > whole.ended.seconds + SLOW:
            tally.add("slow", f"{command.words}: {run.seconds:.1f} s")
        if run.megabytes > whole.ended.megabytes + MEMORY:
            tally.add("large", f"{command.words}: {run.megabytes:.0f} MB")
    if again.status is None:
        tally.add("hung", command.words)
    elif again.status != 0 or "Traceback" in read_log(folder):
        tally.add("lost", f"{command.words}: status {again.status}: {read_log(folder)}")
    else:
        made = command.read(folder / command.output)
        other = [path for path, content in whole.files.items() if made.get(path) != content]
        tally.add("lost" if other else "whole", f"{command.words}: {other} differ" if other else "")
        if left := sorted(made.keys() - whole.names):
            tally.add("left behind", f"{command.words}: {left}")


def fill_disks(count: int, draw: random.Random, work: Path) -> Iterator[tuple[str, Tally]]:
    """Run commands whose disk is full after a random number of bytes; it grows, and the same command ends."""
    tally, place = Tally(), work / "small"
    place.mkdir()
    named = [name for name, each in COMMANDS.items() if each.output.startswith("out") and each.read is read_outputs]
    wholes = {name: run_whole(work, COMMANDS[name]) for name in named[:count]}
    for number in range(count):
        command, whole = COMMANDS[name := named[number % len(named)]], wholes[name]
        folder = copy_inputs(work / "inputs", work / "trial")
        shutil.rmtree(folder / "out")
        (folder / "out").symlink_to(place)
        size = draw.randrange(4096, 4096 + 2 * whole.size)
        if mount(place, f"size={size}"):
            tally.counts["skipped, no right to mount"] += 1
            continue
        try:
            status = measure(start(command.words, folder), HUNG).status
            if status == 0:
                tally.add("enough")
                continue
            log = read_log(folder)
            full = "No space left on device" in log or "requested and" in log
            told = status is not None and full and "Traceback" not in log
            tally.add("named" if told else "not named", "" if told else f"{command.words}, {size} bytes: {log}")
            mount(place, "remount,size=64m")
            status = measure(start(command.words, folder), HUNG).status
            missing = whole.files.keys() - read_outputs(place / command.output[4:]).keys()
            bad = status != 0 or missing
            tally.add("lost" if bad else "whole", f"{command.words}: {sorted(missing)}" if bad else "")
        finally:
            subprocess.run(["umount", str(place)], check=False)
    yield "full disks", tally


def mount(place: Path, options: str) -> int:
    return subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)], capture_output=True).returncode


PARTS = {"kills": (kill_commands, 1000), "disks": (fill_disks, 40)}
"""Name -> trials, and how many by default."""


def count_outcomes(tallies: Iterator[tuple[str, Tally]]) -> dict[str, Any]:
    """Return the counts of each trial of a part, their sum as `all`, and the faults."""
    total, found = Tally(), dict[str, Any]()
    for name, tally in tallies:
        print(f"{name:<32} {', '.join(f'{count:,} {what}' for what, count in tally.counts.items())}", flush=True)
        found[name] = {"counts": dict(tally.counts)}
        total.merge(tally)
    return {"faults": total.faults, **found, "all": {"counts": dict(total.counts)}}


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("--parts", default=",".join(PARTS), help="the parts to run")
    for name, (_, count) in PARTS.items():
        parser.add_argument(f"--{name}", type=int, default=count)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    counts = {part: getattr(args, part) for part in args.parts.split(",")}
    document: dict[str, Any] = {"runs": [provenance(PACKAGES, seed=args.seed, parts=counts)]}
    with tempfile.TemporaryDirectory() as name:
        work = Path(name) / "work"
        (work / "inputs").mkdir(parents=True)
        write_inputs(work / "inputs")
        for part, count in counts.items():
            document[part] = count_outcomes(PARTS[part][0](count, random.Random(f"{part} {args.seed}"), work))
            print(f"{part}: {len(document[part]['faults'])} faults", flush=True)
    write_result(args.output, document)


if __name__ == "__main__":
    main()
