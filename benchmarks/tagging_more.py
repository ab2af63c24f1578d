"""Further parts of the tagging benchmark: alternative labels, feedback, time."""

from __future__ import annotations

import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import tagging_systems as systems
from sciprism.papers.records import Paper
from sciprism.uses.tagging.evidence import EvidenceCollector, TaggedPapers
from sciprism.uses.tagging.suggestions import Judgement, TagChoice
from sciprism.uses.tagging.tagger import TagVectors, build_zero_shot, learn_from_feedback, train
from sciprism.uses.tagging.vocabulary import ALTERNATIVE, NameMatcher, Vocabulary
from tagging_data import TaggingData, read_rows, read_uat

ASTRONOMY = "Astronomy"
FEEDBACK_PAPERS = 500
SHOWN = 5
TIMED_PAPERS = 10_000


def find_alternative(data: Path) -> tuple[list[Paper], list[set[int]]]:
    """Return astronomy papers whose title has an alternative label, and these labels.

    A label whose preferred name is anywhere in the paper is left out: any way to match names finds it.
    """
    matcher = NameMatcher(read_uat(data).labels)
    papers, gold = [], []
    for path in sorted((data / "arxiv_multidomain").glob("papers-*.jsonl.gz")):
        for row in read_rows(path):
            if not row["field"].startswith(ASTRONOMY):
                continue
            found = matcher.find(row["title"], row["abstract"])
            labels = {each for each, match in found.items() if match.kind == ALTERNATIVE and match.title}
            if labels:
                papers.append(Paper(id=row["id"], title=row["title"], abstract=row["abstract"]))
                gold.append(labels)
    return papers, gold


def alternative_labels(data: Path, encode: TagVectors) -> tuple[dict[str, systems.System], list[Paper], list[set[int]]]:
    """Return the systems for the thesaurus without its alternative labels, the papers and the labels to find."""
    papers, gold = find_alternative(data)
    without, whole = read_uat(data, alternative=False), read_uat(data)
    vectors = encode.encode(without.labels, "label")
    side = EvidenceCollector(without, vectors)
    centre = encode.encode(papers).mean(axis=0)
    ways = {
        "ours, no training": systems.ours(build_zero_shot(without, vectors)),
        "name matching": systems.name_matching(side),
        "BM25 over labels": systems.bm25_labels(without),
        "nearest label vector": systems.nearest_labels(side, centre),
        "ours, with the alternative labels": systems.ours(build_zero_shot(whole, vectors)),
    }
    return ways, papers, gold


def feedback(data: TaggingData, encode: TagVectors) -> tuple[dict[str, systems.System], list[Paper], list[set[int]]]:
    """Return taggers before and after feedback on their first suggestions, and with all tags of the same papers."""
    order = np.random.default_rng(0).permutation(data.rows("train"))
    first, second = order[:FEEDBACK_PAPERS], order[FEEDBACK_PAPERS : 2 * FEEDBACK_PAPERS]
    label_vectors = encode.encode(data.vocabulary.labels, "label")

    def build(rows: Any) -> TaggedPapers:
        papers = [data.papers[i] for i in rows]
        return TaggedPapers(papers, encode.encode(papers), data.tags.take(rows))

    before = train(data.vocabulary, label_vectors, build(first))
    new = build(second)
    judgements = []
    for paper in before.suggest(new.papers, new.vectors, TagChoice(limit=SHOWN, threshold=0)):
        number = len({each.paper for each in judgements})
        truth = set(new.tags[number].tolist())
        judgements += [Judgement(paper.id, tag.uri, data.vocabulary.rows[tag.uri] in truth) for tag in paper.tags]
    after, _ = learn_from_feedback(before, judgements, new.papers, new.vectors)
    whole = train(data.vocabulary, label_vectors, build(np.concatenate([first, second])))
    ways = {
        "before feedback": systems.ours(before),
        "after feedback": systems.ours(after),
        "all tags of the same papers": systems.ours(whole),
    }
    test = np.random.default_rng(0).permutation(data.rows("test"))[:FEEDBACK_PAPERS]
    return ways, [data.papers[i] for i in test], [set(data.tags[i].tolist()) for i in test]


def speed(data: TaggingData, encoder: Any) -> dict[str, Any]:
    """Return the seconds that tagging takes from text to suggestions, nothing cached, by a clock and of processors."""
    papers = list(data.papers[:TIMED_PAPERS])
    found: dict[str, Any] = {"papers": len(papers), "labels": len(data.vocabulary)}

    def timed(name: str, work: Any) -> Any:
        start, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
        result = work()
        now = resource.getrusage(resource.RUSAGE_SELF)
        processor = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
        found[name] = {"seconds": round(time.perf_counter() - start, 1), "processor seconds": round(processor, 1)}
        return result

    with tempfile.TemporaryDirectory() as folder:
        encode = TagVectors(encoder, Path(folder))
        label_vectors = timed("encode labels", lambda: encode.encode(data.vocabulary.labels, "label"))
        vectors = timed("encode papers", lambda: encode.encode(papers))
    zero = timed("open the vocabulary", lambda: build_zero_shot(Vocabulary(data.vocabulary.labels), label_vectors))
    tags = timed("tag without training", lambda: list(zero.suggest(papers, vectors)))
    found["tags without training"] = sum(len(paper.tags) for paper in tags)
    return found
