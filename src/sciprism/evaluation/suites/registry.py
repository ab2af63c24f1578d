"""The registry of suites."""

from __future__ import annotations

from collections.abc import Mapping

from sciprism.evaluation.task import Average, Published, Suite, Task
from sciprism.registry import Registry

suites: Registry[Suite] = Registry("suite")


def register_suite(
    name: str,
    tasks: tuple[Task, ...],
    *,
    averages: tuple[Average, ...] = (),
    views: Mapping[str, tuple[str, ...]] | None = None,
    published: tuple[Published, ...] = (),
    reference: str = "",
    remark: str = "",
) -> Suite:
    """Declare a suite and register it by its name."""
    return suites.register(name)(
        Suite(
            name=name,
            tasks=tasks,
            averages=averages,
            views=views or {},
            published=published,
            reference=reference,
            remark=remark,
        )
    )
