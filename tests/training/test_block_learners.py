"""Losses of tokens against the reference library, plain code and themselves."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence
from transformers import BertConfig, BertForMaskedLM

from build_methods import perturb_weights
from build_models import SHAPE
from sciprism import Encoder
from sciprism.encoders.layers import pack
from sciprism.errors import InputError
from sciprism.text.vocabulary import classify_tokens
from sciprism.training.batches import Batch
from sciprism.training.learners.learner import LearnerContext, check_objective, learners
from sciprism.training.learners.masked_lm import sample_row_masks
from sciprism.training.processes import Processes
from sciprism.training.steps import BlockStep, PassSettings

RELATIONS = {"teacher": "t", "relation_heads": 8}
BLOCKS = [np.array([2, *range(5 + n, 17 + 3 * n), 3]) for n in range(4)]


@pytest.fixture(scope="module")
def peer_model(tmp_path_factory, wordpiece_folder):
    """A masked language model of the reference library, its folder, and it."""
    folder = tmp_path_factory.mktemp("masked-lm")
    words = (wordpiece_folder / "vocab.txt").read_text(encoding="utf-8")
    (folder / "vocab.txt").write_text(words, encoding="utf-8")
    torch.manual_seed(5)
    model = BertForMaskedLM(BertConfig(vocab_size=len(words.splitlines()), **SHAPE)).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.1 * torch.randn_like(weight))
    model.save_pretrained(folder)
    return folder, model


@pytest.fixture
def encoder(peer_model):
    encoder = Encoder.start(peer_model[0], pooling="cls", device="cpu")
    encoder.model.set_dropout(0.0)
    return encoder


def learner_of(encoder, name, **settings):
    torch.manual_seed(1)
    teacher = perturb_weights(Encoder.start(encoder.folder, pooling="cls", device="cpu"), size=0.1)
    context = LearnerContext(encoder=encoder, processes=Processes("cpu"), load_model=lambda _name: teacher)
    return learners[name](check_objective({"name": name} | settings), context)


def step(encoder, learner, tokens=40, blocks=BLOCKS):
    """Return the loss of a batch, and the gradients by name."""
    encoder.model.train()
    block_step = BlockStep(encoder, [learner], processes=Processes("cpu"), settings=PassSettings(chunk_tokens=tokens))
    modules = torch.nn.ModuleDict({"model": encoder.model, "own": block_step.modules})
    modules.zero_grad(set_to_none=True)
    (loss,) = block_step([(0, Batch(blocks=blocks, block_seeds=range(len(blocks)), seed=7))], 1.0)
    return loss, {n: p.grad.clone() for n, p in modules.named_parameters() if p.grad is not None}


def prepare_all(learner, blocks=BLOCKS):
    return [learner.prepare_block(ids, np.random.default_rng(n)) for n, ids in enumerate(blocks)]


def test_masked_lm_is_that_of_the_reference_library(encoder, peer_model):
    learner = learner_of(encoder, "masked-lm")
    blocks = prepare_all(learner)
    ids = pad_sequence([torch.from_numpy(block.ids) for block in blocks], batch_first=True, padding_value=-1)
    labels = torch.full_like(ids, -100)
    for row, block in enumerate(blocks):
        labels[row, block.positions] = torch.from_numpy(block.targets)
    reference = peer_model[1]
    reference.zero_grad()
    expected = reference(input_ids=ids.clamp_min(0), attention_mask=ids >= 0, labels=labels).loss
    expected.backward()
    loss, gradients = step(encoder, learner)
    assert loss == pytest.approx(expected.item(), rel=1e-5)
    for name, theirs in {
        "model.embeddings.word.weight": "bert.embeddings.word_embeddings.weight",
        "model.blocks.0.attention.query.weight": "bert.encoder.layer.0.attention.self.query.weight",
        "own.heads.0.map.weight": "cls.predictions.transform.dense.weight",
        "own.heads.0.bias": "cls.predictions.bias",
    }.items():
        other = reference.get_parameter(theirs).grad
        torch.testing.assert_close(gradients[name], other, atol=1e-5, rtol=1e-3, msg=name)


@pytest.mark.parametrize(("name", "settings"), [("masked-lm", {}), ("auto-encoding", {}), ("relations", RELATIONS)])
def test_pieces_change_nothing(name, settings, encoder):
    learner = learner_of(encoder, name, **settings)
    loss, gradients = step(encoder, learner, tokens=1000)
    other, others = step(encoder, learner, tokens=20)
    assert other == pytest.approx(loss, rel=1e-5)
    for key, gradient in gradients.items():
        torch.testing.assert_close(others[key], gradient, atol=1e-5, rtol=1e-3, msg=key)


def test_a_kept_head_goes_on(encoder, tmp_path):
    learner = learner_of(encoder, "masked-lm")
    with torch.no_grad():
        learner.head.bias.fill_(0.5)
    encoder.save(tmp_path / "model")
    learner.save(tmp_path / "model")
    again = Encoder.start(tmp_path / "model", device="cpu")
    assert learner_of(again, "masked-lm").head.bias.unique().tolist() == [0.5]
    assert learner_of(again, "auto-encoding").head.bias.unique().tolist() == [0.5]


def test_rows_hide_their_share_of_whole_words(encoder):
    """On average, never a part of a word, never what is special."""
    words = classify_tokens(encoder.tokenizer)
    ids = np.array([2, *range(5, 300), 3])
    hidden = sample_row_masks(ids, words, 0.5, np.random.default_rng(0))
    np.fill_diagonal(hidden, False)
    assert not hidden[:, [0, -1]].any() and 0.47 < hidden[:, 1:-1].mean() < 0.53
    starts = np.flatnonzero(words.word_starts[ids[1:-1]]) + 1
    for row in (3, 200):
        for begin, end in zip(starts, [*starts[1:], len(ids) - 1], strict=True):
            inside = np.delete(hidden[row, begin:end], row - begin if begin <= row < end else [])
            assert inside.all() or not inside.any()
    assert len(np.unique(hidden, axis=0)) > 100


def test_relations_by_plain_code(encoder):
    learner = learner_of(encoder, "relations", teacher="t", relation_heads=4)
    blocks = prepare_all(learner)
    expected = 0.0
    for block in blocks:
        batch = pack([block.ids.tolist()])
        with torch.no_grad():
            pairs = [model.projections(batch, 2) for model in (learner.teacher.model, encoder.model)]
        for teacher, student in zip(*pairs, strict=True):
            for head in range(4):
                t, s = (x[:, head * 8 : head * 8 + 8] for x in (teacher, student))
                p, q = (torch.softmax(x @ x.T / 8**0.5, dim=1) for x in (t, s))
                expected += float((p * (p / q).log()).sum()) / (4 * len(block.ids)) / len(blocks)
    assert step(encoder, learner)[0] == pytest.approx(expected, rel=1e-4)


def test_relations_want_heads_that_divide(encoder):
    with pytest.raises(InputError, match="7 relation_heads do not divide the width 32"):
        learner_of(encoder, "relations", teacher="t", relation_heads=7)


def test_auto_encoding_by_plain_code(encoder):
    """RetroMAE's decoder written out row by row."""
    learner = learner_of(encoder, "auto-encoding")
    blocks = prepare_all(learner)
    model, attention, block = encoder.model, learner.decoder.block.attention, learner.decoder.block
    losses, hidden_losses = [], []
    with torch.no_grad():
        for each in blocks:
            batch = pack([each.ids.tolist()])
            states = model(batch)
            logits = learner.head(states[each.positions]) @ model.embeddings.word.weight.T + learner.head.bias
            hidden_losses.append(F.cross_entropy(logits, torch.from_numpy(each.targets), reduction="sum"))
            vector = states[0]
            count = len(each.ids)
            keys = model.embeddings(pack([each.unmasked.tolist()])).clone()
            keys[0] = vector
            positions = model.embeddings.position.weight[:count]
            for row in range(1, count - 1):
                query = positions[row] + vector
                seen = ~each.hidden[row]
                assert not seen[row]
                out = []
                for head in range(4):
                    part = slice(head * 8, head * 8 + 8)
                    q = attention.query(query)[part]
                    k, v = attention.key(keys[seen])[:, part], attention.value(keys[seen])[:, part]
                    out.append(torch.softmax(k @ q / 8**0.5, dim=0) @ v)
                y = block.attention_norm(query + attention.output(torch.cat(out)))
                state = block.feed_forward_norm(y + block.feed_forward(y, None))
                logits = learner.head(state) @ model.embeddings.word.weight.T + learner.head.bias
                losses.append(F.cross_entropy(logits, torch.tensor(each.unmasked[row])))
    hidden = sum(len(each.positions) for each in blocks)
    expected = float(torch.stack(hidden_losses).sum() / hidden + torch.stack(losses).mean())
    assert step(encoder, learner)[0] == pytest.approx(expected, rel=1e-4)


def test_dev_scores_are_one_over_perplexity(encoder):
    learner = learner_of(encoder, "masked-lm")
    batch = Batch(blocks=BLOCKS, block_seeds=range(4), seed=7)
    encoder.prepare()
    score = learner.score(batch)
    assert score == pytest.approx(np.exp(-step(encoder, learner)[0]), rel=1e-4)
    encoder.prepare()
    assert learner.score(batch) == score
    assert learner.score(replace(batch, block_seeds=range(1, 5))) != score
