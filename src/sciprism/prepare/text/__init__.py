"""Texts of many sources as one corpus: filtered, without duplicates, mixed by weight, in token shards."""
