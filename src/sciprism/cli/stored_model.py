"""Load the encoder that made a collection."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder
    from sciprism.store import Collection


def load_encoder_of(collection: Collection, model: str) -> Encoder:
    """Load the encoder named in the manifest, or from `model` where it lies now; it must be the same one."""
    from sciprism.encoders.encoder import Encoder
    from sciprism.errors import InputError

    stored = collection.manifest.encoder
    pooling = cast("str | None", stored.options.get("pooling"))
    max_length = cast("int | None", stored.options.get("max_length"))
    try:
        encoder = Encoder.load(model or stored.name, pooling=pooling, max_length=max_length)
    except InputError as error:
        hint = "" if model else f" ({collection.folder} was made with it; say where it is now with --model)"
        raise InputError(f"{error}{hint}") from error
    collection.check_encoder(encoder)
    return encoder
