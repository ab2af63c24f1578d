"""Compare models on held-out training examples, while a model is being developed.

For each source with queries and what answers them: the mean reciprocal rank of a query's best answer among
the answers and hard negatives of all; of labels, the mean average precision among all labels that the source
has, train and dev, since a few examples' labels are too easy. With the difference to the first model, paired,
and 95% intervals. No test paper is among the sources. Run from the repository root, after `sciprism prepare
open -o SOURCES` or `sciprism prepare pairs -o SOURCES`:

    python benchmarks/dev.py SOURCES all-MiniLM-L6-v2 MODEL ... --run NAME -o results/small/dev.json
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from differences import paired_difference
from measurement import build_parser, provenance, write_result
from sciprism import Encoder
from sciprism.evaluation.item_scores import ItemScores, bootstrap_interval, estimate
from sciprism.index import topk
from sciprism.metrics.rankings import average_precision, grade_rankings
from sciprism.seeding import sample
from sciprism.store.shard_files import Matrix
from sciprism.text.template import Item
from sciprism.training.batches import Batch
from sciprism.training.examples import item_key, read_examples
from sciprism.training.learners.learner import reciprocal_ranks

PAIRS = {"format": "search", "query": "query", "candidate": "paper"}
"""Format and roles in the sources of `sciprism prepare pairs`, which have no sources.json."""


@dataclass(frozen=True, slots=True)
class DevExamples:
    """Some dev examples of a source; labels: all that it has, by key, if labels answer them."""

    batch: Batch
    labels: dict[str, Item]

    @property
    def measure(self) -> str:
        """Return what a query's number is."""
        return "map" if self.labels else "mrr"

    def numbers(self, encoder: Encoder) -> list[float]:
        """Return a number for each example."""
        return average_precisions(encoder, self) if self.labels else reciprocal_ranks(encoder, self.batch)


def read_source_facts(sources: Path) -> list[dict[str, Any]]:
    """Return the facts of each source."""
    if (sources / "sources.json").exists():
        found: list[dict[str, Any]] = json.loads((sources / "sources.json").read_text("utf-8"))["sources"]
        return found
    return [{"name": path.stem, **PAIRS} for path in sorted((sources / "dev").glob("*.jsonl"))]


def read_dev_examples(sources: Path, only: Sequence[str], count: int) -> Iterator[tuple[str, DevExamples]]:
    """Yield the name and some dev examples of each source that has positives; only: none for all."""
    for row in read_source_facts(sources):
        path = sources / "dev" / f"{row['name']}.jsonl"
        if not path.exists() or (only and row["name"] not in only):
            continue
        roles: dict[str, Any] = {"query": row["query"], "candidate": row["candidate"]}
        held_out = [each for each in read_examples(path, **roles) if each.positives]
        examples = sample(held_out, count, "dev")
        labels = {}
        if row["candidate"] == "label":
            known = chain(held_out, read_examples(sources / "train" / path.name, **roles))
            labels = {item_key(item): item for each in known for item in each.positives}
        if examples:
            yield (
                row["name"],
                DevExamples(Batch(examples=examples, format=row["format"], seed=0, **roles), labels),
            )


def average_precisions(encoder: Encoder, part: DevExamples) -> list[float]:
    """Return of each example the average precision of its labels among all."""
    batch, names = part.batch, np.array(list(part.labels))
    queries = encoder.encode([each.query for each in batch.examples], format=batch.format, role=batch.query)
    labels = encoder.encode(list(part.labels.values()), format=batch.format, role=batch.candidate)
    scores, ranked = topk(queries, [Matrix(labels)], len(labels), distance=encoder.distance)
    run = {str(n): (names[row], own) for n, (row, own) in enumerate(zip(ranked, scores, strict=True))}
    right = {str(n): {item_key(item): 1 for item in e.positives} for n, e in enumerate(batch.examples)}
    found: list[float] = average_precision(grade_rankings(run, right)).tolist()
    return found


def score_model(encoder: Encoder, parts: dict[str, DevExamples]) -> dict[str, ItemScores]:
    """Return each source's evidence."""
    found = {}
    for name, part in parts.items():
        numbers = np.array(part.numbers(encoder))[:, None]
        found[name] = ItemScores(tuple(f"{name} {n}" for n in range(len(numbers))), numbers, "mean")
    return found


def compare_models(found: dict[str, dict[str, ItemScores]], measures: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Yield a row for each source and model, with the difference to the first model."""
    first = next(iter(found.values()))
    for source in first:
        for model, parts in found.items():
            low, high = bootstrap_interval(parts[source], seed=0)
            row = {"source": source, "model": model, measures[source]: 100 * estimate(parts[source])}
            row |= {"low": 100 * low, "high": 100 * high, "queries": len(parts[source].ids)}
            if parts is not first:
                apart = paired_difference(parts[source], first[source], seed=0)
                row |= {"above": 100 * apart.value, "from": 100 * apart.low, "to": 100 * apart.high}
            yield {key: round(value, 2) if isinstance(value, float) else value for key, value in row.items()}


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("sources", type=Path)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--only", nargs="+", default=[], help="sources by name")
    parser.add_argument("--examples", type=int, default=500, help="of each source")
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--run", default="stages", help="the name of this run in the file")
    args = parser.parse_args()
    names = [Path(model).name for model in args.models]
    if len(set(names)) < len(names):
        parser.error(f"two models of one name among {', '.join(names)}; copy or rename a folder")
    parts = dict(read_dev_examples(args.sources, args.only, args.examples))
    found = {
        name: score_model(Encoder.load(model, precision=args.precision), parts)
        for name, model in zip(names, args.models, strict=True)
    }
    measures = {name: part.measure for name, part in parts.items()}
    made = list(compare_models(found, measures))
    for row in made:
        more = f"  {row['above']:+.1f} [{row['from']:+.1f}, {row['to']:+.1f}]" if "above" in row else ""
        measure = measures[row["source"]]
        print(f"{row['source']:<24} {row['model']:<28} {measure} {row[measure]:>6.2f}{more}")
    if args.output:
        facts = {"precision": args.precision, "rows": made}
        write_result(args.output, provenance(["torch", "tokenizers", "numpy"], **facts), args.run)


if __name__ == "__main__":
    main()
