"""Masked language modelling with dynamic masking (RoBERTa; INDUS, section 3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from sciprism.encoders.masked_lm import MaskedLMHead, read_head, write_head
from sciprism.objectives.masked_lm import masked_lm
from sciprism.text.token_classes import classify_tokens
from sciprism.training.batch import Ids
from sciprism.training.learners.blocks import BlockLearner, TokenBlock
from sciprism.training.learners.learner import LearnerContext
from sciprism.training.learners.registry import learners
from sciprism.training.masking import Positions, choose_tokens, mask_tokens
from sciprism.training.recipe_tables import NamedTable


class MaskedLMSettings(NamedTable):
    """Settings of masked language modelling."""

    name: Literal["masked-lm"]
    mask_probability: float = Field(0.15, gt=0, lt=1, description="Share of the tokens that are predicted.")
    whole_words: bool = Field(False, description="Mask all tokens of a word or none.")


@dataclass(frozen=True, slots=True)
class MaskedBlock(TokenBlock):
    """A block with masked tokens. positions: of these. targets: their ids before."""

    positions: Positions
    targets: Ids


@learners.register("masked-lm")
class MaskedLMLearner(BlockLearner):
    """Prediction of masked tokens; the output layer is the word embeddings."""

    settings: ClassVar[type[NamedTable]] = MaskedLMSettings

    def __init__(self, objective: Any, context: LearnerContext) -> None:
        super().__init__(objective, context)
        encoder = context.encoder
        self.token_classes = classify_tokens(encoder.tokenizer)
        self.head = (self.load_head() or MaskedLMHead(encoder.model.config)).to(encoder.device)
        self.modules = self.head

    def load_head(self) -> MaskedLMHead | None:
        """Return the head in the model's folder, if there is one."""
        return read_head(self.context.encoder.folder, self.context.encoder.model.config)

    def prepare_block(self, ids: Ids, rng: np.random.Generator) -> MaskedBlock:
        """Return a block with masked tokens."""
        settings, classes = self.objective, self.token_classes
        chosen = choose_tokens(ids, classes, settings.mask_probability, rng, whole_words=settings.whole_words)
        return MaskedBlock(mask_tokens(ids, chosen, classes, rng), (float(len(chosen)),), chosen, ids[chosen])

    def loss_sums(self, blocks: Sequence[TokenBlock]) -> Tensor:
        """Return the sum over masked tokens, (1,)."""
        states = self.context.encoder.model(self.pack_blocks(blocks))
        return self.masked_loss(states, blocks).reshape(1)

    def masked_loss(self, states: Tensor, blocks: Sequence[Any]) -> Tensor:
        """Return the sum over masked tokens. states: (T, hidden), of the blocks end to end."""
        starts = np.cumsum([0, *(len(block.ids) for block in blocks)])
        rows = np.concatenate([start + b.positions for start, b in zip(starts[:-1], blocks, strict=True)])
        targets = np.concatenate([block.targets for block in blocks])
        return self.token_loss(states[torch.from_numpy(rows).to(states.device)], targets)

    def token_loss(self, states: Tensor, targets: Ids) -> Tensor:
        """Return the sum over tokens. states: (n, hidden). targets: (n,)."""
        words = self.context.encoder.model.embeddings.word.weight
        return masked_lm(self.head(states), words, self.head.bias, torch.from_numpy(targets).to(states.device))

    def format_score(self, score: float) -> str:
        """Return the score as a perplexity."""
        return f"perplexity {1 / score:,.1f}"

    def save(self, folder: Path) -> None:
        """Write the head, which another stage may continue."""
        write_head(self.head, folder)
