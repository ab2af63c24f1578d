"""Pairs of texts to train retrievers on (INDUS, section 6), from papers or from published files of pairs."""
