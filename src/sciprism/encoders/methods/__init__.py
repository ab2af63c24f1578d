"""How an encoder serves several formats: one file per method, filling slots of the transformer."""

from sciprism.encoders.methods import (
    adapter_fusion,
    adapters,
    attention_experts,
    control_codes,
    facets,
    feedforward_experts,
    instruction,
    pals,
    prefix,
    prism,
    single,
)
from sciprism.encoders.methods.registry import Method, make, methods

__all__ = [
    "Method",
    "adapter_fusion",
    "adapters",
    "attention_experts",
    "control_codes",
    "facets",
    "feedforward_experts",
    "instruction",
    "make",
    "methods",
    "pals",
    "prefix",
    "prism",
    "single",
]
