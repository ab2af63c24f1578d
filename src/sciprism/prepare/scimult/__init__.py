"""`sciprism prepare scimult`: SciMult's pre-training sources and test files, from published data."""
