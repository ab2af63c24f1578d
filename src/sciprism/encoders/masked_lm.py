"""The head of a masked language model, whose output layer is the table of word embeddings."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from sciprism.encoders.checkpoints.weights import read_weights
from sciprism.encoders.linear import Linear
from sciprism.encoders.starts import started
from sciprism.encoders.transformer import TransformerConfig
from sciprism.errors import InputError

FILE = "masked_lm.safetensors"
PUBLISHED = {
    "bert": {
        "map.weight": "cls.predictions.transform.dense.weight",
        "map.bias": "cls.predictions.transform.dense.bias",
        "norm.weight": "cls.predictions.transform.LayerNorm.weight",
        "norm.bias": "cls.predictions.transform.LayerNorm.bias",
        "bias": "cls.predictions.bias",
    },
    "roberta": {
        "map.weight": "lm_head.dense.weight",
        "map.bias": "lm_head.dense.bias",
        "norm.weight": "lm_head.layer_norm.weight",
        "norm.bias": "lm_head.layer_norm.bias",
        "bias": "lm_head.bias",
    },
}
"""Our names -> those in the folders of whole masked language models."""


class MaskedLM(nn.Module):
    """States of masked tokens to what the word embeddings are compared with, and a bias for each word."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.map = started(Linear(config.hidden, config.hidden, config.activation))
        self.norm = nn.LayerNorm(config.hidden, eps=config.norm_eps)
        self.bias = nn.Parameter(torch.zeros(config.vocabulary))

    def forward(self, states: Tensor) -> Tensor:
        """Map (n, hidden) to (n, hidden)."""
        return self.norm(self.map(states))  # type: ignore[no-any-return]


def read_head(folder: Path | None, config: TransformerConfig) -> MaskedLM | None:
    """Return the head that a model's folder holds, our own or a published one; None without one."""
    if folder is None:
        return None
    head = MaskedLM(config)
    own = folder / FILE
    given = load_file(own) if own.exists() else read_weights(folder)
    for names in ({name: name for name in head.state_dict()}, *PUBLISHED.values()):
        found = {ours: given[theirs] for ours, theirs in names.items() if theirs in given}
        if len(found) == len(names):
            try:
                head.load_state_dict({ours: tensor.float() for ours, tensor in found.items()})
            except RuntimeError as error:
                raise InputError(f"{folder}: its masked-LM head is of another shape: {error}") from error
            return head
    return None


def write_head(head: MaskedLM, folder: Path) -> None:
    """Write a head beside its model."""
    save_file({name: tensor.contiguous() for name, tensor in head.state_dict().items()}, folder / FILE)
