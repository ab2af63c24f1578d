"""Load the encoder that made a collection."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder
    from sciprism.store import Collection


def load_collection_encoder(collection: Collection, model: str) -> Encoder:
    """Load the encoder that the manifest names, or from the folder `model`; both must be the same encoder."""
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
