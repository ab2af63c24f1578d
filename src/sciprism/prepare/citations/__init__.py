"""Training triplets from papers and citations (SPECTER, SciNCL, Multi2SPE)."""
