"""The papers' tables again, ours next to the published numbers.

`papers` declares what tables are made of, and reads it with the printed numbers from papers/*.toml. `run` finds the
models and what data are missing, scores what has no result yet, and fills the cells from stored results
(`estimates`). `printing` formats the filled table.
"""
