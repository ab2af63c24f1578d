"""`sciprism prepare pairs`: pairs of texts out of papers, or out of published files of pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sciprism.cli.options import AsJson, Edges, Exclude, OpenData, OutputFolder, Seed, folder_or_none, split_names
from sciprism.cli.output import print_preparation

SHAPES = typer.Option(
    help="Such as title-abstract, title-body, neighbour-sentences (of an abstract), citing-cited-abstracts, "
    'citing-cited-titles; or rows: files of ["a", "b"], {"set": []}, {"query", "pos", "neg"}.'
)
DEFAULT = "title-abstract,citing-cited-abstracts,citing-cited-titles"


def pairs(
    files: Annotated[list[Path], typer.Argument(help="Papers, full texts, or files of pairs.")],
    out: OutputFolder,
    shapes: Annotated[str, SHAPES] = DEFAULT,
    edges: Edges = None,
    exclude: Exclude = None,
    data: OpenData = "",
    dev: Annotated[float, typer.Option(help="Share of papers that are held out.")] = 0.01,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Make pairs of texts to train a retriever on.

    Such as a title and its abstract, or a paper and one that it cites. Writes train/SHAPE.jsonl,
    dev/SHAPE.jsonl (sources of a recipe; of rows one for each file, named as it is) and pairs.json: what was
    dropped and why. Other sources in the folder are not changed.

    Example: sciprism prepare pairs works.jsonl -o pairs --shapes title-abstract,citing-cited-titles
    """
    from sciprism.prepare.filters import Filters
    from sciprism.prepare.pairs import PairSettings, prepare_pairs

    filters = Filters(exclude=tuple(exclude or ()), data=folder_or_none(data))
    names = tuple(dict.fromkeys(split_names(shapes)))
    settings = PairSettings(shapes=names, edges=edges, dev=dev, seed=seed, filters=filters)
    print_preparation(prepare_pairs(out, files, settings), as_json)
