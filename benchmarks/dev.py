"""Models side by side on held-out training examples: what may be looked at while a model is made.

For each source with queries and what answers them: the mean reciprocal rank of a query's best answer among
the answers and hard negatives of all, and the difference to the first model, paired, with 95% intervals. No
test paper is among the sources. Run from the repository root, after `sciprism prepare open -o SOURCES`:

    python benchmarks/dev.py SOURCES all-MiniLM-L6-v2 MODEL ... -o results/dev.json
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rounds import provenance, write
from sciprism import Encoder
from sciprism.chance import some
from sciprism.tasks.evidence import Evidence, estimate, interval, paired_difference
from sciprism.training.dev import reciprocal_ranks
from sciprism.training.examples import read_examples
from sciprism.training.learners import Batch


def batches(sources: Path, only: Sequence[str], count: int) -> Iterator[tuple[str, Batch]]:
    """Yield the name and some dev examples of each source that has positives; only: none for all."""
    for row in json.loads((sources / "sources.json").read_text(encoding="utf-8"))["sources"]:
        path = sources / "dev" / f"{row['name']}.jsonl"
        if not path.exists() or (only and row["name"] not in only):
            continue
        read = read_examples(path, query=row["query"], candidate=row["candidate"])
        examples = some((each for each in read if each.positives), count, "dev")
        if examples:
            roles = {"query": row["query"], "candidate": row["candidate"]}
            yield row["name"], Batch(examples=examples, format=row["format"], seed=0, **roles)


def scored(encoder: Encoder, parts: dict[str, Batch]) -> dict[str, Evidence]:
    """Return each source's evidence."""
    found = {}
    for name, batch in parts.items():
        ranks = np.array(reciprocal_ranks(encoder, batch))[:, None]
        found[name] = Evidence(tuple(f"{name} {n}" for n in range(len(ranks))), ranks, "mean")
    return found


def rows(found: dict[str, dict[str, Evidence]]) -> Iterator[dict[str, Any]]:
    """Yield a row for each source and model, with the difference to the first model."""
    first = next(iter(found.values()))
    for source in first:
        for model, parts in found.items():
            low, high = interval(parts[source], seed=0)
            row = {"source": source, "model": model, "mrr": 100 * estimate(parts[source]), "low": 100 * low}
            row |= {"high": 100 * high, "queries": len(parts[source].ids)}
            if parts is not first:
                apart = paired_difference(parts[source], first[source], seed=0)
                row |= {"above": 100 * apart.value, "from": 100 * apart.low, "to": 100 * apart.high}
            yield {key: round(value, 2) if isinstance(value, float) else value for key, value in row.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sources", type=Path)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--only", nargs="+", default=[], help="sources by name")
    parser.add_argument("--examples", type=int, default=500, help="of each source")
    parser.add_argument("--precision", default="float32")
    parser.add_argument("-o", "--output", type=Path)
    args = parser.parse_args()
    names = [Path(model).name for model in args.models]
    if len(set(names)) < len(names):
        parser.error(f"two models of one name among {', '.join(names)}; copy or rename a folder")
    parts = dict(batches(args.sources, args.only, args.examples))
    found = {
        name: scored(Encoder.load(model, precision=args.precision), parts)
        for name, model in zip(names, args.models, strict=True)
    }
    made = list(rows(found))
    for row in made:
        more = f"  {row['above']:+.1f} [{row['from']:+.1f}, {row['to']:+.1f}]" if "above" in row else ""
        print(f"{row['source']:<24} {row['model']:<28} {row['mrr']:>6.2f}{more}")
    if args.output:
        facts = {"precision": args.precision, "rows": made}
        write(args.output, provenance(["torch", "tokenizers", "numpy"], **facts))


if __name__ == "__main__":
    main()
