"""Fine-tuned tasks: they learn, odd input is counted, and the encoder keeps its weights."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from build_words import questions, segments, tagged
from sciprism import Encoder
from sciprism.errors import InputError, ShownWarning
from sciprism.evaluation.item_scores import estimate
from sciprism.evaluation.protocols.fine_tuning import (
    LONG,
    TRUNCATED,
    UNSEEN,
    VANISHED,
    PairProtocol,
    SpanProtocol,
    TagProtocol,
)
from sciprism.evaluation.systems import BM25System, DenseSystem, NotServedError
from sciprism.evaluation.task import EvaluationContext
from sciprism.evaluation.tuning import (
    COLLAPSED,
    DIVERGED,
    TunableEncoder,
    Tuning,
    Window,
    WindowTokenizer,
    find_first_pieces,
    join_words,
)
from sciprism.files import write_sealed_json

VIEW = EvaluationContext(format="classification")
FAST = Tuning(rates=(1e-2,), batches=(8,), epochs=(8,), dropout=0.0)


@pytest.fixture
def system(tiny_model, tmp_path):
    return DenseSystem(Encoder.load(tiny_model, pooling="mean", device="cpu"), tmp_path)


def score(outcome):
    return estimate(next(iter(outcome.item_scores.values())))


@pytest.mark.parametrize("metric", ["entity_f1", "word_f1_macro"])
def test_entities_are_learnt(system, metric):
    outcome = TagProtocol(metric=metric, tuning=FAST).evaluate(tagged(), system, VIEW)
    assert score(outcome) > 0.95
    assert outcome.details["test"] == 10 and not outcome.details["collapsed"]


def test_sentences_of_a_document_are_one_item(system):
    """They do not vary independently; the score of all is the same."""
    data = tagged()
    whole = replace(data, documents=[f"d{row % 3}" for row in range(len(data.ids))])
    apart, joined = (TagProtocol(tuning=FAST).evaluate(each, system, VIEW) for each in (data, whole))
    items = joined.item_scores["entity_f1"]
    assert set(items.ids) == {"d0", "d1", "d2"} and score(joined) == score(apart)
    assert np.array_equal(items.columns.sum(axis=0), apart.item_scores["entity_f1"].columns.sum(axis=0))


def test_words_of_long_texts_count_once_each(system):
    data = tagged(40, longest=60)
    cut = TagProtocol(length=24, stride=8, tuning=FAST).evaluate(data, system, VIEW)
    assert score(cut) > 0.9 and cut.dropped.count(LONG) > 10
    gold = sum(tags.count("B-animal") for tags in (data.tags[row] for row in data.test))
    hit, _, missed = cut.item_scores["entity_f1"].columns.sum(axis=0)
    assert hit + missed == gold


def test_words_without_a_token_are_tagged_o_and_counted(system):
    data = tagged(20)
    words, tags = list(data.words), list(data.tags)
    words[-1], tags[-1] = ("\u200b", *words[-1]), ("B-animal", *tags[-1])
    outcome = TagProtocol(tuning=FAST).evaluate(replace(data, words=words, tags=tags), system, VIEW)
    assert outcome.dropped.ids[VANISHED] == [f"{data.ids[-1]} '\\u200b'"]
    assert outcome.item_scores["entity_f1"].columns[-1][2] >= 1  # what vanished is missed, not forgotten


@pytest.mark.parametrize(
    ("kind", "protocol", "least"),
    [
        ("class", PairProtocol(), 0.95),
        ("pair", PairProtocol(), 0.9),
        ("class", PairProtocol(metric="f1_micro", negative="none"), 0.95),
        ("class", PairProtocol(metric="f1_binary", positive="animal"), 0.95),
        ("labels", PairProtocol(metric="f1_micro"), 0.9),
        ("number", PairProtocol(metric="pearson"), 0.9),
    ],
)
def test_texts_and_pairs_are_learnt(system, kind, protocol, least):
    outcome = replace(protocol, tuning=FAST).evaluate(segments(kind=kind), system, VIEW)
    assert score(outcome) > least


def test_micro_f1_leaves_the_negative_class_out(system):
    """Three texts counted by hand: an a and a b found, an a taken for the class that does not count."""
    data = segments(6)
    data = replace(
        data,
        texts=[("mouse",), ("ocean",), ("steel",)] * 2,
        targets=["a", "none", "b", "a", "a", "b"],
        train=np.arange(3),
        dev=np.empty(0, np.int64),
        test=np.arange(3, 6),
    )
    longer = replace(FAST, batches=(3,), epochs=(40,))
    outcome = PairProtocol(metric="f1_micro", negative="none", tuning=longer).evaluate(data, system, VIEW)
    item_scores = outcome.item_scores["f1_micro"]
    assert item_scores.labels == ("a", "b")
    # what training taught: mouse a, ocean none, steel b; gold of the test: a, a, b
    assert item_scores.columns.tolist() == [[1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 1, 0], [0, 1, 0, 0, 0, 0]]
    assert score(outcome) == pytest.approx(2 * 2 / (2 * 2 + 0 + 1))


def test_long_pairs_are_cut_and_counted(system):
    data = segments(20, kind="pair")
    data = replace(data, texts=[(first, second + " light" * 50) for first, second in data.texts])
    outcome = PairProtocol(length=32, tuning=FAST).evaluate(data, system, VIEW)
    assert outcome.dropped.count(TRUNCATED) == 20


def test_classes_that_training_lacks(system):
    data = segments(20)
    strange = replace(data, targets=[*data.targets[:-1], "new"])
    outcome = PairProtocol(metric="f1_macro", tuning=FAST).evaluate(strange, system, VIEW)
    assert outcome.dropped.ids[UNSEEN] == ["t19 new"]


@pytest.mark.parametrize(
    ("protocol", "data", "changes", "message"),
    [
        (TagProtocol(), tagged(), {"tags": [("O",) * len(words) for words in tagged().words]}, "nothing to learn"),
        (PairProtocol(), segments(20), {"targets": ["none"] * 20}, "all of the class 'none'"),
        (PairProtocol(), segments(20), {"texts": [("a \ud800 b",)] * 20}, r"half a character \(a lone surrogate\) in"),
        (PairProtocol(metric="pearson"), segments(), {}, "targets of the kind class"),
    ],
)
def test_data_that_teach_nothing_are_refused(system, protocol, data, changes, message):
    with pytest.raises(InputError, match=message):
        replace(protocol, tuning=FAST).evaluate(replace(data, **changes), system, VIEW)


@pytest.mark.parametrize("wrong", [{"metric": "f1_binary"}, {"positive": "a"}, {"metric": "pearson", "negative": "a"}])
def test_settings_that_contradict_each_other(wrong):
    with pytest.raises(InputError, match="pair"):
        PairProtocol(**wrong)


@pytest.mark.parametrize("length", [32, 16])
def test_answers_are_found_in_windows(system, length):
    longer = replace(FAST, epochs=(25,))
    outcome = SpanProtocol(length=length, stride=2, tuning=longer).evaluate(questions(), system, VIEW)
    f1, exact = (estimate(outcome.item_scores[name]) for name in ("f1", "exact"))
    assert f1 > 0.8 and exact > 0.8


def test_few_windows_without_the_answer_are_trained_on(system, monkeypatch):
    """Of 20 windows with one answer; those that are scored are all."""
    trained, data = [], questions(10, unanswerable=0.2)
    contexts = [f"{context} {'bird ' * 300}" for context in data.contexts]
    data, once = replace(data, contexts=contexts), replace(FAST, epochs=(1,))
    train = TunableEncoder.train

    def record(tuned, examples, *rest):
        trained.append([each for each in examples if data.answers[each.row]])
        return train(tuned, examples, *rest)

    monkeypatch.setattr(TunableEncoder, "train", record)
    for empty in (None, 1, 0):
        outcome = SpanProtocol(length=32, stride=2, max_empty_windows=empty, tuning=once).evaluate(data, system, VIEW)
        assert outcome.item_scores["f1"].ids == tuple(data.ids[row] for row in data.test)
    rows = len({each.row for each in trained[0]})
    held = [[each.targets[0] != (0, 0) for each in some] for some in trained]
    assert len(held[0]) > 5 * rows and (len(held[1]), len(held[2])) == (2 * rows, rows)
    assert [sum(each) for each in held] == [rows] * 3, "every answer is learnt"


def test_runs_repeat_and_leave_the_encoder_as_it_was(system):
    before = {name: value.clone() for name, value in system.encoder.model.state_dict().items()}
    fingerprint, vector = system.fingerprint, system.encoder.encode(["dark matter"])
    first = TagProtocol(tuning=replace(FAST, dropout=0.1)).evaluate(tagged(), system, VIEW)
    again = TagProtocol(tuning=replace(FAST, dropout=0.1)).evaluate(tagged(), system, VIEW)
    other = TagProtocol(tuning=replace(FAST, dropout=0.1)).evaluate(tagged(), system, replace(VIEW, seed=1))
    assert np.array_equal(first.item_scores["entity_f1"].columns, again.item_scores["entity_f1"].columns)
    assert other.details["steps"] == first.details["steps"]
    with_seeds = {}
    for seed in (0, 1):
        with TunableEncoder(system.encoder, "all").start_run(3, 0.0, seed) as tuned:
            with_seeds[seed] = [weight.detach().clone() for weight in tuned.head.parameters()]
    assert not torch.equal(with_seeds[0][0], with_seeds[1][0]), "another seed begins with another head"
    for name, value in system.encoder.model.state_dict().items():
        assert torch.equal(value, before[name]), name
    assert system.encoder.fingerprint == fingerprint
    assert np.array_equal(system.encoder.encode(["dark matter"]), vector)


def test_a_grid_is_chosen_on_dev_and_kept(system, tmp_path):
    grid = replace(FAST, rates=(1e-9, 1e-2))
    context = replace(VIEW, grid_file=tmp_path / "grid" / "animals.jsonl", key="k")
    outcome = TagProtocol(tuning=grid).evaluate(tagged(), system, context)
    assert outcome.details["setting"]["rate"] == 1e-2 and score(outcome) > 0.95
    low, high = outcome.details["dev scores"].values()
    assert high > 0.9 > low
    kept = context.grid_file.read_text()
    context.grid_file.write_text(kept.replace(str(high), "-1.0"))
    with pytest.warns(ShownWarning, match="dev scores are damaged"):
        assert TagProtocol(tuning=grid).evaluate(tagged(), system, context).details["setting"]["rate"] == 1e-2
    worse = {name: -1.0 if value == high else value for name, value in json.loads(kept)["dev"].items()}
    write_sealed_json(context.grid_file, {"key": "k", "dev": worse})  # what is stored is not tried again
    assert TagProtocol(tuning=grid).evaluate(tagged(), system, context).details["setting"]["rate"] == 1e-9
    other = replace(context, key="another declaration")
    assert TagProtocol(tuning=grid).evaluate(tagged(), system, other).details["setting"]["rate"] == 1e-2
    with pytest.raises(InputError, match="no dev part"):
        TagProtocol(tuning=grid).evaluate(replace(tagged(), dev=np.empty(0, np.int64)), system, VIEW)


def test_runs_that_fail_are_flagged(system, monkeypatch):
    monkeypatch.setattr(TunableEncoder, "_gradients", lambda *_: float("nan"))
    outcome = PairProtocol(tuning=FAST).evaluate(segments(), system, VIEW)
    assert outcome.dropped.ids[DIVERGED] == outcome.dropped.ids[COLLAPSED] == ["seed 0"]
    monkeypatch.undo()
    slow = Tuning(rates=(1e-12,), batches=(8,), epochs=(1,))
    constant = PairProtocol(metric="pearson", tuning=slow)
    data = segments(kind="number")
    data = replace(data, texts=[("same",)] * len(data.ids))
    outcome = constant.evaluate(data, system, VIEW)
    assert outcome.dropped.ids[COLLAPSED] == ["seed 0"]
    assert len({data.targets[row] for row in data.test}) == 2 and score(outcome) == 0.0  # not dropped


def test_products_of_half_precision_without_a_scaler_are_refused(tiny_model, tmp_path):
    encoder = Encoder.load(tiny_model, pooling="mean", device="cpu", precision="float16")
    with pytest.raises(InputError, match="bfloat16"):
        PairProtocol(tuning=FAST).evaluate(segments(), DenseSystem(encoder, tmp_path), VIEW)


def test_what_has_no_weights_is_not_served():
    with pytest.raises(NotServedError, match="fine-tuned"):
        TagProtocol(tuning=FAST).evaluate(tagged(), BM25System(), VIEW)


def test_byte_level_words_keep_their_space(byte_level_folder):
    """The piece that begins a word inside a sentence begins it at the front too."""
    from sciprism.text.tokenizer import read_tokenizer

    tokenizer, _ = read_tokenizer(byte_level_folder)
    text, starts = join_words(("dark", "matter", "dark"))
    encoding = tokenizer.encode(text)
    segments = np.array([-1 if s is None else s for s in encoding.sequence_ids])
    window = Window(encoding.ids, [], segments, np.array(encoding.offsets))
    ((words, positions),) = find_first_pieces([window], starts)
    assert words == [0, 1, 2]
    assert encoding.ids[positions[0]] == encoding.ids[positions[2]]


def test_windows_of_a_shorter_model_share_less(system):
    """Half as many positions: half as many tokens in common."""
    positions = system.encoder.model.config.max_length
    tokenizer = WindowTokenizer(system.encoder, 2 * positions)
    assert tokenizer.length == positions and tokenizer.overlap(100) == 50
    found = tokenizer.windows("mouse bird " * positions, stride=100)
    assert len(found) == 3 and max(len(window.ids) for window in found) == positions
    with pytest.raises(InputError, match=f"windows of {2 * positions} tokens cannot share {positions}"):
        tokenizer.windows("mouse", stride=positions)
