"""The methods by which an encoder serves several formats, one file each; importing this registers them."""

from sciprism.encoders.methods import (  # noqa: F401 - registered by their import
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
