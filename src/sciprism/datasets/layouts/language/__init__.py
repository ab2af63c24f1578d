"""Data that a model is fine-tuned on: words with tags, texts with classes, questions with answers."""
