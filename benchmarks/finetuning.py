"""Fine-tuning: ours against a plain loop over transformers' model, from the same weights.

Both take the same rows in the same order, one setting, float32. `speed` times the same steps turn by turn;
`agree` trains on the whole task once for each seed and asks whether the mean test scores differ by more than
one standard deviation over seeds (pooled over both). Run from the repository root:

    python benchmarks/finetuning.py speed open-nlu open-gad-fold --data DATA -o results/finetuning_speed.json
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

from finetuning_peer import Peer, read_problem, train
from rounds import provenance, ratio, write
from sciprism import Encoder
from sciprism.encoders.checkpoints.names import resolve
from sciprism.tasks.evidence import estimate
from sciprism.tasks.home import Home
from sciprism.tasks.suites import suites
from sciprism.tasks.systems.dense import DenseSystem
from sciprism.tasks.task import View
from sciprism.tasks.tuning.settings import Tuning

PEER, OURS = "transformers", "sciprism"


@dataclass(frozen=True, slots=True)
class Run:
    """What one fine-tuning run took and found. counts: of what it read."""

    score: float
    seconds: float
    steps: int
    counts: Mapping[str, int]


Contender = Callable[[int], Run]


def theirs(args: argparse.Namespace, data: Any, protocol: Any, seed: int) -> Run:
    """Train the peer and score it; only training is timed."""
    folder, setting = resolve(args.model)[1], protocol.tuning.grid[0]
    problem = read_problem(data, protocol, folder)
    torch.manual_seed(seed)
    model = Peer(folder, problem.width, protocol.tuning.dropout, each_token=problem.each_token).to(
        args.device
    )
    features = [problem.feature(row) for row in np.sort(data.train)]
    began = time.monotonic()
    steps = train(model, problem, features, (setting, protocol.tuning), seed)
    seconds = time.monotonic() - began
    score = problem.score(np.sort(data.test).tolist(), model)
    return Run(score, seconds, steps, problem.read(features, setting, seed))


def ours(system: DenseSystem, data: Any, protocol: Any, view: View, seed: int) -> Run:
    """Let the task's protocol train and score."""
    outcome = protocol.evaluate(data, system, replace(view, seed=seed))
    facts = outcome.details
    counts = {reason: outcome.tally.count(reason) for reason in outcome.tally.to_json()}
    score = estimate(outcome.evidence[protocol.metric])
    return Run(score, facts["seconds of training"], facts["steps"], counts)


def contenders(args: argparse.Namespace, data: Any, protocol: Any) -> dict[str, Contender]:
    """Return what runs each with a seed."""
    encoder = Encoder.load(args.model, device=args.device)
    system = DenseSystem(encoder, Path(tempfile.gettempdir()) / "sciprism-finetuning")
    view = View(format="classification", memory=[])
    return {
        PEER: partial(theirs, args, data, protocol),
        OURS: partial(ours, system, data, protocol, view),
    }


def speed(args: argparse.Namespace, data: Any, protocol: Any) -> dict[str, Any]:
    """Time one epoch over a few rows, the same for both, in rounds; the first does not count."""
    size = args.steps * protocol.tuning.grid[0].batch
    rows = some(data.train, size)
    both = contenders(args, replace(data, train=rows, test=rows), protocol)
    seconds: dict[str, list[float]] = {who: [] for who in both}
    for number in range(args.rounds + 1):
        for who, run in both.items():
            found = run(args.seeds[0])
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


def agree(args: argparse.Namespace, data: Any, protocol: Any) -> dict[str, Any]:
    """Train with every seed; return the scores side by side."""
    runs: dict[str, list[Run]] = {PEER: [], OURS: []}
    both = contenders(args, data, protocol)
    for seed in args.seeds:
        for who, run in both.items():
            runs[who].append(run(seed))
            print(f"seed {seed}, {who}: {runs[who][-1].score:.4f}", flush=True)
    return {
        "train": len(data.train),
        "test": len(data.test),
        "steps": {who: each[0].steps for who, each in runs.items()},
        "seconds": {who: [round(run.seconds, 1) for run in each] for who, each in runs.items()},
        "counts": {who: dict(each[0].counts) for who, each in runs.items()},
        **compared({who: [run.score for run in each] for who, each in runs.items()}),
    }


def compared(scores: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """Return mean and standard deviation of each, and whether the means agree."""
    means = {who: statistics.mean(each) for who, each in scores.items()}
    spreads = {who: statistics.stdev(each) for who, each in scores.items()}
    apart, deviation = means[OURS] - means[PEER], (statistics.mean(s * s for s in spreads.values())) ** 0.5
    return {
        "scores": {
            who: {"seeds": list(each), "mean": means[who], "sd": spreads[who]} for who, each in scores.items()
        },
        "apart": apart,
        "standard_deviation": deviation,
        "within one standard deviation": "yes" if abs(apart) <= deviation else "no",
    }


def some(rows: np.ndarray, count: int) -> np.ndarray:
    """Return so many of the rows, always the same ones; 0 for all."""
    return np.sort(np.random.default_rng(0).permutation(rows)[: count or None])


def read(args: argparse.Namespace) -> tuple[Any, Any]:
    """Return the data of the task and its protocol with the one setting."""
    (task,) = (task for task in suites[args.suite].tasks if task.name == args.task)
    asked = {"rates": (args.rate,), "batches": (args.batch,), "epochs": (args.epochs,)}
    tuning: Tuning = replace(task.protocol.tuning, **asked)
    data = task.data.read(Home(args.data))
    data = replace(
        data, train=some(data.train, args.train), test=some(data.test, args.test), dev=data.dev[:0]
    )
    return data, replace(task.protocol, tuning=tuning)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("mode", choices=["speed", "agree"])
    parser.add_argument("suite")
    parser.add_argument("task", help="one that tags words, or says something of a text or two")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", default="all-MiniLM-L6-v2", help="a BERT")
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=3, help="of agree")
    parser.add_argument("--steps", type=int, default=20, help="of speed")
    parser.add_argument("--rounds", type=int, default=3, help="of speed")
    parser.add_argument("--train", type=int, default=0, help="rows to train on, 0 for all")
    parser.add_argument("--test", type=int, default=0, help="rows to test on, 0 for all")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("-o", "--output", type=Path)
    args = parser.parse_args()
    if args.mode == "agree" and len(args.seeds) < 2:
        parser.error("a standard deviation needs two seeds or more")
    args.epochs = 1 if args.mode == "speed" else args.epochs
    return args


def main() -> None:
    args = arguments()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    data, protocol = read(args)
    found = (speed if args.mode == "speed" else agree)(args, data, protocol)
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
        **found,
    )
    print(json.dumps(found, indent=1))
    if args.output:
        write(args.output, result)


if __name__ == "__main__":
    main()
