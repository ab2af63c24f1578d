"""The systems of the tagging benchmark: ours and the baselines, each ranks labels for papers."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import bm25s
import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Floats, Rows
from sciprism.papers.records import Paper
from sciprism.uses.tagging.evidence import EvidenceCollector, NearestPapers, TaggedPapers, learn_terms, list_texts
from sciprism.uses.tagging.tagger import RANKED_BLOCK, Tagger
from sciprism.uses.tagging.vocabulary import Vocabulary, stems_of

DEPTH = 200
"""Labels that are ranked for each paper."""
Mask = NDArray[np.bool_]
System = Callable[[Sequence[Paper], Floats, Mask], list[Rows]]
"""Papers, their vectors and the labels that may be ranked -> of each paper its labels, best first."""

OMIKUJI = """
import json, sys, omikuji
model = omikuji.Model.train_on_data(sys.argv[1], omikuji.Model.default_hyper_param(), n_threads=2)
found = []
with open(sys.argv[2]) as file:
    next(file)
    for line in file:
        pairs = (pair.split(":") for pair in line.split()[1:])
        found.append(model.predict([(int(a), float(b)) for a, b in pairs], beam_size=10, top_k=int(sys.argv[3])))
json.dump(found, open(sys.argv[4], "w"))
"""
OMIKUJI_TOP = 500
"""Labels that omikuji predicts for each paper, before those that may not be ranked are removed."""


def top_rows(scores: Floats, allowed: Mask) -> list[Rows]:
    """Return of each row of scores (b, labels) the best allowed labels with a score above zero."""
    scores = np.where(allowed, scores, -np.inf)
    count = min(DEPTH, scores.shape[1])
    best = np.argpartition(-scores, count - 1, axis=1)[:, :count]
    found = []
    for line, rows in zip(scores, best, strict=True):
        rows = rows[np.lexsort((rows, -line[rows]))]
        found.append(rows[line[rows] > 0])
    return found


def ours(tagger: Tagger, own: Floats | None = None) -> System:
    """Rank by the probability of a tagger. own: the papers' vectors in the tagger's format, where it is another one."""

    def rank(papers: Sequence[Paper], vectors: Floats, allowed: Mask) -> list[Rows]:
        vectors = vectors if own is None else own
        found, centre = [], tagger.collector.find_centre(vectors)
        for start in range(0, len(papers), RANKED_BLOCK):
            block = slice(start, start + RANKED_BLOCK)
            evidence = tagger.collect(papers[block], vectors[block], allowed, centre)
            scores = tagger.weighing.ranker.score(evidence.features)
            for number in range(len(papers[block])):
                part = np.flatnonzero(evidence.papers == number)
                found.append(evidence.labels[part[np.argsort(-scores[part], kind="stable")]][:DEPTH])
        return found

    return rank


def name_matching(side: EvidenceCollector) -> System:
    """Rank labels whose names are found: in the title first, then by how often, longer names first."""

    def rank(papers: Sequence[Paper], vectors: Floats, allowed: Mask) -> list[Rows]:
        found = []
        for paper in papers:
            matches = side.matcher.find(paper.title, paper.abstract)
            rows = [row for row in matches if allowed[row]]
            key = {row: (-(each := matches[row]).title, -each.abstract, each.inside, -each.words) for row in rows}
            found.append(np.array(sorted(rows, key=lambda row: key[row])[:DEPTH], np.int64))
        return found

    return rank


def bm25_labels(vocabulary: Vocabulary) -> System:
    """Rank labels by BM25: each label's names and definition is a document, the paper the query."""
    texts = [" ".join((label.name, *label.synonyms, label.definition)) for label in vocabulary.labels]
    index = bm25s.BM25()
    index.index(bm25s.tokenize(texts, stopwords="en", show_progress=False), show_progress=False)

    def rank(papers: Sequence[Paper], vectors: Floats, allowed: Mask) -> list[Rows]:
        queries = bm25s.tokenize(
            [f"{paper.title} {paper.abstract}" for paper in papers],
            stopwords="en",
            return_ids=False,
            show_progress=False,
        )
        found: list[Rows] = []
        for query in queries:
            known = index.get_tokens_ids(sorted(set(query)))
            found += top_rows(index.get_scores_from_ids(known)[None], allowed)
        return found

    return rank


def nearest_labels(side: EvidenceCollector, centre: Floats) -> System:
    """Rank labels by the cosine of their vectors; those of papers and of labels are each around their mean."""

    def rank(papers: Sequence[Paper], vectors: Floats, allowed: Mask) -> list[Rows]:
        found: list[Rows] = []
        for start in range(0, len(vectors), RANKED_BLOCK):
            cosines = side.compare(vectors[start : start + RANKED_BLOCK] - centre).numpy()
            found += top_rows(cosines + 2, allowed)
        return found

    return rank


def nearest_papers(data: TaggedPapers) -> System:
    """Rank labels by the votes of the nearest training papers, weighted by their cosines."""
    near = NearestPapers(data.vectors, data.tags)

    def rank(papers: Sequence[Paper], vectors: Floats, allowed: Mask) -> list[Rows]:
        found: list[Rows] = []
        for start in range(0, len(vectors), RANKED_BLOCK):
            found += top_rows(near.vote(vectors[start : start + RANKED_BLOCK])[0], allowed)
        return found

    return rank


def omikuji(python: Path, data: TaggedPapers, labels: int) -> System:
    """Train omikuji (three Parabel trees, its defaults) in a separate environment, on TF-IDF of words."""
    terms = learn_terms(list_texts(data.papers), stems_of)

    def write(path: Path, papers: Sequence[Paper], tags: Sequence[Sequence[int]]) -> None:
        matrix = terms.transform(list_texts(papers))
        lines = [f"{len(papers)} {matrix.shape[1]} {labels}"]
        for row, each in zip(matrix, tags, strict=True):
            pairs = sorted(zip(row.indices.tolist(), row.data.tolist(), strict=True))
            lines.append(",".join(map(str, each)) + " " + " ".join(f"{term}:{weight:.6f}" for term, weight in pairs))
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def rank(papers: Sequence[Paper], vectors: Floats, allowed: Mask) -> list[Rows]:
        with tempfile.TemporaryDirectory() as folder:
            train, test, out = (Path(folder) / name for name in ("train.txt", "test.txt", "out.json"))
            write(train, data.papers, [data.tags[[i]].indices.tolist() for i in range(len(data.papers))])
            write(test, papers, [[0]] * len(papers))
            arguments = [python, "-c", OMIKUJI, train, test, str(OMIKUJI_TOP), out]
            subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            predicted = json.loads(out.read_text(encoding="utf-8"))
        return [np.array([row for row, _ in each if allowed[row]][:DEPTH], np.int64) for each in predicted]

    return rank
