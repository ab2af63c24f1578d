"""The papers' tables, one file per paper: rows, columns and published numbers."""

from sciprism.reproduce.tables import indus, multi2spe, prism, scimult, scirepeval
from sciprism.reproduce.tables.registry import reproductions

__all__ = ["indus", "multi2spe", "prism", "reproductions", "scimult", "scirepeval"]
