"""Published layouts that are converted to model folders of ours, one file each; `registry.py` lists them."""
