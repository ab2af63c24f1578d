"""The commands embed, index, search and similar, run as a person runs them."""

from __future__ import annotations

import json
import os
import re
import shutil
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any
from warnings import catch_warnings, simplefilter

import pytest
from typer.testing import CliRunner, Result

from fake_encoder import FakeEncoder, some_papers
from five_papers import PAPERS
from sciprism.cli.main import app
from sciprism.encoders.encoder import Encoder
from sciprism.errors import InputError, ShownWarning
from sciprism.papers.records import Paper
from sciprism.store import StoredCollection
from sciprism.store.collection import read_manifest


@pytest.fixture(autouse=True)
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """Let every model name load the fake encoder; the list tells which names were asked for."""
    names: list[str | None] = []

    def load(name: str | None = None, **_: Any) -> FakeEncoder:
        names.append(name)
        if name == "gone":
            raise InputError("no folder gone")
        return FakeEncoder(name or "fake", "other" if name == "other" else "f0", dim=256)

    monkeypatch.setattr(Encoder, "load", load)
    return names


def run(*arguments: object, stdin: str = "") -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)


def lines(papers: list[Paper]) -> str:
    return "".join(json.dumps(paper.to_json()) + "\n" for paper in papers)


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    (tmp_path / "refs.jsonl").write_text(lines(PAPERS))
    result = run("embed", tmp_path / "refs.jsonl", "-o", tmp_path / "vecs")
    assert result.exit_code == 0, result.output
    return tmp_path / "vecs"


def error_of(result: Result) -> str:
    assert isinstance(result.exception, InputError), result.output
    return str(result.exception)


def test_row_numbers_as_ids_lose_no_paper(tmp_path: Path) -> None:
    for name, title in (("k1.csv", "Dark matter halos"), ("k2.csv", "Protein folding in mice")):
        (tmp_path / name).write_text(f"id,title,abstract,year\n1,{title},Words.,1999\n")
    one, two, folder = tmp_path / "k1.csv", tmp_path / "k2.csv", tmp_path / "c"
    places = "k2.csv, record 1 (line 2): paper '1', 'Protein folding in mice'", "'Dark matter halos' ("
    assert run("embed", one, "-o", folder).exit_code == 0
    for command in (("embed", two), ("embed", one, two)):
        message = error_of(run(*command, "-o", folder))
        assert all(place in message for place in places) and "k1.csv, record 1 (line 2)" in message
    result = run("embed", one, two, "-o", folder, "--skip-bad")
    assert "1 unchanged, 1 skipped" in result.stdout and "k1.csv, record 1 (line 2)" in result.stderr
    assert "2 new" in run("embed", one, two, "-o", folder, "--ids-per-file").stdout
    assert "in place of another paper" in run("embed", two, "-o", folder, "--replace").stdout
    stored = [StoredCollection.open(folder).paper(id).title for id in ("1", "k1.csv:1", "k2.csv:1")]
    assert stored == ["Protein folding in mice", "Dark matter halos", "Protein folding in mice"]


def test_a_collection_stays_where_no_paper_of_an_input_is_usable(collection: Path) -> None:
    result = run("embed", "-", "-o", collection, "--skip-bad", stdin="id,title\n1,\n2,\u200d\n")
    assert "no paper of the input can be used: 2 skipped" in error_of(result) and "record 1" in result.stderr


def test_a_model_folder_is_remembered_by_its_full_path(tmp_path, monkeypatch, loaded) -> None:
    (tmp_path / "model").mkdir()
    monkeypatch.chdir(tmp_path)
    run("embed", "-", "-o", "c", "--model", "model", stdin=lines(PAPERS[:2]))
    assert loaded == [str(tmp_path / "model")]


def test_search_prints_a_ranked_list(collection: Path) -> None:
    result = run("search", collection, "dark matter density profile", "-k", 2)
    assert result.exit_code == 0, result.output
    words = " ".join(result.stdout.split())
    assert words.startswith("1 1.0000") and "A universal density profile A. Berg; ApJ, 1997 [halo]" in words
    assert "“Dark matter halos share one density profile, cf. Fig. 2.”" in words
    assert "2 0." in words and "3 0." not in words
    document = json.loads(run("search", collection, "dark matter density profile", "--json").stdout)
    hits = document["rankings"][0]["hits"]
    assert (document["collection"], document["mode"]) == (str(collection), "hybrid")
    assert set(hits[0]) == {"rank", "score", "id", "title", "venue", "year", "authors", "doi", "url", "why"}
    assert sorted(hits, key=lambda hit: -hit["score"]) == hits and [hit["rank"] for hit in hits] == [1, 2, 3, 4, 5]


def test_all_words_are_one_query(collection: Path) -> None:
    def asked(*arguments: object, stdin: str = "") -> list[str]:
        result = run("search", collection, *arguments, "--json", "--no-why", stdin=stdin)
        return [ranking["query"] for ranking in json.loads(result.stdout)["rankings"]]

    assert asked("dark", "matter", "-k", 1, "halos") == asked("dark matter halos") == ["dark matter halos"]
    assert asked("one", "-q", "two") == ["one", "two"]
    assert asked("-", "-q", "three", stdin="one\n\u200d\ntwo\n") == ["one", "two", "three"]
    for blank in (" ", "\u200d"):
        assert "query 1 is empty" in error_of(run("search", collection, blank))


def test_search_filters_by_year(collection: Path) -> None:
    years = {"1997": "halo", "1990-2012": "crispr halo", "2013-": "attention editing", "-1980": "rotation"}
    for year, ids in years.items():
        result = run("search", collection, "dna", "--year", year, "--json", "--no-why")
        assert sorted(hit["id"] for hit in json.loads(result.stdout)["rankings"][0]["hits"]) == ids.split()


def test_index_makes_lexical_and_hybrid_search_possible(collection: Path, loaded: list[str | None]) -> None:
    shutil.rmtree(collection / "index")
    assert "--lexical" in error_of(run("search", collection, "x", "--mode", "hybrid"))
    assert run("search", collection, "andromeda").exit_code == 0, "by meaning alone"
    assert run("index", collection, "--lexical").stdout == f"{collection}: built lexical over 5 papers\n"
    loaded.clear()
    result = run("search", collection, "andromeda", "--mode", "lexical", "--no-why")
    assert "[rotation]" in result.stdout and loaded == []
    assert run("search", collection, "andromeda", "--mode", "hybrid").exit_code == 0


GERMAN = Paper(id="eis", title="Messungen zur Bildung von Eis", abstract="Wir messen das Eis und die Wolken im Winter.")


def test_other_languages_are_counted(tmp_path: Path, collection: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = tmp_path / "with-card"
    shown.mkdir()

    def find_warnings(card: str, *command: object, stdin: str = "") -> list[str]:
        (shown / "README.md").write_text(card)
        monkeypatch.setattr(FakeEncoder, "folder", shown, raising=False)
        with catch_warnings(record=True) as caught:
            simplefilter("always")
            assert run(*command, stdin=stdin).exit_code == 0
        return [str(warning.message) for warning in caught if warning.category is ShownWarning]

    english, several = "---\nlicense: mit\nlanguage: en\n---\nlanguage: de\n", "---\nlanguage:\n- en\n- de\n---\n"
    add = ("embed", "-", "-o", tmp_path / "c")
    [message] = find_warnings(english, *add, stdin=lines([GERMAN, *PAPERS]))
    assert message.startswith("1 of 6 papers are not in English (a guess: German 1), and fake knows English alone")
    assert find_warnings(english, *add, stdin=lines([GERMAN, *PAPERS])) == [], "nothing new"
    assert find_warnings(several, "embed", "-", "-o", tmp_path / "d", stdin=lines([GERMAN])) == []
    [message] = find_warnings("", "search", collection, "-q", "dna", "-q", "die Bildung von Wolken im Winter")
    assert message.startswith("1 of 2 queries are not in English (a guess: German 1), and the card of fake states no")
    (tmp_path / "eis.jsonl").write_text(lines([GERMAN]))
    [message] = find_warnings(english, "similar", collection, "--to", tmp_path / "eis.jsonl")
    assert message.startswith("1 of 1 papers are not in English")
    assert find_warnings(english, "search", collection, "Zur Not", "--json") == []


def test_operators_have_an_effect_in_mode_lexical_alone(collection: Path) -> None:
    run("index", collection, "--lexical")

    def ids(*words: str) -> list[str]:
        result = run("search", collection, *words, "--mode", "lexical", "--no-why", "--json")
        assert result.stderr == ""
        return [hit["id"] for hit in json.loads(result.stdout)["rankings"][0]["hits"]]

    assert set(ids("guide enzyme")) == {"crispr", "editing"}
    assert ids("guide AND enzyme NOT repaired") == ids("guide", "AND", "enzyme", "NOT", "repaired") == ["crispr"]
    assert ids("cut DNA", "AND", "guide") == ["crispr"], "the shell takes the quotes away"
    assert ids("enzyme", "--author", "Berg, A") == ["editing"]
    message = error_of(run("search", collection, "(guide OR", "--mode", "lexical"))
    assert message == "query 1: a word or phrase is missing before the end of '(guide OR'"
    for mode in ("exact", "hybrid"):
        result = run("search", collection, 'guide NOT "repaired"', "--mode", mode, "--no-why")
        assert result.exit_code == 0 and result.stderr == (
            "quotes, AND, OR and NOT have an effect in --mode lexical alone\n"
        )


def test_index_checks_the_files_first(collection: Path) -> None:
    values = collection / "vectors" / "0-near" / "000000.npy"
    values.write_bytes(values.read_bytes()[:-1] + b"x")
    assert "checksum differs" in error_of(run("index", collection, "--lexical", "--json"))


def test_similar_prints_a_ranked_list(collection: Path) -> None:
    result = run("similar", collection, "--to", "crispr", "--json")
    [ranking] = json.loads(result.stdout)["rankings"]
    assert ranking["query"] == "crispr" and ranking["hits"][0]["why"] == "A guide RNA directs the enzyme."
    for name in ("seeds.ris", "./seeds", "old seeds.json.gz"):
        message = error_of(run("similar", collection, "--to", name))
        assert re.fullmatch(f"{name}: no such file, and .* has no paper of that id or title", message)


def test_similar_takes_a_doi_a_beginning_of_an_id_and_a_file(tmp_path: Path, loaded: list[str | None]) -> None:
    papers = [replace(paper, ids={"doi": f"10.1000/{number}"}) for number, paper in enumerate(some_papers(12))]
    (tmp_path / "refs.jsonl").write_text(lines(papers))
    vecs = tmp_path / "vecs"
    assert run("embed", tmp_path / "refs.jsonl", "-o", vecs).exit_code == 0

    def hits(to: object, *options: object) -> list[list[str]]:
        document = json.loads(run("similar", vecs, "--to", to, "--json", *options).stdout)
        return [[hit["id"] for hit in ranking["hits"]] for ranking in document["rankings"]]

    [near] = hits("p7", "--no-why")
    for name in ("10.1000/7", "https://doi.org/10.1000/7", "doi:10.1000/7", "TITLE 7 of  topic 7", "p7"):
        assert hits(name) == [near], name
    assert hits("ＴＩＴＬＥ 7 of topic 7") == [near], "as it looks"
    new = Paper(id="new", title="Another title of topic 7", abstract="Effect2 grows with number7.", year=1990)
    copy = replace(papers[7], id="of-another-file")
    (tmp_path / "new.jsonl").write_text(lines([new, copy]))
    loaded.clear()
    ranked = hits(tmp_path / "new.jsonl", "--no-why", "-k", 11)
    assert len(loaded) == 1 and [len(ids) for ids in ranked] == [11, 11]
    assert ranked[0][0] == "p7" and "p7" not in ranked[1], "a copy is left out by its DOI"
    message = error_of(run("similar", vecs, "--to", "p"))
    assert "12 papers of" in message and "id that begins with 'p'; name an id: 'p0', 'p1', 'p2' and 9 more" in message
    assert "no paper with the DOI '10.1000/none'" in error_of(run("similar", vecs, "--to", "10.1000/none"))


def test_a_model_that_moved_can_be_named(collection: Path) -> None:
    manifest = read_manifest(collection)
    moved = manifest.encoder.model_copy(update={"name": "gone"})
    manifest.model_copy(update={"encoder": moved}).write(collection)
    assert "search with --model FOLDER" in error_of(run("search", collection, "dna"))
    assert run("search", collection, "dna", "--model", "here").exit_code == 0
    assert "vectors of gone" in error_of(run("search", collection, "dna", "--model", "other"))


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    feeder = threading.Thread(target=(tmp_path / "pipe.jsonl").write_text, args=(lines(PAPERS),), daemon=True)
    feeder.start()
    result = run("embed", tmp_path / "pipe.jsonl", "-o", tmp_path / "c")
    feeder.join(timeout=10)  # else a command that never reads would be waited for
    assert result.stdout.startswith(f"read {len(PAPERS)} papers: {len(PAPERS)} new")


def test_an_unfinished_collection_says_so(collection: Path) -> None:
    bad = lines([Paper(id="x", title="X"), Paper(id="x", title="Y")])
    assert "another paper has this id" in error_of(run("embed", "-", "-o", collection.parent / "d", stdin=bad))
    assert "unfinished: 0 papers" in run("search", collection.parent / "d", "matter", "--year", "1990").stderr
    assert "unfinished" not in run("search", collection, "matter").stderr


def test_a_collection_is_continued_in_its_precision(tmp_path, tiny_model, monkeypatch) -> None:
    monkeypatch.undo()  # the real encoder
    papers = tmp_path / "papers.jsonl"
    papers.write_text(lines(PAPERS))
    model = ("--model", tiny_model, "--pooling", "mean")
    made = run("embed", papers, "-o", tmp_path / "c", *model, "--precision", "bfloat16")
    assert made.exit_code == 0 and "bfloat16" not in made.stderr
    assert run("embed", papers, "-o", tmp_path / "c").exit_code == 0
    refused = error_of(run("embed", papers, "-o", tmp_path / "c", "--precision", "float32"))
    assert "was made in bfloat16, not float32" in refused
