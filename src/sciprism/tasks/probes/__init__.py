"""Linear probes: support vector machines and regressions on frozen vectors, many solved at once."""

from sciprism.tasks.probes.few_shot import fit_probes
from sciprism.tasks.probes.fit import fit, fit_subsets
from sciprism.tasks.probes.grid import Fitted, grid_search
from sciprism.tasks.probes.losses import LossName
from sciprism.tasks.probes.probe import Probe
from sciprism.tasks.probes.settings import ProbeSettings
from sciprism.tasks.probes.weights import Weights

__all__ = [
    "Fitted",
    "LossName",
    "Probe",
    "ProbeSettings",
    "Weights",
    "fit",
    "fit_probes",
    "fit_subsets",
    "grid_search",
]
