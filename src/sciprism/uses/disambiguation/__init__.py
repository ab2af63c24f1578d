"""Author disambiguation: pairwise features of mentions, models of them, and clusters of mentions."""
