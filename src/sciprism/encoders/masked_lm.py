"""The head of a masked language model, whose output layer is the word embeddings."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from sciprism.encoders.checkpoints.backbone import read_weights
from sciprism.encoders.layers import Linear, initialize_weights
from sciprism.encoders.transformer import TransformerConfig
from sciprism.errors import InputError

FILE = "masked_lm.safetensors"
BERT_HEAD = "cls.predictions.transform"
LAYOUTS = (
    {"map": "map", "norm": "norm", "bias": "bias"},
    {"map": f"{BERT_HEAD}.dense", "norm": f"{BERT_HEAD}.LayerNorm", "bias": "cls.predictions.bias"},
    {"map": "lm_head.dense", "norm": "lm_head.layer_norm", "bias": "lm_head.bias"},
)
"""The names of our modules in our own files, and in published ones of BERT and of RoBERTa."""


class MaskedLMHead(nn.Module):
    """The map from states of masked tokens to vectors in the space of word embeddings; a bias per token."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.map = initialize_weights(Linear(config.hidden, config.hidden, config.activation))
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
    head_file = folder / FILE
    weights = load_file(head_file) if head_file.exists() else read_weights(folder)
    for layout in LAYOUTS:
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


def write_head(head: MaskedLMHead, folder: Path) -> None:
    """Write a head into its model's folder."""
    save_file({name: tensor.contiguous() for name, tensor in head.state_dict().items()}, folder / FILE)
