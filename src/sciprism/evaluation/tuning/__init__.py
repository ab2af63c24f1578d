"""Fine-tuning: an encoder under a small head, with the same initial weights for every setting and seed."""
