"""Linear probes: support vector machines and regressions on frozen vectors, many problems at once."""

from sciprism.probes.few_shot import fit_probes
from sciprism.probes.fit import fit, fit_subsets
from sciprism.probes.grid import GridSearchResult, grid_search
from sciprism.probes.losses import LossName
from sciprism.probes.probe import Probe
from sciprism.probes.settings import ProbeSettings
from sciprism.probes.weights import Weights

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
