"""The papers whose tables can be reproduced."""

from __future__ import annotations

from sciprism.registry import Registry
from sciprism.reproduce import indus, multi2spe, prism, scimult, scirepeval
from sciprism.reproduce.table import Reproduction

reproductions: Registry[Reproduction] = Registry("paper to reproduce")
for paper in (scimult, scirepeval, multi2spe, indus, prism):
    reproductions[paper.REPRODUCTION.name] = paper.REPRODUCTION
