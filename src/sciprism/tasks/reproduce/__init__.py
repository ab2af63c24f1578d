"""The papers' tables again: declarations, run by one piece of code, printed beside the published figures."""

from __future__ import annotations

from sciprism.registry import Registry
from sciprism.tasks.reproduce.declared import Reproduction

reproductions: Registry[Reproduction] = Registry("paper to reproduce")

from sciprism.tasks.reproduce import indus, multi2spe, prism, scimult, scirepeval  # noqa: E402, F401
