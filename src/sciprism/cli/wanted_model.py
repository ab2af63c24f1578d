"""The encoder that `embed` uses: the one that is named, else the one of what is stored, else the default."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from sciprism.cli.options import split_names
from sciprism.cli.output import join_counts
from sciprism.errors import InputError, InterruptedRunError

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder
    from sciprism.store import CollectionLayout
    from sciprism.store.manifest import EncoderRecord
    from sciprism.store.matrix import Dtype


@dataclass(frozen=True, slots=True)
class WantedModel:
    """What a command line says of the model and of what is stored."""

    model: str
    pooling: str
    precision: str
    formats: str | None
    dtype: str

    def load(self, output: Path) -> Encoder:
        """Load the named model, else the one of the collection or its parts, else the default."""
        from sciprism.encoders.encoder import Encoder

        model, pooling, precision, max_length = self.model, self.pooling, self.precision, None
        stored = find_stored_encoder(output)
        if stored:
            used = str(stored.options.get("precision", "float32"))
            if precision not in ("auto", used):
                raise InputError(f"{output} was made in {used}, not {precision}; remove --precision to continue it")
            precision = used
            if not model:
                model, pooling = stored.name, pooling or str(stored.options.get("pooling", ""))
                max_length = cast("int | None", stored.options.get("max_length"))
        if model and Path(model).expanduser().is_dir():
            # the manifest keeps the name: a search may start elsewhere
            model = str(Path(model).expanduser().resolve())
        encoder = Encoder.load(model or None, pooling=pooling or None, max_length=max_length, precision=precision)
        if half := encoder.options.get("precision"):
            print(f"vectors are computed in {half}", file=sys.stderr)
        return encoder

    def choose_layout(self, encoder: Encoder) -> CollectionLayout:
        """Return the formats and the precision of what is stored."""
        from sciprism.store import CollectionLayout

        names = None if self.formats is None else split_names(self.formats)
        chosen = tuple(encoder.formats) if names == ("all",) else names
        return CollectionLayout(formats=chosen, dtype=cast("Dtype | None", self.dtype or None))


def find_stored_encoder(output: Path) -> EncoderRecord | None:
    """Return the encoder of a collection, or of the plan of its parts."""
    from sciprism.store.manifest import MANIFEST_NAME, PLAN_NAME, read_manifest
    from sciprism.store.parts.plan import read_plan

    if (output / MANIFEST_NAME).exists():
        return read_manifest(output).encoder
    return read_plan(output).encoder if (output / PLAN_NAME).exists() else None


@contextmanager
def explain_interruption(output: Path) -> Iterator[None]:
    """Say of an interruption what this run stored, in a collection or its parts."""
    from sciprism.store.manifest import MANIFEST_NAME, read_manifest
    from sciprism.store.parts.state import PARTS_FOLDER
    from sciprism.store.unfinished import count_unfinished

    def find_folders() -> list[Path]:
        return [output, *(output / PARTS_FOLDER).glob("*-of-*")]

    def count_rows() -> int:
        return sum(read_manifest(each).rows for each in find_folders() if (each / MANIFEST_NAME).exists())

    before = count_rows()
    try:
        yield
    except KeyboardInterrupt:
        stored, saved = count_rows() - before, sum(map(count_unfinished, find_folders()))
        if not stored + saved:
            raise InterruptedRunError("nothing was stored yet; the same command starts again") from None
        what = join_counts({"papers are stored": stored, "vectors of the next ones are saved": saved})
        raise InterruptedRunError(f"{what}; the same command continues where this one stopped") from None
