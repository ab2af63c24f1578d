"""Sample training examples from papers, citations, labels and queries; samplers report what they drop."""
