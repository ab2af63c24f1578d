"""Check the search numbers of the open suite against other libraries.

Nothing of ours computes: files are read with json, texts encoded by sentence-transformers (or, with
--vectors-of-ours, by our encoder, which is faster), scores are a numpy product, and pytrec_eval scores the
run. The result of `sciprism evaluate` is next to it.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from functools import partial
from pathlib import Path

import numpy as np
import pytrec_eval
from sentence_transformers import SentenceTransformer

from measurement import build_parser, provenance, write_result
from sciprism.encoders.checkpoints.names import resolve
from sciprism.encoders.encoder import Encoder
from sciprism.evaluation.results import find_result
from sciprism.evaluation.systems import DenseSystem, EncodingInput

SETS = {"scifact": ("ir_scifact", "dev"), "cranfield": ("ir_cranfield", "test")}
SETS |= {"cacm": ("ir_cacm", "test"), "npl": ("ir_npl", "test")}
DEPTH = 1000


def read_rows(path: Path) -> list[dict]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def read_table(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()[1:]]


def build_run(encode, folder: Path, split: str) -> tuple[dict, dict]:
    """Return run and qrels in pytrec_eval's form."""
    corpus, queries = read_rows(folder / "corpus.jsonl.gz"), read_rows(folder / "queries.jsonl.gz")
    qrels: dict[str, dict[str, int]] = defaultdict(dict)
    for query, document, score in read_table(folder / "qrels" / f"{split}.tsv"):
        qrels[query][document] = int(score)
    excluded = folder / "minus_one_documents.tsv"
    banned = {(q, d) for q, d, *_ in read_table(excluded)} if excluded.exists() else set()
    judged_queries = [query for query in queries if query["_id"] in qrels]
    documents = encode([" ".join(filter(None, (d["title"], d["text"]))) for d in corpus])
    scores = encode([query["text"] for query in judged_queries]) @ documents.T
    run = {}
    for query, row in zip(judged_queries, scores, strict=True):
        best = np.argsort(-row, kind="stable")[: DEPTH + 1]
        found = {corpus[i]["_id"]: float(row[i]) for i in best}
        run[query["_id"]] = {d: s for d, s in found.items() if (query["_id"], d) not in banned}
    return run, dict(qrels)


def encode_with_sciprism(system: DenseSystem, texts: list[str]) -> np.ndarray:
    """Return our encoder's vectors, from the cache where they are."""
    return system.encode(EncodingInput(items=texts, format="search"))


def main() -> None:
    parser = build_parser(__doc__, output=Path("results/cross_check.json"))
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--results", type=Path, required=True, help="the folder of one model's results")
    parser.add_argument("--model", default="all-MiniLM-L6-v2")
    parser.add_argument("--vectors-of-ours", nargs="*", default=[], help="sets encoded by our encoder")
    args = parser.parse_args()
    theirs = SentenceTransformer(str(resolve(args.model)[1]), device="cpu")
    ours = DenseSystem(Encoder.load(args.model))
    found = {}
    for name, (folder, split) in SETS.items():
        own = name in args.vectors_of_ours
        encode = partial(encode_with_sciprism, ours) if own else partial(theirs.encode, batch_size=8)
        run, qrels = build_run(encode, args.data / folder, split)
        scores = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10"}).evaluate(run)
        value = float(np.mean([score["ndcg_cut_10"] for score in scores.values()]))
        scored = find_result(args.results, name)
        if scored is None:
            raise SystemExit(f"{args.results} holds no result of {name}")
        mine = scored.metrics["ndcg@10"].value
        encoder = "sciprism" if own else "sentence-transformers"
        found[name] = {"pytrec_eval": round(value, 6), "sciprism": round(mine, 6), "encoder": encoder}
        found[name]["equal to 4 decimals"] = abs(value - mine) < 5e-5
        print(name, found[name])
    packages = ["sentence-transformers", "transformers", "torch", "pytrec-eval-terrier", "numpy"]
    write_result(args.output, provenance(packages) | {"metric": "nDCG@10", "model": args.model, "sets": found})


if __name__ == "__main__":
    main()
