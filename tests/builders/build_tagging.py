"""A small world to tag: labels with words that their papers use, papers that mention some labels by name."""

from zlib import crc32

import numpy as np

from sciprism.arrays import Floats
from sciprism.papers.records import Label, Paper
from sciprism.uses.tagging.evidence import TaggedPapers, build_tags
from sciprism.uses.tagging.vocabulary import Vocabulary, stems_of

DIM = 64
TOPICS = {
    "Galaxies": "spiral rotation halo disc bulge",
    "Dark matter": "wimp halo lensing cusp profile",
    "Enzymes": "catalysis substrate kinetics folding active",
    "Vaccines": "antigen dose immunity trial placebo",
    "Earthquakes": "fault rupture seismic slip magnitude",
    "Glaciers": "ice melt flow moraine retreat",
}
UNSEEN = "Superconductors"


def embed(texts: list[str]) -> Floats:
    """Hash the words of texts into vectors of length 1."""
    rows = np.zeros((len(texts), DIM), np.float32)
    for row, text in zip(rows, texts, strict=True):
        for word in stems_of(text):
            row[crc32(word.encode()) % DIM] += 1
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def build_vocabulary() -> Vocabulary:
    """Return a vocabulary of the topics, one more label and two above others."""
    above = {"Galaxies": "astronomy", "Dark matter": "astronomy", "Enzymes": "life", "Vaccines": "life"}
    labels = [
        Label(id=f"t{number}", name=name, broader=(above[name],) if name in above else (), codes=(f"N{number}",))
        for number, name in enumerate((*TOPICS, UNSEEN))
    ]
    return Vocabulary([*labels, Label(id="astronomy", name="Astronomy"), Label(id="life", name="Biology")])


def label_vectors(vocabulary: Vocabulary) -> Floats:
    """Return the vectors of a vocabulary's names."""
    return embed([label.name for label in vocabulary.labels])


def build_papers(count: int, seed: int = 0) -> TaggedPapers:
    """Return papers of two topics each: the words of both, and the name of one."""
    rng = np.random.default_rng(seed)
    names, papers, tags = list(TOPICS), [], []
    for number in range(count):
        first, second = rng.choice(len(names), 2, replace=False)
        words = [str(rng.choice(TOPICS[names[each]].split())) for each in (first, second) for _ in range(8)]
        rng.shuffle(words)
        filler = f"we study sample {number}"
        papers.append(Paper(id=f"p{seed}-{number}", title=f"On {names[first]}", abstract=" ".join([filler, *words])))
        tags.append([int(first), int(second)])
    vectors = embed([f"{paper.title} {paper.abstract}" for paper in papers])
    return TaggedPapers(papers, vectors, build_tags(tags, len(build_vocabulary())))
