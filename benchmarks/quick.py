"""Check that the quick view of a suite ranks encoders as the whole suite does.

The encoders: MiniLM truncated after each of its layers, three poolings, truncated vectors, untrained weights.
One pass over each text gives the states of every layer, so that all cuts cost what one costs. The quick view
is part of the suite: both averages come from the same results, and so their correlation is that of a part
with its whole; the correlation with the rest of the suite, which shares no task, is given too.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from scipy.stats import spearmanr

from measurement import build_parser, provenance, write_result
from sciprism.encoders.encoder import Encoder
from sciprism.encoders.packing import PackedBatch
from sciprism.encoders.pooling import poolings
from sciprism.encoders.settings import EncoderSettings
from sciprism.encoders.transformer import Transformer
from sciprism.evaluation.results import TaskResult
from sciprism.evaluation.run import EvaluationOptions, evaluate
from sciprism.evaluation.suites import suites
from sciprism.evaluation.systems import DenseSystem, EncodingInput, System
from sciprism.evaluation.task import Task
from sciprism.files import cache_folder
from sciprism.metrics.predictions import kendall_tau

POOLINGS = ("mean", "cls", "last")


class LayerEncoder(Encoder):
    """An encoder whose vectors are those of every layer and pooling, concatenated, each of length 1."""

    @property
    def dim(self) -> int:
        """Return layers x poolings x hidden."""
        return self.model.config.layers * len(POOLINGS) * self.model.config.hidden

    def vectors(self, batch: PackedBatch) -> torch.Tensor:
        x, found = self.model.embeddings(batch), []
        for block in self.model.blocks:
            x = block(x, batch)
            found += [torch.nn.functional.normalize(poolings[name](x, batch), dim=-1) for name in POOLINGS]
        return torch.cat(found, dim=1)


class LayerSystem(DenseSystem):
    """One layer, one pooling and the first `width` dimensions of what `Layers` gives."""

    def __init__(self, encoder: LayerEncoder, cache: Path, layer: int, pooling: str, width: int) -> None:
        super().__init__(encoder, cache)
        hidden = encoder.model.config.hidden
        first = ((layer - 1) * len(POOLINGS) + POOLINGS.index(pooling)) * hidden
        self._columns = slice(first, first + width)
        short = f", {width} dimensions" if width < hidden else ""
        self.name = f"layer {layer}, {pooling}{short}"
        self._fingerprint = f"{encoder.fingerprint}-{layer}-{pooling}-{width}"

    @property
    def fingerprint(self) -> str:  # type: ignore[override]
        """Return the whole model's fingerprint with the cut."""
        return self._fingerprint

    def encode(self, texts: EncodingInput) -> np.ndarray:
        """Return the columns of this cut."""
        encoder, items = self.encoder, texts.items
        cache = self._cache(encoder.path(texts.format, texts.role))
        how = {"format": texts.format, "role": texts.role, "fields": texts.fields}
        rows = cache.find_or_encode(
            encoder.texts(items, texts.role, texts.fields),
            lambda places: encoder.encode([items[place] for place in places], **how),
        )
        stored = np.memmap(cache.folder / "vectors", np.float32, "c").reshape(-1, encoder.dim)
        return np.ascontiguousarray(stored[rows, self._columns])

    def _cache(self, path: str):  # all cuts share one cache
        if path not in self._caches:
            from sciprism.encoders.cached_encoder import VectorCache

            self._caches[path] = VectorCache(self._home / path.replace("|", "-"), self.encoder.dim)
        return self._caches[path]


def build_systems(max_length: int) -> list[DenseSystem]:
    """Return the systems that are compared."""
    base = Encoder.load("all-MiniLM-L6-v2", max_length=max_length)
    settings = replace(base.settings, normalize=False)
    layered = LayerEncoder.from_parts(base.model, base.tokenizer, settings, name="MiniLM, all layers")
    folder = cache_folder() / "study" / layered.fingerprint
    hidden = base.model.config.hidden
    cuts = [(layer, "mean", hidden) for layer in range(1, 7)]
    cuts += [(6, "cls", hidden), (6, "last", hidden), (3, "cls", hidden)]
    cuts += [(6, "mean", width) for width in (192, 96, 48)]
    return [LayerSystem(layered, folder, *cut) for cut in cuts] + [_untrained(base, settings)]


def _untrained(base: Encoder, settings: EncoderSettings) -> DenseSystem:
    torch.manual_seed(0)
    model = Transformer(replace(base.model.config, layers=1))
    encoder = Encoder.from_parts(model, base.tokenizer, settings, name="untrained, 1 layer")
    return DenseSystem(encoder)


def mean_score(results: Sequence[TaskResult], names: set[str]) -> float:
    """Return the mean over the numbers of some tasks."""
    return float(np.mean([value for result in results if result.task in names for value in result.values()]))


def correlation(whole: np.ndarray, part: np.ndarray, seed: int = 0) -> dict[str, object]:
    """Return rank correlations with 95% intervals by a bootstrap over encoders."""
    random = np.random.default_rng(seed)
    found: dict[str, object] = {"n": len(whole)}
    for name, measure in (("spearman", lambda one, other: spearmanr(one, other)[0]), ("kendall_tau", kendall_tau)):
        samples = []
        while len(samples) < 2000:
            rows = random.integers(0, len(whole), len(whole))
            if len(np.unique(rows)) > 2:
                samples.append(measure(whole[rows], part[rows]))
        low, high = np.nanpercentile(samples, [2.5, 97.5])
        found[name] = {"value": measure(whole, part), "low": float(low), "high": float(high)}
    return found


def _print_progress(system: System, task: Task, result: TaskResult | None) -> None:
    if result is not None:
        print(f"{task.name}  {system.name}  {result.status}", file=sys.stderr)


def main() -> None:
    parser = build_parser(__doc__, output=Path("results/quick.json"))
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--suite", default="open")
    parser.add_argument("--runs", type=Path, default=Path("out/quick"))
    parser.add_argument("--max-length", type=int, default=256, help="tokens of a text that are read")
    args = parser.parse_args()
    suite = suites[args.suite]
    quick, names = set(suite.views["quick"]), {task.name for task in suite.tasks}
    systems = build_systems(args.max_length)
    options = EvaluationOptions(command=" ".join(sys.argv))
    found = evaluate(systems, suite, args.data, output=args.runs, options=options, progress=_print_progress)
    rows = []
    for system in systems:
        results = [result for result in found if result.system["name"] == system.name]
        failed = [result.task for result in results if result.status != "done"]
        if failed:
            raise SystemExit(f"{system.name}: no number for {', '.join(failed)}")
        rows.append([mean_score(results, part) for part in (names, quick, names - quick)])
        print(f"{system.name:32} {rows[-1]}", file=sys.stderr)
    whole, part, rest = np.array(rows).T
    facts = provenance(["torch", "numpy", "scikit-learn", "lightgbm"], max_length=args.max_length)
    means = {
        label: {"suite": round(w, 4), "quick": round(q, 4), "rest": round(r, 4)}
        for label, (w, q, r) in zip((system.name for system in systems), rows, strict=True)
    }
    write_result(
        args.output,
        facts
        | {
            "suite": suite.name,
            "quick": sorted(quick),
            "encoders": means,
            "quick and suite": correlation(whole, part),
            "quick and rest": correlation(rest, part),
        },
    )


if __name__ == "__main__":
    main()
