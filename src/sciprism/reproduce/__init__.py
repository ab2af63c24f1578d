"""The papers' tables again, ours next to the published numbers."""
