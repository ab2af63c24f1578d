"""Fine-tuning: an encoder under a small head, from the same start for every setting and seed."""
