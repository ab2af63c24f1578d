"""Scikit-learn and LangChain call an encoder as they call their own."""

from __future__ import annotations

import numpy as np
import pytest

from build_methods import build_encoder, perturb_weights
from sciprism import Encoder
from sciprism.errors import InputError

TEXTS = ["star galaxy", "gene cell", "planet star", "cell protein"] * 2


def test_the_format_of_transform(tiny_model):
    encoder = perturb_weights(build_encoder(tiny_model, "adapters"))
    assert encoder.get_params() == {"format": "proximity"}
    vectors = encoder.set_params(format="classification").fit(TEXTS).transform(TEXTS)
    assert np.array_equal(vectors, encoder.encode(TEXTS, format="classification"))
    with pytest.raises(InputError, match="no format 'sorting'"):
        encoder.set_params(format="sorting")


@pytest.mark.slow
def test_a_pipeline_of_scikit_learn_fits_clones_and_varies_the_format(tiny_model, recwarn):
    pytest.importorskip("sklearn")
    from sklearn.base import clone
    from sklearn.linear_model import RidgeClassifier
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.utils.validation import check_is_fitted

    encoder = perturb_weights(build_encoder(tiny_model, "adapters"))
    check_is_fitted(make_pipeline(encoder))  # as BERTopic asks
    copied = clone(encoder).set_params(format="classification")
    assert copied.model is encoder.model and encoder.get_params() == {"format": "proximity"}
    formats = ["classification", "proximity"]
    search = GridSearchCV(make_pipeline(encoder, RidgeClassifier()), {"encoder__format": formats}, cv=2)
    assert search.fit(TEXTS, [0, 1] * 4).score(TEXTS, [0, 1] * 4) == 1 and not recwarn


def test_lists_of_vectors_for_langchain(tiny_encoder: Encoder):
    assert tiny_encoder.embed_documents(TEXTS[:2]) == tiny_encoder.encode_document(TEXTS[:2]).tolist()
    assert tiny_encoder.embed_query("star") == tiny_encoder.encode_query("star").tolist()
