"""Families of backbones, one file for each way in which they are published; `family` says what a family states."""

from sciprism.encoders.checkpoints.families import bert, llama, modernbert, nomic
from sciprism.encoders.checkpoints.families.family import (
    ACTIVATIONS,
    families,
    find_family,
    join_weights,
    publish_weights,
)

__all__ = [
    "ACTIVATIONS",
    "bert",
    "families",
    "find_family",
    "join_weights",
    "llama",
    "modernbert",
    "nomic",
    "publish_weights",
]
