"""Multi2SPE's claims (M1 to M4): several facets per paper, and training on many fields."""

from __future__ import annotations

from dataclasses import replace

from sciprism.reproduce.claims.claim import Claim, ScoreContrast, require_all, require_any, show_only, versus
from sciprism.reproduce.claims.registry import register_claims

BUILT = "built"


def above(ours: str, other: str) -> ScoreContrast:
    """Return a contrast of two models over Multi-SciDocs' five scores."""
    return replace(versus(ours, other, "Multi-SciDocs"), name=f"{ours} above {other}")


register_claims(
    "multi2spe",
    Claim(
        id="M1",
        text="Three facets beat one CLS",
        figure="error -10.8 % (one field), up to -25 % in citation prediction",
        test="facets against training as SPECTER, four seeds",
        questions=(
            *require_all(above("facets-cs", "specter-cs")),
            *show_only(above("facets-cs", "facets-1-cs"), above("facets-cs", "backbone")),
        ),
        tables=("M1", "3-cs"),
        data=BUILT,
    ),
    Claim(
        id="M2",
        text="A small lambda is better",
        figure="lambda 1: 2.2 to 8.5 % worse",
        test="lambda 0, 0.1, 0.5, 1",
        questions=(
            *require_all(above("facets-cs", "facets-lambda-1-cs")),
            *show_only(above("facets-cs", "facets-lambda-0-cs"), above("facets-cs", "facets-lambda-05-cs")),
        ),
        tables=("3-cs",),
        data=BUILT,
    ),
    Claim(
        id="M3",
        text="Maps between layers and the re-parameterisation both help",
        figure="-2.4 to -3.4 % and -1.8 to -2.6 % of error",
        test="without each of them",
        questions=require_all(
            above("facets-cs", "facets-no-maps-cs"), above("facets-cs", "facets-no-reparameterisation-cs")
        ),
        tables=("3-cs",),
        data=BUILT,
    ),
    Claim(
        id="M4",
        text="Training on many fields helps tests over many fields",
        figure="76.9 -> 78.4 (one CLS), 79.4 -> 81.4 (facets)",
        test="1, 4 and 17 fields of arXiv, trained on papers of one category, tested on papers with a "
        "category or an author in common; these are no citations",
        questions=(
            *require_any(
                above("specter-all-fields", "specter-one-field"),
                above("facets-all-fields", "facets-one-field"),
            ),
            *show_only(
                above("specter-all-fields", "specter-few-fields"),
                above("facets-all-fields", "facets-few-fields"),
                above("facets-all-fields", "specter-all-fields"),
            ),
        ),
        tables=("domains",),
        data="fields",
    ),
)
