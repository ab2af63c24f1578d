"""`sciprism prepare text`: token shards out of many sources of text, and the table of their mixture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sciprism.cli.options import AsJson, Exclude, OpenData, OutputFolder, Seed, Workers, folder_or_none, split_names
from sciprism.cli.output import print_preparation
from sciprism.errors import InputError

if TYPE_CHECKING:
    from sciprism.prepare.text_sources import TextSource

Sources = Annotated[list[str], typer.Argument(help="NAME=PATH: a file or folder; a NAME may have several paths.")]
VocabSize = Annotated[int | None, typer.Option(help="Learn a tokenizer of so many tokens first.")]
Cased = Annotated[bool, typer.Option("--cased", help="Keep capital letters in the learned tokenizer.")]
Weights = Annotated[
    list[str] | None,
    typer.Option("--weight", help="NAME=2.5: how often a source is repeated; 1 by default; repeatable."),
]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        help="NAME=KIND where it cannot be detected: papers, rows, parquet, jats, wikipedia, ads, cmr; for "
        ".txt: text (split at blank lines), text-line, text-file.",
    ),
]
TextColumns = Annotated[
    list[str] | None, typer.Option("--columns", help="NAME=title,body: the columns of a table with text.")
]
Languages = Annotated[str, typer.Option(help="Languages to retain, such as en,de; guessed where not stated.")]
Licences = Annotated[
    str, typer.Option(help='Licences to retain, such as "CC0,CC BY"; texts that state none are dropped.')
]
NearDuplicates = Annotated[
    float, typer.Option(help="Similarity from which two texts are near-duplicates; 0: only equal texts.")
]


def text(
    sources: Sources,
    out: OutputFolder,
    tokenizer: Annotated[Path | None, typer.Option(help="A model folder or tokenizer.json.")] = None,
    vocab_size: VocabSize = None,
    cased: Cased = False,
    length: Annotated[int, typer.Option(help="Tokens of a block, special tokens included.")] = 512,
    across_documents: Annotated[bool, typer.Option(help="A block may hold several documents.")] = True,
    weight: Weights = None,
    kind: Kinds = None,
    columns: TextColumns = None,
    languages: Languages = "",
    licences: Licences = "",
    near_duplicates: NearDuplicates = 0.8,
    exclude: Exclude = None,
    data: OpenData = "",
    dev: Annotated[float, typer.Option(help="Share of documents that are held out, by source.")] = 0.01,
    seed: Seed = 0,
    workers: Workers = 1,
    as_json: AsJson = False,
) -> None:
    """Make token shards out of texts, to pre-train on.

    Texts are filtered and deduplicated, and full sentences packed to a length. Writes train/ and dev/NAME/
    (memory-mapped blocks), tokenizer/ and mixture.json; prints documents, tokens and share of each source,
    and what was dropped and why. Of duplicates the first is retained.

    Example: sciprism prepare text ads=ads.jsonl pmc=pmc/ wiki=wiki.xml.bz2 -o corpus --vocab-size 50265
    """
    from sciprism.prepare.filters import Filters
    from sciprism.prepare.text import TextSettings, prepare_text

    near = near_duplicates or None
    settings = TextSettings(tokenizer, vocab_size, cased, length, across_documents, near, dev, seed, workers)
    retained = split_names(languages), split_names(licences)
    filters = Filters(*retained, tuple(exclude or ()), folder_or_none(data))
    inputs = parse_sources(sources, weight or (), kind or (), columns or ())
    print_preparation(prepare_text(out, inputs, settings, filters), as_json)


def parse_sources(
    sources: Sequence[str], weights: Sequence[str], kinds: Sequence[str], columns: Sequence[str]
) -> list[TextSource]:
    """Read NAME=PATH and the options on a NAME. Raises InputError for a NAME that no source has."""
    from sciprism.prepare.text_sources import TextSource

    paths: dict[str, list[Path]] = {}
    for name, value in _parse_pairs("source", sources):
        paths.setdefault(name, []).append(Path(value))
    options: dict[str, dict[str, str]] = {}
    for option, words in (("weight", weights), ("kind", kinds), ("columns", columns)):
        options[option] = dict(_parse_pairs(f"--{option}", words))
        if unknown := [name for name in options[option] if name not in paths]:
            raise InputError(f"--{option} {unknown[0]}: no such source; there are {', '.join(paths)}")
    weight_of = dict.fromkeys(paths, 1.0)
    for name, word in options["weight"].items():
        try:
            weight_of[name] = float(word)
        except ValueError:
            raise InputError(f"--weight {word!r}: expected a number") from None
    return [
        TextSource(
            name=name,
            paths=tuple(files),
            weight=weight_of[name],
            kind=options["kind"].get(name, ""),
            columns=split_names(options["columns"].get(name, "")),
        )
        for name, files in paths.items()
    ]


def _parse_pairs(what: str, words: Sequence[str]) -> list[tuple[str, str]]:
    found = []
    for word in words:
        name, mark, value = word.partition("=")
        if not mark or not name or not value:
            raise InputError(f"{what} {word!r}: expected NAME=VALUE")
        found.append((name, value))
    return found
