"""Linear probes: support vector machines and regressions on frozen vectors, many problems at once."""

from sciprism.probes.features import Probe
from sciprism.probes.fit import fit, fit_probes, fit_subsets
from sciprism.probes.grid import GridSearchResult, ProbeSettings, grid_search
from sciprism.probes.losses import LossName
from sciprism.probes.solver import Weights

__all__ = [
    "GridSearchResult",
    "LossName",
    "Probe",
    "ProbeSettings",
    "Weights",
    "fit",
    "fit_probes",
    "fit_subsets",
    "grid_search",
]
