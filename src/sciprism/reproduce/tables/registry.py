"""The registry of papers whose tables can be reproduced."""

from __future__ import annotations

from sciprism.registry import Registry
from sciprism.reproduce.tables.table import Reproduction

reproductions: Registry[Reproduction] = Registry("paper to reproduce")
