"""Model folders and published checkpoints: find, read, convert and write them."""
