"""The registry of claims."""

from __future__ import annotations

from dataclasses import replace

from sciprism.registry import Registry
from sciprism.reproduce.claims.claim import Claim

claims: Registry[Claim] = Registry("claim")


def register_claims(paper: str, *declared: Claim) -> None:
    """Register the claims of a paper by their ids."""
    for claim in declared:
        claims.register(claim.id)(replace(claim, paper=paper))
