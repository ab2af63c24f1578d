"""Where papers, labels and their links come from: published files, user papers, citation tables."""
