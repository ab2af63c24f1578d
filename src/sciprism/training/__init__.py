"""Recipes, sources, samplers and the one loop that trains every model."""
