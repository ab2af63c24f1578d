"""Questions with answers in their contexts: SQuAD's files, its articles as more to train on, COVID-QA."""

import json

import pytest

from build_data import counted, hub, lines, text
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import Answer
from sciprism.datasets.layouts.texts import DocumentQuestions, PartFiles, SquadFiles
from sciprism.errors import InputError

CONTEXT = "Sea level rose by 0.4 m and by 0.4 m again."
REPO = "nasa-impact/nasa-smd-qa-benchmark"
FILES = PartFiles(repo=REPO, train=("train.v2.json",), dev=(), test=("val.v2.json",))


def question(name, *answers, **more):
    given = [{"text": words, "answer_start": start} for words, start in answers]
    return {"id": name, "question": f"Question {name}?", "answers": given} | more


def squad(*articles):
    """Articles as (title, questions), each of one paragraph."""
    data = [{"title": title, "paragraphs": [{"context": CONTEXT, "qas": list(asked)}]} for title, asked in articles]
    return json.dumps({"version": "v2.0", "data": data})


GOOD = question("g", ("0.4 m", 18))


def nasa(folder, asked, **more):
    text(folder / "nasa-smd-qa-benchmark/train.v2.json", squad(("t", asked)))
    text(folder / "nasa-smd-qa-benchmark/val.v2.json", squad(("t", [GOOD])))
    return SquadFiles(files=FILES, **more).read(DataRoot(folder))


def test_answers_stand_where_they_are_said_to_or_are_moved_or_left_out(tmp_path):
    asked = [
        question("right", ("0.4 m", 18), ("0.4 m", 31)),
        question("moved", ("0.4 m", 29), (" level", 0)),
        question("half", ("nowhere", 3), ("Sea", 0)),
        question("lost", ("nowhere", 3)),
        question("none", is_impossible=True),
        {"id": "nothing", "question": "Why?", "is_impossible": True},
        question("empty", ("", 0), ("  ", 3)),
        question("denied", ("Sea", 0), is_impossible=True),
        question("right", ("Sea", None)),
        question("blank", ("Sea", 0)) | {"question": " "},
    ]
    data = nasa(tmp_path, asked)
    found = dict(zip(data.ids, data.answers, strict=True))
    assert found["train/right"] == (Answer("0.4 m", 18), Answer("0.4 m", 31))
    assert found["train/moved"] == (Answer("0.4 m", 31), Answer(" level", 3))
    assert found["train/half"] == found["train/right#2"] == (Answer("Sea", 0),)
    for name in ("none", "nothing", "empty", "denied"):
        assert found[f"train/{name}"] == ()
    assert "train/lost" not in found and found["test/g"] == (Answer("0.4 m", 18),)
    for context, answers in zip(data.contexts, data.answers, strict=True):
        assert all(context[a.start : a.start + len(a.text)] == a.text for a in answers)
    assert len({id(data.contexts[row]) for row in data.train}) == 1, "questions share their context"
    assert counted(data) == {
        "answer with a wrong offset, moved to its nearest occurrence": 2,
        "answer that is not in its context, dropped": 2,
        "question without any answer in its context, dropped": 1,
        "empty answer, ignored": 2,
        "answers of a question marked as impossible, dropped": 1,
        "question without words": 1,
        "duplicate id in its part": 1,
    }


TOPICS = ("Oxygen", "Amazon rainforest")


def test_articles_of_squad_are_trained_on_too(tmp_path):
    answers = {"text": ["0.4 m"], "answer_start": [18]}
    for split, title in (("train", "Chopin"), ("validation", "Amazon_rainforest")):
        row = {"id": "g", "title": title, "context": CONTEXT, "question": "How much?", "answers": answers}
        none = row | {"id": "n", "answers": {"text": [], "answer_start": []}}
        hub(tmp_path / "rajpurkar/squad_v2/squad_v2", split, [row, none])
    data = nasa(tmp_path, [GOOD], topics=TOPICS)
    assert data.ids == ["train/g", "train/g#2", "train/n", "test/g"] and len(data.train) == 3
    assert data.answers[1] == (Answer("0.4 m", 18),) and data.answers[2] == ()
    assert counted(data) == {
        "topic without an article in SQuAD": 1,
        "question of a SQuAD topic": 2,
        "duplicate id in its part": 1,
    }


def test_what_is_no_squad_is_said(tmp_path):
    with pytest.raises(InputError, match=r"hf download rajpurkar/squad_v2 "):
        nasa(tmp_path, [GOOD], topics=TOPICS)
    with pytest.raises(InputError, match="no train question has an answer"):
        nasa(tmp_path, [question("none")])
    text(tmp_path / "nasa-smd-qa-benchmark/train.v2.json", '{"rows": []}')
    with pytest.raises(InputError, match="no list of objects named data"):
        SquadFiles(files=FILES).read(DataRoot(tmp_path))


def test_questions_about_documents_are_split_by_document(tmp_path):
    documents = [{"id": n, "context": f"\n Article {n} tells."} for n in range(80)]
    asked = [question(f"{n}.{i}", ("Article", 2), document_id=str(n)) for n in [*range(80), 999] for i in range(2)]
    lines(tmp_path / "qa_covidqa/documents.jsonl", documents)
    lines(tmp_path / "qa_covidqa/questions.jsonl", asked)
    data = DocumentQuestions(folder="qa_covidqa").read(DataRoot(tmp_path))
    parts = [{data.contexts[row] for row in rows} for rows in (data.train, data.dev, data.test)]
    assert sum(map(len, parts)) == 80 and not parts[0] & (parts[1] | parts[2]) and not parts[1] & parts[2]
    assert len(parts[0]) > 40 and 2 < len(parts[1]) < 20 and 10 < len(parts[2]) < 32
    assert counted(data) == {"question without a context, dropped": 2}
    with pytest.raises(InputError, match=r"the data 'covid' are not in .*; ask"):
        DocumentQuestions(folder="covid", obtain="ask").read(DataRoot(tmp_path))
    (tmp_path / "qa_covidqa/questions.jsonl").unlink()
    with pytest.raises(InputError, match=r"has no questions.jsonl; it contains"):
        DocumentQuestions(folder="qa_covidqa").read(DataRoot(tmp_path))
