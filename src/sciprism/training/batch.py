"""What a training step gives to a learner: examples of one source, or blocks of tokens."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sciprism.formats import Format, Role
from sciprism.training.examples import Example, to_row

Ids = NDArray[np.int64]
"""Token ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Examples of one source for one process, or blocks of tokens.

    seed: of all random choices in the step. block_seeds: one for each block, the same in any process.
    """

    examples: Sequence[Example] = ()
    blocks: Sequence[Ids] = ()
    block_seeds: Sequence[int] = ()
    format: Format = "proximity"
    query: Role = "paper"
    candidate: Role = "paper"
    seed: int

    def __len__(self) -> int:
        return len(self.examples) or len(self.blocks)

    def lines(self) -> Iterator[str]:
        """Yield a line of JSON for each example or block."""
        yield from (json.dumps(to_row(example), ensure_ascii=False) for example in self.examples)
        yield from (json.dumps({"tokens": block.tolist()}) for block in self.blocks)
