"""The papers' claims in our words, one file per paper: what decides each of them here."""

from sciprism.reproduce.claims import indus, multi2spe, prism, scimult, scirepeval
from sciprism.reproduce.claims.registry import claims

__all__ = ["claims", "indus", "multi2spe", "prism", "scimult", "scirepeval"]
