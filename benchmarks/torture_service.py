"""Kill `sciprism serve` while it starts and while it is used: what it answered as stored is there when it runs again.

One workspace lives through all kills. A client uploads and deletes bibliographies, decides on records at a screening
desk and on suggested tags, and locks reviewers. It keeps a ledger of what was answered, which each restart is compared
with; of a request that a kill cut off, both outcomes are right.
"""

from __future__ import annotations

import csv
import io
import json
import os
import random
import shutil
import signal
import socket
import time
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from sciprism.service import app  # noqa: F401 - before the forks, which inherit it
from torture_commands import SCREENED
from torture_forks import HUNG, PATIENCE, Tally, read_seconds, start, wait

WORDS = "serve collection --workspace work --port {port}"
ENTRY = "@misc{{{id}, title={{Dark matter of number {id}}}, abstract={{We count {id} halos.}}, year={{2001}}}}\n"
UPLOADS = 6  # that are there at one time
LIBRARY = "/library/collection"


class GoneError(Exception):
    """The service was killed while a request was in progress."""


@dataclass
class Client:
    """Asks the service, and notes what it answered as done. unsure: keys of the ledger whose change was cut off."""

    port: int
    uploads: dict[str, int] = field(default_factory=dict)
    decisions: dict[str, dict[str, str]] = field(default_factory=dict)
    locked: dict[str, dict[str, str]] = field(default_factory=dict)
    matches: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    unsure: set[str] = field(default_factory=set)
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

    def form(self, path: str, **fields: str) -> tuple[int, str, str]:
        return self.ask("POST", path, urlencode(fields).encode(), "application/x-www-form-urlencoded")

    def get(self, path: str) -> Any:
        status, text, _ = self.ask("GET", path)
        return json.loads(text) if status == 200 else None

    # ---- what changes the workspace ----

    def upload(self, draw: random.Random) -> None:
        papers = draw.randrange(1, 30)
        self.made += 1
        content = "".join(ENTRY.format(id=f"u{self.made}p{number}") for number in range(papers))
        path = f"/workspace/collections?filename=refs.bib&name={self.made}"
        status, text, _ = self.ask("POST", path, content.encode(), "application/octet-stream")
        assert status == 202, text
        self.uploads[json.loads(text)["id"]] = papers

    def delete(self, draw: random.Random) -> None:
        if len(self.uploads) < UPLOADS:
            return
        id = draw.choice([*self.uploads])
        self.unsure.add(id)
        status, text, _ = self.ask("DELETE", f"/workspace/collections/{id}")
        assert status == 204, text
        self.unsure.discard(id)
        del self.uploads[id]

    def screen(self, draw: random.Random) -> None:
        """Begin a review, or decide on the record that the desk would show next."""
        if not self.decisions or len(self.decisions[[*self.decisions][-1]]) == SCREENED:
            status, text, path = self.form(f"{LIBRARY}/screening", title="a review", criteria="genes")
            assert status == 303, text
            self.decisions[path] = {}
            return
        path = [*self.decisions][-1]
        known = self.decisions[path]
        id = draw.choice([each for each in PAPERS if each not in known])
        verdict = draw.choice(("include", "exclude", "unsure"))
        self.unsure.add(f"{path} {id}")
        status, text, _ = self.form(path, id=id, decision=verdict, reason="too old")
        assert status == 303, text
        self.unsure.discard(f"{path} {id}")
        known[id] = verdict

    def tag(self, draw: random.Random) -> None:
        """Begin a tag review, or accept or reject a tag of one that is finished."""
        if not self.tags:
            vocabulary = {"name": "v.csv", "text": "id,name\na,genetics\nb,matter\nc,stars\n"}
            body = {"collection": "collection", "k": 2, "threshold": 0, "vocabulary": vocabulary}
            status, text, _ = self.ask("POST", "/workspace/tag-reviews", json.dumps(body).encode())
            assert status == 202, text
            self.tags.append(f"{LIBRARY}/tags/{json.loads(text)['id']}")
            return
        path = self.tags[-1]
        status, text, _ = self.ask("GET", f"{path}/tags.csv")
        if status != 200:  # not suggested yet
            return
        row = draw.choice([*csv.DictReader(io.StringIO(text))])
        key = f"{row['paper']} {row['uri']}"
        verdict = draw.choice(("yes", "no"))
        self.unsure.add(f"{path} {key}")
        status, text, _ = self.form(path, paper=row["paper"], decision=f"{verdict} {row['uri']}")
        assert status == 303, text
        self.unsure.discard(f"{path} {key}")
        self.decisions.setdefault(path, {})[key] = verdict
        self.decisions = {path: self.decisions.pop(path), **self.decisions}  # the last one is a desk

    def match(self, draw: random.Random) -> None:
        """Begin a match, or lock a reviewer of one that is finished and solve it again."""
        if not self.matches:
            files = [{"name": f"r{n}.bib", "text": ENTRY.format(id=f"m{n}")} for n in range(6)]
            body = {"per_paper": 1, "submissions": files[3:], "reviewers": files[:3]}
            status, text, _ = self.ask("POST", "/workspace/matches", json.dumps(body).encode())
            assert status == 202, text
            self.matches.append(f"/matching/{json.loads(text)['id']}")
            return
        path = self.matches[-1]
        if self.ask("GET", f"{path}/report.zip")[0] != 200:
            return
        paper, reviewer = f"m{draw.randrange(3, 6)}", f"r{draw.randrange(3)}"
        constraint, key = draw.choice((("lock", "1"), ("forbid", "-1"))), f"{paper} {reviewer}"
        self.unsure.add(f"{path} {key}")
        status, text, _ = self.form(path, submission=paper, reviewer=reviewer, constraint=constraint[0])
        assert status == 303, text
        self.unsure.discard(f"{path} {key}")
        self.locked.setdefault(path, {})[key] = constraint[1]
        if draw.random() < 0.3:
            assert self.form(f"{path}/solve", stay="yes")[0] == 303

    # ---- what must be there ----

    def compare(self, tally: Tally) -> None:
        """Count what of the ledger is there, and what is lost."""
        listed = {each["id"]: each for each in self.get("/workspace/collections")["collections"]}
        for id, papers in [*self.uploads.items()]:
            if id not in listed and id in self.unsure:
                del self.uploads[id]  # its deletion was cut off after it
                continue
            state = listed.get(id, {}).get("state")
            whole = state in ("waiting", "embedding") or (state == "ready" and listed[id]["papers"] == papers)
            tally.add("uploads intact" if whole else "lost", "" if whole else f"upload {id}: {listed.get(id)}")
        for id in listed.keys() - self.uploads.keys():  # whose answer was cut off
            self.uploads[id] = listed[id].get("papers") or 0
            if listed[id]["state"] != "ready":
                self.uploads[id] = self.wait_for(id, tally)
        for path, known in self.decisions.items():
            is_tags = "/tags/" in path
            rows = self.read_table(f"{path}/tags.csv" if is_tags else f"{path}/decisions.csv", tally)
            last = (
                {f"{row['paper']} {row['uri']}": row["verdict"] for row in rows}
                if is_tags
                else {row["id"]: row["decision"] for row in rows}
            )
            self.compare_table(tally, path, known, last)
        for path, known in self.locked.items():
            rows = self.read_table(f"{path}/constraints.csv", tally)
            self.compare_table(tally, path, known, {f"{r['paper']} {r['reviewer']}": r["constraint"] for r in rows})
        self.unsure.clear()

    def compare_table(self, tally: Tally, path: str, known: dict[str, str], found: dict[str, str]) -> None:
        for key in [key for key in self.unsure if key.startswith(f"{path} ")]:  # either outcome
            name = key.removeprefix(f"{path} ")
            known.pop(name, None)
            if found.get(name):
                known[name] = found[name]
        wrong = {key: found.get(key, "") for key, value in known.items() if found.get(key, "") != value}
        more = [key for key, value in found.items() if value and key not in known]
        tally.counts["decisions intact"] += len(known) - len(wrong)
        if wrong or more:
            tally.add("lost", f"{path}: {wrong} where { ({key: known[key] for key in wrong}) }; and {more}")

    def read_table(self, path: str, tally: Tally) -> list[dict[str, str]]:
        status, text, _ = self.ask("GET", path)
        if status != 200:
            tally.add("lost", f"{path}: status {status}: {text[:300]}")
            return []
        return [*csv.DictReader(io.StringIO(text))]

    def wait_for(self, id: str, tally: Tally) -> int:
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


PAPERS: list[str] = []


def torture_service(count: int, draw: random.Random, work: Path) -> dict[str, Tally]:
    """Kill the service so many times, alternately at a random time and at a change of the disk; restart, compare."""
    tally, folder = Tally(), work / "service"
    shutil.copytree(work / "inputs", folder)
    lines = (folder / "papers.jsonl").read_text(encoding="utf-8").splitlines()
    PAPERS[:] = [json.loads(line)["id"] for line in lines]
    client = Client(find_port())
    for number in range(count):
        if not run_once(client, draw, folder, tally, number):
            break
    leftovers = [str(path) for path in (folder / "work").rglob("*.part*")]
    if leftovers:
        tally.add("left behind", ", ".join(leftovers))
    print(f"{'serve':<20} {tally}", flush=True)
    return {"serve": tally}


def find_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def run_once(client: Client, draw: random.Random, folder: Path, tally: Tally, number: int) -> bool:
    """Serve, use, kill; serve again and compare. Returns whether the service ran again."""
    words = WORDS.format(port=client.port)
    (folder / "log.txt").unlink(missing_ok=True)
    changes = draw.choice((draw.randrange(10), draw.randrange(200))) if number % 2 else None
    pid = start(words, folder, changes)
    last = HUNG if number % 2 else draw.choice((draw.uniform(0, 2), draw.uniform(1, 6)))  # seconds of the processor
    actions = (client.upload, client.delete, client.screen, client.screen, client.tag, client.match)
    with suppress(GoneError):
        if wait_until_ready(client, pid, last):
            client.compare(tally)
            for _ in range(200):
                if read_seconds(pid) > last:
                    break
                draw.choice(actions)(draw)
                tally.counts["changes answered"] += 1
    killed = stop(pid, signal.SIGKILL)
    tally.counts["killed at a change" if changes is not None and killed != "here" else "killed at a time"] += 1
    return restart(client, words, folder, tally)


def restart(client: Client, words: str, folder: Path, tally: Tally) -> bool:
    """Serve again without a kill; compare all with the ledger, and stop as a person would."""
    pid, status = start(words, folder), ""
    try:
        if ready := wait_until_ready(client, pid, HUNG):
            client.compare(tally)
            client.finish(tally)
        tally.add("restarted" if ready else "lost", "" if ready else (folder / "log.txt").read_text()[-1500:])
    except GoneError:
        ready = False
        tally.add("lost", f"the restarted service ended: {(folder / 'log.txt').read_text()[-1500:]}")
    finally:
        status = stop(pid, signal.SIGTERM)
    if "Traceback" in (log := (folder / "log.txt").read_text()) or (ready and status != "0"):
        tally.add("lost", f"status {status}: {log[-1500:]}")
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
    if alive:
        os.kill(pid, number)
    status = wait(pid, HUNG)
    return "here" if alive and number == signal.SIGKILL else str(status)
