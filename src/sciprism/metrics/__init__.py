"""Metrics of rankings, classes, numbers, clusters and answers: pure functions of arrays."""
