"""The base classes of training objectives, of texts and of token blocks; scores of held-out examples."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from sciprism.arrays import Floats, normalize_rows
from sciprism.encoders.encoder import Encoder
from sciprism.encoders.layers import PackedBatch, pack, token_batches
from sciprism.encoders.methods.registry import NamedTable
from sciprism.encoders.protocols import EncoderProtocol
from sciprism.formats import Role
from sciprism.parallel import Progress
from sciprism.registry import Registry
from sciprism.text.template import Item
from sciprism.training.batches import Batch, Ids
from sciprism.training.examples import Example, item_key
from sciprism.training.processes import Processes

TextGroup = tuple[Sequence[Item], Role]  # texts to encode, and their role


class ModelLoader(Protocol):
    """Load a model by name, an earlier stage's for one."""

    def __call__(self, name: str, max_length: int | None = None, precision: str = "float32") -> EncoderProtocol:
        """Return the model. max_length: tokens to which texts are truncated. precision: of computation."""


def load_model(
    name: str, max_length: int | None = None, precision: str = "float32", *, device: str | None = None
) -> EncoderProtocol:
    """Load one of sciprism's models."""
    return Encoder.load(name, max_length=max_length, precision=precision, device=device)


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnerContext:
    """What an objective is built from: the trained encoder, the processes, and labels of its source.

    labels: names of all classes among the answers. candidates: all labels among the positives, by key.
    load_model: loads teachers.
    """

    encoder: Encoder
    processes: Processes
    labels: Sequence[str] = ()
    candidates: Mapping[str, Item] = field(default_factory=dict)
    load_model: ModelLoader = load_model


class Learner:
    """A training objective: the loss of one source's examples, with its heads.

    settings: its table in a recipe. requires: what an example must have, in words. reads: "examples", whose
    texts become vectors, or "blocks" of tokens, whose states are scored (`BlockLearner`). metric: of held-out
    examples. by_vectors: whether the metric needs the encoder alone, no heads, so that any encoder has it. gathers:
    whether every process computes the loss over all processes' examples; if not, each computes the mean over its own.
    by_facet: whether vectors are those of facets, (n, K, D). prefetches: whether `prefetch` gets the batches of coming
    steps. modules: parameters that are trained with the encoder and dropped after training.
    """

    settings: ClassVar[type[NamedTable]] = NamedTable
    requires: ClassVar[str] = "a positive"
    reads: ClassVar[Literal["examples", "blocks"]] = "examples"
    metric: ClassVar[str] = "mean reciprocal rank"
    by_vectors: ClassVar[bool] = True
    gathers: bool = False
    by_facet: ClassVar[bool] = False
    prefetches: bool = False

    def __init__(self, objective: Any, context: LearnerContext) -> None:
        self.objective, self.context = objective, context
        self.modules: nn.Module = nn.Module()

    @staticmethod
    def fits(example: Example) -> bool:
        """Return whether an example has what this objective requires."""
        return bool(example.positives)

    def select_texts(self, batch: Batch) -> list[TextGroup]:
        """Return the texts whose vectors the loss needs."""
        raise NotImplementedError

    def prefetch(self, batches: Sequence[Batch], progress: Progress) -> None:
        """Prepare what coming batches need besides the encoder: many at once use all cores."""

    def count(self, batch: Batch) -> int:
        """Return the number of terms in the loss's mean, its weight in the mean over several processes."""
        return len(batch.examples)

    def loss(self, batch: Batch, vectors: Sequence[Tensor]) -> Tensor:
        """Return the loss. vectors: (n, D) for each group of texts."""
        raise NotImplementedError

    def score(self, batch: Batch) -> float:
        """Return the score of held-out examples, 1 at best, which selects checkpoints."""
        return self.score_encoder(self.context.encoder, batch)

    def score_encoder(self, encoder: Encoder, batch: Batch) -> float:
        """Return the score of the same examples by any encoder, where it is `by_vectors`."""
        return reciprocal_rank(encoder, batch)

    def format_score(self, score: float) -> str:
        """Return a score as text."""
        return f"{score:.4f}"

    def save(self, folder: Path) -> None:
        """Write what is kept of `modules` to the model's folder: by default nothing."""


learners: Registry[type[Learner]] = Registry("objective")


def check_objective(objective: Mapping[str, Any], what: str = "objective") -> NamedTable:
    """Return the settings in an objective's table; InputError names what is wrong and the known keys."""
    return learners[str(objective.get("name"))].settings.from_table(objective, what)


# ---- ranks of held-out examples ----


def reciprocal_rank(encoder: Encoder, batch: Batch, *, more_candidates: Iterable[Item] = ()) -> float:
    """Return the mean of `reciprocal_ranks`."""
    return float(np.mean(reciprocal_ranks(encoder, batch, more_candidates=more_candidates)))


def reciprocal_ranks(encoder: Encoder, batch: Batch, *, more_candidates: Iterable[Item] = ()) -> list[float]:
    """Return 1 / rank of each query's best positive among all candidates of the examples.

    Candidates are the positives and hard negatives of all examples and `more_candidates`, without duplicates,
    without the query itself and without positives of the same query in other examples. They are compared by
    the encoder's distance. Ties count against the model, and so do NaNs.
    """
    examples = batch.examples
    answers = (item for e in examples for item in (*e.positives, *e.negatives))
    candidates = {item_key(item): item for item in chain(more_candidates, answers)}
    columns = {key: column for column, key in enumerate(candidates)}
    query_items = {item_key(e.query): e.query for e in examples}  # many examples have the same query
    queries = encoder.encode(list(query_items.values()), format=batch.format, role=batch.query)
    query_rows = {key: row for row, key in enumerate(query_items)}
    vectors = encoder.encode(list(candidates.values()), format=batch.format, role=batch.candidate)
    positives_of: dict[str, set[int]] = defaultdict(set)
    for example in examples:
        positives_of[item_key(example.query)].update(columns[item_key(item)] for item in example.positives)
    ranks = []
    scores = _scores(queries, vectors, encoder.distance)
    for example in examples:
        query = item_key(example.query)
        row = scores[query_rows[query]]
        own_columns = [columns[item_key(item)] for item in example.positives]
        best = row[own_columns].max()
        is_rival = np.ones(len(row), bool)
        is_rival[[*positives_of[query], columns.get(query, own_columns[0])]] = False
        ranks.append(1 / (1 + int(np.sum(~(row[is_rival] < best)))))
    return ranks


def _scores(queries: Floats, candidates: Floats, distance: str) -> Floats:
    if distance == "cosine":
        queries, candidates = normalize_rows(queries), normalize_rows(candidates)
    scores: Floats = queries @ candidates.T
    if distance == "euclidean":  # twice the product less the candidate's square: the same order
        scores = 2 * scores - (candidates**2).sum(axis=1)
    return scores


# ---- objectives of token blocks ----

CHUNK_TOKENS = 2048  # tokens of held-out blocks that are scored at once


@dataclass(frozen=True, slots=True)
class TokenBlock:
    """A block as the model reads it. weights: the number of terms in each of the learner's sums."""

    ids: Ids
    weights: tuple[float, ...]


class BlockLearner(Learner):
    """A loss of the states of tokens: sums over blocks, each divided by the weight of all blocks.

    loss_count: the number of sums.
    """

    loss_count: ClassVar[int] = 1
    reads: ClassVar[Literal["examples", "blocks"]] = "blocks"
    metric: ClassVar[str] = "exp(-loss)"
    by_vectors: ClassVar[bool] = False

    def prepare_block(self, ids: Ids, rng: np.random.Generator) -> TokenBlock:
        """Return a block as the model reads it, with what is sampled for it."""
        raise NotImplementedError

    def loss_sums(self, blocks: Sequence[TokenBlock]) -> Tensor:
        """Return the sums of the losses of these blocks, (K,), one for each weight of a block."""
        raise NotImplementedError

    def pack_blocks(self, blocks: Sequence[TokenBlock]) -> PackedBatch:
        """Return blocks as one batch of the model."""
        encoder = self.context.encoder
        return pack([block.ids.tolist() for block in blocks], encoder.route(), device=encoder.device)

    def score(self, batch: Batch) -> float:
        """Return e^-loss of held-out blocks: for a masked language model 1 / perplexity."""
        self.modules.eval()
        blocks = prepare_blocks(self, batch)
        chunks = token_batches([len(block.ids) for block in blocks], CHUNK_TOKENS)
        with torch.inference_mode():
            sums = [self.loss_sums([blocks[i] for i in chunk]).double().cpu().numpy() for chunk in chunks]
        self.modules.train()
        weights = np.sum([block.weights for block in blocks], axis=0)
        return math.exp(-float((np.sum(sums, axis=0) / weights).sum()))


def prepare_blocks(learner: BlockLearner, batch: Batch) -> list[TokenBlock]:
    """Return the blocks of a batch as the model reads them."""
    rngs = map(np.random.default_rng, batch.block_seeds)
    return [learner.prepare_block(ids, rng) for ids, rng in zip(batch.blocks, rngs, strict=True)]
