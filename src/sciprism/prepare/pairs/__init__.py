"""Pairs of texts to train retrievers on (INDUS, section 6), out of papers or of files that others publish."""
