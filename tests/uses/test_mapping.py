"""Maps: neighbours, places of new papers, topics with names, files that others read, and a page without a network."""

from __future__ import annotations

import base64
import csv
import gzip
import hashlib
import json
import re

import numpy as np
import pytest
from pyarrow import parquet

from build_commands import run
from fake_encoder import FakeEncoder
from html_page import Page
from sciprism import InputError, Paper
from sciprism.store import StoredCollection, embed
from sciprism.uses import mapping
from sciprism.uses.mapping import Nearest, draw_map, read_layout, write_page, write_parquet

SUBJECTS = ("Sediment of rivers", "Massage of knees", "Orbits of comets")
HOSTILE = "</script><img src=x onerror=alert(1)> & Sediment of rivers"


def build_papers(count=30):
    """Papers of three subjects in turn; the last one is hostile, the first has no year, venue, author."""
    papers = [
        Paper(
            id=f"p{n}",
            title=f"{SUBJECTS[n % 3]} near place{n}",
            abstract=f"Text {n} of it. " * 40,
            authors=("A. Alder",) * (n % 9),
            venue=("", "Ponds", "Skies")[n % 3],
            year=1990 + n if n else None,
            fields=(SUBJECTS[n % 3].split()[-1],),
            ids={"doi": f"10.1/{n}"},
        )
        for n in range(count - 1)
    ]
    return [*papers, Paper(id="bad\x0b<id>", title=HOSTILE, ids={"url": "javascript:alert(1)"})]


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    """A collection, in which one paper is there twice."""
    folder = tmp_path_factory.mktemp("map") / "vecs"
    papers = build_papers()
    embed([*papers, Paper(id="copy", title=papers[3].title, ids=papers[3].ids)], FakeEncoder(dim=24), folder)
    return folder


@pytest.fixture
def plain(monkeypatch):
    """Three corners in place of UMAP and PLSCAN, which take minutes to start for the first time."""

    def lay_out(vectors, nearest, *, seed=0):
        corners = np.array([[0, 0], [10, 0], [0, 10]])
        return (corners[np.arange(len(vectors)) % 3] + np.arange(len(vectors))[:, None] / 100).astype(np.float32)

    levels = [lambda n: n % 3, lambda n: np.where(n % 6 < 5, n % 6, -1)]
    monkeypatch.setattr(mapping, "has_packages", lambda: True)
    monkeypatch.setattr(mapping, "lay_out", lay_out)
    monkeypatch.setattr(
        mapping, "find_topics", lambda points: [level(np.arange(len(points))).astype(np.int32) for level in levels]
    )


def test_the_nearest_papers_are_exact_and_never_the_paper_itself(tmp_path):
    papers = [Paper(id=f"p{n}", title=f"word{n % 5}" if n < 40 else "the same") for n in range(60)]
    embed(papers, FakeEncoder(), tmp_path / "v")
    stored = StoredCollection.open(tmp_path / "v")
    rows = stored.live
    nearest = mapping.find_nearest(stored, "near", rows, rows)
    assert nearest.numbers.shape == (60, 15) and (nearest.numbers != rows[:, None]).all()
    assert (nearest.numbers[40:] >= 40).all() and np.allclose(nearest.distances[40:], 0, atol=1e-6)
    few = mapping.find_nearest(stored, "near", rows, rows[40:44])
    assert few.numbers.shape == (60, 3) and few.numbers.max() == 3


def test_new_papers_are_placed_in_the_larger_part_of_their_neighbours():
    positions = np.array([[0, 0], [0, 1], [1, 0], [100, 100], [5, 5]], np.float32)
    nearest = Nearest(
        np.array([[3, 0, 1, 2], [4, -1, -1, -1]]), np.array([[0.1] * 4, [0.1, *[np.inf] * 3]], np.float32)
    )
    places = mapping.place(nearest, positions)
    assert np.linalg.norm(places[0]) < 2 and np.allclose(places[1], [5, 5])
    assert mapping.vote(nearest, np.array([7, 7, -1, 3, -1], np.int32)).tolist() == [7, -1]
    chain = Nearest(np.array([[1], [2], [1]]), np.zeros((3, 1), np.float32))
    assert mapping.fill(chain, np.array([-1, -1, 4], np.int32)).tolist() == [4, 4, 4]
    lost = mapping.center(np.array([[1, 1], [3, 3], [np.nan, np.nan]], np.float32))
    assert np.isfinite(lost).all() and np.abs(lost[2]).max() >= 1


def test_names_differ_inside_a_level():
    titles = [f"{subject} and more" for subject in SUBJECTS[:2] for _ in range(8)] + [""] * 8
    papers, codes = [Paper(id="", title=title) for title in titles], np.repeat(np.arange(6), 4).astype(np.int32)
    names = ["rivers, sediment", "rivers", "knees, massage", "knees", "topic 2", "topic 3"]
    assert mapping.name_topics(papers, codes) == names
    places = np.array([[0, 0], [2, 0], [4, 0], [9, 9]], np.float32)
    (topic,) = mapping.describe_topics(["a"], np.array([0, 0, 0, -1]), places)
    assert (topic.x, topic.y, topic.radius, topic.papers) == (2, 0, 2, 3)


def test_papers_of_a_stored_layout_stay_and_new_ones_come_among_them(vectors, plain, tmp_path):
    stored = StoredCollection.open(vectors)
    drawn = draw_map(StoredCollection.open(vectors))
    assert drawn.counts == {"papers": 30, "duplicates": 1, "laid out": 30, "placed": 0, "topics": 8}
    write_page(drawn, stored, tmp_path / "map.html")
    assert "30 papers, 1 duplicate, 8 topics" in (tmp_path / "map.html").read_text(encoding="utf-8")
    write_parquet(drawn, stored, tmp_path / "map.parquet")
    former = read_layout(tmp_path / "map.parquet")
    assert np.array_equal(former.positions, drawn.positions) and former.origin == drawn.origin
    assert all(np.array_equal(one, other) for one, other in zip(former.codes, drawn.codes, strict=True))

    more = [*build_papers()[2:], Paper(id="new", title="Sediment of rivers near nothing")]
    embed(more, FakeEncoder(dim=24), tmp_path / "more")
    again = draw_map(StoredCollection.open(tmp_path / "more"), former=former)
    assert again.counts == {"papers": 29, "duplicates": 0, "laid out before": 28, "placed": 1, "gone": 2, "topics": 8}
    place_of = dict(zip(drawn.ids, drawn.positions.tolist(), strict=True))
    assert all(place_of.get(id, p) == p for id, p in zip(again.ids, again.positions.tolist(), strict=True))
    assert np.linalg.norm(again.positions[-1]) < 3 and again.codes[0][-1] == 0 and not again.laid_out[-1]
    assert [topic.name for topic in again.levels[0]] == [topic.name for topic in drawn.levels[0]]
    with pytest.raises(InputError, match="no paper of the layout"):
        embed([Paper(id=f"x{n}", title=f"word{n}") for n in range(6)], FakeEncoder(dim=24), tmp_path / "x")
        draw_map(StoredCollection.open(tmp_path / "x"), former=former)
    with pytest.raises(InputError, match="another model"):
        embed(more, FakeEncoder(fingerprint="f1", dim=24), tmp_path / "other")
        draw_map(StoredCollection.open(tmp_path / "other"), former=former)


def test_of_many_papers_a_sample_is_laid_out(vectors, plain, monkeypatch):
    monkeypatch.setattr("sciprism.uses.mapping.LAID_OUT", 12)
    drawn = draw_map(StoredCollection.open(vectors))
    assert drawn.counts["laid out"] == drawn.laid_out.sum() == 12 and drawn.counts["placed"] == 18
    assert drawn.laid_out[drawn.nearest.numbers].all() and np.isfinite(drawn.positions).all()
    document = json.loads(json.dumps(drawn.to_json()))
    assert len(document["x"]) == len(document["topics"][0]) == 30 and document["levels"][0][0]["papers"] >= 4


def test_files_that_other_programs_read(vectors, plain, tmp_path):
    stored = StoredCollection.open(vectors)
    drawn = draw_map(stored)
    write_parquet(drawn, stored, tmp_path / "map.parquet")
    table = parquet.read_table(tmp_path / "map.parquet").to_pydict()
    first = table["neighbors"][0]
    assert first["ids"] == drawn.nearest.numbers[0].tolist() and first["distances"] == sorted(first["distances"])
    assert table["topic_1"][0] == drawn.levels[0][0].name and table["topic_2"][5] is None
    pairs = mapping.write_neighbours(drawn, stored, tmp_path / "g.csv")
    with (tmp_path / "g.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == pairs == len({frozenset((row["source"], row["target"])) for row in rows})


def test_the_page_loads_nothing_and_texts_stay_texts(vectors, plain, tmp_path):
    stored = StoredCollection.open(vectors)
    write_page(draw_map(stored), stored, tmp_path / "m.html", title="<b>Ponds</b>")
    page = (tmp_path / "m.html").read_text(encoding="utf-8")
    tags = Page(page)
    assert len(page.encode()) < 120_000
    assert not [attrs for _, attrs in tags.tags if {"src", "href", "onload", "style"} & set(attrs)]
    policy = next(attrs["content"] for _, attrs in tags.tags if attrs.get("http-equiv"))
    for name in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256(tags.texts[name].encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy and "default-src 'none'" in policy
    write_page(draw_map(stored), stored, tmp_path / "served.html", address="/library/x")
    served = Page((tmp_path / "served.html").read_text(encoding="utf-8"))
    assert [attrs["src"] for _, attrs in served.tags if "src" in attrs] == ["/static/map.js"]
    assert b"\n/library/x/papers/p1\n" in gzip.decompress(base64.b64decode(served.texts["texts"]))
    assert "onerror" not in page and "<b>Ponds" not in page and "&lt;b&gt;Ponds" in page
    assert not re.search(r"https?://(?!www.w3.org/2000/svg)", tags.texts["script"].replace("https?:", ""))

    numbers, texts = (gzip.decompress(base64.b64decode(tags.texts[name])) for name in ("numbers", "texts"))
    titles, authors, links, abstracts = (column.split("\n") for column in texts.decode().split("\0"))
    assert len(titles) == len(authors) == len(links) == len(abstracts) == 30 and len(abstracts[0]) <= 402
    data = json.loads(numbers)
    assert data["papers"] == 30 and data["years"] == [1991, 2018] and data["venues"] == ["Ponds", "Skies"]
    assert 65535 in (np.ptp(data["x"]), np.ptp(data["y"]))
    number = titles.index("Sediment of rivers near place3")
    assert links[number] == "https://doi.org/10.1/3" and data["year"][number] == 1993
    assert data["codes"][0][number] == 0 and data["field"][number] == data["fields"].index("rivers")
    assert len(data["near"][number]) == 5


def test_the_command_says_what_it_did(vectors, plain, tmp_path, monkeypatch, capsys):
    page, table, alone = (tmp_path / name for name in ("map.html", "map.parquet", "alone.PARQUET"))

    def draw(*words):
        return run(monkeypatch, capsys, "map", vectors, "-o", *words)

    status, out, _ = draw(page, "--neighbours", tmp_path / "g.csv", "--json")
    facts = json.loads(out)
    assert status == 0 and facts["from_layout"] is None and facts["shown"] == 30 and facts["pairs"] > 100
    before = page.read_bytes(), table.read_bytes()
    status, out, _ = draw(page)
    assert status == 0 and "laid out before  30" in out and f"layout of {table}" in out
    assert (page.read_bytes(), table.read_bytes()) == before
    assert draw(alone)[0] == 0 and alone.read_bytes() == before[1]
    alone.write_bytes(b"\xff" * 8 + before[1][8:])
    status, _, error = draw(alone)
    assert status == 2 and "alone.PARQUET: it holds no layout" in error
    (tmp_path / "mine.parquet").write_text("mine")
    status, _, error = draw(tmp_path / "mine.html", "--layout", table)
    assert status == 2 and "no layout of sciprism" in error and (tmp_path / "mine.parquet").read_text() == "mine"


def test_a_map_needs_an_extra(vectors, monkeypatch, capsys):
    monkeypatch.setattr(mapping, "has_packages", lambda: False)
    status, _, error = run(monkeypatch, capsys, "map", vectors, "-o", "m.html")
    assert status == 2 and 'a map needs the "map" extra' in error


@pytest.mark.slow
def test_umap_and_plscan_give_equal_maps_of_equal_papers(tmp_path):
    pytest.importorskip("umap")
    subjects = [f"subject{n % 4} word{n % 4} matter{n % 4} thing{n}" for n in range(200)]
    embed([Paper(id=f"p{n}", title=title) for n, title in enumerate(subjects)], FakeEncoder(dim=64), tmp_path / "v")
    stored = StoredCollection.open(tmp_path / "v")
    one, other = draw_map(stored), draw_map(stored)
    assert one.to_json() == other.to_json() and np.isfinite(one.positions).all()
    assert len(one.levels[-1]) >= 4
    small = tmp_path / "small"
    embed([Paper(id=f"p{n}", title=title) for n, title in enumerate(subjects[:5])], FakeEncoder(dim=64), small)
    drawn = draw_map(StoredCollection.open(small))
    assert np.isfinite(drawn.positions).all() and not drawn.levels
