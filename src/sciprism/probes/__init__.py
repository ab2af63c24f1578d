"""Linear probes: support vector machines and regressions on frozen vectors, many problems at once."""

from sciprism.probes.features import Probe
from sciprism.probes.grid import GridSearchResult, ProbeSettings, fit, fit_probes, grid_search
from sciprism.probes.solver import LossName, Weights

__all__ = [
    "GridSearchResult",
    "LossName",
    "Probe",
    "ProbeSettings",
    "Weights",
    "fit",
    "fit_probes",
    "grid_search",
]
