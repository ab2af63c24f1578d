"""Read changed samples, repeated texts and changed model folders: each is read or refused, soon, in little memory."""

from __future__ import annotations

import gzip
import json
import os
import random
import resource
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from build_marc import ARTICLE, TIDES, build_record
from build_zotero import build_zotero
from sciprism.encoders.encoder import Encoder
from sciprism.errors import InputError
from sciprism.papers import ReadReport, read_papers
from sciprism.papers.readers.registry import paper_readers
from torture_forks import HUNG, MEMORY, PATIENCE, SLOW, Tally, run_apart

SAMPLES = Path(__file__).parents[1] / "tests" / "papers" / "samples"
BATCH = 500  # changed files that one fork reads
RECORD = 0.0003  # seconds that each record of a file may take, read or skipped, as 2 MB may hold half a million
SIZE = 1 << 17  # bytes of a repeated text; of a packed one 16 times as many
SUFFIXES = ("ris", "bib", "nbib", "enw", "csv", "tsv", "json", "jsonl", "xml", "rdf", "txt")
TOKENS = [b"\x00", b"\xff", b'"', b"\\", b"{", b"}", b"[", b"]", b"<", b">", b"&", b"\n", b"\r\n", b"@", b"  - ", b","]
TOKENS += [b"null", b"-1", b"1e999", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"</", b"<![CDATA[", b"#", b"\t", b"ER  - \n"]
REPEATED = [
    *TOKENS,
    b" ",
    b"a",
    b"<a>",
    b"</a>",
    b"<a ",
    b"<!--",
    b'{"a":',
    b'{"a":[',
    b'[{"id":"1"},',
    b"&amp;",
    b"{{",
]
REPEATED += [
    b"TY  - JOUR\n",
    b"TI  - a\n",
    b"@misc{a,",
    b"@string{a=b}",
    b"%0 \n",
    b"PMID- 1\n",
    b"a,b\n",
    b'a","\n',
    b"\\'",
]
VALUES: list[Any] = [0, -1, 3, 10**6, 10**9, 10**18, -(10**18), 0.5, 1e308, float("nan"), "", "x" * 100_000, "../../x"]
VALUES += [None, True, [], {}, [[]] * 1000, {"a": {"b": {}}}, "\x1b]0;a\x07", "0", ["[CLS]"], "__import__('os')"]
WATCHED = ("os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "socket.connect", "pickle.find_class")


# ---- changed samples of every reader ----


def fuzz_readers(count: int, draw: random.Random, work: Path) -> dict[str, Tally]:
    """Read changed samples of every reader until so many records were read or skipped, in forks with a limit."""
    if not (work / "zotero.sqlite").exists():
        build_zotero(work / "zotero.sqlite")
    (work / "marc.mrc").write_bytes(build_record(TIDES) + build_record(ARTICLE))
    samples = {path.stem: path for path in [*SAMPLES.iterdir(), work / "zotero.sqlite", work / "marc.mrc"]}
    tallies = {}
    for name in sorted(paper_readers):
        tally, wanted = Tally(), -(-count // len(paper_readers))
        while (left := wanted - tally.counts["records"]) > 0 and tally.counts["files"] < 20 * wanted:
            tally.merge(run_apart(partial(fuzz_some, samples[name], name, draw.random(), left, work)))
        tallies[name] = tally
        print(f"{name:<20} {tally}", flush=True)
    return tallies


def fuzz_some(sample: Path, name: str, seed: float, wanted: int, work: Path) -> Tally:
    """Read some changed copies of a sample."""
    tally, chance, content = Tally(), random.Random(seed), sample.read_bytes()
    path = work / f"fuzzed-{os.getpid()}{sample.suffix}"
    with suppress(InputError):
        sum(1 for _ in read_papers([sample]))  # good input, whose memory is no part of what is measured
    before = peak_bytes()
    for _ in range(BATCH):
        changed = bytearray(content)
        for _ in range(chance.choice((1, 1, 2, 5, 20))):
            mutate(changed, content, chance)
        path.write_bytes(changed)
        report = read_or_refuse(tally, path, chance.choice((name, None)))
        tally.counts["files"] += 1
        tally.counts["records"] += report.papers + report.skipped_count + 1
        if tally.counts["records"] >= wanted:
            break
    path.unlink()
    tally.measure("MB above good input", (peak_bytes() - before) / (1 << 20))
    return tally


def read_or_refuse(tally: Tally, path: Path, reader: str | None, slow: float = SLOW) -> ReadReport:
    """Read a file; count how it ended, and keep one that ended otherwise than it may.

    slow: the seconds after which it is stopped; it may take `SLOW`, and `RECORD` for each record.
    """
    report, began = ReadReport(), time.process_time()
    try:
        with alarm(slow):
            for _ in read_papers([path], reader=reader, skip_bad=True, report=report):
                pass
        tally.counts["read"] += 1
    except InputError as error:
        tally.counts["refused"] += 1
        if "\n" in str(error) or not str(error):
            tally.add("no message", repr(error))
    except BaseException as error:  # noqa: BLE001 - what a reader must not raise
        kept = path.with_name(f"fault-{len(tally.faults)}-{path.name}")
        shutil.copy(path, kept)
        tally.add("hung" if isinstance(error, TimeoutError) else "exception", f"{kept}: {reader}: {error!r}")
    seconds = time.process_time() - began
    tally.measure("seconds of a file" if slow == SLOW else "seconds of a packed file", seconds)
    if seconds > SLOW + RECORD * (records := report.papers + report.skipped_count):
        tally.add("slow", f"{path.name}, {records} records: {path.read_bytes()[-200:]!r}")
    return report


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


# ---- one text many times, plain and packed ----


def repeat_texts(count: int, draw: random.Random, work: Path) -> dict[str, Tally]:
    """Read files of one text, or of two in turn, repeated to 128 KB, and packed ones that unpack to 2 MB."""
    tallies = {}
    for suffix in SUFFIXES:
        tally = tallies[suffix] = Tally()
        texts = [*REPEATED, *(b"".join(draw.sample(REPEATED, 2)) for _ in range(count))]
        for number in range(0, len(texts), 10):
            tally.merge(run_apart(partial(repeat_some, suffix, texts[number : number + 10], work)))
        print(f"repeated, {suffix:<10} {tally}", flush=True)
    return tallies


def repeat_some(suffix: str, texts: list[bytes], work: Path) -> Tally:
    """Read some repeated texts, alone, after the sample, and after one that is cut off."""
    tally = Tally()
    sample = next((path.read_bytes() for path in sorted(SAMPLES.glob(f"*.{suffix}"))), b"")
    plain, packed = work / f"repeated.{suffix}", work / f"repeated.{suffix}.gz"
    plain.write_bytes(sample * (SIZE // max(1, len(sample))))  # good input of that size
    with suppress(InputError):
        sum(1 for _ in read_papers([plain], skip_bad=True))
    before = peak_bytes()
    for text in texts:
        for head in (b"", sample, sample[: len(sample) * 2 // 3]):
            plain.write_bytes(head + text * (SIZE // len(text)))
            read_or_refuse(tally, plain, None)
        packed.write_bytes(gzip.compress(sample + text * (16 * SIZE // len(text)), 1))
        read_or_refuse(tally, packed, None, slow=16 * SLOW)
        tally.counts["files"] += 4
    tally.measure("MB above good input", (peak_bytes() - before) / (1 << 20))
    return tally


# ---- changed model folders ----


def change_models(count: int, draw: random.Random, work: Path) -> dict[str, Tally]:
    """Load changed copies of a model folder without checksums: each is refused, or its vectors are finite."""
    folder = work / "model"
    shutil.copytree(work / "inputs" / "tiny", folder)
    (folder / "checksums.json").unlink()
    tally = Tally()
    for start in range(0, count, 50):
        tally.merge(run_apart(partial(change_some, folder, draw.random(), min(50, count - start)), 4 * MEMORY))
    print(f"{'models':<20} {tally}", flush=True)
    return {"all": tally}


def change_some(folder: Path, seed: float, count: int) -> Tally:
    tally, chance = Tally(), random.Random(seed)
    Encoder.load(folder, device="cpu").encode(["a"])
    before, watching = peak_bytes(), [True]

    def watch(event: str, _: object) -> None:
        if watching[0] and event in WATCHED:
            tally.add("executed", event)

    sys.addaudithook(watch)
    for _ in range(count):
        copy = folder.with_name(f"model-{os.getpid()}")
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)
        path = chance.choice([path for path in sorted(copy.rglob("*")) if path.is_file()])
        change = (
            change_json(path, chance)
            if path.suffix == ".json" and chance.random() < 0.8
            else change_bytes(path, chance)
        )
        load_or_refuse(tally, copy, f"{path.relative_to(copy)}: {change}")
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


def load_or_refuse(tally: Tally, folder: Path, what: str) -> None:
    """Load a model and encode; count how that ended."""
    began, tally.counts["models"] = time.process_time(), tally.counts["models"] + 1
    try:
        with alarm():
            vectors = Encoder.load(folder, device="cpu").encode(["Light of a cell", ""])
        finite = bool(np.isfinite(vectors).all())
        tally.add("loaded" if finite else "not finite", "" if finite else what)
    except InputError as error:
        tally.counts["refused"] += 1
        if "\n" in str(error) or not str(error):
            tally.add("no message", f"{what}: {error!r}")
    except BaseException as error:  # noqa: BLE001 - what a model must not raise
        tally.add("hung" if isinstance(error, TimeoutError) else "exception", f"{what}: {error!r}")
    tally.measure("seconds of a model", time.process_time() - began)
