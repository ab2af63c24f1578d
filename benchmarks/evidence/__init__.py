"""The papers' claims, one file per paper: how each is tested, and the page of verdicts."""
