"""The papers' claims, one file per paper: how each is tested here."""

from sciprism.reproduce.claims import indus, multi2spe, prism, scimult, scirepeval
from sciprism.reproduce.claims.registry import claims

__all__ = ["claims", "indus", "multi2spe", "prism", "scimult", "scirepeval"]
