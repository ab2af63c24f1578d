"""Small sets that a small model can learn: animals to find, kinds of sentences, answers in a text."""

import numpy as np

from sciprism.datasets.inputs import Answer, PairInput, SpanInput, TaggingInput

ANIMALS = ("mouse", "bird", "fish", "insect", "virus")
OTHERS = ("study", "model", "theory", "wave", "metal", "ocean", "star", "prime", "steel", "trade", "light")


def rows(count, train=0.6, dev=0.2):
    order = np.arange(count)
    cuts = [int(count * train), int(count * (train + dev))]
    return dict(zip(("train", "dev", "test"), np.split(order, cuts), strict=True))


def tagged(count=50, seed=0, longest=9):
    """Sentences whose animals are entities, "virus vaccine" with both its words."""
    draw = np.random.default_rng(seed)
    words, tags = [], []
    for _ in range(count):
        sentence, marks = [], []
        for _ in range(draw.integers(4, longest)):
            if draw.random() < 0.3:
                animal = str(draw.choice(ANIMALS))
                sentence += [animal, "vaccine"] if animal == "virus" else [animal]
                marks += ["B-animal", "I-animal"] if animal == "virus" else ["B-animal"]
            else:
                sentence.append(str(draw.choice(OTHERS)))
                marks.append("O")
        words.append(tuple(sentence))
        tags.append(tuple(marks))
    return TaggingInput(ids=[f"s{i}" for i in range(count)], words=words, tags=tags, **rows(count))


def segments(count=50, seed=0, kind="class"):
    """Texts that name an animal or a metal, in their second segment where `kind` is "pair"."""
    draw = np.random.default_rng(seed)
    texts, targets = [], []
    for _ in range(count):
        animal = bool(draw.random() < 0.5)
        other = " ".join(draw.choice(OTHERS[5:], 4))
        text = f"{draw.choice(ANIMALS) if animal else 'theory'} {other}"
        texts.append((other, text) if kind == "pair" else (text,))
        if kind == "number":
            targets.append(2.0 if animal else 0.5)
        elif kind == "labels":
            targets.append(("animal",) * animal + ("ocean",) * ("ocean" in other))
        else:
            targets.append("animal" if animal else "none")
    return PairInput(ids=[f"t{i}" for i in range(count)], texts=texts, targets=targets, **rows(count))


def questions(count=50, seed=0, unanswerable=0.3):
    """Contexts in which one animal may stand; the question asks for it."""
    draw = np.random.default_rng(seed)
    contexts, answers = [], []
    for _ in range(count):
        words = [str(word) for word in draw.choice(OTHERS, 8)]
        found = ()
        if draw.random() >= unanswerable:
            place = int(draw.integers(0, 8))
            words[place] = str(draw.choice(ANIMALS))
            found = (Answer(words[place], len(" ".join(words[:place])) + (place > 0)),)
        contexts.append(" ".join(words))
        answers.append(found)
    return SpanInput(
        ids=[f"q{i}" for i in range(count)],
        questions=["which virus"] * count,
        contexts=contexts,
        answers=answers,
        **rows(count),
    )
