"""The names by which people of sentence-transformers call an encoder; each is a line."""

from __future__ import annotations

from typing import Literal, Unpack, overload

from torch import Tensor

from sciprism.arrays import Floats
from sciprism.encoders.inputs import Inputs
from sciprism.encoders.item_encoder import EncodeOptions, ItemEncoder
from sciprism.encoders.similarity import Vectors, compute_pairwise_similarity, compute_similarity
from sciprism.formats import Format


class SentenceEncoder(ItemEncoder):
    """An encoder with the calls of `SentenceTransformer`."""

    @overload
    def encode_query(
        self,
        items: Inputs,
        *,
        format: Format | None = ...,
        convert_to_tensor: Literal[False] = ...,
        convert_to_numpy: Literal[True] = ...,
        **options: Unpack[EncodeOptions],
    ) -> Floats: ...
    @overload
    def encode_query(
        self,
        items: Inputs,
        *,
        format: Format | None = ...,
        convert_to_tensor: Literal[True],
        convert_to_numpy: bool = ...,
        **options: Unpack[EncodeOptions],
    ) -> Tensor: ...
    @overload
    def encode_query(
        self,
        items: Inputs,
        *,
        format: Format | None = ...,
        convert_to_tensor: bool = ...,
        convert_to_numpy: bool = ...,
        **options: Unpack[EncodeOptions],
    ) -> Floats | Tensor | list[Tensor]: ...
    def encode_query(
        self,
        items: Inputs,
        *,
        format: Format | None = None,
        convert_to_tensor: bool = False,
        convert_to_numpy: bool = True,
        **options: Unpack[EncodeOptions],
    ) -> Floats | Tensor | list[Tensor]:
        """Return the vectors of queries, to compare with those of `encode_document`.

        >>> from sciprism import Encoder
        >>> encoder = Encoder()
        >>> papers = encoder.encode_document(["Mitosis in yeast", "The rotation of galaxies"])
        >>> query = encoder.encode_query("how cells divide")
        >>> encoder.similarity(query, papers).argmax().item()
        0

        It is `encode` with the role query and, unless one is stated, the format search (of a model without it,
        proximity). Further options are those of `encode`.
        """
        return self.encode(
            items,
            format=format or self.search_format,
            role="query",
            convert_to_tensor=convert_to_tensor,
            convert_to_numpy=convert_to_numpy,
            **options,
        )

    @overload
    def encode_document(
        self,
        items: Inputs,
        *,
        format: Format | None = ...,
        convert_to_tensor: Literal[False] = ...,
        convert_to_numpy: Literal[True] = ...,
        **options: Unpack[EncodeOptions],
    ) -> Floats: ...
    @overload
    def encode_document(
        self,
        items: Inputs,
        *,
        format: Format | None = ...,
        convert_to_tensor: Literal[True],
        convert_to_numpy: bool = ...,
        **options: Unpack[EncodeOptions],
    ) -> Tensor: ...
    @overload
    def encode_document(
        self,
        items: Inputs,
        *,
        format: Format | None = ...,
        convert_to_tensor: bool = ...,
        convert_to_numpy: bool = ...,
        **options: Unpack[EncodeOptions],
    ) -> Floats | Tensor | list[Tensor]: ...
    def encode_document(
        self,
        items: Inputs,
        *,
        format: Format | None = None,
        convert_to_tensor: bool = False,
        convert_to_numpy: bool = True,
        **options: Unpack[EncodeOptions],
    ) -> Floats | Tensor | list[Tensor]:
        """Return the vectors of papers that queries are compared with.

        >>> from sciprism import Encoder
        >>> papers = [{"title": "Mitosis in yeast"}, {"title": "Galaxies", "abstract": "They rotate."}]
        >>> Encoder().encode_document(papers, normalize_embeddings=True).shape
        (2, 384)

        It is `encode` with the role paper and the format of `encode_query`; for many models, proximity vectors
        of papers are the same. Further options are those of `encode`.
        """
        return self.encode(
            items,
            format=format or self.search_format,
            role="paper",
            convert_to_tensor=convert_to_tensor,
            convert_to_numpy=convert_to_numpy,
            **options,
        )

    @property
    def search_format(self) -> Format:
        """The format of `encode_query` and `encode_document`: search, or what the model has in its place."""
        return next((format for format in ("search", "proximity") if format in self.formats), self.formats[0])

    @property
    def similarity_fn_name(self) -> str:
        """Return the distance that `similarity` uses: cosine, dot or euclidean."""
        return self.distance

    def similarity(self, embeddings1: Vectors, embeddings2: Vectors) -> Tensor:
        """Return the similarity of each vector with each other one, (n, m), by the model's stated distance.

        >>> from sciprism import Encoder
        >>> encoder = Encoder()
        >>> vectors = encoder.encode(["dark matter in galaxies", "galaxies and dark matter", "yeast cells"])
        >>> scores = encoder.similarity(vectors, vectors)
        >>> bool(scores[0, 1] > scores[0, 2])
        True

        cosine; dot: the dot product; euclidean: the negative distance. Larger is more similar. Vectors need not
        have length 1; one vector, (dim,), counts as one row.
        """
        return compute_similarity(embeddings1, embeddings2, self.distance)

    def similarity_pairwise(self, embeddings1: Vectors, embeddings2: Vectors) -> Tensor:
        """Return the similarity of each vector with the one in the same row, (n,).

        >>> from sciprism import Encoder
        >>> encoder = Encoder()
        >>> vectors = encoder.encode(["dark matter", "yeast cells"])
        >>> encoder.similarity_pairwise(vectors, vectors).shape
        torch.Size([2])
        """
        return compute_pairwise_similarity(embeddings1, embeddings2, self.distance)

    def get_embedding_dimension(self) -> int:
        """Return the width of the vectors."""
        return self.dim

    def get_sentence_embedding_dimension(self) -> int:
        """Return the width of the vectors; the former name of `get_embedding_dimension`."""
        return self.dim
