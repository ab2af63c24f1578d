"""When to stop: a hypothesis test on recall; and how far two screeners agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import exp, floor, lgamma

TARGET, RISK = 0.95, 0.05  # the recall that is aimed at, and the p-value below which the test advises to stop


def recall_p_value(found: Sequence[bool], records: int, target: float, known: int = 0) -> float:
    """Return the p-value of "recall is below the target" (Callaghan and Müller-Hansen 2020, Systematic Reviews 9:273).

    found: of each screened record in the order of screening, whether it was included. records: all that were to be
    screened. known: included ones known before, which count as found. The records since some moment are taken for a
    random sample of what was unscreened then, the worst case of a ranking; the moment is the one of the lowest p.
    """
    total, lowest = known + sum(found), 1.0
    hits = [0, *(place + 1 for place, hit in enumerate(found) if hit)]  # other moments have a higher p
    for before, start in enumerate(hits):
        urn, sample = records - start, len(found) - start
        expected = floor(total / target - known - before + 1)  # in the urn, if recall is just below the target
        if expected > urn:
            return 0.0
        lowest = min(lowest, hypergeometric_cdf(total - known - before, urn, expected, sample))
    return lowest


def hypergeometric_cdf(most: int, urn: int, marked: int, sample: int) -> float:
    """Return the probability of at most so many marked ones in a sample without replacement."""

    def choose(n: int, k: int) -> float:
        return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)

    fewest = max(0, sample - (urn - marked))
    terms = (choose(marked, k) + choose(urn - marked, sample - k) for k in range(fewest, min(most, marked, sample) + 1))
    return min(1.0, sum(exp(term - choose(urn, sample)) for term in terms))


def measure_agreement(pairs: Sequence[tuple[str, str]]) -> float | None:
    """Return Cohen's kappa of two screeners' decisions on the same records; None where it is not defined."""
    agreed = sum(one == other for one, other in pairs)
    ones, others = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
    by_chance = sum(ones[word] * others[word] for word in ones) / max(len(pairs), 1)
    return None if by_chance == len(pairs) else (agreed - by_chance) / (len(pairs) - by_chance)
