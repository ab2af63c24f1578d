"""The registry of claims."""

from __future__ import annotations

from sciprism.registry import Registry
from sciprism.reproduce.claims.declared import Claim

claims: Registry[Claim] = Registry("claim")
