"""Converters of published layouts to model folders of ours, one file each; `names.py` lists them."""
