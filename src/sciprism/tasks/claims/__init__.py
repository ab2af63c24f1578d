"""What the papers claim, in our words, what decides each claim here, and the page that says how it went."""

from __future__ import annotations

from sciprism.registry import Registry
from sciprism.tasks.claims.declared import Claim

claims: Registry[Claim] = Registry("claim")

from sciprism.tasks.claims import indus, multi2spe, prism, scimult, scirepeval  # noqa: E402, F401
