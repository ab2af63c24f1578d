"""Screen the records of a review: what to read next, decisions that survive a crash, advice on stopping."""
