"""Tell authors of one name apart: what two mentions share, models of it, and clusters of mentions."""
