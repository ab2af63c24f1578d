"""Training steps: ours against sentence-transformers' trainer, same model, data, batches and loss.

Titles against abstracts, in-batch contrastive over cosines. Both take the same batches in the same order with
AdamW at the same constant rate; the first step of each run does not count. The curves are compared without
dropout, the speeds with the model's own. Run from the repository root, after `sciprism prepare open`:

    python benchmarks/train.py SOURCES/train/conference-titles.jsonl -o results/train.json
"""

from __future__ import annotations

import argparse
import json
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
from torch.utils.data import BatchSampler, SequentialSampler
from transformers import TrainerCallback

from measurement import CLOCKS, build_parser, newest_instructions, provenance, ratio, write_result
from sciprism import Encoder
from sciprism.encoders.checkpoints.names import resolve
from sciprism.seeding import derive_seed
from sciprism.training.batches import OneSourcePlan
from sciprism.training.learners.learner import LearnerContext, load_model
from sciprism.training.loop import Hooks, TrainingLoop
from sciprism.training.plan import StagePlan
from sciprism.training.processes import Processes
from sciprism.training.recipe import SourceSpec, Stage
from sciprism.training.run_folder import StageFolder
from sciprism.training.sources import ExampleSource

TEMPERATURE, RATE, SEED = 0.05, 2e-5, 0
PEER = "sentence-transformers"


class Clock(TrainerCallback):
    """When each step of the trainer ended, and its loss."""

    def __init__(self, clock: str) -> None:
        self.now = CLOCKS[clock]
        self.ends: list[float] = []
        self.losses: list[float] = []

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.ends.append(self.now())

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float], **_: Any) -> None:
        if "loss" in logs:
            self.losses.append(logs["loss"])


def train_peer(
    args: argparse.Namespace, rows: list[tuple[str, str]], dropout: float | None
) -> tuple[float, list[float]]:
    """Return seconds per step and the losses of the peer's trainer."""
    model = SentenceTransformer(str(resolve(str(args.model))[1]), device=args.device)
    model.max_seq_length = args.max_length
    if dropout is not None:
        for module in model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = dropout
    clock = Clock(args.clock)
    with tempfile.TemporaryDirectory() as folder:
        settings = SentenceTransformerTrainingArguments(
            output_dir=folder,
            max_steps=args.steps,
            per_device_train_batch_size=args.batch,
            learning_rate=RATE,
            lr_scheduler_type="constant",
            weight_decay=0.0,
            max_grad_norm=0.0,
            logging_steps=1,
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
            use_cpu=args.device == "cpu",
            bf16=args.device != "cpu",
            seed=SEED,
            batch_sampler=lambda data, batch_size, **_: BatchSampler(SequentialSampler(data), batch_size, True),
        )
        SentenceTransformerTrainer(
            model=model,
            args=settings,
            train_dataset=Dataset.from_dict({"anchor": [a for a, _ in rows], "positive": [p for _, p in rows]}),
            loss=MultipleNegativesRankingLoss(model, scale=1 / TEMPERATURE),
            callbacks=[clock],
        ).train()
    return float(np.mean([b - a for a, b in pairwise(clock.ends)])), clock.losses


def plan_batches(args: argparse.Namespace, source: ExampleSource) -> OneSourcePlan:
    """Return the batches that both take."""
    return OneSourcePlan((len(source),), (1.0,), args.batch, derive_seed(SEED, "plan"))


def train_sciprism(
    args: argparse.Namespace, source: ExampleSource, precision: str, dropout: float | None
) -> tuple[float, list[float]]:
    """Return seconds per step and the losses of our loop."""
    stage = Stage(
        name="bench",
        sources=(source.spec,),
        batch_size=args.batch,
        steps=args.steps,
        **({"chunk_tokens": args.tokens} if args.tokens else {}),
        precision=precision,
        objective={"name": "contrast", "similarity": "cosine", "temperature": TEMPERATURE, "hard_negatives": 0},
        optimizer={"lr": RATE, "weight_decay": 0.0, "max_grad_norm": 0.0},
        schedule={"name": "constant", "warmup": 0},
        checkpoint_every=10**9,
    )
    encoder = Encoder.start(args.model, max_length=args.max_length, device=args.device)
    if dropout is not None:
        encoder.model.set_dropout(dropout)
    with tempfile.TemporaryDirectory() as folder:
        stage_folder = StageFolder(Path(folder))
        context = LearnerContext(encoder=encoder, processes=Processes(args.device))
        plan = StagePlan(
            stage=stage,
            seed=SEED,
            sources=[source],
            batches=plan_batches(args, source),
            steps=args.steps,
            folder=stage_folder,
            models={},
            find_model=load_model,
        )
        ends, now = list[float](), CLOCKS[args.clock]
        loop = TrainingLoop(plan, context, Hooks(on_step=lambda _: ends.append(now())))
        loop.run()
        steps = [row for row in map(json.loads, stage_folder.metrics.read_text().splitlines()) if "loss" in row]
    return float(np.mean([b - a for a, b in pairwise(ends)])), [row["loss"] for row in steps]


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("--model", default="all-MiniLM-L6-v2")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--max-length", type=int, default=128)
    parser.add_argument("--tokens", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--precisions", nargs="+", default=["float32", "bfloat16"])
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument(
        "--clock", choices=list(CLOCKS), default="wall", help="processor: for one thread, on busy cores"
    )
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    source = ExampleSource(SourceSpec(file=args.source, format="search", query="query"))
    batches = plan_batches(args, source)
    order = [row for step in range(args.steps) for _, part in batches[step] for row in part.tolist()]
    encoder = Encoder.load(args.model)
    rows = [
        (encoder.texts([e.query], "query")[0], encoder.texts([e.positives[0]], "paper")[0])
        for e in source.examples(order)
    ]
    left, right = train_peer(args, rows, 0.0)[1], train_sciprism(args, source, "float32", 0.0)[1]
    seconds: dict[str, list[float]] = {name: [] for name in (PEER, *args.precisions)}
    for _ in range(args.rounds):
        seconds[PEER].append(train_peer(args, rows, None)[0])
        for precision in args.precisions:
            seconds[precision].append(train_sciprism(args, source, precision, None)[0])
    result = provenance(
        ["torch", "sentence-transformers", "transformers", "accelerate"],
        batch_size=args.batch,
        steps=args.steps,
        max_length=args.max_length,
        clock=args.clock,
        threads=torch.get_num_threads(),
        examples_per_second={n: [round(args.batch / s, 2) for s in each] for n, each in seconds.items()},
        times_faster={name: ratio(seconds[PEER], seconds[name]) for name in args.precisions},
        losses_without_dropout={PEER: left, "sciprism": right},
        losses_apart=float(np.abs(np.array(left) - np.array(right)).max()),
    )
    print(json.dumps({k: result[k] for k in ("examples_per_second", "times_faster", "losses_apart")}, indent=1))
    write_result(args.output, result, f"{newest_instructions()}, batch {args.batch}, {args.threads} threads")


if __name__ == "__main__":
    main()
