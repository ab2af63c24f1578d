"""Masked language modelling with dynamic masking (RoBERTa; INDUS, section 3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from sciprism.encoders.masked_lm import MaskedLM, read_head, write_head
from sciprism.objectives.masked_lm import masked_lm
from sciprism.text.words import words_of
from sciprism.training.batch import Ids
from sciprism.training.learners.blocks import Block, BlockLearner
from sciprism.training.learners.learner import Tools
from sciprism.training.learners.registry import learners
from sciprism.training.masking import Places, chosen, masked
from sciprism.training.tables import Table


class MaskedLMSettings(Table):
    """share: of the tokens that are chosen. whole_words: never a part of a word."""

    name: Literal["masked-lm"]
    share: float = Field(0.15, gt=0, lt=1)
    whole_words: bool = False


@dataclass(frozen=True, slots=True)
class MaskedBlock(Block):
    """places: of the chosen tokens. targets: what stood there."""

    places: Places
    targets: Ids


@learners.register("masked-lm")
class MaskedLanguage(BlockLearner):
    """What stood where tokens are hidden; the output layer is the table of words."""

    settings: ClassVar[type[Table]] = MaskedLMSettings

    def __init__(self, objective: Any, tools: Tools) -> None:
        super().__init__(objective, tools)
        encoder = tools.encoder
        self.words = words_of(encoder.tokenizer)
        head = self.kept_head()
        self.head = (head or MaskedLM(encoder.model.config)).to(encoder.device)
        self.modules: nn.Module = self.head

    def kept_head(self) -> MaskedLM | None:
        """Return the head that lies beside the model, if there is one."""
        encoder = self.tools.encoder
        return read_head(encoder.folder, encoder.model.config)

    def prepared(self, ids: Ids, draw: np.random.Generator) -> MaskedBlock:
        """Return a block some of whose tokens are hidden."""
        settings = self.objective
        places = chosen(ids, self.words, settings.share, draw, whole=settings.whole_words)
        return MaskedBlock(masked(ids, places, self.words, draw), (float(len(places)),), places, ids[places])

    def sums(self, blocks: Sequence[Block]) -> Tensor:
        """Return the sum over hidden tokens, (1,)."""
        states = self.tools.encoder.model(self.packed(blocks))
        return self.of_states(states, blocks).reshape(1)

    def of_states(self, states: Tensor, blocks: Sequence[Any]) -> Tensor:
        """Return the sum over hidden tokens. states: (T, hidden), of the blocks end to end."""
        starts = np.cumsum([0, *(len(block.ids) for block in blocks)])
        places = np.concatenate([start + b.places for start, b in zip(starts[:-1], blocks, strict=True)])
        targets = np.concatenate([block.targets for block in blocks])
        return self.of_tokens(states[torch.from_numpy(places).to(states.device)], targets)

    def of_tokens(self, states: Tensor, targets: Ids) -> Tensor:
        """Return the sum over tokens. states: (n, hidden), theirs. targets: (n,)."""
        right = torch.from_numpy(targets).to(states.device)
        words = self.tools.encoder.model.embeddings.word.weight
        return masked_lm(self.head(states), words, self.head.bias, right)

    def told(self, score: float) -> str:
        """Say it as a perplexity."""
        return f"perplexity {1 / score:,.1f}"

    def save(self, folder: Path) -> None:
        """Write the head, with which another stage goes on."""
        write_head(self.head, folder)
