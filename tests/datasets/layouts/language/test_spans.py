"""Spans of characters as tags of words."""

import pytest

from build_data import counted, lines
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.layouts.words import MarkedDocuments
from sciprism.errors import InputError

TEXT = "<heading>Iron on Mars</heading>\nFeO and TiO2 occur. Gale crater (e.g. its floor) is old."


def span(label, words, whole=TEXT):
    start = whole.index(words)
    return {"start": start, "end": start + len(words), "label": label}


def document(name, split, entities, whole=TEXT):
    return {"id": name, "text": whole, "entities": entities, "split": split}


def read(folder, rows):
    lines(folder / "ie/documents.jsonl", rows)
    return MarkedDocuments(path="ie/documents.jsonl").read(DataRoot(folder))


def test_sentences_of_words_with_tags(tmp_path):
    marks = [span("Element", "Iron"), span("natural hazard", "TiO2 occur"), span("Site", "Gale crater")]
    data = read(tmp_path, [document("a", part, marks) for part in ("train", "dev", "test")])
    assert data.words[:3] == [
        ("Iron", "on", "Mars"),
        ("FeO", "and", "TiO2", "occur", "."),
        ("Gale", "crater", "(", "e", ".", "g", ".", "its", "floor", ")", "is", "old", "."),
    ]
    assert data.tags[0] == ("B-Element", "O", "O")
    assert data.tags[1] == ("O", "O", "B-natural-hazard", "I-natural-hazard", "O")
    assert data.tags[2][:3] == ("B-Site", "I-Site", "O")
    assert data.ids[:2] == ["train/a:0", "train/a:1"] and not counted(data)
    assert data.documents == ["a"] * 9
    assert [len(rows) for rows in (data.train, data.dev, data.test)] == [3, 3, 3]


def test_what_does_not_fit_is_counted(tmp_path):
    marks = [
        span("Element", "Fe"),  # inside FeO
        span("Mineral", "FeO and TiO2"),  # longer, begins at the same word
        span("Mineral", "TiO2"),
        {"start": 5, "end": 1000, "label": "x"},
        {"start": 0, "end": 3, "label": "x"},  # inside <heading>
        {"start": -3, "end": 3, "label": "x"},
    ]
    others = [document(name, "test", [], whole) for name, whole in (("b", "No entity."), ("c", " \n "))]
    data = read(tmp_path, [document("a", "train", marks), *others])
    assert data.tags[1] == ("B-Mineral", "I-Mineral", "I-Mineral", "O", "O")
    assert counted(data) == {
        "span that begins or ends inside a word, widened to it": 1,
        "span that shares a word with an earlier or longer one, dropped": 2,
        "span outside the text, dropped": 2,
        "span without a word, dropped": 1,
        "no text": 1,
    }


def test_no_sentence_ends_inside_an_entity(tmp_path):
    whole = "Seen by Opportunity. Later also by Curiosity. Fine."
    mark = [span("x", "Opportunity. Later", whole)]
    data = read(tmp_path, [document("a", part, mark, whole) for part in ("train", "validation", "test")])
    assert [len(words) for words in data.words] == [9, 2] * 3 and len(data.dev) == 2
    assert counted(data) == {"sentence end inside an entity, ignored": 3}


def test_broken_records_are_named(tmp_path):
    with pytest.raises(InputError, match="line 1: unknown split 'all'; known: train"):
        read(tmp_path, [document("a", "all", [])])
    with pytest.raises(InputError, match=r"line 1: entity 0 is .*; it needs start, end and label"):
        read(tmp_path, [document("a", "train", [{"start": 1}])])
