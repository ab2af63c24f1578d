"""Masked-LM steps: ours against transformers' model, same weights, packed blocks, masks and optimizer.

Both read the same blocks of tokens, hidden at the same places, with AdamW at the same constant rate. Losses
are compared without dropout, speeds with it. Run from the repository root, after `sciprism prepare text`:

    python benchmarks/pretrain.py TEXT/train -o results/pretrain.json
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from transformers import RobertaConfig, RobertaForMaskedLM

from measurement import build_parser, provenance, ratio, write_result
from sciprism import Encoder
from sciprism.encoders.checkpoints.backbone import backbone_config
from sciprism.encoders.new_models import create_encoder
from sciprism.text.token_shards import TokenShards
from sciprism.training.batches import Batch
from sciprism.training.learners.learner import LearnerContext, check_objective, prepare_blocks
from sciprism.training.learners.masked_lm import MaskedLMLearner
from sciprism.training.optimizers import OptimizerSettings, build_optimizer
from sciprism.training.processes import Processes
from sciprism.training.steps import BlockStep, PassSettings

RATE, PEER = 1e-4, "transformers"
Blocks = Sequence[np.ndarray]
Step = Callable[[Batch], float]


def build_learner(encoder: Encoder, processes: Processes) -> MaskedLMLearner:
    """Return our learner, its head the same each time."""
    torch.manual_seed(0)
    return MaskedLMLearner(check_objective({"name": "masked-lm"}), LearnerContext(encoder=encoder, processes=processes))


def build_sciprism_step(encoder: Encoder, args: argparse.Namespace, precision: str) -> Step:
    """Return what takes a step of ours."""
    processes = Processes("cpu")
    learner = build_learner(encoder, processes)
    block_step = BlockStep(
        encoder,
        [learner],
        processes=processes,
        settings=PassSettings(chunk_tokens=args.tokens, precision=precision),
    )
    modules = torch.nn.ModuleList([encoder.model, block_step.modules])
    optimizer = build_optimizer(modules.named_parameters(), OptimizerSettings(lr=RATE, weight_decay=0.0), args.layers)
    encoder.model.train()

    def step(batch: Batch) -> float:
        optimizer.zero_grad(set_to_none=True)
        (loss,) = block_step([(0, batch)], 1.0)
        optimizer.step()
        return loss

    return step


def build_peer_step(encoder: Encoder, folder: Path, precision: str) -> Step:
    """Return what takes a step of the peer, over blocks that our learner hid."""
    model = RobertaForMaskedLM.from_pretrained(folder).train()
    learner = build_learner(encoder, Processes("cpu"))
    head = model.lm_head
    for own, other in ((learner.head.map, head.dense), (learner.head.norm, head.layer_norm)):
        other.load_state_dict(own.state_dict())
    with torch.no_grad():
        head.bias.copy_(learner.head.bias)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.0, fused=True)
    padding = model.config.pad_token_id

    def step(batch: Batch) -> float:
        optimizer.zero_grad(set_to_none=True)
        longest = max(map(len, batch.blocks))
        ids = torch.full((len(batch), longest), padding)
        labels = torch.full_like(ids, -100)
        for row, hidden in enumerate(prepare_blocks(learner, batch)):
            ids[row, : len(hidden.ids)] = torch.from_numpy(hidden.ids)
            labels[row, hidden.positions] = torch.from_numpy(hidden.targets)
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
            loss = model(input_ids=ids, attention_mask=(ids != padding).long(), labels=labels).loss
        loss.backward()
        optimizer.step()
        return float(loss.detach())

    return step


def create_model(args: argparse.Namespace, tokenizer: Path, dropout: float, folder: Path) -> Encoder:
    """Return a new model, written to a folder that the peer reads too."""
    shape = {
        "layers": args.layers,
        "hidden": args.hidden,
        "heads": args.hidden // 32,
        "intermediate": 4 * args.hidden,
        "positions": 514,
        "types": 1,
        "dropout": dropout,
        "attention_dropout": dropout,
    }
    encoder = create_encoder(shape, tokenizer, seed=0, device="cpu")
    encoder.save(folder)
    about = backbone_config(encoder.model.config) | {"architectures": ["RobertaForMaskedLM"]}
    (folder / "config.json").write_text(json.dumps(about), encoding="utf-8")
    RobertaConfig.from_pretrained(folder)
    return encoder


def build_batches(shards: TokenShards, args: argparse.Namespace) -> list[Batch]:
    """Return the batches that everybody takes in the same order."""
    order = np.random.default_rng(0).permutation(len(shards))[: args.batch * args.steps]
    rows = order.reshape(args.steps, args.batch)
    blocks = [[shards[i].astype(np.int64) for i in row] for row in rows]
    return [Batch(blocks=each, block_seeds=range(n, n + len(each)), seed=n) for n, each in enumerate(blocks)]


def time_steps(step: Step, batches: Sequence[Batch]) -> tuple[float, list[float]]:
    """Return seconds per step, the first one apart, and the losses."""
    losses = [step(batches[0])]
    began = time.perf_counter()
    losses += [step(batch) for batch in batches[1:]]
    return (time.perf_counter() - began) / (len(batches) - 1), losses


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("shards", type=Path, help="a folder that `sciprism prepare text` wrote")
    parser.add_argument("--tokenizer", type=Path, help="else the one next to the shards")
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--hidden", type=int, default=384)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--precisions", nargs="+", default=["float32", "bfloat16"])
    args = parser.parse_args()
    shards = TokenShards(args.shards)
    tokenizer = args.tokenizer or args.shards.parent / "tokenizer"
    batches = build_batches(shards, args)
    tokens = sum(len(block) for batch in batches for block in batch.blocks) / len(batches)
    result = provenance(
        ["torch", "transformers"],
        batch=args.batch,
        tokens_per_step=round(tokens),
        layers=args.layers,
        hidden=args.hidden,
        threads=torch.get_num_threads(),
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain = create_model(args, tokenizer, 0.0, folder / "plain")
        left = time_steps(build_peer_step(plain, folder / "plain", "float32"), batches)[1]
        right = time_steps(build_sciprism_step(plain, args, "float32"), batches)[1]
        result["losses_without_dropout"] = {PEER: left, "sciprism": right}
        result["losses_apart"] = float(np.abs(np.array(left) - np.array(right)).max())
        encoder = create_model(args, tokenizer, 0.1, folder / "dropped")
        for precision in args.precisions:
            steps = {
                PEER: build_peer_step(encoder, folder / "dropped", precision),
                "sciprism": build_sciprism_step(encoder, args, precision),
            }
            seconds: dict[str, list[float]] = {who: [] for who in steps}
            for _ in range(args.rounds):
                for who, step in steps.items():
                    seconds[who].append(time_steps(step, batches)[0])
            result[precision] = {
                "tokens_per_second": {who: [round(tokens / s) for s in each] for who, each in seconds.items()},
                "times_faster": ratio(seconds[PEER], seconds["sciprism"]),
            }
    print(json.dumps({key: result[key] for key in (*args.precisions, "losses_apart")}, indent=1))
    write_result(args.output, result)


if __name__ == "__main__":
    main()
