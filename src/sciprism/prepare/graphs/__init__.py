"""Citation graphs in arrays: citations, embeddings of papers, nearest neighbours."""
