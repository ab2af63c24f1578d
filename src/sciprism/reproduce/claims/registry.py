"""The registry of claims."""

from __future__ import annotations

from dataclasses import replace

from sciprism.registry import Registry
from sciprism.reproduce.claims.claim import Claim

claims: Registry[Claim] = Registry("claim")


settings: dict[str, str] = {}
"""Paper -> how our setting differs from the paper's."""


def register_claims(paper: str, setting: str, *declared: Claim) -> None:
    """Register the claims of a paper by their ids. setting: how ours differs from the paper's."""
    settings[paper] = setting
    for claim in declared:
        claims.register(claim.id)(replace(claim, paper=paper))
