"""Families of backbones, one file for each way in which they are published; `family` says what a family states."""

from sciprism.encoders.checkpoints.families import bert, llama, modernbert, nomic

__all__ = ["bert", "llama", "modernbert", "nomic"]
