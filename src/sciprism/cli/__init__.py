"""The command line: one file per command. Commands call the library and hold no science."""
