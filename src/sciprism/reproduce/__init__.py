"""The papers' tables again, ours next to the published numbers.

`papers` reads what tables are made of (papers/*.toml), with the printed numbers, into the records of
`table`. `run` finds the models (`models`) and what data are missing, scores what has no result yet,
and fills the cells from stored results (`result_folder`, `estimates`). `printing` formats the filled table.
"""
