"""A batch's gradient by even chunks, so that each core has a share, against full ones, which leave cores idle.

Batches as the laptop recipes have them: 32 examples of SciRepEval's kinds, texts of at most 64 tokens, chunks of at
most 2,048, with dropout. Both splits compute the same vectors without it. Run from the repository root, after
`sciprism prepare open -o SOURCES`:

    python benchmarks/chunks.py SOURCES -o results/chunks.json
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from unittest.mock import patch

import torch

from measurement import build_parser, format_ratio, interleave, provenance, ratio, write_result
from sciprism import Encoder
from sciprism.formats import Role
from sciprism.text.template import Item
from sciprism.training import steps
from sciprism.training.examples import Example, read_examples
from sciprism.training.steps import EncoderPass, PassSettings

LENGTH = 64
CHUNK = 2048
BATCH = 32
KINDS: dict[str, tuple[str, Role, Role, Callable[[Example], tuple[Sequence[Item], Sequence[Item]]]]] = {
    "papers alone (regression)": ("vis-citations", "paper", "paper", lambda e: ((e.query,), ())),
    "papers and label names": ("arxiv-categories", "paper", "label", lambda e: ((e.query,), e.positives[:1])),
    "titles and papers (search)": ("arxiv-titles", "query", "paper", lambda e: ((e.query,), e.positives[:1])),
    "triplets of papers": (
        "same-author",
        "paper",
        "paper",
        lambda e: ((e.query,), (*e.positives[:1], *e.negatives[:1])),
    ),
}
"""Kind of batch -> its source, roles, and the queries and candidates of an example."""


def compute_gradients(encoder: Encoder, batches: Sequence[Sequence[Sequence[int]]], precision: str) -> None:
    """Encode batches and give the gradients of their vectors back to the weights."""
    settings = PassSettings(chunk_tokens=CHUNK, precision=precision)
    for batch in batches:
        forward = EncoderPass(encoder, batch, ["all"] * len(batch), settings=settings, seed=1)
        forward.vectors.grad = torch.ones_like(forward.vectors)
        forward.backward()


def compute_by_full_chunks(encoder: Encoder, batches: Sequence[Sequence[Sequence[int]]], precision: str) -> None:
    """Do the same with as few chunks as the tokens need."""
    with patch.object(steps, "even_budget", lambda _lengths, budget, _workers: budget):
        compute_gradients(encoder, batches, precision)


def read_batches(encoder: Encoder, sources: Path, kind: str, count: int) -> list[list[list[int]]]:
    """Return the token ids of each batch's texts."""
    name, query, candidate, items = KINDS[kind]
    rows = read_examples(sources / "train" / f"{name}.jsonl", query=query, candidate=candidate)
    examples = list(islice(rows, count * BATCH))
    batches = []
    for start in range(0, len(examples), BATCH):
        part = [items(example) for example in examples[start : start + BATCH]]
        texts = encoder.texts([each for queries, _ in part for each in queries], query)
        texts += encoder.texts([each for _, candidates in part for each in candidates], candidate)
        batches.append(encoder.tokenize(texts))
    return batches


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("sources", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batches", type=int, default=4, help="of a round")
    parser.add_argument("--precision", default="bfloat16")
    args = parser.parse_args()
    encoder = Encoder.load("all-MiniLM-L6-v2", max_length=LENGTH, device="cpu")
    encoder.model.train()
    encoder.model.set_dropout(0.1)
    found = {}
    for kind in KINDS:
        batches = read_batches(encoder, args.sources, kind, args.batches)
        ways = {"full": compute_by_full_chunks, "even": compute_gradients}
        contenders = {name: partial(way, encoder, batches, args.precision) for name, way in ways.items()}
        seconds = interleave(contenders, args.rounds)
        tokens = sum(len(ids) for batch in batches for ids in batch) / len(batches)
        found[kind] = {"tokens": round(tokens), **seconds, "times_faster": ratio(seconds["full"], seconds["even"])}
        print(f"{kind:<28} {round(tokens):>5} tokens a batch: {format_ratio(found[kind]['times_faster'])}")
    facts = {"threads": torch.get_num_threads(), "precision": args.precision, "chunk_tokens": CHUNK, "kinds": found}
    write_result(args.output, provenance(["torch", "sciprism"], **facts))


if __name__ == "__main__":
    main()
