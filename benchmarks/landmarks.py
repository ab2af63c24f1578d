"""Fifty questions in words over the example collection: at which rank is the expected paper?

The questions were written before any ranking was looked at. Run from the repository root:

    python benchmarks/landmarks.py -o results/landmarks.json
"""

import json
from pathlib import Path

from measurement import build_parser, provenance, write_result
from sciprism import Encoder
from sciprism.index import topk
from sciprism.papers import read_papers
from sciprism.store.shard_files import Matrix

FOLDER = Path(__file__).parent.parent / "examples" / "landmarks"


def rank_expected(encoder: Encoder) -> list[dict[str, str | int]]:
    """Return every question with its expected paper and that paper's rank from 1."""
    papers = list(read_papers([FOLDER / "landmarks.jsonl"]))
    lines = (FOLDER / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line) for line in lines]
    place = {paper.id: number for number, paper in enumerate(papers)}
    vectors = encoder.encode(papers, format="search")
    queries = encoder.encode([q["query"] for q in questions], format="search", role="query")
    _, found = topk(queries, [Matrix(vectors)], len(papers), distance=encoder.distance)
    return [q | {"rank": row.tolist().index(place[q["expected"]]) + 1} for q, row in zip(questions, found, strict=True)]


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("--model", help="folder, packaged name or hub id; the default model otherwise")
    args = parser.parse_args()
    encoder = Encoder.load(args.model)
    rows = rank_expected(encoder)
    found = {f"in the top {k}": sum(row["rank"] <= k for row in rows) for k in (1, 3, 10)}
    print(f"{encoder.name}: of {len(rows)} questions the expected paper is {found}")
    for row in rows:
        if row["rank"] > 3:
            print(f"  rank {row['rank']}: {row['query']} -> {row['expected']}")
    facts = {"model": encoder.name, "fingerprint": encoder.fingerprint, **found, "questions": rows}
    write_result(args.output, provenance(["torch", "tokenizers", "numpy"], **facts), encoder.name)


if __name__ == "__main__":
    main()
