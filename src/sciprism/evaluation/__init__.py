"""Score systems on tasks: declarations, protocols, suites, results and reports.

from sciprism.evaluation import evaluate

results = evaluate(["all-MiniLM-L6-v2", "bm25"], "open/quick", data_root="data")
print(results)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sciprism.evaluation.report.build import Results as Results
    from sciprism.evaluation.run import EvaluationOptions as EvaluationOptions
    from sciprism.evaluation.run import evaluate as evaluate
    from sciprism.evaluation.systems import EncodingInput as EncodingInput
    from sciprism.evaluation.systems import RankingSystem as RankingSystem
    from sciprism.evaluation.systems import VectorSystem as VectorSystem
    from sciprism.evaluation.systems.loading import SystemOptions as SystemOptions

_MODULES = {
    "EncodingInput": "systems",
    "EvaluationOptions": "run",
    "RankingSystem": "systems",
    "Results": "report.build",
    "SystemOptions": "systems.loading",
    "VectorSystem": "systems",
    "evaluate": "run",
}


def __getattr__(name: str) -> Any:
    """Import the public names on first use, so that importing a module of this package stays cheap."""
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'sciprism.evaluation' has no attribute {name!r}")
