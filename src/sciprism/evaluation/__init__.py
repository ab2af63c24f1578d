"""Score systems on tasks: declarations, protocols, suites, results and reports.

from sciprism.evaluation import evaluate

results = evaluate(["all-MiniLM-L6-v2", "bm25"], "open/quick", data_root="data")
print(results)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sciprism.registry import import_lazily

if TYPE_CHECKING:
    from sciprism.evaluation.report.build import Results as Results
    from sciprism.evaluation.run import EvaluationOptions as EvaluationOptions
    from sciprism.evaluation.run import evaluate as evaluate
    from sciprism.evaluation.systems import EncodingInput as EncodingInput
    from sciprism.evaluation.systems import RankingSystem as RankingSystem
    from sciprism.evaluation.systems import VectorSystem as VectorSystem
    from sciprism.evaluation.systems.loading import SystemOptions as SystemOptions

__getattr__ = import_lazily(
    __name__,
    {
        "report.build": "Results",
        "run": "EvaluationOptions evaluate",
        "systems": "EncodingInput RankingSystem VectorSystem",
        "systems.loading": "SystemOptions",
    },
)
