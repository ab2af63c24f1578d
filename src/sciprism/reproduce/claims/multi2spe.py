"""Multi2SPE's claims (M1 to M4): several facets per paper, and fields of science beside each other."""

from __future__ import annotations

from sciprism.reproduce.claims.declared import Claim, Contrast, Side, all_of, any_of, beside
from sciprism.reproduce.claims.registry import claims

GROUP = "Multi-SciDocs"
BUILT = "built"


def above(ours: str, other: str) -> Contrast:
    """Return a contrast of two models over the five numbers."""
    sides = (Side(model=model, group=GROUP) for model in (ours, other))
    return Contrast(name=f"{ours} above {other}", ours=next(sides), other=next(sides))


DECLARED = (
    Claim(
        id="M1",
        paper="multi2spe",
        text="Three facets beat one CLS",
        figure="error -10.8 % (one field), up to -25 % in citation prediction",
        test="facets against training as SPECTER, four seeds",
        questions=(
            *all_of(above("facets-cs", "specter-cs")),
            *beside(above("facets-cs", "facets-1-cs"), above("facets-cs", "backbone")),
        ),
        tables=("M1", "3-cs"),
        data=BUILT,
    ),
    Claim(
        id="M2",
        paper="multi2spe",
        text="A small lambda is better",
        figure="lambda 1: 2.2 to 8.5 % worse",
        test="lambda 0, 0.1, 0.5, 1",
        questions=(
            *all_of(above("facets-cs", "facets-lambda-1-cs")),
            *beside(above("facets-cs", "facets-lambda-0-cs"), above("facets-cs", "facets-lambda-05-cs")),
        ),
        tables=("3-cs",),
        data=BUILT,
    ),
    Claim(
        id="M3",
        paper="multi2spe",
        text="Maps between layers and the re-parameterisation both help",
        figure="-2.4 to -3.4 % and -1.8 to -2.6 % of error",
        test="each left out",
        questions=all_of(
            above("facets-cs", "facets-no-maps-cs"), above("facets-cs", "facets-no-reparameterisation-cs")
        ),
        tables=("3-cs",),
        data=BUILT,
    ),
    Claim(
        id="M4",
        paper="multi2spe",
        text="Training on many fields helps tests over many fields",
        figure="76.9 -> 78.4 (one CLS), 79.4 -> 81.4 (facets)",
        test="1, 4 and 17 fields of arXiv, trained on papers of one category, tested on papers with a "
        "category or an author in common; these are no citations",
        questions=(
            *any_of(
                above("specter-all-fields", "specter-one-field"),
                above("facets-all-fields", "facets-one-field"),
            ),
            *beside(
                above("specter-all-fields", "specter-few-fields"),
                above("facets-all-fields", "facets-few-fields"),
                above("facets-all-fields", "specter-all-fields"),
            ),
        ),
        tables=("domains",),
        data="fields",
    ),
)
for claim in DECLARED:
    claims.register(claim.id)(claim)
