"""Tag papers with the labels of a vocabulary: from the labels' names alone, or learned from tagged papers."""
