"""Losses of training: pure functions of tensors."""
