"""Are the search numbers of the open suite those that other people's software gives?

Nothing of ours computes: files are read with json, texts encoded by sentence-transformers (or, with
--vectors-of-ours, taken from our encoder, where theirs would take too long), scores are a numpy product, and
pytrec_eval scores the run. Beside it: what `sciprism evaluate` wrote.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import defaultdict
from functools import partial
from pathlib import Path

import numpy as np
import pytrec_eval
from sentence_transformers import SentenceTransformer

from rounds import provenance, write
from sciprism.encoders.checkpoints.names import resolve
from sciprism.encoders.encoder import Encoder
from sciprism.evaluation.stored_results import find
from sciprism.evaluation.systems import Texts
from sciprism.evaluation.systems.dense import DenseSystem
from sciprism.files import cache_folder

SETS = {"scifact": ("ir_scifact", "dev"), "cranfield": ("ir_cranfield", "test")}
SETS |= {"cacm": ("ir_cacm", "test"), "npl": ("ir_npl", "test")}
DEPTH = 1000


def rows(path: Path) -> list[dict]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def table(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()[1:]]


def run_of(encode, folder: Path, split: str) -> tuple[dict, dict]:
    """Return run and qrels in pytrec_eval's form."""
    corpus, queries = rows(folder / "corpus.jsonl.gz"), rows(folder / "queries.jsonl.gz")
    qrels: dict[str, dict[str, int]] = defaultdict(dict)
    for query, document, score in table(folder / "qrels" / f"{split}.tsv"):
        qrels[query][document] = int(score)
    left_out = folder / "minus_one_documents.tsv"
    banned = {(q, d) for q, d, *_ in table(left_out)} if left_out.exists() else set()
    asked = [query for query in queries if query["_id"] in qrels]
    documents = encode([" ".join(filter(None, (d["title"], d["text"]))) for d in corpus])
    scores = encode([query["text"] for query in asked]) @ documents.T
    run = {}
    for query, row in zip(asked, scores, strict=True):
        best = np.argsort(-row, kind="stable")[: DEPTH + 1]
        found = {corpus[i]["_id"]: float(row[i]) for i in best}
        run[query["_id"]] = {d: s for d, s in found.items() if (query["_id"], d) not in banned}
    return run, dict(qrels)


def vectors(system: DenseSystem, texts: list[str]) -> np.ndarray:
    """Return our encoder's vectors, from the cache where they are."""
    return system.vectors(Texts(items=texts, format="search"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--results", type=Path, required=True, help="the folder of one model's results")
    parser.add_argument("--model", default="all-MiniLM-L6-v2")
    parser.add_argument("--vectors-of-ours", nargs="*", default=[], help="sets encoded by our encoder")
    parser.add_argument("-o", "--output", type=Path, default=Path("results/cross_check.json"))
    arguments = parser.parse_args()
    theirs = SentenceTransformer(str(resolve(arguments.model)[1]), device="cpu")
    ours = DenseSystem(Encoder.load(arguments.model), cache_folder() / "vectors")
    found = {}
    for name, (folder, split) in SETS.items():
        own = name in arguments.vectors_of_ours
        encode = partial(vectors, ours) if own else partial(theirs.encode, batch_size=8)
        run, qrels = run_of(encode, arguments.data / folder, split)
        scores = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10"}).evaluate(run)
        value = float(np.mean([score["ndcg_cut_10"] for score in scores.values()]))
        scored = find(arguments.results, name)
        if scored is None:
            raise SystemExit(f"{arguments.results} holds no result of {name}")
        mine = scored.metrics["ndcg@10"].value
        encoder = "sciprism" if own else "sentence-transformers"
        found[name] = {"pytrec_eval": round(value, 6), "sciprism": round(mine, 6), "encoder": encoder}
        found[name]["equal to 4 decimals"] = abs(value - mine) < 5e-5
        print(name, found[name])
    packages = ["sentence-transformers", "transformers", "torch", "pytrec-eval-terrier", "numpy"]
    write(
        arguments.output,
        provenance(packages) | {"metric": "nDCG@10", "model": arguments.model, "sets": found},
    )


if __name__ == "__main__":
    main()
