"""An encoder behind the API of `mteb`, to run its benchmarks.

`mteb.evaluate(MtebEncoder(Encoder.load(name)), tasks)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from torch import Tensor

from sciprism.arrays import Floats
from sciprism.encoders.encoder import compute_pairwise_similarity, compute_similarity
from sciprism.encoders.protocols import EncoderProtocol
from sciprism.errors import InputError, import_extra
from sciprism.evaluation.results import folder_name
from sciprism.evaluation.systems import display_name
from sciprism.formats import Format, Role
from sciprism.papers.records import Paper
from sciprism.text.template import FIELDS, Item

_KINDS: Mapping[Format, str] = {
    "classification": "Classification MultilabelClassification ZeroShotClassification",
    "proximity": "BitextMining Clustering PairClassification STS Summarization",
    "regression": "Regression",
    "search": "InstructionReranking InstructionRetrieval Reranking Retrieval",
}
FORMATS_OF: Mapping[str, Format] = {kind: format for format, kinds in _KINDS.items() for kind in kinds.split()}
"""Type of a task -> the format of its vectors."""


class MtebEncoder:
    """Encode the inputs of mteb's tasks in the format of the task's type (`mteb.models.EncoderProtocol`).

    formats: name or type of a task -> format, where it differs from FORMATS_OF: retrieval between papers is
    proximity. In search, queries are queries and all else is papers; a document with a title is a paper with
    title and abstract.
    """

    def __init__(self, encoder: EncoderProtocol, *, formats: Mapping[str, Format] | None = None) -> None:
        self.encoder = encoder
        self.formats: dict[str, Format] = {**FORMATS_OF, **(formats or {})}

    @property
    def mteb_model_meta(self) -> Any:
        """Return the model's name, fingerprint (as its revision), width and distance."""
        with import_extra("mteb", "a run of mteb's tasks"):
            from mteb.models.model_meta import ModelMeta, ScoringFunction
        name = display_name(self.encoder)
        about = {
            "name": name if name.count("/") == 1 else f"local/{folder_name(name)}",
            "revision": self.encoder.fingerprint,
            "embed_dim": self.encoder.dim,
            "similarity_fn_name": ScoringFunction(self.encoder.distance),
            "framework": ["PyTorch"],
        }
        return ModelMeta.create_empty(about)

    def encode(
        self, inputs: Iterable[Mapping[str, Any]], *, task_metadata: Any, prompt_type: Any = None, **_: Any
    ) -> Floats:
        """Return one row per input, (n, dim), in their order.

        inputs: batches, each a mapping from "text" (perhaps "title" and "body" too) to a list. task_metadata:
        the task's, of which name and type are read. prompt_type: query or document, in retrieval.
        """
        format = self.formats.get(task_metadata.name) or self.formats.get(task_metadata.type)
        if format is None:
            raise InputError(
                f"no format is known for {task_metadata.name}, a task of type {task_metadata.type}; "
                f"known: {', '.join(self.formats)}"
            )
        is_query = format == "search" and getattr(prompt_type, "value", prompt_type) == "query"
        role: Role = "query" if is_query else "paper"
        items: list[Item] = []
        for batch in inputs:
            if "title" in batch and "body" in batch:
                rows = zip(batch["title"], batch["body"], strict=True)
                items += [Paper(id="", title=title or "", abstract=body or "") for title, body in rows]
            else:
                items += batch["text"]
        return self.encoder.encode(items, format=format, role=role, fields=FIELDS)

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Tensor:
        """Return the similarity of all pairs of rows, (n, m), by the encoder's distance."""
        return compute_similarity(np.asarray(embeddings1), np.asarray(embeddings2), self.encoder.distance)

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Tensor:
        """Return the similarity of rows at the same position, (n,)."""
        return compute_pairwise_similarity(np.asarray(embeddings1), np.asarray(embeddings2), self.encoder.distance)
