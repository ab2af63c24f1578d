"""Training sources from the open data: examples of train papers, and of dev papers to select checkpoints.

Papers that are dev or test in any open data set (`datasets/split.py`) are neither queries nor candidates of a
train file. Kinds of data that the open suite keeps out of train (`in_train` of its tasks) are not written.
"""
