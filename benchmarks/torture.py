"""Kill commands, damage and fuzz their files, fill their disk: count what is lost, silent, hung or a traceback.

Kills: a command is killed at a random moment, or at its n-th change of the disk, and run again; its files are then
those of a run that was not killed. Damages: the trials of `tests/builders/damage_trials.py`. Records: samples of
every reader, changed at random; each is read, skipped and counted, or refused with a message. Full disks: a small
file system in memory, which needs root, grows after the command failed. From the repository root:

    python benchmarks/torture.py -o results/reliability.json
    python benchmarks/torture.py --kills 20 --damages 40 --records 2000
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "builders"), str(ROOT / "tests")]

import torch  # noqa: E402, F401 - before the forks, which inherit it

from build_sources import write_recipe  # noqa: E402
from build_zotero import build_zotero  # noqa: E402
from damage_trials import KINDS, run_trials  # noqa: E402
from kill_switch import EVENTS, WRITING  # noqa: E402
from measurement import build_parser, provenance, write_result  # noqa: E402
from sciprism.cli.main import main as run_command  # noqa: E402
from sciprism.encoders.checkpoints.names import resolve  # noqa: E402
from sciprism.encoders.new_models import create_encoder  # noqa: E402
from sciprism.errors import InputError  # noqa: E402
from sciprism.papers import ReadReport, read_papers  # noqa: E402
from sciprism.papers.readers.registry import paper_readers  # noqa: E402

LANDMARKS = ROOT / "examples" / "landmarks" / "landmarks.jsonl"
SAMPLES = ROOT / "tests" / "papers" / "samples"
COMMANDS = {  # name -> words, and the files that it writes
    "embed": ("embed papers.jsonl -o out", "out"),
    "index": ("index collection --lexical", "collection"),
    "evaluate": ("evaluate random bm25 --tasks tasks.toml -o out", "out"),
    "train": ("train recipe.toml -o out --device cpu", "out/contrast/model"),
    "prepare": ("prepare citations cited.jsonl -o out", "out"),
    "tag": ("tag papers.jsonl --vocabulary labels.csv -o out/tags.csv", "out"),
    "match": ("match papers.jsonl --reviewers profiles -o out/assignments.csv --per-paper 2 --max-papers 40", "out"),
    "recommend": ("recommend --library mine.jsonl --new papers.jsonl -o out/ranked.csv", "out"),
    "dedupe": ("dedupe papers.jsonl mine.jsonl -o out/merged.jsonl", "out"),
    "disambiguate": ("disambiguate papers.jsonl -o out/authors.csv", "out"),
}
TIMES = {"seconds", "date", "created", "started", "finished", "time", "written", "command"}
"""Keys of JSON that two runs of one command have different values for."""
TASKS = """[[task]]
name = "words"
protocol = "retrieve"
format = "search"
data = "words"
metric = ["ndcg@10"]
"""
HUNG = 60.0  # seconds of a command that takes a few
SLOW = 5.0  # seconds of one small file
MEMORY = 500 << 20


@dataclass
class Tally:
    """Counts of outcomes, and a line for each that must not be."""

    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def add(self, outcome: str, fault: str = "") -> None:
        self.counts[outcome] += 1
        if fault:
            self.faults.append(f"{outcome}: {fault}")
            print("  ", self.faults[-1][:2000], flush=True)


# ---- commands as forks of this process ----


def kill_at_change(number: int, folder: Path) -> None:
    """Let this process kill itself before its n-th change of the disk below a folder."""
    left = number

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        if event not in EVENTS or not str(arguments[0]).startswith((str(folder), "out", "collection")):
            return
        if event == "open" and not arguments[2] & WRITING:
            return
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def start(words: str, folder: Path, changes: int | None = None) -> int:
    """Fork a process that runs a command in a folder; its messages are appended to log.txt."""
    if pid := os.fork():
        return pid
    status = 1
    try:
        os.chdir(folder)
        os.environ["SCIPRISM_CACHE"] = str(folder / "cache")
        log = os.open("log.txt", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        os.dup2(log, 1)
        os.dup2(log, 2)
        sys.argv = ["sciprism", *words.split()]
        if changes is not None:
            kill_at_change(changes, folder)
        try:
            run_command()
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else 1
        except BaseException:  # noqa: BLE001 - of the command, which must not raise any
            traceback.print_exc()
    finally:
        with suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def wait(pid: int, seconds: float) -> int | None:
    """Return the exit status, or None for a process that was killed after so many seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


def read_outputs(folder: Path) -> dict[str, bytes]:
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

    return json.dumps(prune(json.loads(content)), sort_keys=True).encode()


def write_inputs(folder: Path) -> None:
    """Write what the commands read."""
    lines = LANDMARKS.read_text(encoding="utf-8").splitlines(keepends=True)
    papers = [json.loads(line) for line in lines]
    (folder / "papers.jsonl").write_text("".join(lines[:60]), encoding="utf-8")
    (folder / "mine.jsonl").write_text("".join(lines[50:90]), encoding="utf-8")
    (folder / "labels.csv").write_text("id,name\na,genetics\nb,geology\n")
    cited = [
        {**papers[i], "references": [papers[j]["id"] for j in range(max(0, i - 6), i)]} for i in range(len(papers))
    ]
    (folder / "cited.jsonl").write_text("".join(json.dumps(paper) + "\n" for paper in cited))
    (folder / "profiles").mkdir()
    for number in range(6):
        (folder / "profiles" / f"r{number}.jsonl").write_text("".join(lines[100 + 5 * number : 105 + 5 * number]))
    (folder / "words" / "qrels").mkdir(parents=True)
    with (folder / "words" / "corpus.jsonl").open("w") as file:
        file.writelines(json.dumps({"_id": f"d{i}", "title": f"word{i}", "text": ""}) + "\n" for i in range(300))
    with (folder / "words" / "queries.jsonl").open("w") as file:
        file.writelines(json.dumps({"_id": f"q{i}", "text": f"word{i}"}) + "\n" for i in range(40))
    rows = [f"q{i}\td{i}\t1" for i in range(40)]
    (folder / "words" / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *rows]) + "\n")
    (folder / "tasks.toml").write_text(TASKS)
    write_recipe(folder, folder / "tiny")
    if not (pid := os.fork()):  # whose threads no later fork inherits
        shape = {"layers": 2, "hidden": 32, "heads": 2, "intermediate": 64, "positions": 64, "types": 2}
        create_encoder(shape, resolve(None)[1] / "tokenizer.json", max_length=32, device="cpu").save(folder / "tiny")
        os._exit(0)
    assert wait(pid, HUNG) == 0
    assert wait(start("embed papers.jsonl -o collection", folder), HUNG) == 0, (folder / "log.txt").read_text()


# ---- trials ----


def torture_commands(count: int, draw: random.Random, work: Path) -> dict[str, Tally]:
    """Kill each command so many times in all, alternately by time and by changes of the disk, and run it again."""
    inputs = work / "inputs"
    inputs.mkdir()
    write_inputs(inputs)
    tallies = {}
    for name, (words, output) in COMMANDS.items():
        began = time.monotonic()
        runs = [run_whole(inputs, work / f"{name}-{number}", words, output) for number in range(2)]
        seconds = (time.monotonic() - began) / 2
        whole = {path: content for path, content in runs[0].items() if runs[1].get(path) == content}
        tally = tallies[name] = Tally()
        tally.counts["files compared"] = len(whole)
        tally.counts["files of other bytes in each run"] = len(runs[0]) - len(whole)
        for number in range(-(-count // len(COMMANDS))):
            changes = draw.randrange(60) if number % 2 else None
            folder = copy_inputs(inputs, work / "trial")
            pid = start(words, folder, changes)
            status = wait(pid, HUNG if number % 2 else draw.uniform(0, seconds))
            judge_kill(tally, status, folder, words, output, whole)
        print(f"{name:<14} {dict(tally.counts)}", flush=True)
    return tallies


def copy_inputs(inputs: Path, folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(inputs, folder)
    (folder / "out").mkdir()
    (folder / "log.txt").unlink(missing_ok=True)
    return folder


def run_whole(inputs: Path, folder: Path, words: str, output: str) -> dict[str, bytes]:
    copy_inputs(inputs, folder)
    status = wait(start(words, folder), HUNG)
    assert status == 0, (folder / "log.txt").read_text()
    return read_outputs(folder / output)


def judge_kill(
    tally: Tally, status: int | None, folder: Path, words: str, output: str, whole: dict[str, bytes]
) -> None:
    """Run a killed command again, and compare its files with those of a whole run."""
    tally.counts["killed" if status in (None, -signal.SIGKILL) else "ended before the kill"] += 1
    again = wait(start(words, folder), HUNG)
    log = (folder / "log.txt").read_text(errors="replace")
    if again is None:
        tally.add("hung", words)
    elif again != 0 or "Traceback" in log:
        tally.add("lost", f"{words}: status {again}: {log[-1500:]}")
    else:
        made = read_outputs(folder / output)
        other = [path for path, content in whole.items() if made.get(path) != content]
        left = [path for path in made if path not in whole and ".part" in path]
        tally.add("lost" if other else "whole", f"{words}: {other} differ" if other else "")
        if left:
            tally.add("left behind", f"{words}: {left}")


def fuzz_readers(count: int, draw: random.Random, work: Path) -> dict[str, Tally]:
    """Read changed samples of every reader until so many records were read or skipped, in forks with a limit."""
    build_zotero(work / "zotero.sqlite")
    samples = {path.stem: path for path in [*SAMPLES.iterdir(), work / "zotero.sqlite"]}
    tallies = {}
    for name in sorted(paper_readers):
        tally, wanted = Tally(), -(-count // len(paper_readers))
        while tally.counts["records"] < wanted and tally.counts["files"] < 20 * wanted:
            merge_fork(tally, partial(fuzz_some, samples[name], name, draw.random(), wanted, work))
        tallies[name] = tally
        print(f"{name:<20} {dict(tally.counts)}", flush=True)
    return tallies


def merge_fork(tally: Tally, run: Callable[[], Tally]) -> None:
    """Run something in a fork with a memory limit; a fork that dies is a fault."""
    receive, send = os.pipe()
    pid = os.fork()
    if not pid:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
        part = run()
        with os.fdopen(send, "w") as file:
            json.dump([part.counts, part.faults], file)
        os._exit(0)
    os.close(send)
    with os.fdopen(receive) as file:
        text = file.read()
    os.waitpid(pid, 0)
    if text:
        counts, faults = json.loads(text)
        tally.counts.update(counts)
        tally.faults += faults
    else:
        tally.add("died", "a fork ended without a result")


def fuzz_some(sample: Path, name: str, seed: float, wanted: int, work: Path) -> Tally:
    """Read up to 500 changed copies of a sample."""
    tally, chance, content = Tally(), random.Random(seed), sample.read_bytes()
    path = work / f"fuzzed{sample.suffix}"
    for _ in range(500):
        changed = bytearray(content)
        for _ in range(chance.choice((1, 1, 2, 5, 20))):
            mutate(changed, content, chance)
        path.write_bytes(changed)
        report, began = ReadReport(), time.monotonic()
        try:
            with alarm():
                for _ in read_papers([path], reader=chance.choice((name, None)), skip_bad=True, report=report):
                    pass
            tally.counts["read"] += 1
        except InputError as error:
            tally.counts["refused"] += 1
            if "\n" in str(error) or not str(error):
                tally.add("no message", repr(error))
        except BaseException as error:  # noqa: BLE001 - what a reader must not raise
            kept = work / f"fault-{name}-{len(tally.faults)}-{os.getpid()}{sample.suffix}"
            kept.write_bytes(changed)
            tally.add("hung" if isinstance(error, TimeoutError) else "exception", f"{kept}: {error!r}")
        tally.counts["files"] += 1
        tally.counts["records"] += report.papers + report.skipped_count + 1
        tally.counts["slow"] += time.monotonic() - began > SLOW
        if tally.counts["records"] >= wanted:
            break
    return tally


@contextmanager
def alarm() -> Iterator[None]:
    """Raise TimeoutError after some seconds."""

    def stop(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SLOW)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


TOKENS = [b"\x00", b"\xff", b'"', b"\\", b"{", b"}", b"[", b"]", b"<", b">", b"&", b"\n", b"\r\n", b"@", b"  - ", b","]
TOKENS += [b"null", b"-1", b"1e999", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"</", b"<![CDATA[", b"#", b"\t", b"ER  - \n"]


def mutate(changed: bytearray, content: bytes, chance: random.Random) -> None:
    """Change some bytes: a flip, a token, a cut, a copy, a swap of two parts."""
    at = chance.randrange(len(changed) + 1)
    length = chance.choice((1, 3, 20, 200))
    kind = chance.randrange(5)
    if kind == 0 and changed:
        changed[at % len(changed)] = chance.randrange(256)
    elif kind == 1:
        changed[at:at] = chance.choice(TOKENS) * chance.choice((1, 1, 1, 50))
    elif kind == 2:
        del changed[at : at + length]
    elif kind == 3:
        start = chance.randrange(len(content))
        changed[at:at] = content[start : start + length]
    else:
        changed[at : at + length] = changed[at : at + length][::-1]


def fill_disks(count: int, draw: random.Random, work: Path) -> Tally:
    """Run commands whose disk is full after a random number of bytes; it grows, and the same command ends."""
    tally, place = Tally(), work / "small"
    place.mkdir()
    names = [name for name, (_, output) in COMMANDS.items() if output.startswith("out")]
    sizes = {name: count_bytes(work / f"{name}-0" / "out") for name in names}
    for number in range(count):
        words, output = COMMANDS[name := names[number % len(names)]]
        folder = copy_inputs(work / "inputs", work / "trial")
        shutil.rmtree(folder / "out")
        (folder / "out").symlink_to(place)
        size = draw.randrange(4096, 4096 + 2 * sizes[name])
        if mount(place, f"size={size}"):
            tally.counts["skipped, no right to mount"] += 1
            continue
        try:
            status = wait(start(words, folder), HUNG)
            log = (folder / "log.txt").read_text(errors="replace")
            if status == 0:
                tally.add("enough")
                continue
            named = status is not None and "the disk is full" in log and "Traceback" not in log
            tally.add("named" if named else "not named", "" if named else f"{words}, {size} bytes: {log[-1500:]}")
            mount(place, "remount,size=64m")
            status = wait(start(words, folder), HUNG)
            whole, made = read_outputs(work / f"{name}-0" / output), read_outputs(place / output[4:])
            missing = [path for path in whole if path not in made]
            tally.add("lost" if status or missing else "whole", f"{words}: {missing}" if status or missing else "")
        finally:
            subprocess.run(["umount", str(place)], check=False)
    return tally


def count_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def mount(place: Path, options: str) -> int:
    return subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)], capture_output=True).returncode


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--damages", type=int, default=1000)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--disks", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    draw, results = random.Random(args.seed), dict[str, Any]()
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        parts: dict[str, dict[str, Tally]] = {
            "kills": torture_commands(args.kills, draw, work),
            "disks": {"all": fill_disks(args.disks, draw, work)},
            "records": fuzz_readers(args.records, draw, work),
        }
        each = -(-args.damages // len(KINDS))
        damages = {}
        for kind in KINDS:
            with tempfile.TemporaryDirectory() as folder:
                outcome = run_trials(kind, each, args.seed, Path(folder))
            damages[kind] = Tally(outcome.counts, outcome.silent)
            print(f"{kind:<32} {dict(outcome.counts)}", flush=True)
        parts["damages"] = damages
    for part, tallies in parts.items():
        total = sum((tally.counts for tally in tallies.values()), Counter())
        faults = [fault for tally in tallies.values() for fault in tally.faults]
        results[part] = {"all": total, "faults": len(faults), **{name: t.counts for name, t in tallies.items()}}
        print(f"{part:<10} {dict(total)}, {len(faults)} faults")
    facts = provenance(["sciprism", "torch", "numpy", "pyarrow", "faiss-cpu", "bm25s", "xxhash"], seed=args.seed)
    write_result(args.output, facts | results)


if __name__ == "__main__":
    main()
