"""The claims of all papers, and how our settings differ from theirs."""

from __future__ import annotations

from dataclasses import replace

from evidence import indus, multi2spe, prism, scimult, scirepeval
from evidence.claim import Claim
from sciprism.registry import Registry

PAPERS = {"scimult": scimult, "scirepeval": scirepeval, "multi2spe": multi2spe, "indus": indus, "prism": prism}
claims: Registry[Claim] = Registry("claim")
for name, paper in PAPERS.items():
    for claim in paper.CLAIMS:
        claims.register(claim.id)(replace(claim, paper=name))
settings = {name: paper.SETTING for name, paper in PAPERS.items()}
"""Paper -> how our setting differs from the paper's."""
