"""`sciprism prepare lexical`: a model whose vectors hold a text's words beside its meaning."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def lexical(
    model: Annotated[str, typer.Argument(help="A model of the method single, by name or folder.")],
    file: Annotated[Path, typer.Argument(help="Training examples, as `prepare pairs` writes them.")],
    out: Annotated[Path, typer.Option("--output", "-o", help="The folder to write.")],
    width: Annotated[int, typer.Option(help="Directions of a vector that go to its words.")] = 128,
    share: Annotated[float, typer.Option(help="Their length, that of the others being 1.")] = 0.5,
    most: Annotated[int, typer.Option(help="Examples that are read, drawn by chance.")] = 10_000,
    precision: Annotated[str, typer.Option(help="To read texts in: float32 or bfloat16.")] = "float32",
) -> None:
    """Give a model's vectors a part for the words of a text, in place of directions that say least.

    Rare words count for more in what such a model finds, and its vectors are as wide as before. What stands
    for a word and how much it weighs is measured on the examples' queries and first candidates; nothing is
    trained.

    Example: sciprism prepare lexical all-MiniLM-L6-v2 pairs/train/title-abstract.jsonl -o words
    """
    from sciprism.encoders.encoder import Encoder
    from sciprism.encoders.lexical_start import with_lexical
    from sciprism.seeding import sample
    from sciprism.training.examples import read_examples

    encoder = Encoder.load(model, precision=precision)
    examples = sample(read_examples(file, query="query", candidate="paper"), most, "lexical")
    texts = [item for example in examples for item in (example.query, *example.positives[:1])]
    made = with_lexical(encoder, texts, width=width, share=share)
    made.save(out, made_from=Path(model).name, texts=len(texts))
    print(f"{out}: {width} of {made.dim} directions hold words, measured on {len(texts):,} texts")
