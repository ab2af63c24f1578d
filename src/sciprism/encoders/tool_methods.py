"""Methods that other libraries call on an encoder: those of scikit-learn's transformers and LangChain's embeddings."""

from __future__ import annotations

from copy import copy
from typing import Any, Self

from sciprism.arrays import Floats
from sciprism.encoders.model import Model
from sciprism.encoders.streaming import Inputs
from sciprism.formats import Format


class ToolMethods(Model):
    """A model as scikit-learn and LangChain know models: its one parameter there is the format of `transform`."""

    transform_format: Format = "proximity"

    def fit(self, items: object = None, labels: object = None) -> Self:  # noqa: ARG002
        """Return the encoder as it is: it transforms without fitting."""
        return self

    def transform(self, items: Inputs) -> Floats:
        """Return one vector per item, (n, dim), as a step of scikit-learn's pipelines.

        >>> from sciprism import Encoder
        >>> Encoder().set_params(format="classification").transform(["How cells divide", "Dark matter"]).shape
        (2, 384)
        """
        return self.encode(items, format=self.transform_format)

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002
        """Return the parameters that a grid search may vary: format, that of `transform`."""
        return {"format": self.transform_format}

    def set_params(self, *, format: Format | None = None) -> Self:
        """Set the format of `transform`, and return the encoder; InputError for a format that the model lacks."""
        if format is not None:
            self.route(format)
            self.transform_format = format
        return self

    def __sklearn_clone__(self) -> Self:
        """Return an encoder of the same weights in memory."""
        return copy(self)

    def __sklearn_tags__(self) -> Any:
        """Describe a transformer of texts that needs no fitting."""
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        tags = {
            "transformer_tags": TransformerTags(["float32"]),
            "input_tags": InputTags(two_d_array=False, string=True),
        }
        return Tags("transformer", TargetTags(required=False), requires_fit=False, **tags)

    def embed_documents(self, texts: Inputs) -> list[list[float]]:
        """Return the vectors of `encode_document` as lists, as LangChain's vector stores want them."""
        return self.encode(texts, format=self.search_format).tolist()  # type: ignore[no-any-return]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of `encode_query` as a list, as LangChain's vector stores want it."""
        return self.encode(text, format=self.search_format, role="query").tolist()  # type: ignore[no-any-return]
