"""Masked language modelling: sampling of masked tokens (RoBERTa, RetroMAE), loss (INDUS), and head.

Masked auto-encoding: a weak decoder reconstructs a text from its vector (RetroMAE, 3; INDUS, 3.4).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from safetensors.torch import load_file
from torch import Tensor, nn

import sciprism.encoders.layers as layers
from sciprism.encoders.attention import attend_dense
from sciprism.encoders.checkpoints.backbone import read_weights
from sciprism.encoders.encoder import Encoder
from sciprism.encoders.methods.registry import NamedTable
from sciprism.encoders.transformer import BERT, Attention, Block, SelfAttention, Transformer, TransformerConfig
from sciprism.errors import InputError
from sciprism.files import write_tensors
from sciprism.objectives.masked_lm import masked_lm
from sciprism.text.vocabulary import TokenClasses, classify_tokens
from sciprism.training.batches import Ids
from sciprism.training.learners.learner import BlockLearner, LearnerContext, TokenBlock, learners

Positions = NDArray[np.int64]
Hidden = NDArray[np.bool_]

KEEP_SHARE, RANDOM_SHARE = 0.1, 0.1
"""Of the chosen tokens: the fraction that is unchanged, and that becomes a random token, not the mask."""
MAX_ROW_MASKS = 256  # masks of a text from which its rows are sampled (RetroMAE's code)


def choose_tokens(
    ids: Ids, classes: TokenClasses, probability: float, rng: np.random.Generator, *, whole_words: bool
) -> Positions:
    """Return the sorted positions of a fraction of a text's tokens, at least one unless all are special.

    whole_words: words are chosen until the fraction is reached, never a part of one. The fraction is met on
    average where it is not a whole number of tokens.
    """
    if whole_words:
        return np.flatnonzero(_choose_words(ids, classes, probability, rng, 1)[0])
    able = np.flatnonzero(~classes.special[ids])
    wanted = max(1, math.floor(probability * len(able) + rng.random()))
    return np.sort(rng.permutation(able)[:wanted])


def _choose_words(ids: Ids, classes: TokenClasses, probability: float, rng: np.random.Generator, times: int) -> Hidden:
    """Return which tokens are chosen in each of so many samples of whole words, (times, n)."""
    able = np.flatnonzero(~classes.special[ids])
    wanted = np.maximum(1, np.floor(probability * len(able) + rng.random(times)))
    before = classes.special[ids[able - 1]] | (able == 0)
    word = np.cumsum(classes.word_starts[ids[able]] | before)
    sizes = np.bincount(word - word[:1])
    order = rng.random((times, len(sizes))).argsort(axis=1)
    ordered = sizes[order]
    chosen = np.zeros(order.shape, bool)
    np.put_along_axis(chosen, order, ordered.cumsum(axis=1) - ordered < wanted[:, None], axis=1)
    chosen_tokens = np.zeros((times, len(ids)), bool)
    chosen_tokens[:, able] = chosen[:, word - word[:1]]
    return chosen_tokens


def mask_tokens(ids: Ids, positions: Positions, classes: TokenClasses, rng: np.random.Generator) -> Ids:
    """Return a copy with 8 of 10 of the positions masked, 1 replaced by a random token, 1 unchanged."""
    kind = rng.random(len(positions))
    tokens = np.where(kind < RANDOM_SHARE, rng.choice(classes.regular_ids, len(positions)), classes.mask_id)
    masked = ids.copy()
    masked[positions] = np.where(kind >= 1 - KEEP_SHARE, ids[positions], tokens)
    return masked


def sample_row_masks(ids: Ids, classes: TokenClasses, probability: float, rng: np.random.Generator) -> Hidden:
    """Return what each row of a text's decoder may not see, (n, n): sampled whole words, and itself.

    Special tokens, the first among them, are visible to every row but their own.
    """
    count = len(ids)
    masks = _choose_words(ids, classes, probability, rng, min(count, MAX_ROW_MASKS))
    hidden: Hidden = masks[rng.integers(len(masks), size=count)]
    np.fill_diagonal(hidden, True)
    return hidden


class MaskedLMSettings(NamedTable):
    """Settings of masked language modelling."""

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
        return self.token_loss(states[layers.copy_tensor(torch.from_numpy(rows), states.device)], targets)

    def token_loss(self, states: Tensor, targets: Ids) -> Tensor:
        """Return the sum over tokens. states: (n, hidden). targets: (n,)."""
        words = self.context.encoder.model.embeddings.word.weight
        return masked_lm(
            self.head(states), words, self.head.bias, layers.copy_tensor(torch.from_numpy(targets), states.device)
        )

    def format_score(self, score: float) -> str:
        """Return the score as a perplexity."""
        return f"perplexity {1 / score:,.1f}"

    def save(self, folder: Path) -> None:
        """Write the head, which another stage may continue."""
        write_tensors(folder / HEAD_FILE, {name: each.contiguous() for name, each in self.head.state_dict().items()})


# ---- the head ----

HEAD_FILE = "masked_lm.safetensors"
BERT_HEAD = "cls.predictions.transform"
HEAD_LAYOUTS = (
    {"map": "map", "norm": "norm", "bias": "bias"},
    {"map": f"{BERT_HEAD}.dense", "norm": f"{BERT_HEAD}.LayerNorm", "bias": "cls.predictions.bias"},
    {"map": "lm_head.dense", "norm": "lm_head.layer_norm", "bias": "lm_head.bias"},
)
"""The names of our modules in our own files, and in published ones of BERT and of RoBERTa."""


class MaskedLMHead(nn.Module):
    """The map from states of masked tokens to vectors in the space of word embeddings; a bias per token."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.map = layers.initialize_weights(layers.Linear(config.hidden, config.hidden, config.activation))
        self.norm = nn.LayerNorm(config.hidden, eps=config.norm_eps)
        self.bias = nn.Parameter(torch.zeros(config.vocabulary))

    def forward(self, states: Tensor) -> Tensor:
        """Map (n, hidden) to (n, hidden)."""
        return self.norm(self.map(states))  # type: ignore[no-any-return]


def read_head(folder: Path | None, config: TransformerConfig) -> MaskedLMHead | None:
    """Return the head in a model's folder, our own or a published one; None without one."""
    if folder is None:
        return None
    head = MaskedLMHead(config)
    head_file = folder / HEAD_FILE
    weights = load_file(head_file) if head_file.exists() else read_weights(folder)
    for layout in HEAD_LAYOUTS:
        names = {
            name: theirs + name.removeprefix(ours)
            for name in head.state_dict()
            for ours, theirs in layout.items()
            if name.startswith(ours)
        }
        if all(name in weights for name in names.values()):
            try:
                head.load_state_dict({ours: weights[theirs].float() for ours, theirs in names.items()})
            except RuntimeError as error:
                raise InputError(f"{folder}: its masked-LM head has another shape: {error}") from error
            return head
    return None


class Decoder(nn.Module):
    """A BERT block with separate queries and keys, in which each row attends to other tokens.

    It has the architecture of the encoder's blocks and their current dropout rates.
    """

    def __init__(self, encoder: Transformer) -> None:
        super().__init__()
        if encoder.embeddings.position is None:
            raise InputError("auto-encoding reads a table of positions; this backbone has rotary ones")
        rate = next(module.dropout for module in encoder.modules() if isinstance(module, SelfAttention))
        config = replace(encoder.config, style=BERT, dropout=encoder.embeddings.dropout.rate, attention_dropout=rate)
        self.block = Block(config, 0)
        layers.initialize_linears(self.block)

    def forward(self, queries: Tensor, keys: Tensor, batch: layers.PackedBatch, visible: Sequence[Tensor]) -> Tensor:
        """Map queries and keys, (T, hidden) each, to (T, hidden); visible: (n, n) of each text."""
        block, attention = self.block, self.block.attention
        assert isinstance(attention, Attention)
        q, k, v = (
            states.view(len(states), attention.heads, -1).transpose(0, 1)
            for states in (attention.query(queries), attention.key(keys), attention.value(keys))
        )
        rate = attention.dropout if self.training else 0.0
        parts = [
            attend_dense(q[:, a:b], k[:, a:b], v[:, a:b], rate, seen)
            for (a, b), seen in zip(pairwise(batch.bounds), visible, strict=True)
        ]
        attended = attention.output(torch.cat(parts, dim=1).transpose(0, 1).flatten(1))
        y = block.leave(block.attention_norm, queries + block.dropout(attended), batch)
        return block.leave(block.feed_forward_norm, y + block.dropout(block.feed_forward(y, batch)), batch)


class AutoEncodingSettings(NamedTable):
    """Settings of auto-encoding."""

    head_from: str = Field("", description="Stage or folder with the initial masked-LM head.")
    mask_probability: float = Field(0.3, gt=0, lt=1, description="Share of the encoder's tokens that are masked.")
    decoder_mask_probability: float = Field(0.5, gt=0, lt=1, description="Share of tokens hidden from a decoder row.")


@dataclass(frozen=True, slots=True)
class AutoEncodingBlock(MaskedBlock):
    """A block for encoder and decoder. unmasked: its ids. hidden: (n, n), what each row may not see."""

    unmasked: Ids
    hidden: NDArray[np.bool_]


@learners.register("auto-encoding")
class AutoEncodingLearner(MaskedLMLearner):
    """Masked language modelling, and reconstruction of the text from the vector of the masked one."""

    settings = AutoEncodingSettings
    loss_count = 2

    def __init__(self, objective: Any, context: LearnerContext) -> None:
        super().__init__(objective, context)
        self.decoder = Decoder(context.encoder.model).to(context.encoder.device)
        self.modules = nn.ModuleDict({"head": self.head, "decoder": self.decoder})

    def load_head(self) -> MaskedLMHead | None:
        """Return the head in the model's folder, or that of the stage or folder `head_from`."""
        head, source = super().load_head(), self.objective.head_from
        if head is not None or not source:
            return head
        other = self.context.load_model(source)
        folder = other.folder if isinstance(other, Encoder) else None
        head = read_head(folder, self.context.encoder.model.config)
        if head is None:
            raise InputError(f"auto-encoding: the model head_from = {source} has no masked-LM head")
        return head

    def prepare_block(self, ids: Ids, rng: np.random.Generator) -> AutoEncodingBlock:
        """Return a block with whole words masked, and what each of the decoder's rows may not see."""
        settings, classes = self.objective, self.token_classes
        chosen = choose_tokens(ids, classes, settings.mask_probability, rng, whole_words=True)
        hidden = sample_row_masks(ids, classes, settings.decoder_mask_probability, rng)
        weights = (float(len(chosen)), float(max(1, len(ids) - 2)))
        masked = mask_tokens(ids, chosen, classes, rng)
        return AutoEncodingBlock(masked, weights, chosen, ids[chosen], ids, hidden)

    def loss_sums(self, blocks: Sequence[Any]) -> Tensor:
        """Return the sums over the encoder's masked tokens, and over all but the first and last, (2,)."""
        encoder = self.context.encoder
        batch = self.pack_blocks(blocks)
        states = encoder.model(batch)
        vectors = layers.poolings[encoder.settings.pooling](states, batch, encoder.method.reserved_positions)
        decoded = self._decode(vectors, blocks)
        inner = np.concatenate([np.arange(len(b.ids)) % (len(b.ids) - 1) > 0 for b in blocks])
        targets = np.concatenate([block.unmasked[1:-1] for block in blocks])
        reconstruction = self.token_loss(decoded[layers.copy_tensor(torch.from_numpy(inner), decoded.device)], targets)
        return torch.stack([self.masked_loss(states, blocks), reconstruction])

    def format_score(self, score: float) -> str:
        """Return the score as the loss, a sum of two."""
        return f"loss {-math.log(score):.3f}"

    def _decode(self, vectors: Tensor, blocks: Sequence[AutoEncodingBlock]) -> Tensor:
        """Return the decoder's states, (T, hidden), from vectors (B, hidden) and what each row may see."""
        encoder = self.context.encoder
        batch = layers.pack([block.unmasked.tolist() for block in blocks], encoder.route(), device=encoder.device)
        embeddings = encoder.model.embeddings
        of_text = torch.repeat_interleave(vectors, batch.sizes, dim=0, output_size=len(batch.ids))
        queries = embeddings.places(batch) + of_text
        first = (batch.positions == 0)[:, None]
        keys = torch.where(first, of_text, embeddings(batch))
        visible = [layers.copy_tensor(torch.from_numpy(~block.hidden), vectors.device) for block in blocks]
        return self.decoder(queries, keys, batch, visible)  # type: ignore[no-any-return]
