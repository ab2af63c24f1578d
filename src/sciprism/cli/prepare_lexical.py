"""`sciprism prepare lexical`: a model whose vectors have lexical features too."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sciprism.cli.options import AsJson, OutputFolder, ScorePrecision, exact_precision
from sciprism.cli.output import print_preparation


def lexical(
    model: Annotated[str, typer.Argument(help="A model of the method single, by name or folder.")],
    file: Annotated[Path, typer.Argument(help="Training examples, as `prepare pairs` writes them.")],
    out: OutputFolder,
    width: Annotated[int, typer.Option(help="Dimensions of a vector that hold lexical features.")] = 128,
    share: Annotated[float, typer.Option(help="Their norm, where that of the others is 1.")] = 0.5,
    max_examples: Annotated[int, typer.Option(help="Examples to read, sampled at random.")] = 10_000,
    precision: ScorePrecision = "auto",
    as_json: AsJson = False,
) -> None:
    """Make a model whose vectors have lexical features too.

    They take the dimensions in which texts differ least. Rare words then weigh more in retrieval, and vectors
    keep their width. Weights of words are measured on the queries and first candidates of the examples;
    nothing is trained.

    Example: sciprism prepare lexical all-MiniLM-L6-v2 pairs/train/title-abstract.jsonl -o words
    """
    from sciprism.encoders.encoder import Encoder
    from sciprism.encoders.lexical_initialization import add_lexical_features
    from sciprism.prepare.preparation import Preparation
    from sciprism.seeding import sample
    from sciprism.training.examples import read_examples

    encoder = Encoder.load(model, precision=exact_precision(precision))
    examples = sample(read_examples(file, query="query", candidate="paper"), max_examples, "lexical")
    texts = [item for example in examples for item in (example.query, *example.positives[:1])]
    made = add_lexical_features(encoder, texts, width=width, share=share)
    made.save(out, made_from=Path(model).name, texts=len(texts))
    note = f"{out}: {width} of {made.dim} dimensions are lexical, measured on {len(texts):,} texts"
    record = {"lexical_dimensions": width, "dimensions": made.dim, "texts": len(texts)}
    print_preparation(Preparation(record=record, notes=[note]), as_json)
