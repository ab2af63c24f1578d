"""`sciprism prepare text`: token shards out of many sources of text, and the table of their mixture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sciprism.cli.sources import plain_console, print_dropped, print_table

if TYPE_CHECKING:
    from sciprism.prepare.text.prepare import Mixture
    from sciprism.prepare.text.sources import TextSource

COUNTS = ("read", "kept", "documents", "blocks", "tokens", "%", "dev tokens")
"""Documents with text, those that passed; of the train shards: documents, blocks, tokens, share of tokens."""

Sources = Annotated[list[str], typer.Argument(help="NAME=PATH: a file or folder; a NAME may come again.")]
Weights = Annotated[
    list[str] | None,
    typer.Option("--weight", help="NAME=2.5: how often a source is gone through; else once."),
]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        help="NAME=KIND where it cannot be told: papers, rows, parquet, jats, wikipedia, ads, cmr; of .txt: "
        "text (parted by blank lines), text-line, text-file.",
    ),
]
Columns = Annotated[
    list[str] | None, typer.Option("--columns", help="NAME=title,body: where the text of rows stands.")
]
Languages = Annotated[str, typer.Option(help="Such as en,de: others go; guessed where not stated.")]
Licences = Annotated[str, typer.Option(help='Such as "CC0,CC BY": others go, and texts that state none.')]
Near = Annotated[float, typer.Option(help="Similarity from which texts count as one; 0: equal ones only.")]
Without = Annotated[
    list[Path] | None, typer.Option(help="Papers of tests, or a .txt with an id a line; they go. Repeatable.")
]
Data = Annotated[
    str,
    typer.Option(envvar="SCIPRISM_DATA", help="The folder of the open data, whose test and dev papers go."),
]


def text(
    sources: Sources,
    out: Annotated[Path, typer.Option("--output", "-o", help="The folder to write.")],
    tokenizer: Annotated[Path | None, typer.Option(help="A model folder or tokenizer.json.")] = None,
    vocabulary: Annotated[int | None, typer.Option(help="Learn a tokenizer of so many tokens first.")] = None,
    cased: Annotated[bool, typer.Option("--cased", help="Keep capital letters in what is learned.")] = False,
    length: Annotated[int, typer.Option(help="Tokens of a block, special ones included.")] = 512,
    across: Annotated[bool, typer.Option(help="Blocks may hold several documents.")] = True,
    weight: Weights = None,
    kind: Kinds = None,
    columns: Columns = None,
    languages: Languages = "",
    licences: Licences = "",
    near: Near = 0.8,
    without: Without = None,
    data: Data = "",
    dev: Annotated[float, typer.Option(help="The share of documents that is held out, by source.")] = 0.01,
    seed: Annotated[int, typer.Option(help="Of what is drawn by chance.")] = 0,
    workers: Annotated[int, typer.Option(help="Processes; the files are the same for any number.")] = 1,
) -> None:
    """Make token shards out of texts: filtered, without duplicates, full sentences packed to a length.

    Writes train/ and dev/NAME/ (memory-mapped blocks), tokenizer/ and mixture.json; prints documents, tokens
    and share of each source, and what was dropped and why. Of equal texts the first stays.

    Example: sciprism prepare text ads=ads.jsonl pmc=pmc/ wiki=wiki.xml.bz2 -o corpus --vocabulary 50265
    """
    from sciprism.prepare.text.filters import Filters
    from sciprism.prepare.text.prepare import Settings, prepare_text

    packed = Settings(
        tokenizer=tokenizer, vocabulary=vocabulary, cased=cased, length=length, across=across, workers=workers
    )
    settings = replace(packed, near=near or None, dev=dev, seed=seed)
    there = Path(data) if data else None
    told = {"languages": _listed(languages), "licences": _listed(licences)}
    filters = Filters(**told, without=tuple(without or ()), data=there)
    given = sources_of(sources, weight or (), kind or (), columns or ())
    print_mixture(prepare_text(out, given, settings, filters))


def sources_of(
    sources: Sequence[str], weights: Sequence[str], kinds: Sequence[str], columns: Sequence[str]
) -> list[TextSource]:
    """Read NAME=PATH and the options on a NAME. Raises InputError for a NAME that no source has."""
    from sciprism.errors import InputError
    from sciprism.prepare.text.sources import TextSource

    paths: dict[str, list[Path]] = {}
    for name, value in _pairs("source", sources):
        paths.setdefault(name, []).append(Path(value))
    told: dict[str, dict[str, str]] = {}
    for option, words in (("weight", weights), ("kind", kinds), ("columns", columns)):
        told[option] = dict(_pairs(f"--{option}", words))
        if unknown := [name for name in told[option] if name not in paths]:
            raise InputError(f"--{option} {unknown[0]}: no such source; there are {', '.join(paths)}")
    return [
        TextSource(
            name=name,
            paths=tuple(files),
            weight=_number(told["weight"].get(name, "1")),
            kind=told["kind"].get(name, ""),
            columns=_listed(told["columns"].get(name, "")),
        )
        for name, files in paths.items()
    ]


def print_mixture(mixture: Mixture) -> None:
    """Print a row for each source, and what was dropped of each."""
    console = plain_console()
    rows = []
    for name, share in mixture.shares.items():
        counts = (share.read, share.kept, share.train.documents, share.train.blocks, share.train.tokens)
        cells = [f"{count:,}" for count in counts]
        rows.append([name, *cells, f"{100 * mixture.part(name):.1f}", f"{share.dev.tokens:,}"])
    total = [sum(int(row[column].replace(",", "")) for row in rows) for column in (1, 2, 3, 4, 5, 7)]
    cells = [f"{count:,}" for count in total]
    print_table(console, ("source",), COUNTS, [*rows, ["all", *cells[:5], "100.0", cells[5]]])
    for name, share in mixture.shares.items():
        print_dropped(console, name, share.dropped)


def _pairs(what: str, words: Sequence[str]) -> list[tuple[str, str]]:
    from sciprism.errors import InputError

    found = []
    for word in words:
        name, mark, value = word.partition("=")
        if not mark or not name or not value:
            raise InputError(f"{what} {word!r}: expected NAME=VALUE")
        found.append((name, value))
    return found


def _listed(words: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in words.split(",") if word.strip())


def _number(word: str) -> float:
    from sciprism.errors import InputError

    try:
        return float(word)
    except ValueError:
        raise InputError(f"--weight {word!r}: expected a number") from None
