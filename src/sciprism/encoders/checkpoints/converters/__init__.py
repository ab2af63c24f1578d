"""Converters of published layouts to model folders of ours; `names.py` lists them."""
