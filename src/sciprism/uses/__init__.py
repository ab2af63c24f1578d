"""What people do with vectors: search, similar papers, recommendation, tagging, matching."""
