"""Losses of training: pure functions of tensors, one file per kind."""
