"""Kill commands and the service, damage and change their files, fill their disk: count what is lost, silent or hung.

kills: a command is killed at a random moment, or at its n-th change of the disk, and run again; its files are then
those of a run that was not killed. service: `sciprism serve` is killed, and what it answered as stored is there after a
restart. disks: a small file system in memory, which needs root, grows after the command failed. records: samples of
every reader, changed at random, are read, skipped and counted, or refused with a message. repeated: a text many times
is read or refused within 5 seconds and 500 MB. models: so are changed model folders. damages: the trials of
`tests/builders/damage_trials.py`. From the repository root; with --add the counts are added to those of earlier runs:

    python benchmarks/torture.py -o results/reliability.json
    python benchmarks/torture.py --parts kills,records --kills 20 --seed 5 --add -o results/reliability.json
"""

from __future__ import annotations

import csv
import gzip
import importlib
import io
import json
import os
import random
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "builders"), str(ROOT / "tests")]

from build_marc import ARTICLE, TIDES, build_record  # noqa: E402
from build_sources import write_recipe  # noqa: E402
from build_zotero import build_zotero  # noqa: E402
from damage_trials import KINDS, run_trials  # noqa: E402
from kill_switch import EVENTS, WRITING  # noqa: E402
from measurement import build_parser, provenance, write_result  # noqa: E402
from open_sources import write_open_data  # noqa: E402
from sciprism.cli.main import main as run_command  # noqa: E402
from sciprism.encoders.checkpoints.names import resolve  # noqa: E402
from sciprism.encoders.encoder import Encoder  # noqa: E402
from sciprism.encoders.new_models import create_encoder  # noqa: E402
from sciprism.errors import InputError  # noqa: E402
from sciprism.papers import ReadReport, read_papers  # noqa: E402
from sciprism.papers.readers.registry import paper_readers  # noqa: E402
from sciprism.service import app  # noqa: E402, F401 - before the forks, which inherit it
from sciprism.uses.screening.session import read_decisions  # noqa: E402

HUNG = 60.0  # seconds of the processor, for a command that takes a few
PATIENCE = 10  # times as long it may wait for the disk and for other work
SLOW = 5.0  # seconds of one small file
MEMORY = 500 << 20  # bytes that a trial may take besides what good input takes
PACKAGES = ["sciprism", "torch", "numpy", "pyarrow", "faiss-cpu", "bm25s", "xxhash"]
SAMPLES = ROOT / "tests" / "papers" / "samples"
LANDMARKS = ROOT / "examples" / "landmarks" / "landmarks.jsonl"
Files = dict[str, bytes]

USE = "use.json"
NEVER = 1 << 60  # changes, which no command makes


@dataclass
class Tally:
    """Counts of outcomes, the most of what is measured, and a line for each outcome that must not be."""

    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    most: dict[str, float] = field(default_factory=dict)

    def add(self, outcome: str, fault: str = "") -> None:
        self.counts[outcome] += 1
        if fault:
            self.faults.append(f"{outcome}: {fault}")
            print("  ", self.faults[-1][:2000], flush=True)

    def measure(self, name: str, value: float) -> None:
        self.most[name] = max(self.most.get(name, 0.0), round(value, 2))

    def merge(self, other: Tally) -> None:
        self.counts.update(other.counts)
        self.faults += other.faults
        for name, value in other.most.items():
            self.measure(name, value)

    def __str__(self) -> str:
        return ", ".join(f"{count:,} {name}" for name, count in (self.counts | self.most).items())


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
        if time.monotonic() > end or read_seconds(pid) >= seconds:
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


def read_seconds(pid: int) -> float:
    """Return how long a process has used the processor, to a hundredth of a second."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run_apart(run: Callable[[], Tally], memory: int = MEMORY) -> Tally:
    """Run trials in a fork with a limit on its addresses, in bytes above those of now; a fork that dies is a fault."""
    receive, send = os.pipe()
    pid = os.fork()
    if not pid:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + memory, used + memory))
        part = run()
        with os.fdopen(send, "w") as file:
            json.dump([part.counts, part.faults, part.most], file)
        os._exit(0)
    os.close(send)
    with os.fdopen(receive) as file:
        text = file.read()
    os.waitpid(pid, 0)
    if not text:
        return Tally(Counter(died=1), ["died: a fork ended without a result"])
    counts, faults, most = json.loads(text)
    return Tally(Counter(counts), faults, most)


TIMES = {"seconds", "date", "created", "started", "finished", "time", "written", "command"}
"""Keys of JSON that two runs of one command have different values for."""
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
        kept = {key: value for key, value in found.items() if key not in TIMES}
        return kept if kept == found else {key: value for key, value in kept.items() if key != "checksum"}

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
        tally.measure("seconds of the processor", run.seconds)
        tally.measure("seconds above a whole run", slower := run.seconds - whole.ended.seconds)
        tally.measure("MB above a whole run", larger := run.megabytes - whole.ended.megabytes)
        if slower > SLOW:
            tally.add("slow", f"{command.words}: {slower:.1f} s above a whole run")
        if larger > MEMORY / (1 << 20):
            tally.add("large", f"{command.words}: {larger:.0f} MB above a whole run")
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


BATCH = 500  # changed files that one fork reads
RECORD = 0.0003  # seconds that each record of a file may take, read or skipped, as 2 MB may hold half a million
SIZE = 1 << 17  # bytes of a repeated text; of a packed one 16 times as many
SUFFIXES = ("ris", "bib", "nbib", "enw", "csv", "tsv", "json", "jsonl", "xml", "rdf", "txt")
TOKENS = [b"\x00", b"\xff", b'"', b"\\", b"{", b"}", b"[", b"]", b"<", b">", b"&", b"\n", b"\r\n", b"@", b"  - ", b","]
TOKENS += [b"null", b"-1", b"1e999", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"</", b"<![CDATA[", b"#", b"\t", b"ER  - \n"]
REPEATED = [*TOKENS, *b' |a|<a>|</a>|<a |<!--|{"a":|{"a":[|[{"id":"1"},|&amp;|{{|@misc{a,|@string{a=b}'.split(b"|")]
REPEATED += b'TY  - JOUR\n|TI  - a\n|%0 \n|PMID- 1\n|a,b\n|a","\n|\\\''.split(b"|")
VALUES: list[Any] = [0, -1, 3, 10**6, 10**9, 10**18, -(10**18), 0.5, 1e308, float("nan"), "", "x" * 100_000, "../../x"]
VALUES += [None, True, [], {}, [[]] * 1000, {"a": {"b": {}}}, "\x1b]0;a\x07", "0", ["[CLS]"], "__import__('os')"]
WATCHED = ("os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "socket.connect", "pickle.find_class")


def fuzz_readers(count: int, draw: random.Random, work: Path) -> Iterator[tuple[str, Tally]]:
    """Read changed samples of every reader until so many records were read or skipped, in forks with a limit."""
    build_zotero(work / "zotero.sqlite")
    (work / "marc.mrc").write_bytes(build_record(TIDES) + build_record(ARTICLE))
    samples = {path.stem: path for path in [*SAMPLES.iterdir(), work / "zotero.sqlite", work / "marc.mrc"]}
    for name in sorted(paper_readers):
        tally, wanted, sample = Tally(), -(-count // len(paper_readers)), samples[name]
        while (left := wanted - tally.counts["records"]) > 0 and tally.counts["files"] < 20 * wanted:
            changed = change_sample(sample, random.Random(draw.random()))
            tally.merge(run_apart(partial(read_files, sample.read_bytes(), changed, work, (name, None), left)))
        yield name, tally


def change_sample(sample: Path, chance: random.Random) -> Iterator[tuple[str, bytes]]:
    """Yield changed copies of a sample."""
    content = sample.read_bytes()
    for _ in range(BATCH):
        changed = bytearray(content)
        for _ in range(chance.choice((1, 1, 2, 5, 20))):
            mutate(changed, content, chance)
        yield sample.suffix, bytes(changed)


def repeat_texts(count: int, draw: random.Random, work: Path) -> Iterator[tuple[str, Tally]]:
    """Read files of one text, or of two in turn, repeated to 128 KB, and packed ones that unpack to 2 MB."""
    for suffix in SUFFIXES:
        tally, texts = Tally(), [*REPEATED, *(b"".join(draw.sample(REPEATED, 2)) for _ in range(count))]
        sample = next((path.read_bytes() for path in sorted(SAMPLES.glob(f"*.{suffix}"))), b"")
        good = sample * (SIZE // max(1, len(sample)))
        for number in range(0, len(texts), 10):
            changed = repeat_some(f".{suffix}", sample, texts[number : number + 10])
            tally.merge(run_apart(partial(read_files, good, changed, work)))
        yield suffix, tally


def repeat_some(suffix: str, sample: bytes, texts: list[bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield repeated texts, alone, after the sample, after one that is cut off, and packed."""
    for text in texts:
        for head in (b"", sample, sample[: len(sample) * 2 // 3]):
            yield suffix, head + text * (SIZE // len(text))
        yield f"{suffix}.gz", gzip.compress(sample + text * (16 * SIZE // len(text)), 1)


def read_files(
    good: bytes,
    changed: Iterator[tuple[str, bytes]],
    work: Path,
    readers: tuple[str | None, ...] = (None,),
    wanted: int = NEVER,
) -> Tally:
    """Read changed files, in turn by each reader, until so many records were seen.

    A file may take `SLOW` seconds and `RECORD` for each record; it is stopped after `SLOW`, packed after 16 times that.
    """
    tally, before = Tally(), 0
    for number, (suffix, content) in enumerate(changed):
        path = work / f"changed-{os.getpid()}{suffix}"
        if not number:  # good input, whose memory is not measured
            path.write_bytes(good)
            with suppress(InputError):
                sum(1 for _ in read_papers([path], skip_bad=True))
            before = peak_bytes()
        path.write_bytes(content)
        packed, reader, report = suffix.endswith(".gz"), readers[number % len(readers)], ReadReport()
        known, began = len(tally.faults), time.process_time()
        with judge(tally, f"{path}: {reader}"), alarm(16 * SLOW if packed else SLOW):
            sum(1 for _ in read_papers([path], reader=reader, skip_bad=True, report=report))
            tally.counts["read"] += 1
        tally.measure(f"seconds of a {'packed ' * packed}file", seconds := time.process_time() - began)
        records = report.papers + report.skipped_count
        if seconds > SLOW + RECORD * records:
            tally.add("slow", f"{path.name}, {records} records: {content[-200:]!r}")
        if len(tally.faults) > known:
            shutil.copy(path, Path(tempfile.gettempdir()) / f"fault-{os.getpid()}-{known}{suffix}")
        tally.counts.update(files=1, records=records + 1)
        path.unlink()
        if tally.counts["records"] >= wanted:
            break
    tally.measure("MB above good input", (peak_bytes() - before) / (1 << 20))
    return tally


@contextmanager
def judge(tally: Tally, what: str) -> Iterator[None]:
    """Count a refusal with a message; anything else that is raised is a fault, as is a refusal without one."""
    try:
        yield
    except InputError as error:
        tally.counts["refused"] += 1
        if "\n" in str(error) or not str(error):
            tally.add("no message", f"{what}: {error!r}")
    except BaseException as error:  # noqa: BLE001 - what neither a reader nor a model may raise
        tally.add("hung" if isinstance(error, TimeoutError) else "exception", f"{what}: {error!r}")


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@contextmanager
def alarm(slow: float = SLOW) -> Iterator[None]:
    """Raise TimeoutError after some seconds of the processor, or many minutes of waiting."""

    def stop(*_: object) -> None:
        raise TimeoutError

    clocks = {signal.SIGPROF: (signal.ITIMER_PROF, slow), signal.SIGALRM: (signal.ITIMER_REAL, PATIENCE * HUNG)}
    for number, (clock, seconds) in clocks.items():
        signal.signal(number, stop)
        signal.setitimer(clock, seconds)
    try:
        yield
    finally:
        for clock, _ in clocks.values():
            signal.setitimer(clock, 0)


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


def change_models(count: int, draw: random.Random, work: Path) -> Iterator[tuple[str, Tally]]:
    """Load changed copies of a model folder without checksums: each is refused, or its vectors are finite."""
    folder, tally = work / "model", Tally()
    shutil.copytree(work / "inputs" / "tiny", folder)
    (folder / "checksums.json").unlink()
    for begin in range(0, count, 50):
        tally.merge(run_apart(partial(change_some, folder, draw.random(), min(50, count - begin)), 4 * MEMORY))
    yield "models", tally


def change_some(folder: Path, seed: float, count: int) -> Tally:
    """Load some changed copies, and encode; what they execute is a fault."""
    tally, chance = Tally(), random.Random(seed)
    Encoder.load(folder, device="cpu").encode(["a"])
    before, watching, copy = peak_bytes(), [True], folder.with_name(f"model-{os.getpid()}")

    def watch(event: str, _: object) -> None:
        if watching[0] and event in WATCHED:
            tally.add("executed", event)

    sys.addaudithook(watch)
    for _ in range(count):
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)
        path = chance.choice([path for path in sorted(copy.rglob("*")) if path.is_file()])
        change = change_json if path.suffix == ".json" and chance.random() < 0.8 else change_bytes
        what = f"{path.relative_to(copy)}: {change(path, chance)}"
        began, tally.counts["models"] = time.process_time(), tally.counts["models"] + 1
        with judge(tally, what), alarm():
            vectors = Encoder.load(copy, device="cpu").encode(["Light of a cell", ""])
            finite = bool(np.isfinite(vectors).all())
            tally.add("loaded" if finite else "not finite", "" if finite else what)
        tally.measure("seconds of a model", time.process_time() - began)
    watching[0] = False
    tally.measure("MB above good input", (peak_bytes() - before) / (1 << 20))
    return tally


def change_json(path: Path, chance: random.Random) -> str:
    """Replace a value somewhere in a JSON file, or remove it; return what was done."""
    root = json.loads(path.read_text(encoding="utf-8"))
    places: list[tuple[Any, Any]] = []

    def visit(value: Any) -> None:
        for key in value if isinstance(value, dict) else range(min(len(value), 50)) if isinstance(value, list) else ():
            places.append((value, key))
            visit(value[key])

    visit(root)
    depth = chance.choice((10, 50, len(places)))
    owner, key = chance.choice(places[:depth])
    if chance.random() < 0.1:
        del owner[key]
        done = f"{key!r} removed"
    else:
        owner[key] = chance.choice(VALUES)
        done = f"{key!r} is {str(owner[key])[:60]!r}"
    path.write_text(json.dumps(root), encoding="utf-8")
    return done


def change_bytes(path: Path, chance: random.Random) -> str:
    """Change some of the first bytes of a file, which hold the header of weights."""
    content = path.read_bytes()
    part = bytearray(content[:3000])
    for _ in range(chance.choice((1, 2, 5))):
        mutate(part, content, chance)
    path.write_bytes(bytes(part) + content[3000:])
    return "bytes"


WORDS = "serve collection --workspace work --port {port}"
ENTRY = "@misc{{{id}, title={{Dark matter of number {id}}}, abstract={{We count {id} halos.}}, year={{2001}}}}\n"
UPLOADS = 6  # that are there at one time
LIBRARY = "/library/collection"
TABLES = {  # what a page's path has -> its table of decisions, the columns of a key and of the decision
    "/screening/": ("decisions.csv", ("id",), "decision"),
    "/tags/": ("tags.csv", ("paper", "uri"), "verdict"),
    "/matching/": ("constraints.csv", ("paper", "reviewer"), "constraint"),
}


class GoneError(Exception):
    """The service was killed while a request was in progress."""


@dataclass
class Client:
    """Asks the service, and keeps a ledger of what it answered as done.

    One workspace lives through all kills. The client uploads and deletes bibliographies, decides on records at a
    screening desk and on suggested tags, and locks reviewers. Each restart is compared with the ledger; of a request
    that a kill cut off (`unsure`), both outcomes are right.
    """

    port: int
    papers: list[str]
    uploads: dict[str, int] = field(default_factory=dict)
    tables: dict[str, dict[str, str]] = field(default_factory=dict)  # page -> key -> decision
    unsure: set[tuple[str, str]] = field(default_factory=set)
    made: int = 0

    def ask(self, method: str, path: str, body: bytes = b"", kind: str = "application/json") -> tuple[int, str, str]:
        """Return status, text and the Location of an answer."""
        try:
            connection = HTTPConnection("127.0.0.1", self.port, timeout=HUNG)
            connection.request(method, path, body or None, {"content-type": kind, "host": f"localhost:{self.port}"})
            answer = connection.getresponse()
            text = answer.read().decode()
            connection.close()
            return answer.status, text, answer.headers.get("location", "")
        except (OSError, HTTPException) as error:
            raise GoneError from error

    def get(self, path: str) -> Any:
        status, text, _ = self.ask("GET", path)
        return json.loads(text) if status == 200 else None

    def form(self, path: str, **fields: str) -> str:
        """Send a form; return where the answer leads."""
        status, text, place = self.ask("POST", path, urlencode(fields).encode(), "application/x-www-form-urlencoded")
        assert status == 303, text
        return place

    def create(self, path: str, body: bytes, kind: str = "application/json") -> str:
        """Begin what takes time; return its id."""
        status, text, _ = self.ask("POST", path, body, kind)
        assert status == 202, text
        return str(json.loads(text)["id"])

    def decide(self, page: str, key: str, decision: str, /, **fields: str) -> None:
        self.unsure.add((page, key))
        self.form(page, **fields)
        self.unsure.discard((page, key))
        self.tables[page][key] = decision

    def find_page(self, kind: str) -> str:
        """Return the newest page of a kind, or nothing."""
        return next((page for page in reversed(self.tables) if kind in page), "")

    def upload(self, draw: random.Random) -> None:
        self.made, papers = self.made + 1, draw.randrange(1, 30)
        content = "".join(ENTRY.format(id=f"u{self.made}p{number}") for number in range(papers))
        path = f"/workspace/collections?filename=refs.bib&name={self.made}"
        self.uploads[self.create(path, content.encode(), "application/octet-stream")] = papers

    def delete(self, draw: random.Random) -> None:
        if len(self.uploads) >= UPLOADS:
            id = draw.choice([*self.uploads])
            self.unsure.add(("", id))
            status, text, _ = self.ask("DELETE", f"/workspace/collections/{id}")
            assert status == 204, text
            self.unsure.discard(("", id))
            del self.uploads[id]

    def screen(self, draw: random.Random) -> None:
        """Begin a review, or decide on a record at its desk."""
        page = self.find_page("/screening/")
        if not page or len(self.tables[page]) == SCREENED:
            self.tables[self.form(f"{LIBRARY}/screening", title="a review", criteria="genes")] = {}
            return
        id = draw.choice([each for each in self.papers if each not in self.tables[page]])
        verdict = draw.choice(("include", "exclude", "unsure"))
        self.decide(page, id, verdict, id=id, decision=verdict, reason="too old")

    def tag(self, draw: random.Random) -> None:
        """Begin a tag review, or accept or reject a tag of one that is finished."""
        if not (page := self.find_page("/tags/")):
            vocabulary = {"name": "v.csv", "text": "id,name\na,genetics\nb,matter\nc,stars\n"}
            body = {"collection": "collection", "k": 2, "threshold": 0, "vocabulary": vocabulary}
            self.tables[f"{LIBRARY}/tags/{self.create('/workspace/tag-reviews', json.dumps(body).encode())}"] = {}
        elif (found := self.read_table(page)) is not None:  # else it is not suggested yet
            verdict, key = draw.choice(("yes", "no")), draw.choice([*found])
            paper, uri = key.split(" ")
            self.decide(page, key, verdict, paper=paper, decision=f"{verdict} {uri}")

    def match(self, draw: random.Random) -> None:
        """Begin a match, or lock a reviewer of one that is finished and solve it again."""
        if not (page := self.find_page("/matching/")):
            files = [{"name": f"r{n}.bib", "text": ENTRY.format(id=f"m{n}")} for n in range(6)]
            body = {"per_paper": 1, "submissions": files[3:], "reviewers": files[:3]}
            self.tables[f"/matching/{self.create('/workspace/matches', json.dumps(body).encode())}"] = {}
        elif self.ask("GET", f"{page}/report.zip")[0] == 200:
            paper, reviewer = f"m{draw.randrange(3, 6)}", f"r{draw.randrange(3)}"
            constraint, decision = draw.choice((("lock", "1"), ("forbid", "-1")))
            key = f"{paper} {reviewer}"
            self.decide(page, key, decision, submission=paper, reviewer=reviewer, constraint=constraint)
            if draw.random() < 0.3:
                self.form(f"{page}/solve", stay="yes")

    def read_table(self, page: str) -> dict[str, str] | None:
        """Return the decisions of a page by their keys, or None where it has no table yet."""
        name, keys, column = next(table for kind, table in TABLES.items() if kind in page)
        status, text, _ = self.ask("GET", f"{page}/{name}")
        rows = csv.DictReader(io.StringIO(text))
        return {" ".join(row[key] for key in keys): row[column] for row in rows} if status == 200 else None

    def compare(self, tally: Tally) -> None:
        """Count what of the ledger is there, and what is lost."""
        listed = {each["id"]: each for each in self.get("/workspace/collections")["collections"]}
        for id, papers in [*self.uploads.items()]:
            if id not in listed and ("", id) in self.unsure:
                del self.uploads[id]  # its deletion was cut off after it
                continue
            state = listed.get(id, {}).get("state")
            whole = state in ("waiting", "embedding") or (state == "ready" and listed[id]["papers"] == papers)
            tally.add("uploads intact" if whole else "lost", "" if whole else f"upload {id}: {listed.get(id)}")
        for id in listed.keys() - self.uploads.keys():  # whose answer was cut off
            ready = listed[id]["state"] == "ready"
            self.uploads[id] = listed[id]["papers"] if ready else self.wait_for(id, tally)
        for page, known in self.tables.items():
            found = self.read_table(page)
            if found is None and (known or "/screening/" in page):
                tally.add("lost", f"{page}: its table")
                continue
            found = {key: decision for key, decision in (found or {}).items() if decision}
            for key in [key for unsure, key in self.unsure if unsure == page]:  # either outcome
                known.pop(key, None)
                known.update({key: found[key]} if key in found else {})
            wrong = {key: found.get(key) for key, decision in known.items() if found.get(key) != decision}
            tally.counts["decisions intact"] += len(known) - len(wrong)
            if more := wrong or sorted(found.keys() - known.keys()):
                tally.add("lost", f"{page}: {more}; known: {known}")
        self.unsure.clear()

    def wait_for(self, id: str, tally: Tally) -> int:
        """Return how many papers an upload has when it is ready."""
        end = time.monotonic() + PATIENCE * HUNG
        while time.monotonic() < end:
            facts = self.get(f"/workspace/collections/{id}")
            if facts and facts["state"] in ("ready", "failed"):
                if facts["state"] == "failed":
                    tally.add("lost", f"upload {id}: {facts}")
                return int(facts.get("papers") or 0)
            time.sleep(0.05)
        tally.add("hung", f"upload {id}")
        return 0

    def finish(self, tally: Tally) -> None:
        """Wait until all work is done; each upload is then searched."""
        for id, papers in self.uploads.items():
            if self.wait_for(id, tally) != papers:
                tally.add("lost", f"upload {id}: other than {papers} papers")
            status, text, _ = self.ask("GET", f"/search?q=dark+matter&k=1&mode=hybrid&collection={quote(id)}")
            if status != 200 or not json.loads(text)["rankings"][0]["hits"]:
                tally.add("lost", f"upload {id} cannot be searched: {text[:300]}")


def kill_service(count: int, draw: random.Random, work: Path) -> Iterator[tuple[str, Tally]]:
    """Kill the service so many times, alternately at a random time and at a change of the disk; restart, compare."""
    tally, folder = Tally(), work / "service"
    shutil.copytree(work / "inputs", folder)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = int(listener.getsockname()[1])
    lines = (folder / "papers.jsonl").read_text(encoding="utf-8").splitlines()
    client = Client(port, [json.loads(line)["id"] for line in lines])
    for number in range(count):
        (folder / "log.txt").unlink(missing_ok=True)
        changes = draw.choice((draw.randrange(10), draw.randrange(200))) if number % 2 else None
        last = HUNG if number % 2 else draw.choice((draw.uniform(0, 2), draw.uniform(1, 6)))  # seconds of the processor
        pid = start(WORDS.format(port=port), folder, changes)
        with suppress(GoneError):
            use_service(client, draw, pid, last, tally)
        here = stop(pid, signal.SIGKILL) == "here"
        tally.counts["killed at a change" if changes is not None and not here else "killed at a time"] += 1
        if not restart(client, folder, tally):
            break
    if leftovers := [str(path) for path in (folder / "work").rglob("*.part*")]:
        tally.add("left behind", ", ".join(leftovers))
    yield "serve", tally


def use_service(client: Client, draw: random.Random, pid: int, last: float, tally: Tally) -> None:
    """Compare what is there with the ledger, and change it until the service has used so many seconds."""
    actions = (client.upload, client.delete, client.screen, client.screen, client.tag, client.match)
    if wait_until_ready(client, pid, last):
        client.compare(tally)
        for _ in range(200):
            if read_seconds(pid) > last:
                break
            draw.choice(actions)(draw)
            tally.counts["changes answered"] += 1


def restart(client: Client, folder: Path, tally: Tally) -> bool:
    """Serve again without a kill; compare all with the ledger, and stop as a person would. Returns whether it ran."""
    pid, ready = start(WORDS.format(port=client.port), folder), False
    try:
        if ready := wait_until_ready(client, pid, HUNG):
            client.compare(tally)
            client.finish(tally)
        tally.add("restarted" if ready else "lost", "" if ready else read_log(folder))
    except GoneError:
        ready = False
        tally.add("lost", f"the restarted service ended: {read_log(folder)}")
    finally:
        status = stop(pid, signal.SIGTERM)
    if "Traceback" in read_log(folder) or (ready and status != "0"):
        tally.add("lost", f"status {status}: {read_log(folder)}")
    return ready


def wait_until_ready(client: Client, pid: int, seconds: float) -> bool:
    """Return whether the service is ready before it ends, or has used the processor for so many seconds."""
    while read_seconds(pid) < seconds and not os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        with suppress(GoneError):
            if client.ask("GET", "/ready")[0] == 200:
                return True
        time.sleep(0.01)
    return False


def stop(pid: int, number: int) -> str:
    """Send a signal; return "here" where it ended the process by force, else how it ended."""
    alive = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    if alive and number != signal.SIGKILL:
        os.kill(pid, number)
    status = measure(pid, 0 if number == signal.SIGKILL else HUNG).status  # a kill reaches what it started, too
    return "here" if alive and number == signal.SIGKILL else str(status)


def damage_files(count: int, draw: random.Random, _: Path) -> Iterator[tuple[str, Tally]]:
    """Damage a file of every kind, so many in all."""
    seed = draw.randrange(1 << 30)
    for kind in KINDS:
        with tempfile.TemporaryDirectory() as folder:
            outcome = run_trials(kind, -(-count // len(KINDS)), seed, Path(folder))
        yield kind, Tally(outcome.counts, outcome.silent)


PARTS = {  # name -> trials, and how many by default
    "kills": (kill_commands, 1000),
    "service": (kill_service, 100),
    "disks": (fill_disks, 40),
    "records": (fuzz_readers, 1_000_000),
    "repeated": (repeat_texts, 20),
    "models": (change_models, 1000),
    "damages": (damage_files, 1000),
}


def add_counts(known: dict[str, Any], tallies: Iterator[tuple[str, Tally]]) -> str:
    """Add the tallies of a part to its counts, and their sum as `all`; faults are listed, none is an empty list."""
    total = Tally()

    def add(name: str, tally: Tally) -> None:
        found = known.get(name, {"counts": {}, "most": {}})
        sums = Tally(Counter(found["counts"]), [], dict(found["most"]))
        sums.merge(tally)
        known[name] = {"counts": dict(sums.counts), "most": sums.most}

    for name, tally in tallies:
        print(f"{name:<32} {tally}", flush=True)
        add(name, tally)
        total.merge(tally)
    add("all", total)
    known["faults"] += [fault[:500] for fault in total.faults]
    return f"{total}; {len(total.faults)} faults"


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("--parts", default=",".join(PARTS), help="the parts to run")
    for name, (_, count) in PARTS.items():
        parser.add_argument(f"--{name}", type=int, default=count)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--add", action="store_true", help="add to the counts in the output")
    args = parser.parse_args()
    document: dict[str, Any] = {"runs": []}
    if args.add and args.output is not None and args.output.exists():
        document = json.loads(args.output.read_text(encoding="utf-8"))
    describe = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    code = subprocess.run(describe, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    counts = {part: getattr(args, part) for part in args.parts.split(",")}
    with tempfile.TemporaryDirectory() as name:
        work = Path(name) / "work"
        (work / "inputs").mkdir(parents=True)
        write_inputs(work / "inputs")
        for part, count in counts.items():
            trials = PARTS[part][0](count, random.Random(f"{part} {args.seed}"), work)
            print(f"{part}: {add_counts(document.setdefault(part, {'faults': []}), trials)}", flush=True)
    document["runs"].append(provenance(PACKAGES, seed=args.seed, code=code, parts=counts))
    write_result(args.output, document)


if __name__ == "__main__":
    main()
