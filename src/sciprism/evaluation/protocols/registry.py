"""The registry of protocols, and the check of the metrics that one declares."""

from __future__ import annotations

from collections.abc import Sequence

from sciprism.errors import InputError
from sciprism.evaluation.task import TaskProtocol
from sciprism.metrics.rankings import parse_metric
from sciprism.registry import Registry

protocols: Registry[type[TaskProtocol]] = Registry("protocol")


def check_metrics(protocol: str, metrics: Sequence[str], known: Sequence[str] = ()) -> None:
    """Raise InputError unless at least one metric is named and all are known.

    known: the protocol's metrics; () stands for all ranking metrics.
    """
    if not metrics:
        raise InputError(f"{protocol}: no metric is named")
    for name in metrics:
        if not known:
            parse_metric(name)
        elif name not in known:
            raise InputError(f"{protocol}: unknown metric {name!r}; known: {', '.join(known)}")
