"""INDUS's losses against the check values of the papers' formulas."""

import pytest
import torch
from torch.nn import functional as F

from sciprism.objectives.contrastive import four_sum_contrastive
from sciprism.objectives.distillation import relation_distillation, similarity_distillation, vector_distillation

QUERIES = torch.tensor([[1.0, 2.0], [0.3, -1.2]])
PASSAGES = torch.tensor([[-0.7, 0.5], [1.5, -0.4]])


@pytest.mark.parametrize(
    ("unit", "temperature", "twice", "expected"),
    [
        (False, 1.0, True, 1.2791960),
        (False, 1.0, False, 0.9480052),
        (True, 0.5, True, 1.1438856),
        (True, 0.02, True, 1.5815103),
    ],
)
def test_four_sums(unit, temperature, twice, expected):
    queries, passages = (F.normalize(x, dim=1) if unit else x for x in (QUERIES, PASSAGES))
    found = four_sum_contrastive(queries, passages, temperature=temperature, count_pair_twice=twice)
    assert found.item() == pytest.approx(expected, abs=1e-6)


def test_hard_negatives_join_the_sums_over_passages():
    negatives = torch.tensor([[0.2, 0.1], [-1.0, 0.4], [0.5, 0.5]])
    found = four_sum_contrastive(QUERIES, PASSAGES, negatives)
    passages = torch.cat([PASSAGES, negatives])
    total = 0.0
    for i in range(2):
        z = sum((QUERIES[i] @ p).exp() for p in passages) + sum((q @ PASSAGES[i]).exp() for q in QUERIES)
        z += (QUERIES[i] @ QUERIES[1 - i]).exp()
        z += sum((PASSAGES[i] @ p).exp() for j, p in enumerate(passages) if j != i)
        total -= float(QUERIES[i] @ PASSAGES[i] - z.log())
    assert found.item() == pytest.approx(total / 2, abs=1e-5)


TEACHER = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
STUDENT = torch.tensor([[1.0, 0.5], [0.2, 1.0], [0.3, 0.8]])


def test_relations_of_one_head():
    assert relation_distillation([TEACHER], [STUDENT], [0, 3], heads=1).item() == pytest.approx(0.0436745, abs=1e-6)


def test_relations_of_several_texts_heads_and_kinds():
    """Texts do not see each other; heads are averaged, kinds added; widths may differ."""
    draw = torch.Generator().manual_seed(0)
    teacher, student = torch.randn(5, 8, generator=draw), torch.randn(5, 4, generator=draw)
    whole = relation_distillation([teacher] * 3, [student] * 3, [0, 2, 5], heads=2)
    parts = [
        relation_distillation([teacher[a:b, 4 * h : 4 * h + 4]], [student[a:b, 2 * h : 2 * h + 2]], [0, b - a], heads=1)
        for a, b in ((0, 2), (2, 5))
        for h in (0, 1)
    ]
    assert whole.item() == pytest.approx(3 * torch.stack(parts).mean().item(), rel=1e-5)
    with pytest.raises(ValueError, match="8 states cannot be divided among 3"):
        relation_distillation([teacher], [student], [0, 5], heads=3)


def test_relations_are_compared_in_single_precision():
    """Within bfloat16 products too, values and gradients; a hundredth of the states differs."""
    draw = torch.Generator().manual_seed(0)
    teacher = torch.randn(6, 8, generator=draw)
    student = (teacher + 0.01 * torch.randn(6, 8, generator=draw)).requires_grad_()

    def found(enabled):
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            loss = relation_distillation([teacher], [student], [0, 6], heads=2)
        return loss, *torch.autograd.grad(loss, student)

    for half, single in zip(found(True), found(False), strict=True):
        assert half.dtype == torch.float32 and torch.equal(half, single)


def test_the_teacher_learns_nothing():
    teacher, student = TEACHER.clone().requires_grad_(), STUDENT.clone().requires_grad_()
    relation_distillation([teacher], [student], [0, 3], heads=1).backward()
    assert teacher.grad is None and student.grad.abs().sum() > 0


def test_similarities():
    teacher = torch.tensor([[10.0, 4, 2], [3, 9, 1], [2, 5, 8]])
    student = torch.tensor([[6.0, 5, 1], [4, 7, 2], [1, 6, 5]], requires_grad=True)
    found = similarity_distillation(teacher, student, temperature=4)
    assert found.item() == pytest.approx(0.9134970, abs=1e-6)
    found.backward()
    assert student.grad.sum().item() == pytest.approx(0, abs=1e-6)


def test_vectors_are_as_far_off_as_their_angle():
    teacher = torch.tensor([[3.0, 4.0], [0.0, 2.0]], requires_grad=True)
    student = torch.tensor([[4.0, 3.0], [0.0, -0.5]], requires_grad=True)
    found = vector_distillation(teacher, student)
    assert found.item() == pytest.approx((0.04 + 2) / 2, abs=1e-6)
    found.backward()
    assert teacher.grad is None and student.grad[0].abs().sum() > 0
