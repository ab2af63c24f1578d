"""The methods by which an encoder serves several formats, one file each; importing this registers them."""

from sciprism.encoders.methods import (  # noqa: F401 - registered by their import
    adapter_fusion,
    adapters,
    control_codes,
    experts,
    facets,
    instruction,
    linear_adapter,
    pals,
    prefix,
    prism,
)
