"""Scores of rankings, labels, numbers and clusters: pure functions of arrays, one value for each item."""
