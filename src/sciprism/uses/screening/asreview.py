"""What ASReview 3 learns from when its feature extractor is `sciprism`: words with a small share of vectors.

ASReview finds it by the entry point `asreview.models.feature_extractors`; scikit-learn is there wherever it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from scipy.sparse import csr_matrix


class WordsAndVectors:
    """Features of records: TF-IDF of their words as ASReview's default, and vectors, of unit length together.

    Vectors have negative numbers, which ASReview's naive Bayes does not take: choose its SVM (`-c svm`).
    """

    name = "sciprism"
    label = "Words and vectors of sciprism"

    def get_params(self, deep: bool = False) -> dict[str, Any]:  # noqa: ARG002 (as scikit-learn's)
        """Return what a project file of ASReview stores, to make the same features again: there are no options."""
        return {}

    def fit_transform(self, records: pd.DataFrame, _: object = None) -> csr_matrix:
        """Return the features of records with the columns title and abstract, (n, words + dimensions)."""
        from scipy.sparse import csr_matrix, hstack
        from sklearn.feature_extraction.text import TfidfVectorizer

        from sciprism.encoders.encoder import Encoder
        from sciprism.uses.screening.session import VECTOR_SHARE

        texts = records[["title", "abstract"]].fillna("")
        words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, max_df=0.95 if len(texts) > 1 else 1.0)
        weighted = words.fit_transform(texts["title"] + " " + texts["abstract"])
        papers = texts.to_dict("records")
        vectors = csr_matrix(Encoder().encode(papers, format="proximity", normalize_embeddings=True))
        return csr_matrix(hstack([(1 - VECTOR_SHARE) ** 0.5 * weighted, VECTOR_SHARE**0.5 * vectors]))
