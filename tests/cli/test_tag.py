"""`sciprism tag`: suggest, train, feedback, report, as a person runs them."""

import csv
import json
from pathlib import Path

import pytest

from build_commands import run
from build_data import lines
from build_tagging import TOPICS, build_papers

VOCABULARY = """id,name,synonyms,broader,codes
sky,Astronomy,,,1
t0,Galaxies,galactic system,sky,1.1
t1,Dark matter,,sky,1.2
life,Biology,,,2
t2,Enzymes,,life,2.1
t3,Vaccines,,life,2.2
t4,Earthquakes,,,3
t5,Glaciers,,,4
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with a vocabulary, tagged papers and papers to tag."""
    folder = tmp_path_factory.mktemp("tag")
    (folder / "subjects.csv").write_text(VOCABULARY)
    for name, count, seed in (("tagged.jsonl", 60, 0), ("new.jsonl", 8, 1)):
        data = build_papers(count, seed)
        tags = [[[*TOPICS][row] for row in data.tags[[number]].indices] for number in range(count)]
        pairs = zip(data.papers, tags, strict=True)
        lines(folder / name, (paper.to_json() | {"keywords": [*own, "unknown term"]} for paper, own in pairs))
    return folder


@pytest.fixture
def command(home, monkeypatch, capsys):
    monkeypatch.chdir(home)
    monkeypatch.setenv("SCIPRISM_CACHE", str(home / "cache"))
    return lambda *words: run(monkeypatch, capsys, *words)


@pytest.fixture
def tagger(command):
    if not Path("tagger").exists():
        status, out, err = command("tag", "train", "tagged.jsonl", "--vocabulary", "subjects.csv", "-o", "tagger")
        assert status == 0, err
        assert "tagged papers" in out and "60 tags not in the vocabulary: unknown term" in out
    return "tagger"


def rows_of(path):
    with Path(path).open(newline="") as file:
        return list(csv.DictReader(file))


def test_papers_in_other_languages_are_counted(command, home):
    text = '{"id": "g", "title": "Die Bewegung der Gletscher in den Alpen"}\n{"id": "e", "title": "Ice of the Alps"}\n'
    (home / "german.jsonl").write_text(text)
    status, _, err = command("tag", "german.jsonl", "--vocabulary", "subjects.csv", "-o", "german.csv")
    assert status == 0 and "1 of 2 papers are not in English (a guess: German 1), and sciprism-small knows" in err
    shown = command("inspect", "german.jsonl")[1]
    assert "not in English      1 (50.0 %); the model that ships knows English alone" in shown


def test_a_table_for_people_fits_80_columns(command):
    status, out, _ = command("tag", "new.jsonl", "--vocabulary", "subjects.csv")
    assert status == 0 and max(map(len, out.splitlines())) <= 80 and "found in title" in out


def test_a_tagger_is_trained_used_and_reported(command, tagger):
    status, out, err = command("tag", "new.jsonl", "--tagger", tagger, "-o", "trained.jsonl")
    assert status == 0, err
    found = [json.loads(line) for line in Path("trained.jsonl").read_text().splitlines()]
    assert any("nearest papers" in tag["why"] for paper in found for tag in paper["tags"])
    status, out, _ = command("tag", "report", "new.jsonl", "--tagger", tagger, "-k", "2")
    assert status == 0 and out.splitlines()[0].split() == ["papers", "P@1", "P@5", "nDCG@5", "F1@5", "F1"]
    scores = json.loads(command("tag", "report", "new.jsonl", "--tagger", tagger, "--json")[1])["scores"]
    assert scores["papers"] == 8 and scores["ndcg_5"] > 0.9


def test_tags_from_a_table_and_from_annifs_corpus(command, tagger):
    command("tag", "tagged.jsonl", "--tagger", tagger, "--limit", "2", "-o", "table.csv")
    command("tag", "tagged.jsonl", "--tagger", tagger, "--limit", "2", "-o", "corpus.tsv")
    words = ("--vocabulary", "subjects.csv", "--json")
    table = json.loads(command("tag", "train", "tagged.jsonl", "--tags", "table.csv", "-o", "from-table", *words)[1])
    corpus = json.loads(command("tag", "train", "corpus.tsv", "-o", "from-corpus", *words)[1])
    assert table["tags"]["tags"] == corpus["tags"]["tags"] > 60 and table["schema"] == "sciprism.tag-train/1"


def test_feedback_replaces_the_tagger_or_makes_another(command, tagger):
    command("tag", "new.jsonl", "--tagger", tagger, "-o", "review.csv")
    rows = rows_of("review.csv")
    with Path("review.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows([row | {"verdict": "yes" if row["rank"] == "1" else "no"} for row in rows])
    words = ("tag", "feedback", tagger, "review.csv")
    assert "name the file that has them" in command(*words)[2]
    one = "".join(Path("new.jsonl").read_text().splitlines(keepends=True)[:1])
    Path("one.jsonl").write_text(one)
    assert "7 judged papers were not learned from" in command(*words, "--papers", "one.jsonl", "-o", "taught-one")[1]
    status, out, err = command(*words, "--papers", "new.jsonl", "-o", "taught")
    assert status == 0, err
    accepted = sum(row["rank"] == "1" for row in rows)
    assert out.startswith(f"taught: tags accepted {accepted}, rejected {len(rows) - accepted}; papers 8")
    before = Path(tagger, "tagger.json").read_bytes()
    assert command("tag", "feedback", "taught", "review.csv", "-o", "taught", "--json")[0] == 0, "it has the papers now"
    assert Path(tagger, "tagger.json").read_bytes() == before


def labels_of(out):
    return [[tag["label"] for tag in paper["tags"]] for paper in json.loads(out)["papers"]]


def test_a_collection_is_tagged_with_its_vectors_or_its_texts(command, tagger):
    assert command("embed", "new.jsonl", "-o", "vecs", "--formats", "classification")[0] == 0
    assert command("embed", "new.jsonl", "-o", "texts")[0] == 0
    found = [
        labels_of(command("tag", name, "--tagger", tagger, "--json")[1]) for name in ("vecs", "texts", "new.jsonl")
    ]
    assert found[0] == found[1] == found[2] and any(found[0])


def test_a_tagger_keeps_the_format_it_was_trained_with(command, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("sciprism.uses.tagging.tagger.FORMATS", ("proximity",))
        command("tag", "train", "tagged.jsonl", "--vocabulary", "subjects.csv", "-o", "older")
    status, out, err = command("tag", "new.jsonl", "--tagger", "older", "--json")
    assert status == 0 and any(labels_of(out)), err


def test_one_class_each_and_a_run_that_finds_little_says_what_to_do(command):
    words = ("tag", "new.jsonl", "--vocabulary", "subjects.csv")
    _, out, err = command(*words, "--threshold", "0.99", "-o", "few.csv")
    assert out == "few.csv: 0 tags of 8 papers\n"
    assert "without a tag: 8 of 8; try --one, or --limit 3 --threshold 0" in err
    assert command(*words, "--one", "-o", "one.csv")[2].count("without a tag") == 0
    rows = rows_of("one.csv")
    assert len(rows) == len({row["paper"] for row in rows}) == 8 and {row["rank"] for row in rows} == {"1"}


def test_notes_on_a_vocabulary_are_printed(command):
    Path("circle.csv").write_text("id,name,broader\na,Galaxies,b\nb,Dark matter,a\nc,Enzymes,gone\n")
    status, _, err = command("tag", "new.jsonl", "--vocabulary", "circle.csv", "--json")
    assert status == 0 and "the hierarchy has a circle" in err and "1 broader labels are not in the vocabulary" in err
    Path("double.csv").write_text("id,name,codes\na,Galaxies,1\na,Dark matter,2\n")
    assert (
        "two labels have the id a: 'Galaxies' and 'Dark matter'"
        in command("tag", "new.jsonl", "--vocabulary", "double.csv")[2]
    )


@pytest.fixture
def homonyms(command):
    """Write a vocabulary in which two labels are named Mercury, and 27 papers of which three cannot be used."""
    Path("mercury.csv").write_text("id,name\np,Mercury\ne,mercury\ng,Galaxies\n")
    rows = [{"id": str(number), "title": "On galaxies", "keywords": ["galaxies"]} for number in range(24)]
    rows += [{"id": f"m{number}", "title": "On craters", "keywords": ["Mercury", "craters"]} for number in range(2)]
    Path("mercury.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*rows, {"id": "u", "title": "No tag"}]))
    return [
        "2 tags not in the vocabulary: craters",
        "2 tags not used, as names of several labels; give ids: Mercury (p, e)",
        "left out, without a tag of the vocabulary: 3 papers",
    ]


def test_tags_and_papers_that_are_not_used_are_counted(command, homonyms):
    words = ("mercury.jsonl", "--vocabulary", "mercury.csv")
    _, out, err = command("tag", "train", *words, "-o", "mercury")
    assert out.splitlines()[-4:-1] == homonyms and "1 name is of several labels: Mercury [p] and mercury [e]" in err
    assert command("tag", "report", "mercury.jsonl", "--tagger", "mercury")[1].splitlines()[-3:] == homonyms
    status, out, err = command("tag", *words, "--tagged", "mercury.jsonl", "--json")
    assert status == 0 and err.splitlines()[-3:] == homonyms
    assert json.loads(out)["tags"]["homonyms"] == {"Mercury": ["p", "e"]}
    refused = command("tag", *words, "--branch", "Mercury")[2]
    assert "'Mercury' is a name of 2 labels; name one by its id: p, e" in refused
    Path("planet.jsonl").write_text('{"id": "1", "title": "Mercury and galaxies"}')
    suggested = command("tag", "planet.jsonl", *words[1:], "--threshold", "0")[1]
    assert all(f"  {name}\n" in suggested for name in ("Mercury [p]", "mercury [e]", "Galaxies"))
    Path("verdicts.csv").write_text("paper,uri,verdict\n1,g,yes\n2,Mercury,no\n3,g,\n,g,no\n4,gone,no\n")
    lines = command("tag", "feedback", "mercury", "verdicts.csv", "-o", "again")[1].splitlines()
    assert lines[1:] == [
        "1 tags not in the vocabulary: gone",
        "1 tag not used, as names of several labels; give ids: Mercury (p, e)",
        "rows that were not used: row without a verdict 1, row without a paper or a tag 1",
    ]


def test_excluded_labels_from_a_file(command):
    Path("never.txt").write_text("Galaxies\n\nt1\n")
    words = "--vocabulary subjects.csv --threshold 0 --exclude never.txt --exclude Enzymes --json"
    found = json.loads(command("tag", "new.jsonl", *words.split())[1])
    assert not {"Galaxies", "Dark matter", "Enzymes"} & {tag["label"] for p in found["papers"] for tag in p["tags"]}
