"""Score systems on tasks: declarations, protocols, suites, results and reports.

from sciprism.evaluation import evaluate

results = evaluate(["all-MiniLM-L6-v2", "bm25"], "open/quick", data_root="data")
print(results)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sciprism.evaluation.report.build import Results
    from sciprism.evaluation.run import EvaluationOptions, evaluate
    from sciprism.evaluation.systems import EncodingInput, RankingSystem, VectorSystem
    from sciprism.evaluation.systems.loading import SystemOptions

_MODULES = {
    "EncodingInput": "sciprism.evaluation.systems",
    "EvaluationOptions": "sciprism.evaluation.run",
    "RankingSystem": "sciprism.evaluation.systems",
    "Results": "sciprism.evaluation.report.build",
    "SystemOptions": "sciprism.evaluation.systems.loading",
    "VectorSystem": "sciprism.evaluation.systems",
    "evaluate": "sciprism.evaluation.run",
}
__all__ = [
    "EncodingInput",
    "EvaluationOptions",
    "RankingSystem",
    "Results",
    "SystemOptions",
    "VectorSystem",
    "evaluate",
]


def __getattr__(name: str) -> Any:
    """Import the public names on first use, so that importing a module of this package stays cheap."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'sciprism.evaluation' has no attribute {name!r}")
