"""Fine-tuning: ours against a plain loop over transformers' model, from the same weights.

Both take the same rows in the same order at the same rates, with one setting; rows longer than what a model
reads at once are dropped from both, and counted. `speed` times the same steps in rounds; `check` copies the
head too, without dropout, and compares the losses of some steps; `agree` trains on the whole task once for
each seed and tests whether the mean scores differ by more than one standard deviation over seeds (pooled over
both). Run from the repository root:

    python benchmarks/finetuning.py speed open-nlu open-gad-fold --data DATA -o results/finetuning_speed.json
    python benchmarks/finetuning.py check open-nlu open-gad-fold --data DATA --steps 10
    python benchmarks/finetuning.py agree open-nlu open-gad-fold --data DATA -o results/finetuning_agree.json
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers.utils import logging

from finetuning_peer import PeerModel, PeerTask, plan_batches, read_peer_task, train
from measurement import build_parser, provenance, ratio, write_result
from sciprism import Encoder
from sciprism.datasets.data_root import DataRoot
from sciprism.encoders.checkpoints.names import resolve
from sciprism.evaluation.intervals import estimate
from sciprism.evaluation.suites import suites
from sciprism.evaluation.systems import DenseSystem
from sciprism.evaluation.task import EvaluationContext
from sciprism.evaluation.tuning import Tuning

PEER, OURS = "transformers", "sciprism"


@dataclass(frozen=True, slots=True)
class Run:
    """What one fine-tuning run took and found. counts: of what it read."""

    score: float
    seconds: float
    steps: int
    counts: Mapping[str, int]


Contender = Callable[[int], Run]


def run_peer(args: argparse.Namespace, data: Any, protocol: Any, seed: int) -> Run:
    """Train the peer and score it; only training is timed."""
    setting = protocol.tuning.grid[0]
    problem = read_peer_task(data, protocol, resolve(args.model)[1])
    torch.manual_seed(seed)
    model = build_peer(args, problem, protocol.tuning.dropout)
    features = [problem.feature(row) for row in np.sort(data.train)]
    began = time.monotonic()
    losses = train(model, problem, features, (setting, protocol.tuning), seed)
    seconds = time.monotonic() - began
    score = problem.score(np.sort(data.test).tolist(), model)
    return Run(score, seconds, len(losses), problem.read(features, setting, seed))


def build_peer(args: argparse.Namespace, problem: PeerTask, dropout: float) -> PeerModel:
    """Return the peer's model with a new head."""
    model = PeerModel(
        resolve(args.model)[1],
        problem.width,
        dropout,
        each_token=problem.each_token,
        half=args.precision == "bfloat16",
    )
    return model.to(args.device)


def run_sciprism(system: DenseSystem, data: Any, protocol: Any, context: EvaluationContext, seed: int) -> Run:
    """Let the task's protocol train and score."""
    outcome = protocol.evaluate(data, system, replace(context, seed=seed))
    facts = outcome.details
    counts = {reason: outcome.dropped.count(reason) for reason in outcome.dropped.to_json()}
    score = estimate(outcome.item_scores[protocol.metric])
    return Run(score, facts["seconds of training"], facts["steps"], counts)


def load_dense_system(args: argparse.Namespace) -> DenseSystem:
    """Return our encoder as the protocols take it."""
    encoder = Encoder.load(args.model, device=args.device, precision=args.precision)
    return DenseSystem(encoder, Path(tempfile.gettempdir()) / "sciprism-finetuning")


def contenders(args: argparse.Namespace, data: Any, protocol: Any) -> dict[str, Contender]:
    """Return what runs each with a seed."""
    system = load_dense_system(args)
    context = EvaluationContext(format="classification", cache=[])
    return {
        PEER: partial(run_peer, args, data, protocol),
        OURS: partial(run_sciprism, system, data, protocol, context),
    }


def speed(args: argparse.Namespace, data: Any, protocol: Any) -> dict[str, Any]:
    """Time one epoch over a few rows, the same for both, in rounds; the first does not count."""
    size = args.steps * protocol.tuning.grid[0].batch
    rows = sample_rows(data.train, size)
    both = contenders(args, replace(data, train=rows, test=rows), protocol)
    seconds: dict[str, list[float]] = {who: [] for who in both}
    for number in range(args.rounds + 1):
        for who, run in both.items():
            found = run(0)
            if number:
                seconds[who].append(found.seconds)
            if who == PEER:
                counts = found.counts
    return {
        "rows": len(rows),
        "steps": found.steps,
        "peer_read": counts,
        "rows_per_second": {who: [round(len(rows) / s, 2) for s in each] for who, each in seconds.items()},
        "times_faster": ratio(seconds[PEER], seconds[OURS]),
    }


def check(args: argparse.Namespace, data: Any, protocol: Any) -> dict[str, Any]:
    """Take the same steps from the same weights, head included, without dropout; return both's losses."""
    setting, tuning = protocol.tuning.grid[0], replace(protocol.tuning, dropout=0.0)
    rows = sample_rows(data.train, args.steps * setting.batch)
    data, protocol = replace(data, train=rows, test=rows), replace(protocol, tuning=tuning)
    context = EvaluationContext(format="classification", cache=[])
    run_sciprism(load_dense_system(args), data, protocol, context, 0)  # leaves the experiment in the cache
    (experiment,) = context.cache
    problem = read_peer_task(data, protocol, resolve(args.model)[1])
    model = build_peer(args, problem, 0.0)
    step_of = {
        int(rows[place]): step
        for step, places in enumerate(plan_batches(len(rows), setting.batch, 0, 0))
        for place in places
    }
    sums, targets = np.zeros((2, max(step_of.values()) + 1))

    def noted(outputs: torch.Tensor, examples: Sequence[Any]) -> torch.Tensor:
        loss: torch.Tensor = experiment.problem.loss(outputs, examples)
        sums[step_of[examples[0].row]] += float(loss.detach())
        targets[step_of[examples[0].row]] += sum(len(example.targets) for example in examples)
        return loss

    with experiment.encoder.start_run(problem.width, 0.0, 0) as tuned:
        model.head.load_state_dict(tuned.head.map.state_dict())
        tuned.train(experiment.train_examples, noted, setting, tuning, 0)
    features = [problem.feature(row) for row in rows]
    losses = {PEER: train(model, problem, features, (setting, tuning), 0), OURS: (sums / targets).tolist()}
    apart = np.abs(np.array(losses[PEER]) - np.array(losses[OURS]))
    return {"steps": len(sums), "losses": losses, "apart": float(apart.max())}


def agree(args: argparse.Namespace, data: Any, protocol: Any) -> dict[str, Any]:
    """Train with every seed; return the scores of both."""
    runs: dict[str, list[Run]] = {PEER: [], OURS: []}
    both = contenders(args, data, protocol)
    for seed in range(args.seeds):
        for who, run in both.items():
            runs[who].append(run(seed))
            print(f"seed {seed}, {who}: {runs[who][-1].score:.4f}", flush=True)
    return {
        "train": len(data.train),
        "test": len(data.test),
        "steps": {who: each[0].steps for who, each in runs.items()},
        "seconds": {who: [round(run.seconds, 1) for run in each] for who, each in runs.items()},
        "counts": {who: dict(each[0].counts) for who, each in runs.items()},
        **compare_scores({who: [run.score for run in each] for who, each in runs.items()}),
    }


def compare_scores(scores: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """Return mean and standard deviation of each, and whether the means agree."""
    means = {who: statistics.mean(each) for who, each in scores.items()}
    spreads = {who: statistics.stdev(each) for who, each in scores.items()}
    apart, deviation = means[OURS] - means[PEER], (statistics.mean(s * s for s in spreads.values())) ** 0.5
    return {
        "scores": {who: {"seeds": list(each), "mean": means[who], "sd": spreads[who]} for who, each in scores.items()},
        "apart": apart,
        "standard_deviation": deviation,
        "within one standard deviation": "yes" if abs(apart) <= deviation else "no",
    }


def sample_rows(rows: np.ndarray, count: int) -> np.ndarray:
    """Return so many of the rows, always the same ones; 0 for all."""
    return np.sort(np.random.default_rng(0).permutation(rows)[: count or None])


def read(args: argparse.Namespace) -> tuple[Any, Any, dict[str, int]]:
    """Return the data of the task, its protocol with the one setting, and how many rows are too long."""
    (task,) = (task for task in suites[args.suite].tasks if task.name == args.task)
    selected = {"rates": (args.rate,), "batches": (args.batch,), "epochs": (args.epochs,)}
    tuning: Tuning = replace(task.protocol.tuning, **selected)
    protocol = replace(task.protocol, tuning=tuning)
    data = task.data.read(DataRoot(args.data))
    problem = read_peer_task(data, protocol, resolve(args.model)[1])
    selected = {"train": sample_rows(data.train, args.train), "test": sample_rows(data.test, args.test)}
    parts = {part: problem.fitting(rows) for part, rows in selected.items()}
    too_long = {part: len(rows) - len(parts[part]) for part, rows in selected.items()}
    return replace(data, **parts, dev=data.dev[:0]), protocol, too_long


MODES = {"speed": speed, "check": check, "agree": agree}


def parse_arguments() -> argparse.Namespace:
    parser = build_parser(__doc__)
    parser.add_argument("mode", choices=list(MODES))
    parser.add_argument("suite")
    parser.add_argument("task", help="of the protocol tag or pair")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", default="all-MiniLM-L6-v2", help="a BERT")
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=3, help="of agree")
    parser.add_argument("--steps", type=int, default=20, help="of speed and check")
    parser.add_argument("--rounds", type=int, default=3, help="of speed")
    parser.add_argument("--train", type=int, default=0, help="rows to train on, 0 for all")
    parser.add_argument("--test", type=int, default=0, help="rows to test on, 0 for all")
    parser.add_argument("--seeds", type=int, default=5, help="how many, of agree")
    parser.add_argument("--precision", choices=["float32", "bfloat16"], default="float32", help="of products")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    if args.mode == "agree" and args.seeds < 2:
        parser.error("a standard deviation needs two seeds or more")
    args.epochs = args.epochs if args.mode == "agree" else 1
    return args


def main() -> None:
    args = parse_arguments()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    data, protocol, too_long = read(args)
    found = {"rows left out as too long": too_long} | MODES[args.mode](args, data, protocol)
    result = provenance(
        ["torch", "transformers"],
        suite=args.suite,
        task=args.task,
        model=args.model,
        metric=protocol.metric,
        length=protocol.length,
        setting=asdict(protocol.tuning.grid[0]) | protocol.tuning.shared,
        threads=torch.get_num_threads(),
        device=args.device,
        precision=args.precision,
        **found,
    )
    print(json.dumps(found, indent=1))
    write_result(args.output, result)


if __name__ == "__main__":
    main()
