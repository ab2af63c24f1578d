"""Citation graphs in arrays: who cites whom, where a paper lies among the others, who its neighbours are."""
