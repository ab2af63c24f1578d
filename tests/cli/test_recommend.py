"""`sciprism recommend` as a person runs it: files in, a ranked list out, counts, messages, resuming."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from build_commands import run
from sciprism.encoders.encoder import Encoder

TOPICS = {
    "halo": ("Dark matter halos of {0} galaxies", "We simulate halos of dark matter around {0} galaxies."),
    "gene": ("Gene editing in {0}", "A guide RNA directs the enzyme to edit the genes of {0}."),
}
WORDS = ("young", "old", "dwarf", "spiral", "distant", "nearby")


def build_rows(topic: str, words: tuple[str, ...]) -> list[dict[str, object]]:
    title, abstract = TOPICS[topic]
    return [
        {"id": f"{topic}-{w}", "title": title.format(w), "abstract": abstract.format(w), "year": 2020, "venue": "ApJ"}
        for w in words
    ]


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """A folder with a library, new papers and unwanted ones, and a way to run commands in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SCIPRISM_CACHE", str(tmp_path / "cache"))
    files = {
        "mine.jsonl": [*build_rows("halo", WORDS[:4]), *build_rows("gene", WORDS[:2])],
        "today.jsonl": [*build_rows("halo", WORDS[3:]), *build_rows("gene", WORDS[2:4])],
        "these.jsonl": build_rows("gene", WORDS[4:]),
    }
    for name, rows in files.items():
        Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return lambda *words: run(monkeypatch, capsys, "recommend", *words)


MINE = ("--library", "mine.jsonl", "--new", "today.jsonl")


def test_a_list_with_reasons_and_counts(command) -> None:
    status, out, err = command(*MINE, "-o", "ranked", "-k", "3")
    assert status == 0, err
    assert "interest of the library" in out and "6 papers of the library, 5 new papers" in out
    assert "left out: 1 that the library has (by id)" in out
    assert "wrote 3 papers to ranked.csv, ranked.jsonl, ranked.bib" in out
    assert "[halo-distant]" in out and "near yours: Dark matter halos of " in out
    assert max(map(len, out.splitlines())) <= 80
    rows = [json.loads(line) for line in Path("ranked.jsonl").read_text().splitlines()]
    assert len(rows) == 3 and {row["id"] for row in rows} & {"halo-distant", "halo-nearby"}
    assert rows[0]["interest"] and len(rows[0]["because"]) == 3 and rows[0]["abstract"]
    status, out, _ = command(*MINE)
    assert status == 0 and out.count("near yours: ") == 4 and "wrote" not in out


def test_what_is_left_out_is_listed_with_the_reason(command) -> None:
    with Path("today.jsonl").open("a") as file:
        file.write(json.dumps(build_rows("halo", WORDS[4:5])[0] | {"id": "again"}) + "\n")
        file.write(json.dumps(build_rows("halo", WORDS[:1])[0] | {"id": "preprint"}) + "\n")
    status, out, err = command(*MINE, "--not", "these.jsonl", "-o", "ranked.csv")
    assert status == 0, err
    assert "    [preprint] is in the library as [halo-young] (by title)" in out
    assert "    [again] repeats the new paper [halo-distant]" in out
    assert "all in ranked-left-out.csv" in out
    rows = Path("ranked-left-out.csv").read_text().splitlines()
    assert rows[0] == "id,title,year,doi,reason,copy_of,copy_title"
    assert rows[1].endswith(",id,halo-spiral,Dark matter halos of spiral galaxies")
    left_out = json.loads(command(*MINE, "--json")[1])["left_out"]
    assert [f"{paper['id']} {paper['reason']} {paper['copy_of']}" for paper in left_out] == [
        "halo-spiral id halo-spiral", "preprint title halo-young", "again repeated halo-distant"
    ]  # fmt: skip
    # the list of an earlier run would mislead
    assert command("--library", "mine.jsonl", "--new", "these.jsonl", "-o", "ranked.csv")[0] == 0
    assert Path("ranked-left-out.csv").read_text() == rows[0] + "\n"


def test_nothing_new_is_no_failure(command) -> None:
    status, out, err = command("--library", "mine.jsonl", "--new", "mine.jsonl", "-o", "ranked.csv")
    assert status == 0 and "left out: 6 that the library has (by id)" in out and "no paper to recommend" in err
    assert Path("ranked.csv").read_text().count("\n") == 1


def test_an_interrupted_command_continues_with_what_was_encoded(command, monkeypatch) -> None:
    monkeypatch.setattr("sciprism.uses.recommending.run.ENCODED", 2)
    encoded: list[int] = []
    encode = Encoder.encode

    def count(self, items, **options):
        if len(encoded) == 4 and not Path("resumed").exists():
            raise KeyboardInterrupt
        encoded.append(len(items))
        return encode(self, items, **options)

    monkeypatch.setattr(Encoder, "encode", count)
    status, _, err = command(*MINE, "-o", "ranked.csv")
    assert status == 130 and "the same command continues" in err and not Path("ranked.csv").exists()
    Path("resumed").touch()
    done = sum(encoded)
    assert command(*MINE, "-o", "ranked.csv")[0] == 0
    assert done == 7 and sum(encoded) == 10, "6 papers of the library and 4 others, each once"


def test_what_was_shown_is_not_shown_again(command) -> None:
    shown = [command(*MINE, "-k", "2", "--seen", "shown.csv", "--json") for _ in range(3)]
    lists = [[hit["id"] for hit in json.loads(out)["hits"]] for _, out, _ in shown]
    assert [len(ids) for ids in lists] == [2, 2, 0] and not set(lists[0]) & set(lists[1])
    last = json.loads(shown[2][1])
    assert last["counts"]["seen"] == 4 and "seen" in {paper["reason"] for paper in last["left_out"]}
    assert len(Path("shown.csv").read_text().splitlines()) == 5
    Path("other.csv").write_text("id,title\n1,A\n")
    status, _, err = command(*MINE, "--seen", "other.csv")
    assert status == 2 and "other.csv does not begin as a file" in err
    assert Path("other.csv").read_text() == "id,title\n1,A\n"
