"""Recommend new papers by the papers that someone has."""
