"""Small files in the published layouts, and a corpus of which every kind can be made."""

import json
from pathlib import Path

import pytest


def record(name, **more):
    return {"doc_id": f"d{name}", "title": f"Title {name}", "abstract": f"About {name}.", **more}


def write(path: Path, rows, *, whole=False):
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(rows) if whole else "".join(json.dumps(row) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8")
    return path


class Published:
    """A folder with data in the four forms, and a config of five tasks over them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for part, size in (("train", 40), ("val", 20)):
            self.parts(part, size)
        (folder / "classes.txt").write_text("Brain\nLiver\n\n Lung \n", encoding="utf-8")
        self.config = [
            self.task(
                "mesh", "classification", labels="classes.txt", labels_field="descriptor", ctrl_token="[CLF]"
            ),
            self.task(
                "fos", "classification", multi_label=True, labels=["Art", "Law", "Physics"],
                labels_field="labels_text",
            ),
            self.task("cite", "regression", labels_field="log_citations", ctrl_token="[RGN]"),
            self.task(
                "search", "ir", ctrl_token={"query": "[QRY]", "candidates": "[PRX]"},
                input_fields=["title", "abstract", "venue", "year"],
            ),
            self.task("s2and", "ir", ctrl_token="[PRX]"),
            self.task("specter", "triplet", ctrl_token="[PRX]"),
        ]  # fmt: skip

    def task(self, name, kind, **more):
        files = {"train": f"{name}/train.jsonl", "dev": f"{name}/val.jsonl"}
        return {"name": name, "type": kind, "data_files": files, "instr_prompt": f"About {name}.", **more}

    def parts(self, part, size):
        names = range(size)
        rows = {
            "mesh": [record(n, descriptor=("Brain", "Brain", "Liver", "Other")[n % 4]) for n in names],
            "fos": [record(n, labels_text=[["Physics"], ["Law", "Art"], ["Nothing"]][n % 3]) for n in names],
            "cite": [record(n, log_citations=n / 2) for n in names],
            "search": [
                {
                    "query": f"words {n}",
                    "candidates": [record(f"{n}.{at}", score=at == 1, venue="V", year=1990.0 + at) for at in range(4)],
                }
                for n in names
            ],
            "s2and": [
                {
                    "query": record(n),
                    "candidates": [record(f"{n}.{at}", score=(2, 0, 1, 0, 0)[at]) for at in range(5)],
                }
                for n in names
            ],
            "specter": [{"query": record(n), "pos": record(f"{n}+"), "neg": record(f"{n}-")} for n in names],
        }
        for name, found in rows.items():
            write(self.folder / f"{name}/{part}.jsonl", found)

    def write(self, tasks=None):
        return write(self.folder / "tasks.json", self.config if tasks is None else tasks, whole=True)


@pytest.fixture
def published(tmp_path):
    return Published(tmp_path / "published")


@pytest.fixture
def user_folder(tmp_path):
    """400 papers; each cites the four before it, the one before five times; and a table of every kind."""
    folder = tmp_path / "own"
    count = 400
    papers = [
        {
            "id": f"p{n}",
            "title": f"Title {n}",
            "abstract": f"About {n}.",
            "venue": ("ACL", "Nature", "PLOS ONE", "")[n % 4],
            "year": 2005 + n % 4,
        }
        for n in range(count)
    ]
    write(folder / "papers.jsonl", papers)
    tables = folder / "tables"
    tables.mkdir()
    cites = [(n, n - back, 5 if back == 1 else 1) for n in range(count) for back in (1, 2, 3, 4) if n >= back]
    lines = ["citing\tcited\tmentions", *(f"p{a}\tp{b}\t{times}" for a, b, times in cites)]
    (tables / "citations.tsv").write_text("\n".join(lines) + "\n")
    write(
        tables / "authors.jsonl",
        [{"paper": f"p{n}", "author": [f"a{n // 5}", f"b{n // 7}"]} for n in range(count)],
    )
    (tables / "counts.csv").write_text("paper,citations\n" + "".join(f"p{n},{n}\n" for n in range(count)))
    (tables / "venues.csv").write_text(
        "venue,field\nacl,Linguistics\nACL,Computer science\nnature,Physics\n"
        + "".join(f"plos one,Field {n}\n" for n in range(5))
    )
    heads = [f"p{n}\t{('Brain', 'Liver', 'Lung')[n % 3]}\t{'surgery' if n % 2 else ''}" for n in range(count)]
    (tables / "mesh.tsv").write_text("paper\tdescriptor\tqualifier\n" + "\n".join(heads) + "\n")
    clicks = [(f"words {n}", f"p{at}", int(at == n)) for n in range(count) for at in (n, 0, count - 1)]
    lines = ["query,paper,score", *(f"{query},{paper},{score}" for query, paper, score in clicks)]
    (tables / "clicks.csv").write_text("\n".join(lines) + "\n")
    return folder
