"""Benchmark tasks: how each kind is scored, and what scoring needs besides vectors."""
