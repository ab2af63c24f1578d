"""Learners: the loss that a batch gives, known positives, held-out examples."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from build_runs import run_recipe
from build_sources import write_recipe
from sciprism import Encoder
from sciprism.encoders.ensemble import Ensemble
from sciprism.errors import InputError
from sciprism.objectives.contrastive import facet_contrast, in_batch_contrastive, label_ranking
from sciprism.papers.records import Paper
from sciprism.text.vocabulary import TokenClasses
from sciprism.training.batches import Batch
from sciprism.training.examples import Example, item_key
from sciprism.training.learners.learner import LearnerContext, check_objective, learners, reciprocal_rank
from sciprism.training.learners.masked_lm import choose_tokens, mask_tokens
from sciprism.training.processes import Processes
from sciprism.training.recipe_file import read_recipe
from sciprism.training.stage_models import whitening_scale
from sciprism.training.steps import BlockStep, JointStep, PassSettings

LIGHT, CELL, STAR = (Paper(id=w, title=f"{w} theory", abstract=f"the {w} of matter") for w in ("light", "cell", "star"))
MOON = Paper(id="moon", title="moon", abstract="a galaxy")
"""No positive of any example."""
EXAMPLES = [
    Example("light wave", (LIGHT, STAR), (CELL,)),
    Example("planet galaxy", (STAR,), (CELL, LIGHT)),
    Example("mouse", (CELL,)),
]
ANSWERS = {
    "classification": (("physics",), ("physics",), ("bio",)),
    "multi-label": (("physics", "bio"), ("physics",), ("bio",)),
    "regression": ((1.5,), (0.5,), (-1.0,)),
}


@pytest.fixture
def encoder(tiny_model):
    encoder = Encoder.start(tiny_model, pooling="mean", device="cpu")
    encoder.model.set_dropout(0.0)
    return encoder


@pytest.fixture
def faceted(tiny_model):
    encoder = Encoder.start(tiny_model, method="facets", options={"start": "kept"}, device="cpu")
    encoder.model.set_dropout(0.0)
    return encoder


def batch_of(examples, seed=0):
    return Batch(examples=examples, format="search", query="query", candidate="paper", seed=seed)


def build_learners(encoder, *objectives, other_teacher=None):
    """One learner for each objective; any teacher is the encoder with other weights, unless another is given."""

    def teacher(_name, max_length=None, precision="float32"):
        asked = {"max_length": max_length, "precision": precision}
        other = Encoder.start(encoder.folder, pooling="mean", device="cpu", **asked)
        with torch.no_grad():
            other.model.blocks[0].attention.value.weight.mul_(2)
        other.prepare()
        return other

    context = LearnerContext(
        encoder=encoder,
        processes=Processes("cpu"),
        labels=("bio", "physics"),
        candidates={item_key(paper): paper for paper in (LIGHT, CELL, STAR, MOON)},
        load_model=teacher if other_teacher is None else lambda *_, **__: other_teacher,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return [learners[table["name"]](check_objective(table), context) for table in objectives]


def build_joint_step(encoder, *objectives, kind=JointStep):
    found = build_learners(encoder, *objectives)
    return kind(encoder, found, processes=Processes("cpu"), settings=PassSettings(chunk_tokens=64))


def step(encoder, examples=EXAMPLES, seed=0, **objective):
    """Return the loss of one batch, whose gradient then is there."""
    encoder.model.train()
    (loss,) = build_joint_step(encoder, objective)([(0, batch_of(examples, seed))], 1.0)
    assert encoder.model.blocks[0].attention.query.weight.grad.abs().sum() > 0
    encoder.prepare()
    return loss


def encode(encoder, items, role="paper", **options):
    return torch.from_numpy(encoder.encode(items, format="search", role=role, **options))


def unit(*asked):
    return F.normalize(encode(*asked), dim=-1)


QUERIES = ["light wave", "planet galaxy", "mouse"]


def test_known_positives_are_no_negatives(encoder):
    """STAR answers the first query too; CELL as a negative of others is the third query's positive."""
    known = [[True, True, False, False, False], [False, True, False, False, False], [False, False, True, True, True]]
    queries, others = unit(encoder, QUERIES, "query"), unit(encoder, [LIGHT, STAR, CELL, CELL, CELL])
    known = {"known_positives": torch.tensor(known), "temperature": 1.0}
    expected = in_batch_contrastive(queries, others[:3], others[3:], **known).item()
    found = step(encoder, name="contrast", similarity="cosine", mask_known=True)
    assert found == pytest.approx(expected, abs=1e-5)
    assert found < step(encoder, name="contrast", similarity="cosine")


@pytest.mark.parametrize(
    "objective", [{"name": "contrast", "similarity": "cosine"}, {"name": "four-sum"}, {"name": "triplet"}], ids=str
)
def test_nested_dimensions_are_the_weighted_sum_of_the_losses_of_shorter_vectors(objective, encoder):
    generator, nested = torch.Generator().manual_seed(0), {"dimensions": [32, 8], "dimension_weights": [1.0, 0.5]}
    vectors = [torch.randn(rows, 32, generator=generator) for rows in (2, 2, 2)]
    batch = batch_of(EXAMPLES[:2])
    plain, learner = build_learners(encoder, objective, objective | nested)
    short = [group[:, :8] for group in vectors]
    expected = plain.loss(batch, vectors) + 0.5 * plain.loss(batch, short)
    assert learner.loss(batch, vectors).item() == pytest.approx(expected.item(), abs=1e-6)
    with pytest.raises(InputError, match="dimensions has 32; a vector of this model has 8 numbers"):
        learner.loss(batch, short)
    with pytest.raises(InputError, match="1 dimension_weights for 2 dimensions"):
        check_objective(objective | nested | {"dimension_weights": [1.0]})


def test_reciprocal_ranks_by_hand():
    """Query 1 finds its better positive second, query 2 its one first, query 3 shares the first place."""
    vectors = {
        "light wave": [1, 0, 0],
        "planet galaxy": [0, 1, 0],
        "mouse": [0, 0, 1],
        "light": [2, 0, 0],
        "star": [1, 5, 1],
        "cell": [3, 0, 1],
    }
    encoder = SimpleNamespace(
        distance="dot", encode=lambda items, **_: np.array([vectors[getattr(item, "id", item)] for item in items], "f4")
    )
    assert reciprocal_rank(encoder, batch_of(EXAMPLES)) == pytest.approx((1 / 2 + 1 + 1 / 2) / 3)


def test_triplets_take_their_own_negatives(encoder):
    """Two triplets; an example without a negative is none."""
    objective = {"name": "triplet", "margin": 0.7}
    assert [build_learners(encoder, objective)[0].fits(example) for example in EXAMPLES] == [True, True, False]
    queries, papers = encode(encoder, QUERIES[:2], "query"), encode(encoder, [LIGHT, STAR, CELL, CELL])
    distances = (queries - papers[:2]).norm(dim=1) - (queries - papers[2:]).norm(dim=1) + 0.7
    assert step(encoder, EXAMPLES[:2], **objective) == pytest.approx(distances.clamp_min(0).mean().item(), abs=1e-5)


BLOCKS = [np.array([2, *range(5 + n, 17 + 3 * n), 3]) for n in range(4)]
WITH_TEACHER = {
    "relations": {"teacher": "t", "relation_heads": 8},
    "similarity": {"teacher": "t"},
    "vectors": {"teacher": "t"},
}


@pytest.mark.parametrize("name", learners)
def test_every_learner_scales_its_gradient_and_repeats_itself(name, encoder, faceted, monkeypatch, tmp_path):
    """Conformance: a finite loss, the same for the same seed, and a gradient proportional to the scale."""
    monkeypatch.setenv("SCIPRISM_CACHE", str(tmp_path))
    encoder = faceted if learners[name].by_facet else encoder
    blocks = learners[name].reads == "blocks"
    objective = {"name": name} | WITH_TEACHER.get(name, {})
    learner = build_joint_step(encoder, objective, kind=BlockStep if blocks else JointStep)
    examples = [replace(e, answers=ANSWERS.get(name, ((),) * 3)[n]) for n, e in enumerate(EXAMPLES)]
    batch = batch_of([example for example in examples if learner.learners[0].fits(example)], seed=3)
    batch = Batch(blocks=BLOCKS, block_seeds=range(4), seed=3) if blocks else batch
    assert len(batch) > 1
    encoder.model.set_dropout(0.2)
    encoder.model.train()
    found = []
    for scale in (1.0, 1.0, 0.5):
        encoder.model.zero_grad(set_to_none=True)
        (loss,) = learner([(0, batch)], scale)
        found.append((loss, encoder.model.blocks[1].attention.key.weight.grad.clone()))
    assert found[0][0] == found[1][0] == found[2][0] > 0
    torch.testing.assert_close(found[0][1], found[1][1], atol=0, rtol=0)
    torch.testing.assert_close(found[0][1] * 0.5, found[2][1])


@pytest.mark.parametrize("most", [0, 4, 9])
def test_labels_are_ranked_among_all_of_the_source(most, encoder):
    """All four stand in the sum, that of no example too; both labels of the first example count."""
    papers, labels = unit(encoder, QUERIES, "query"), unit(encoder, [LIGHT, CELL, STAR, MOON])
    carried = torch.tensor([[1, 0, 1, 0], [0, 0, 1, 0], [0, 1, 0, 0]]).bool()
    expected = label_ranking(papers, labels, carried, temperature=0.2).item()
    objective = {"name": "label-ranking", "max_labels": most, "temperature": 0.2, "similarity": "cosine"}
    assert step(encoder, **objective) == pytest.approx(expected, abs=1e-5)


def test_sampled_labels_are_weighted_for_all_others(encoder):
    """Of the three labels that this paper lacks one is drawn, and stands for all three."""
    objective = {"name": "label-ranking", "temperature": 0.2, "max_labels": 2}
    (_, (labels, _)) = build_learners(encoder, objective)[0].select_texts(batch_of(EXAMPLES[1:2], 7))
    (paper,), (star, other) = encode(encoder, QUERIES[1:2], "query"), encode(encoder, labels)
    expected = F.softplus((other - star) @ paper / 0.2 + math.log(3))
    assert step(encoder, EXAMPLES[1:2], seed=7, **objective) == pytest.approx(expected.item(), abs=1e-4)


def test_facets_are_contrasted_one_by_one(faceted):
    settings = {"best_pair_weight": 0.3, "mix": "logits"}
    queries = encode(faceted, QUERIES[:2], "query", facets=True)
    papers = encode(faceted, [LIGHT, STAR, CELL, CELL], facets=True)
    expected = facet_contrast(queries, papers[:2], papers[2:], **settings).item()
    (learner,) = build_learners(faceted, {"name": "facets", **settings})
    assert [learner.fits(example) for example in EXAMPLES] == [True, True, False]
    assert step(faceted, EXAMPLES[:2], name="facets", **settings) == pytest.approx(expected, abs=1e-5)


def with_answers(name):
    return [replace(e, answers=answers) for e, answers in zip(EXAMPLES, ANSWERS[name], strict=True)]


def test_sources_of_several_kinds_in_one_step_add_up(encoder):
    """Each loss is what it is alone, and the gradient is the sum of theirs: one pass changes nothing."""
    tables = [{"name": "triplet"}, {"name": "classification", "dropout": 0.0}, {"name": "regression", "dropout": 0.0}]
    parts = EXAMPLES[:2], with_answers("classification"), with_answers("regression")[1:]
    batches = [batch_of(part) for part in parts]
    learner = build_joint_step(encoder, *tables)
    encoder.model.train()
    weight = encoder.model.blocks[0].attention.query.weight

    def run(places):
        encoder.model.zero_grad(set_to_none=True)
        losses = learner([(place, batches[place]) for place in places], 1.0)
        return losses, weight.grad.clone()

    losses, gradient = run([0, 1, 2])
    alone = [run([place]) for place in range(3)]
    assert losses == pytest.approx([found[0] for found, _ in alone], abs=1e-6)
    torch.testing.assert_close(gradient, sum(part for _, part in alone), atol=1e-6, rtol=1e-4)


def test_a_head_standardizes_its_input(encoder):
    """Each direction less its mean over its deviation, of the first batches exactly."""
    examples = with_answers("regression")
    settings = {"name": "regression", "dropout": 0.0, "standardize": True}
    (head,) = build_joint_step(encoder, settings).learners
    vectors = torch.randn(1000, encoder.dim) * 0.1 + 3
    standardizer = head.standardizer
    wanted = head.head((vectors - vectors.mean(dim=0)) / vectors.std(dim=0, unbiased=False))
    assert torch.allclose(head.predict(vectors), wanted, atol=1e-3)
    for _ in range(200):
        head.predict(vectors[torch.randint(1000, (64,))])
    head.modules.eval()
    assert torch.allclose(standardizer.mean, vectors.mean(dim=0), atol=0.05)
    assert torch.allclose(standardizer.square.sqrt(), vectors.std(dim=0), rtol=0.3)
    seen = standardizer.mean.clone()
    head.score(batch_of(examples))
    assert torch.equal(standardizer.mean, seen), "held-out examples change nothing"


def test_the_weight_of_supervised_contrast(encoder):
    """SciRepEval's mix: 0.1 of the cross-entropy and 0.9 of the contrastive loss."""
    objective, examples = {"name": "classification", "dropout": 0.0}, with_answers("classification")
    losses = [step(encoder, examples, **objective, contrastive_weight=share) for share in (0.0, 1.0, 0.9)]
    assert losses[2] == pytest.approx(0.1 * losses[0] + 0.9 * losses[1], abs=1e-6)
    vectors = unit(encoder, QUERIES, "query")
    exp = (vectors @ vectors.T / 0.3).exp()
    by_hand = torch.log(exp[0, 1] / (exp[0, 1] + exp[0, 2])) + torch.log(exp[1, 0] / (exp[1, 0] + exp[1, 2]))
    assert losses[1] == pytest.approx(-by_hand.item() / 2 / 3, abs=1e-4)  # 2 texts of the class, 3 texts


@pytest.mark.parametrize("name", ["vectors", "similarity"])
def test_a_teachers_vectors_are_cached_unless_the_recipe_says_no(encoder, name, monkeypatch, tmp_path):
    losses = []
    for cached in (True, False):
        monkeypatch.setenv("SCIPRISM_CACHE", str(tmp_path / str(cached)))
        learner = build_joint_step(encoder, {"name": name, "teacher": "t", "cache_teacher": cached})
        losses.append(learner([(0, batch_of(EXAMPLES))], 1.0))
        assert any((tmp_path / str(cached)).rglob("keys")) == cached
    assert losses[0] == losses[1]


def test_a_wider_teacher_is_learned_through_a_map_that_keeps_angles(encoder):
    """The student's cosines after the map are its own; where the teacher's vectors lie in a subspace, the loss is 0."""
    width, table = encoder.dim, {"name": "vectors", "teacher": "t", "cache_teacher": False}
    wider = Ensemble([encoder, build_learners(encoder, table)[0].teacher], join="concat")
    (learner,) = build_learners(encoder, table, other_teacher=wider)
    vectors = torch.randn(6, width, generator=torch.Generator().manual_seed(0), requires_grad=True)
    mapped = learner.modules(vectors)
    assert mapped.shape == (6, 2 * width) and torch.allclose(mapped @ mapped.T, vectors @ vectors.T, atol=1e-4)
    batch = batch_of(EXAMPLES)
    groups = learner.teacher_vectors(batch)
    assert sum(map(len, groups)) == learner.count(batch)
    with torch.no_grad():  # the rows of the teacher's vectors span few directions: the map may hold all of them
        target = torch.cat(groups)
        directions = torch.linalg.svd(target, full_matrices=True).Vh[:width].T
        learner.modules.weight.copy_(directions)
        columns, _ = torch.linalg.qr(directions)
    exact = (target @ columns).requires_grad_()
    sizes = [len(group) for group in groups]
    assert abs(learner.loss(batch, list(exact.split(sizes))).item()) < 1e-5
    worse = learner.loss(batch, list(exact.flip(0).split(sizes)))
    worse.backward()
    assert worse.item() > 1e-3 and learner.modules.weight.grad.abs().max() > 0


@pytest.mark.parametrize("pairs", ["queries", "texts"])
def test_similarities_of_queries_or_of_all_texts(encoder, pairs):
    """INDUS' pairs in both readings, against sums over rows."""
    table = {"name": "similarity", "teacher": "t", "cache_teacher": False, "pairs": pairs}
    (learner,) = build_learners(encoder, table)
    batch, random = batch_of(EXAMPLES), torch.Generator().manual_seed(0)
    teacher = [torch.nn.functional.normalize(part, dim=-1) for part in learner.teacher_vectors(batch)]
    student = [torch.nn.functional.normalize(torch.randn(part.shape, generator=random), dim=-1) for part in teacher]
    losses = []
    count = len(teacher[0]) if pairs == "queries" else sum(map(len, teacher))
    for row in range(count):
        ours, theirs = (torch.cat(side) / 0.08 for side in (student, teacher))
        others = [n for n in range(len(ours)) if (n >= len(teacher[0]) if pairs == "queries" else n != row)]
        wanted = torch.softmax(0.08 * theirs[others] @ theirs[row], 0)
        losses.append(-(wanted * torch.log_softmax(0.08 * ours[others] @ ours[row], 0)).sum())
    assert learner.loss(batch, student).item() == pytest.approx(torch.stack(losses).mean().item(), rel=1e-4)


def test_a_narrower_teacher_is_refused(encoder):
    narrow = SimpleNamespace(dim=encoder.dim - 1)
    with pytest.raises(InputError, match="fewer than the student's 32; the objective similarity compares any widths"):
        build_learners(encoder, {"name": "vectors", "teacher": "t"}, other_teacher=narrow)


# ---- What is hidden from a masked language model and from the rows of a decoder ----

# ids 0 and 1 are special, 2 the mask; of 10 to 19 the even ones begin a word
SPECIAL = np.array([True, True, True] + [False] * 17)
STARTS = np.array([False] * 10 + [n % 2 == 0 for n in range(10, 20)])
WORDS = TokenClasses(SPECIAL, STARTS, 2)
TEXT = np.array([0, *range(10, 20), *range(10, 20), 1])


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("share", [0.05, 0.3, 0.9])
@pytest.mark.parametrize("whole", [False, True])
def test_special_tokens_stay_words_stay_whole_and_the_share_is_met(share, whole):
    for seed in range(50):
        places = choose_tokens(TEXT, WORDS, share, rng(seed), whole_words=whole)
        assert not SPECIAL[TEXT[places]].any() and (np.diff(places) > 0).all()
        assert max(1, share * 20 - 1) <= len(places) <= max(1, share * 20) + 1 + whole
        assert not whole or all((first in places) == (first + 1 in places) for first in range(1, 21, 2))


def test_eight_of_ten_become_the_mask():
    kinds = []
    for seed in range(500):
        places = choose_tokens(TEXT, WORDS, 0.5, rng(seed), whole_words=False)
        found = mask_tokens(TEXT, places, WORDS, rng(seed + 1))
        untouched = np.delete(np.arange(len(TEXT)), places)
        assert (found[untouched] == TEXT[untouched]).all()
        kinds += [0 if f == 2 else 1 if f == t else 2 for f, t in zip(found[places], TEXT[places], strict=True)]
        assert not SPECIAL[np.setdiff1d(found[places], [2])].any()
    shares = np.bincount(kinds) / len(kinds)
    # of the tokens drawn at random 1 in 17 is the one that stood there
    assert shares == pytest.approx([0.8, 0.1 + 0.1 / 17, 0.1 * 16 / 17], abs=0.02)


# ---- Directions of a format's vectors that vary more alike after a stage than before ----

SCALED = ["stages.0.method=prism", "stages.0.options={depth = 1, split = true, scaled = true}"]
CROSS = np.array([[1, 4], [-1, -4], [1, -4], [-1, 4]])
TEXTS = ["a trial of a vaccine", "dark energy", "neural network image", "protein gene cell", "a wave"]


@pytest.mark.parametrize(
    ("share", "found"),
    [
        (0, [1, 1]),
        (0.5, [1.8439, 0.92195]),  # 1 and 1/2, times the root of 17 / (1 + 4)
        (1, [2.91548, 0.72887]),  # 1 and 1/4, times the root of 17 / (1 + 1)
    ],
)
def test_a_stretch_by_hand(share, found):
    """Spreads of 1 and 4; a mean square length of 17, before and after."""
    scale = whitening_scale(CROSS, share)
    assert np.allclose(scale, found, atol=1e-4)
    assert np.square(CROSS * scale).sum(axis=1).mean() == pytest.approx(17, abs=1e-4)


def test_a_direction_that_does_not_vary_is_not_stretched_without_end():
    assert np.array_equal(whitening_scale(np.ones((3, 4)), 0.5), np.ones(4))
    scale = whitening_scale(np.hstack([CROSS, np.full((4, 1), 1e-9)]), 1)
    assert scale[2] / scale[1] == pytest.approx(4 / (0.01 * 5 / 3), rel=1e-3)


def units(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_a_stage_leaves_directions_more_alike(tmp_path, tiny_model):
    """Models of one recipe, whose last stage ends without and with whitening; of regression it is not asked."""
    recipe, asked = write_recipe(tmp_path, tiny_model), {"classification": 1.0, "proximity": 0.5, "search": 0.5}
    white = "stages.0.whitening={" + ", ".join(f"{format} = {share}" for format, share in asked.items()) + "}"
    without, with_it = (
        Encoder.load(run_recipe(read_recipe(recipe, changes), tmp_path / str(len(changes)), device="cpu"))
        for changes in (SCALED, [*SCALED, white])
    )
    for format in (*asked, "regression"):
        plain, white = (each.encode(TEXTS, format=format) for each in (without, with_it))
        scale = with_it.model.beside.scales[with_it.route(format)].detach().numpy()
        assert np.allclose(units(white), units(plain * scale), atol=1e-5)
        assert np.allclose(np.linalg.norm(white, axis=1), np.linalg.norm(plain, axis=1), atol=1e-5)
        assert (np.abs(scale - 1).max() > 0.1) == (format in asked)
