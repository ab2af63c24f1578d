"""The open data as training sources: example files of train papers, and of dev papers to choose checkpoints.

Papers that are dev or test anywhere in the open data (`datasets/split.py`) are neither queries nor candidates
of a train file. What the open suite counts as out-of-train (`in_train` of its tasks) is not written either.
"""
