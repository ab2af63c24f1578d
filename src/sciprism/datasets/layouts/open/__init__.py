"""Layouts of the open data: papers are sampled by a hash of their ids and follow the one split."""
