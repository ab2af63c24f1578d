"""Where benchmark data come from: folders and hubs, checksums, splits, and the layouts of published files."""
