"""What the service tells Prometheus: its requests and batches, next to what is measured of any process."""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

WAITS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)  # seconds
SIZES = (64, 256, 512, 1024, 2048, 4096, 8192, 16384, 65536)  # tokens
LABELS = ("method", "path", "status")
REQUESTS = Histogram("sciprism_request_seconds", "Seconds of a request", LABELS, buckets=WAITS)
QUEUE = Gauge("sciprism_queue_texts", "Texts that wait for a model")
ENCODED = Counter("sciprism_encoded_texts_total", "Texts that were encoded")
TRUNCATED = Counter("sciprism_truncated_texts_total", "Texts longer than the model reads")
BATCH_TOKENS = Histogram("sciprism_batch_tokens", "Tokens of a batch", buckets=SIZES)
BATCH_SECONDS = Histogram("sciprism_batch_seconds", "Seconds of a batch", buckets=WAITS)


def count_batch(texts: int, tokens: int, seconds: float) -> None:
    """Count a batch of a model."""
    ENCODED.inc(texts)
    BATCH_TOKENS.observe(tokens)
    BATCH_SECONDS.observe(seconds)
