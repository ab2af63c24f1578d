"""Training triplets out of anybody's papers and citations (SPECTER, SciNCL, Multi2SPE)."""
