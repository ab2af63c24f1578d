"""Retrieval sets of annotated questions: pairs, distractors, the split, and what is dropped."""

import json
from pathlib import Path

import pytest

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.layouts.beir import BeirSet
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.prepare.ir import (
    SHARED_WORDS,
    DistractorSampler,
    RetrievalSettings,
    prepare_ir,
    read_annotated_paragraphs,
    split_judgements,
)

LONG = "the wind of the sun carries fields that bend around the earth and shake its poles at night"


def rows(path, items):
    path.write_text("".join(json.dumps(item) + "\n" for item in items))
    return path


def papers_file(path, count=50, **others):
    items = [{"id": f"p{n}", "title": f"Paper {n}", "abstract": f"We look at {n} stars."} for n in range(count)]
    return rows(path, [*items, *others.get("more", ())])


def questions_file(path, count=10):
    asked = [{"paragraph": f"Paragraph {n}.", "questions": [f"What is {n}?", f"Why {n}?"]} for n in range(count)]
    return rows(path, asked)


def records(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def judgements(folder, part):
    lines = (folder / "qrels" / f"{part}.tsv").read_text().splitlines()
    assert lines[0] == "query-id\tcorpus-id\tscore"
    return [tuple(line.split("\t")) for line in lines[1:]]


# ---- pairs ----


def test_rows_tables_and_squad_give_the_same(tmp_path):
    lists = rows(tmp_path / "a.jsonl", [{"paragraph": "A b.", "questions": ["One?", "Two?"]}])
    flat = [{"context": "A b.", "question": "One?"}, {"context": " A  b.", "question": "Two?"}]
    table = tmp_path / "c.csv"
    table.write_text('passage,query\n"A b.",One?\n"A b.",Two?\n')
    qas = [
        {"id": "1", "question": "One?", "is_impossible": False, "answers": [{"text": "A", "answer_start": 0}]},
        {"id": "2", "question": "Two?", "answers": [{"text": "b", "answer_start": 2}]},
        {"id": "3", "question": "Three?", "is_impossible": True, "answers": []},
        {"id": "4", "question": "Four?", "answers": []},
    ]
    squad = {"version": "v2.0", "data": [{"title": "t", "paragraphs": [{"context": "A b.", "qas": qas}]}]}
    (tmp_path / "d.json").write_text(json.dumps(squad, indent=2))
    for path in (lists, rows(tmp_path / "b.jsonl", flat), table, tmp_path / "d.json"):
        dropped = DropReport()
        assert read_annotated_paragraphs(path, dropped) == {"A b.": ("One?", "Two?")}
        assert dropped.count("question without an answer") == (2 if path.suffix == ".json" else 0)


def test_what_is_no_pair_is_counted(tmp_path):
    asked = [
        {"paragraph": "First.", "question": "Which?"},
        {"paragraph": "First.", "question": "which? "},  # the same again
        {"paragraph": "First.", "question": "Where?"},
        {"paragraph": "Second.", "question": "Where?"},  # of two paragraphs
        {"paragraph": "", "question": "Who?"},
        {"paragraph": "Third.", "question": None},
    ]
    dropped = DropReport()
    found = read_annotated_paragraphs(rows(tmp_path / "q.jsonl", asked), dropped)
    assert found == {"First.": ("Which?",)}
    assert {reason: facts["count"] for reason, facts in dropped.to_json().items()} == {
        "duplicate question of a paragraph": 1,
        "question with several paragraphs": 2,
        "paragraph without a unique question": 1,
        "row without a paragraph": 1,
        "row without a question": 1,
    }
    assert "line 5" in dropped.ids["row without a paragraph"][0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no rows"),
        ("{]", "line 1"),
        ("[1]", "is not an object"),
        ('{"a": 1}', "no question with its paragraph; rows have paragraph and question"),
        ('{"data": [{"paragraphs": [{"qas": [{"question": "a"}]}]}]}', "not SQuAD's layout: KeyError"),
        ('{"data": [{"paragraphs": [3]}]}', "not SQuAD's layout: TypeError"),
    ],
)
def test_files_that_hold_no_pairs_are_refused(tmp_path, text, said):
    path = tmp_path / "q.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"q\.json") as caught:
        read_annotated_paragraphs(path, DropReport())
    assert said in str(caught.value)


# ---- distractors ----


def sample(papers, paragraphs=(), count=3, seed=0):
    distractors = DistractorSampler(lambda: iter(papers), paragraphs, count, seed=seed)
    return [paper.abstract for paper in distractors], distractors


def test_fillers_are_no_paragraph_and_no_part_of_one():
    part = " ".join(LONG.split()[2 : 2 + SHARED_WORDS])
    papers = [
        Paper(id="same", abstract=LONG.upper()),
        Paper(id="around", abstract=f"Indeed: {LONG} ."),
        Paper(id="part", abstract=f"we say {part} and more"),
        Paper(id="short", abstract=" ".join(LONG.split()[: SHARED_WORDS - 1])),
        Paper(id="title", title="only"),
        Paper(id="free", abstract="Free."),
        Paper(id="again", abstract="free. "),
    ]
    found, distractors = sample(papers, [LONG], count=2)
    assert found == [papers[3].abstract, "Free."]
    assert distractors.dropped.to_json() == {
        "abstract that is an annotated paragraph": {"count": 1, "first": ["same"]},
        "abstract that shares 13 words in a row with an annotated paragraph": {"count": 2, "first": ["around", "part"]},
        "paper without an abstract": {"count": 1, "first": ["title"]},
        "duplicate abstract": {"count": 1, "first": ["again"]},
    }
    assert (distractors.seen, distractors.usable) == (7, 3)
    with pytest.raises(InputError, match="3 distractors requested, but the papers have 2 abstracts"):
        sample(papers, [LONG], count=3)


# ---- the set ----


def test_a_set_is_split_by_paragraph_and_read_as_beir(tmp_path):
    settings = RetrievalSettings(distractors=20, dev=0.3, seed=5)
    papers = papers_file(tmp_path / "papers.jsonl", more=[{"id": "x", "abstract": "Paragraph 3."}, {"id": "y"}])
    out = tmp_path / "set"
    done = prepare_ir(questions_file(tmp_path / "q.jsonl"), [papers], out, settings)
    assert done.files == {"corpus.jsonl": 30, "queries.jsonl": 20, "qrels/dev.tsv": 6, "qrels/test.tsv": 14}
    documents, queries = records(out / "corpus.jsonl"), records(out / "queries.jsonl")
    assert len({row["_id"] for row in documents + queries}) == 30 + 20  # of one kind or another
    assert {row["_id"][0] for row in documents} == {"d"} and {row["_id"][0] for row in queries} == {"q"}
    texts = {row["_id"]: row["text"] for row in documents + queries}
    assert sum("paper" in row["metadata"] for row in documents) == 20
    assert all(row["text"].startswith("We look") for row in documents if row["metadata"])
    dev, test = (judgements(out, part) for part in ("dev", "test"))
    assert not {row[1] for row in dev} & {row[1] for row in test}
    for query, document, grade in dev + test:
        assert texts[query].strip("?").split()[-1] == texts[document].strip(".").split()[-1] and grade == "1"
    corpus = BeirSet(name=out.name).read(DataRoot(out.parent))
    assert len(corpus.queries) == 14 and len(corpus.documents) == 30 and not corpus.dropped.to_json()
    report = json.loads((out / "ir.json").read_text())
    assert report["judgements"] == {"dev": 6, "test": 14} and report["papers"][0]["skipped"] == 1
    assert report["dropped"]["papers"]["abstract that is an annotated paragraph"]["first"] == ["x"]
    assert report["sampled from"] == 50


def test_small_sets_and_wrong_settings():
    def sizes(annotated, **settings):
        parts = split_judgements(annotated, RetrievalSettings(distractors=0, **settings))
        return {part: len(rows) for part, rows in parts.items()}

    one, two = {"P": ("a", "b")}, {"P": ("a",), "R": ("b",)}
    assert sizes(one, dev=0) == {"test": 2}
    assert sizes(two, dev=0.01) == sizes(two, dev=0.99) == {"dev": 1, "test": 1}
    with pytest.raises(InputError, match=r"one paragraph cannot be split .* add questions"):
        sizes(one)
    for wrong in ({"distractors": -1}, {"distractors": 1, "dev": 1.0}):
        with pytest.raises(InputError):
            RetrievalSettings(**wrong)
    with pytest.raises(InputError, match="standard input"):
        prepare_ir(Path("q"), [Path("-")], Path("out"), RetrievalSettings(distractors=1))
