"""Samples that keep the shares of labels: against a plain implementation, and invariants."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from sciprism.prepare.samplers.examples import sample_iteratively_stratified, sample_stratified

classes = st.lists(st.integers(0, 6), min_size=2, max_size=80)
several = st.lists(st.sets(st.integers(0, 5), max_size=3).map(sorted), min_size=2, max_size=80)


@given(classes, st.integers(1, 90))
def test_every_class_has_its_share(labels, limit):
    selected = sample_stratified(labels, limit).tolist()
    if limit >= len(labels):
        assert selected == list(range(len(labels)))
        return
    assert selected == sorted({*selected}) and len(selected) == limit
    counts, found = Counter(labels), Counter(labels[row] for row in selected)
    if min(counts.values()) < 2 or min(limit, len(labels) - limit) < len(counts):
        return  # no shares to keep
    for label, count in counts.items():
        assert abs(found[label] - count * limit / len(labels)) < 1 + 1e-9


@given(several, st.integers(1, 40), st.integers(0, 3))
def test_a_plain_implementation_gives_the_same_rows(labels_of, limit, seed):
    """The same algorithm, written to be read: everything is counted anew for each row."""
    if limit >= len(labels_of):
        return
    found = sample_iteratively_stratified(labels_of, limit, seed).tolist()
    assert found == plain_implementation(labels_of, limit, seed)


def plain_implementation(labels_of, limit, seed):
    from sciprism.seeding import random_fraction

    size, where = len(labels_of), {}
    order = sorted(range(size), key=lambda row: random_fraction(seed, row))

    def left(label):
        return sum(label in labels_of[row] for row in order if row not in where)

    def lacks(part, label):
        count = sum(label in each for each in labels_of)
        room = limit if part == 0 else size - limit
        return count * room / size - sum(label in labels_of[row] for row in where if where[row] == part)

    def room(part):
        return (limit if part == 0 else size - limit) - sum(part == at for at in where.values())

    while open_labels := [label for label in range(6) if left(label)]:
        label = min(open_labels, key=lambda label: (left(label), label))
        for row in order:
            if label in labels_of[row] and row not in where:
                free = [part for part in (0, 1) if room(part)]
                where[row] = max(
                    free, key=lambda p: (round(lacks(p, label), 9), room(p), random_fraction(seed, row, p))
                )
    for row in order:
        if row not in where:
            where[row] = 0 if room(0) else 1
    return sorted(row for row, part in where.items() if part == 0)
