"""Make training and test data from papers, citations, labels and published files."""
