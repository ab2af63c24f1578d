"""Draw training examples from papers, edges, labels and queries; every sampler reports what it left out."""
