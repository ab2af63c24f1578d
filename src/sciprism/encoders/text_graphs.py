"""Single texts on a GPU: a whole computation is one CUDA graph, since starting its kernels takes most of the time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from threading import Lock
from typing import Any

import torch
from torch import Tensor, nn

from sciprism.encoders.layers import WeightsSnapshot
from sciprism.encoders.packing import PackedBatch

CAPTURED_AT = 3  # occurrence of a route and a number of tokens: queries of an index have few of them
MAX_GRAPHS = 256


class TextGraphs:
    """CUDA graphs of single texts, by function, route and number of tokens; dropped where weights change.

    Other batches, and functions that cannot be captured, are computed as they are.
    """

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._lock = Lock()
        self._weights: WeightsSnapshot | None = None
        self._seen: Counter[Any] = Counter()
        self._graphs: dict[Any, tuple[torch.cuda.CUDAGraph, PackedBatch, Tensor] | None] = {}
        self._pool: Any = None

    def __reduce__(self) -> tuple[type[TextGraphs], tuple[nn.Module]]:
        return TextGraphs, (self._model,)  # a copy has none

    def run(self, compute: Callable[[PackedBatch], Tensor], batch: PackedBatch) -> Tensor:
        """Return compute(batch)."""
        if not batch.ids.is_cuda or len(batch.lengths) > 1:
            return compute(batch)
        key = compute.__name__, batch.routes, batch.lengths
        with self._lock:
            if self._weights is None or not self._weights.is_current():
                self._weights, self._graphs = WeightsSnapshot(self._model.modules()), {}
            self._seen[key] += 1
            if key not in self._graphs and self._seen[key] >= CAPTURED_AT and len(self._graphs) < MAX_GRAPHS:
                self._graphs[key] = self._capture(compute, batch)
            if (captured := self._graphs.get(key)) is None:
                return compute(batch)
            graph, inputs, vectors = captured
            inputs.ids.copy_(batch.ids)
            graph.replay()
            return vectors.clone()

    def _capture(
        self, compute: Callable[[PackedBatch], Tensor], batch: PackedBatch
    ) -> tuple[torch.cuda.CUDAGraph, PackedBatch, Tensor] | None:
        """Return a graph with its inputs and its result; None for a function that cannot be captured."""
        inputs = PackedBatch(batch.ids.clone(), batch.lengths, batch.routes)
        graph, before = torch.cuda.CUDAGraph(), torch.cuda.current_stream(batch.ids.device)
        self._pool = self._pool or torch.cuda.graph_pool_handle()
        stream = torch.cuda.Stream(batch.ids.device)
        stream.wait_stream(before)
        try:
            with torch.cuda.stream(stream):
                compute(inputs)  # what its batch and its modules cache must exist before
                graph.capture_begin(pool=self._pool, capture_error_mode="thread_local")
                try:
                    vectors = compute(inputs)
                finally:
                    graph.capture_end()
        except RuntimeError:  # it copies from the host, or waits for the device
            return None
        finally:
            before.wait_stream(stream)
        return graph, inputs, vectors
