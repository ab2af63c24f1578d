"""Small files in the published layouts."""

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
                {"query": record(n), "candidates": [record(f"{n}.{at}", score=(2, 0, 1, 0, 0)[at]) for at in range(5)]}
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
