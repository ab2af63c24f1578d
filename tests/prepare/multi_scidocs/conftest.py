"""A corpus so small that every pool can be worked out by hand, and what reads the files made of it."""

import json
from collections import defaultdict
from pathlib import Path

import pytest

from sciprism.prepare.multi_scidocs.corpus import Given
from sciprism.prepare.multi_scidocs.pools import Choices
from sciprism.prepare.multi_scidocs.prepare import prepare_multi_scidocs


class Made:
    """Papers, then what was made of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.out = folder / "out"
        self.rows: list[dict] = []

    def paper(self, name, *references, fields=("Art",), **more):
        row = {"id": name, "title": f"Title {name}", "abstract": f"About {name}.", "fields": list(fields)}
        self.rows.append({**row, "references": list(references), **more})

    def prepare(self, *, edges=None, fields=(), **choices):
        path = self.folder / "papers.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in self.rows))
        given = Given(files=(path,), edges=edges, fields=fields)
        self.prepared = prepare_multi_scidocs(self.out, given, Choices(**choices))
        return self

    def pools(self, relation, part="test"):
        """Query -> (positives, negatives), in the order of the file."""
        found = defaultdict(lambda: ([], []))
        for line in (self.out / f"multi-scidocs/{relation}/{part}.qrel").read_text().splitlines():
            query, zero, name, grade = line.split(" ")
            assert zero == "0"
            found[query][grade == "0"].append(name)
        return dict(found)

    def lines(self, place):
        return (self.out / place).read_text().splitlines()

    def json(self, place):
        return json.loads((self.out / place).read_text())

    def count(self, name):
        return self.prepared.written.counts[name]


@pytest.fixture
def made(tmp_path):
    return Made(tmp_path)


@pytest.fixture
def starred(made):
    """q cites z; it is cited with a by three papers, with b by two, with c and with d by one each."""
    made.paper("q", "z")
    for name in "abcdzuv":
        made.paper(name)
    for name, cited in (("x1", "qabc"), ("x2", "qab"), ("x3", "qa"), ("x4", "qd")):
        made.paper(name, *cited)
    return made
