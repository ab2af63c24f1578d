"""A small copy of the open data's quick view, and models that differ: all that a table of it needs."""

import pytest

from open_data import paper, write, write_table
from sciprism import Encoder

TOPICS = ("galaxy", "protein", "market", "forest", "laser", "virus", "engine", "ocean", "graph", "crystal")
FIELDS = ("business", "economics", "geography", "medicine", "politics", "psychology", "sociology")


def title(number):
    return f"{TOPICS[number % 10]} and {TOPICS[number // 10 % 10]} study {number}"


@pytest.fixture(scope="session")
def open_data(tmp_path_factory):
    """Papers that cite those before them, titles with fields, and a collection with questions."""
    folder = tmp_path_factory.mktemp("open-data")
    rows = []
    for n in range(60):
        cited = [f"10.1/{m}" for m in range(max(0, n - 7), n)]
        words = [TOPICS[n % 10], f"{TOPICS[n // 10]} {TOPICS[n % 2]}"]
        rows.append(paper(f"10.1/{n}", title(n), venue="Vis", year=2016 + n % 4, references=cited, keywords=words))
    write(folder, "citegraph_vis/papers", rows)
    for part, first in (("train", 100), ("dev", 200), ("test", 300)):
        rows = [{"text": f"{FIELDS[n % 7]} of {title(n)}", "label": FIELDS[n % 7]} for n in range(first, first + 42)]
        write(folder, f"cls_mag_titles/{part}", rows)
    rows = [{"_id": str(n), "title": title(n), "text": f"a {TOPICS[n % 10]} text", "metadata": {}} for n in range(40)]
    write(folder, "ir_cranfield/corpus", rows)
    write(folder, "ir_cranfield/queries", [{"_id": f"q{n}", "text": f"the {TOPICS[n]} law"} for n in range(10)])
    write_table(
        folder, "ir_cranfield/qrels/test.tsv", [(f"q{n}", str(n + 10 * k), 1) for n in range(10) for k in (0, 1)]
    )
    write_table(folder, "ir_cranfield/minus_one_documents.tsv", [("q0", "20")])
    return folder


@pytest.fixture(scope="session")
def runs(tmp_path_factory, tiny_model):
    """Folders of four models made from the tiny one: name -> folder."""
    folder = tmp_path_factory.mktemp("runs")
    settings = {"plain": ("mean", 64), "first": ("cls", 64), "short": ("mean", 6), "end": ("last", 64)}
    for name, (pooling, length) in settings.items():
        Encoder.load(tiny_model, pooling=pooling, max_length=length).save(folder / name)
    return {name: folder / name for name in settings}
