"""How data sets lie in files, one file per layout; each builds the input of a protocol."""
