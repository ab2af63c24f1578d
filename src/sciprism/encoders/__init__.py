"""The transformer over packed batches, the methods that change it, and the public API: `Encoder`."""
