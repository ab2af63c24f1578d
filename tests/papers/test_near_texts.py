"""Nearly equal texts: hashes agree with exact similarities."""

import random
from itertools import combinations

import pytest

from sciprism.papers.near_texts import MinHashSignatures


def text(seed: int, words: int = 120) -> list[str]:
    draw = random.Random(seed)
    return [f"w{draw.randrange(4000)}" for _ in range(words)]


def find_pairs(*texts: str, near: float = 0.8) -> set[tuple[int, int]]:
    signatures = MinHashSignatures()
    for place, words in enumerate(texts):
        signatures.add(place, words)
    return {tuple(sorted(pair)) for pair in signatures.pairs(near)}


WORDS = text(1)
CHINESE = "深度学习在医学影像分析中的应用日益广泛本文综述了卷积神经网络的主要方法及其在肿瘤检测中的表现与局限"


@pytest.mark.parametrize(
    ("one", "other", "near"),
    [
        (" ".join(WORDS), " ".join([*WORDS[:60], "other", *WORDS[61:]]), True),  # 115 of 121 shingles
        (" ".join(WORDS), " ".join(text(2)), False),
        (*["This article has been withdrawn at the request of its authors."] * 2, False),  # too short
        (CHINESE, CHINESE + "。", True),
        (
            CHINESE,
            "本文研究黄土高原土壤侵蚀过程与降雨强度之间的关系并建立了一个新的预测模型以指导水土保持工程的设计",
            False,
        ),
    ],
)
def test_nearly_equal_texts_of_enough_words_are_pairs(one, other, near):
    assert find_pairs(one, other) == ({(0, 1)} if near else set())
    assert find_pairs() == find_pairs("") == set()


def exact_similarity(one: list[str], other: list[str]) -> float:
    first, second = ({tuple(words[i : i + 3]) for i in range(len(words) - 2)} for words in (one, other))
    return len(first & second) / len(first | second)


def test_near_pairs_agree_with_exact_similarity():
    """60 families of texts, each member losing a random share of its words' places to others."""
    draw = random.Random(7)
    texts: list[list[str]] = []
    for family in range(60):
        words = text(100 + family)
        for _ in range(4):
            rate = draw.choice([0.0, 0.01, 0.03, 0.06, 0.2])
            texts.append([draw.choice(words) if draw.random() < rate else word for word in words])
    found = find_pairs(*map(" ".join, texts))
    exact = {pair: exact_similarity(texts[pair[0]], texts[pair[1]]) for pair in combinations(range(len(texts)), 2)}
    clear = {pair for pair, similarity in exact.items() if similarity >= 0.9}  # 3 standard errors above
    assert len(clear) > 40
    assert clear <= found
    assert min(exact[pair] for pair in found) >= 0.69  # 3 standard errors below
    near = {pair for pair, similarity in exact.items() if similarity >= 0.8}
    assert len(found & near) / max(len(near), len(found)) >= 0.9
