"""The methods by which an encoder serves several formats; importing this registers them."""

from sciprism.encoders.methods import (  # noqa: F401 - registered by their import
    adapters,
    control_codes,
    experts,
    facets,
    instruction,
    linear_adapter,
    lora,
    pals,
    prefix,
    prism,
)
