"""Texts of many sources as one corpus: filtered, deduplicated, mixed by weight, in token shards."""
