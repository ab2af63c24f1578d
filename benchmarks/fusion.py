"""Words and meaning in one ranking: reciprocal ranks against weighted sums of scaled scores, on several fields.

Each set's papers are embedded with a term index, and the 100 best by cosine and by BM25 are fused in each way. Dev
searches choose the way and the weight of words: claims of SciFact's train split, questions of BioASQ's (papers are
their snippets), one citing sentence of each ACL paper, questions for the landmarks in words of their own, and, for
queries of at most three words, keywords of IEEE Vis's authors. `chosen` says what a half of each set's searches
chooses, drawn by each of three seeds, and what that scores on the other half. Sets named "test" choose nothing.
Scores: nDCG@10. A collection that exists is not embedded again. From the repository root:

    SCIPRISM_DATA=... python benchmarks/fusion.py FOLDER -o results/fusion.json
"""

from __future__ import annotations

import csv
import random
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from measurement import build_parser, provenance, read_json_lines, write_result
from sciprism import Collection, Paper
from sciprism.arrays import Doubles
from sciprism.index import fuse, lexical
from sciprism.index.fusion import FUSION_DEPTH, Ranked, choose_share
from sciprism.metrics.rankings import grade_rankings, ranking_metrics
from sciprism.papers import read_papers

TOP, QUERIES, PAPERS = 10, 300, 2500
SHARES = [round(0.1 * step, 1) for step in range(11)]
SEEDS = (0, 1, 2)
CONSTANT = 60  # of reciprocal ranks, as in Cormack, Clarke and Buettcher (SIGIR 2009)
Searches = tuple[list[Paper], dict[str, dict[str, int]]]
"""Papers, and query -> paper -> grade."""


def read_beir(folder: Path, split: str) -> Searches:
    """Return a set's papers, those judged and others at random, and the searches of a split."""
    texts = {row["_id"]: row["text"] for row in read_json_lines(folder / "queries.jsonl.gz")}
    found: dict[str, dict[str, int]] = defaultdict(dict)
    path = folder / "qrels" / f"{split}.tsv"
    for row in csv.DictReader(path.read_text("utf-8").splitlines(), delimiter="\t"):
        found[texts[row["query-id"]]][row["corpus-id"]] = int(row["score"])
    rows = read_json_lines(folder / "corpus.jsonl.gz")
    return [Paper(id=row["_id"], title=row["title"], abstract=row["text"]) for row in rows], found


def read_questions(folder: Path) -> Searches:
    rows = read_json_lines(folder / "7b_train.jsonl.gz")
    texts: dict[str, dict[str, None]] = defaultdict(dict)
    for snippet in chain.from_iterable(row["snippets"] for row in rows):
        texts[snippet["pmid"]][snippet["text"]] = None
    papers = [Paper(id=id, title="", abstract=" ".join(parts)) for id, parts in texts.items()]
    return papers, {row["question"]: {part["pmid"]: 1 for part in row["snippets"]} for row in rows}


def read_citing(folder: Path) -> Searches:
    rows = read_json_lines(folder / "papers.jsonl.gz")
    draw = random.Random(0)
    cited = {draw.choice(row["citing_sentences"])["text"]: {row["id"]: 1} for row in rows if row["citing_sentences"]}
    return [Paper(id=row["id"], title=row["title"], abstract=row["abstract"]) for row in rows], cited


def read_keywords(folder: Path) -> Searches:
    rows = read_json_lines(folder / "papers.jsonl.gz")
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for row in rows:
        for keyword in row["keywords"]:
            found[keyword.lower()][row["id"]] = 1
    found = {keyword: ids for keyword, ids in found.items() if 3 <= len(ids) <= 30}
    return [Paper(id=row["id"], title=row["title"], abstract=row["abstract"] or "") for row in rows], found


def read_landmarks(folder: Path) -> Searches:
    """Return the example papers and the questions for them."""
    questions = read_json_lines(folder / "queries.jsonl")
    return list(read_papers(folder / "landmarks.bib")), {row["query"]: {row["expected"]: 1} for row in questions}


SETS: Mapping[str, tuple[str, Callable[[Path], Searches]]] = {
    "claims": ("ir_scifact", partial(read_beir, split="train")),
    "questions": ("qa_bioasq", read_questions),
    "citing sentences": ("citegraph_acl", read_citing),
    "landmarks": ("", lambda _: read_landmarks(Path("examples/landmarks"))),
    "keywords": ("citegraph_vis", read_keywords),
    "test: SciFact": ("ir_scifact", partial(read_beir, split="dev")),
    "test: Cranfield": ("ir_cranfield", partial(read_beir, split="test")),
    "test: CACM": ("ir_cacm", partial(read_beir, split="test")),
}
SHORT = "keywords"


def fuse_ranks(meaning: Ranked[str], words: Ranked[str], share: float, k: int) -> list[tuple[float, str]]:
    """Return the k best by the weighted sum of reciprocal ranks."""
    fused: dict[str, float] = defaultdict(float)
    for ranking, weight in ((meaning, 1 - share), (words, share)):
        for rank, (_, id) in enumerate(ranking, 1):
            fused[id] += weight / (CONSTANT + rank)
    return sorted(((score, id) for id, score in fused.items()), key=lambda pair: -pair[0])[:k]


WAYS = {"reciprocal ranks": fuse_ranks, "scaled scores": fuse}


def rank_both(name: str, model: str, folder: Path, data: Path) -> tuple[list[str], Any, Any, dict[str, dict[str, int]]]:
    """Return the queries of a set, their rankings by meaning and by words, and their relevant papers."""
    source, read = SETS[name]
    papers, found = read(data / source)
    queries = sorted(found)
    random.Random(0).shuffle(queries)
    queries = queries[:QUERIES]
    judged = {id for query in queries for id in found[query]}
    texts = [paper for paper in papers if f"{paper.title}{paper.abstract}".strip()]
    others = [paper for paper in texts if paper.id not in judged]
    random.Random(0).shuffle(others)
    place = folder / (model or "sciprism-small") / name.replace(": ", "-").replace(" ", "-")
    if not (place / "index").exists():
        chosen = [paper for paper in texts if paper.id in judged] + others[: max(0, PAPERS - len(judged))]
        Collection.create(place, chosen, model=model)
    opened = Collection(place)
    meaning = [[(hit.score, hit.id) for hit in hits] for hits in opened.search(queries, FUSION_DEPTH, mode="exact")]
    ids, found_words = opened.ids, zip(*lexical.search(opened.stored, queries, FUSION_DEPTH, None), strict=True)
    words = [[(float(score), ids[row]) for score, row in zip(*each, strict=True) if row >= 0] for each in found_words]
    return queries, meaning, words, {query: found[query] for query in queries}


def score(queries: list[str], ranked: list[Ranked[str]], relevant: Mapping[str, dict[str, int]]) -> Doubles:
    """Return nDCG@10 of each query, in percent."""
    runs = {
        query: ([id for _, id in ranking], [-place for place in range(len(ranking))])
        for query, ranking in zip(queries, ranked, strict=True)
    }
    return 100 * ranking_metrics["ndcg"](grade_rankings(runs, relevant), TOP)


def choose(scores: Mapping[str, Mapping[tuple[str, float], Doubles]], names: list[str]) -> dict[str, Any]:
    """Return, for each seed, the way and share that half of the searches of some sets choose, and its other half."""
    found = {}
    for seed in SEEDS:
        draw = np.random.default_rng(seed)
        halves = {name: draw.permutation(len(next(iter(scores[name].values())))) for name in names}
        mean = {
            half: {
                key: float(np.mean([np.array_split(scores[name][key][halves[name]], 2)[half].mean() for name in names]))
                for key in scores[names[0]]
            }
            for half in (0, 1)
        }
        best = max(mean[0], key=mean[0].__getitem__)
        found[f"seed {seed}"] = {"way": best[0], "share": best[1], "other half": round(mean[1][best], 2)}
        for way in WAYS:
            own = max((key for key in mean[0] if key[0] == way), key=mean[0].__getitem__)
            found[f"seed {seed}"][f"{way}, other half"] = round(mean[1][own], 2)
    return found


def measure(model: str, folder: Path, data: Path) -> dict[str, Any]:
    """Score every way and share on every set, and what the product takes."""
    table: dict[str, Any] = {}
    scores: dict[str, dict[tuple[str, float], Doubles]] = {}
    for name in SETS:
        queries, meaning, words, relevant = rank_both(name, model, folder, data)
        each = list(zip(meaning, words, strict=True))
        scores[name] = {
            (way, share): score(queries, [combine(*parts, share, TOP) for parts in each], relevant)
            for way, combine in WAYS.items()
            for share in SHARES
        }
        ours = [fuse(*parts, choose_share(query), TOP) for query, parts in zip(queries, each, strict=True)]
        table[name] = {
            "queries": len(queries),
            "meaning": round(float(score(queries, meaning, relevant).mean()), 1),
            "words": round(float(score(queries, words, relevant).mean()), 1),
            "sciprism": round(float(score(queries, ours, relevant).mean()), 1),
        }
        for way in WAYS:
            table[name][way] = [round(float(scores[name][way, share].mean()), 1) for share in SHARES]
        print(name, table[name], flush=True)
    long = [name for name in SETS if name != SHORT and not name.startswith("test")]
    return {"shares": SHARES, "sets": table, "chosen": choose(scores, long), "chosen, short": choose(scores, [SHORT])}


def main() -> None:
    parser = build_parser(__doc__, data=True)
    parser.add_argument("folder", type=Path, help="the folder of the collections")
    parser.add_argument("--models", nargs="+", default=["sciprism-small", "all-MiniLM-L6-v2"])
    args = parser.parse_args()
    for model in args.models:
        found = measure(model, args.folder, args.data)
        write_result(args.output, provenance(["sciprism", "torch", "numpy", "bm25s"], **found), model)


if __name__ == "__main__":
    main()
