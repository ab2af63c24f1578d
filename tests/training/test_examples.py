"""Training examples: their DPR-style files, their answers, and papers found by id."""

import json

import pytest

from sciprism.errors import InputError
from sciprism.papers.records import Label, Paper
from sciprism.training.examples import Example, PaperLookup, from_row, read_examples, to_row, write_examples
from sciprism.training.recipe import SourceSpec
from sciprism.training.sources import ExampleSource

# the example of the fact sheet, in our words
ROW = {
    "question": "graph networks for molecules [SEP] we look at bonds",
    "answers": [],
    "positive_ctxs": [{"title": "cheminformatics", "text": "chemistry by computer", "passage_id": "l17"}],
    "negative_ctxs": [],
    "hard_negative_ctxs": [{"title": "sociology", "text": "", "passage_id": "l93"}],
}


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_row_of_dpr():
    found = from_row(ROW, query="paper", candidate="label")
    assert found.query == Paper(id="", title="graph networks for molecules", abstract="we look at bonds")
    assert found.positives == (Label(id="l17", name="cheminformatics", definition="chemistry by computer"),)
    assert found.negatives == (Label(id="l93", name="sociology"),)
    assert to_row(found) == ROW
    assert from_row(ROW | {"positive_ctxs": []}, query="paper", candidate="label") is None
    answered = from_row(ROW | {"positive_ctxs": [], "answers": ["physics"]}, query="paper", candidate="label")
    assert (answered.positives, answered.answers) == ((), ("physics",))
    ordinary = ROW | {"hard_negative_ctxs": [], "negative_ctxs": [{"title": "botany"}]}
    assert from_row(ordinary, query="paper", candidate="label").negatives == (Label(id="", name="botany"),)


@pytest.mark.parametrize("whole", [True, False])
def test_both_kinds_of_file_in_any_order(tmp_path, whole):
    """A source gives examples of JSON lines and of an array by number; those without a positive go."""
    rows = [ROW | {"question": f"{n} [SEP] x"} for n in range(5)]
    rows.insert(2, ROW | {"positive_ctxs": []})
    path = tmp_path / "a.json"
    path.write_text(json.dumps(rows) if whole else "\n\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    source = ExampleSource(SourceSpec(file=path, format="classification", candidate="label"))
    assert (len(source), source.dropped) == (5, 1)
    assert [e.query.title for e in source.examples([4, 0, 2])] == ["4", "0", "2"]
    assert [e.query.title for e in read_examples(path, query="paper", candidate="label")] == list("01234")


def test_every_positive_and_negative_has_its_turn(tmp_path):
    """Sampled by a key; the recipe may state the first ones, as published."""
    papers = [Paper(id=str(n), title=str(n)) for n in range(6)]
    example = Example("a", tuple(papers[:3]), tuple(papers[3:]))
    write_examples([example], tmp_path / "a.jsonl")
    spec = SourceSpec(file=tmp_path / "a.jsonl", format="search", query="query")
    drawn = [ExampleSource(spec).batch([0], seed=0, sample_key=(n,)).examples[0] for n in range(60)]
    assert {e.positives[0].id for e in drawn} == set("012")
    assert {e.negatives[0].id for e in drawn} == set("345")
    assert all(set(map(str, e.positives)) == set(map(str, example.positives)) for e in drawn)
    first = ExampleSource(spec.model_copy(update={"positives": "first"}))
    assert first.batch([0], seed=0, sample_key=(7,)).examples == [example]


def test_each_positive_is_an_example_with_its_own_negative(tmp_path):
    """A pair's other papers follow: they are known positives. Fewer negatives are counted around."""
    papers = [Paper(id=str(n), title=str(n)) for n in range(9)]
    examples = [Example("a", tuple(papers[:2]), tuple(papers[2:4])), Example("b", (papers[4],), (papers[5],))]
    examples.append(Example("c", tuple(papers[6:8]), (papers[8],)))
    path = write_lines(tmp_path / "a.json", map(to_row, examples))
    source = ExampleSource(SourceSpec(file=path, format="search", query="query", positives="all"))
    batch = source.batch(range(len(source)), seed=0, sample_key=(3,)).examples
    pairs = [(e.query, e.positives[0].id, e.negatives[0].id) for e in batch]
    assert pairs == [("a", "0", "2"), ("a", "1", "3"), ("b", "4", "5"), ("c", "6", "8"), ("c", "7", "8")]
    assert [p.id for p in batch[1].positives] == ["1", "0"]


def test_errors_name_file_and_record(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(ROW) + "\n" + '{"question": 3}\n')
    with pytest.raises(InputError, match=r"a\.jsonl, record 2: expected an object with question"):
        list(read_examples(path, query="paper", candidate="label"))
    path.write_text("{oh\n")
    with pytest.raises(InputError, match=r"a\.jsonl, line 1: not valid JSON"):
        list(read_examples(path, query="paper", candidate="label"))


PAPER = Paper(id="p", title="Ice", abstract="Cold.")


@pytest.mark.parametrize(
    "wrong", ["Physics", 3, False, [True], [None], [float("nan")], [float("inf")], [10**400], [["a"]]]
)
def test_other_answers_are_refused(wrong):
    row = to_row(Example(PAPER, (PAPER,))) | {"answers": wrong}
    with pytest.raises(ValueError, match="answers: expected"):
        from_row(row, query="paper", candidate="paper")


PAPERS = [Paper(id=name, title=f"On {name}", fields=("Physics",)) for name in ("a", "b", "ç")]


@pytest.fixture
def triplets(tmp_path):
    write_lines(tmp_path / "papers.jsonl", [paper.to_json() for paper in PAPERS])
    rows = [{"query": "a", "positive": "ç", "negative": "b", "kind": "random"}, {"query": "b", "positive": "a"}]
    return write_lines(tmp_path / "train.jsonl", rows)


def test_triplets_of_ids_are_examples(triplets):
    a, b, c = PAPERS
    expected = [Example(a, (c,), (b,)), Example(b, (a,))]
    assert list(read_examples(triplets, query="paper", candidate="paper")) == expected
    source = ExampleSource(SourceSpec(file=triplets, format="proximity"))
    assert len(source) == 2 and list(source.examples([1, 0])) == expected[::-1]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"query": "x", "positive": "a"}, "record 1: its query 'x' is not a paper of papers.jsonl"),
        ({"query": "a", "positive": "a", "negative": 3}, "its negative 3 is not a paper"),
        ({"positive": "a"}, "its query None is not a paper"),
    ],
)
def test_a_paper_that_is_not_there(row, message, triplets):
    with pytest.raises(InputError, match=message):
        list(read_examples(write_lines(triplets, [row]), query="paper", candidate="paper"))


def test_papers_that_cannot_be_read(triplets):
    papers = triplets.parent / "papers.jsonl"
    papers.write_text('{"id": "a"}\n[]\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"papers\.jsonl, line 2: not a paper"):
        PaperLookup(papers)["a"]
    papers.unlink()
    with pytest.raises(InputError, match="does not exist; triplets of ids need their papers in this file"):
        list(read_examples(triplets, query="paper", candidate="paper"))
