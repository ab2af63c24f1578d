"""`sciprism prepare scimult`: SciMult's sources and test files, made of published data."""

from __future__ import annotations
