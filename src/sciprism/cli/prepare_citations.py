"""`sciprism prepare citations`: triplets out of papers and citations, and a table of the fields."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, cast

import typer

from sciprism.cli.options import AsJson, Edges, OutputFolder, Seed, Workers
from sciprism.cli.output import print_preparation

Files = Annotated[list[Path], typer.Argument(help="Papers: files of any format, folders, S2ORC, objects keyed by id.")]
LinkStrengths = Annotated[
    Path | None,
    typer.Option(help="Strengths of links between papers, such as SPECTER's data.json of co-views."),
]
Triplets = Annotated[
    Path | None, typer.Option(help="Triplets to use as they are: a table such as SciNCL's train_triples.csv.")
]
Fields = Annotated[list[str] | None, typer.Option(help="A field whose papers are queries; repeatable; else all.")]
Shards = Annotated[
    list[int] | None, typer.Option(help="Of S2ORC: a shard whose papers are queries; repeatable; else all.")
]
SamplerOptions = Annotated[
    list[str] | None,
    typer.Option("--set", help="A setting of the sampler, KEY=VALUE; repeatable; an unknown KEY lists all."),
]
SamplingExponent = Annotated[
    float, typer.Option(help="A field's weight is its share to this power; 0: all fields alike.")
]
MaxPerField = Annotated[int, typer.Option(help="Queries of a field at most; 0: no limit.")]
MinMultiField = Annotated[float, typer.Option(help="Minimum share of queries with several fields.")]
DevShare = Annotated[float, typer.Option("--dev", help="Share of papers that are held out.")]
HoldOutRule = Annotated[
    str,
    typer.Option(help="papers: no train triplet has a paper that is a dev query; queries: none as its query."),
]
Exclude = Annotated[
    list[Path] | None,
    typer.Option(help="Papers of a test, or a folder of prepare multi-scidocs: its queries are dropped; repeatable."),
]
RequireAbstract = Annotated[bool, typer.Option(help="Drop papers without an abstract.")]


def citations(
    files: Files,
    out: OutputFolder,
    edges: Edges = None,
    link_strengths: LinkStrengths = None,
    triplets: Triplets = None,
    field: Fields = None,
    shard: Shards = None,
    sampler: Annotated[str, typer.Option(help="Such as specter or scincl; an unknown name lists all.")] = "specter",
    option: SamplerOptions = None,
    sampling_exponent: SamplingExponent = 1.0,
    max_per_field: MaxPerField = 0,
    min_multi_field: MinMultiField = 0.0,
    dev: DevShare = 0.05,
    hold_out: HoldOutRule = "papers",
    exclude: Exclude = None,
    require_abstract: RequireAbstract = False,
    seed: Seed = 0,
    workers: Workers = 1,
    as_json: AsJson = False,
) -> None:
    """Make training triplets of papers and their citations.

    They are sampled as by SPECTER or SciNCL. Writes train.jsonl and dev.jsonl (triplets of ids), papers.jsonl
    (their texts) and citations.json: counts, and what was dropped and why. A recipe names train.jsonl.

    Example: sciprism prepare citations works.jsonl -o triplets --sampling-exponent 0.7 --seed 1783
    """
    from sciprism.prepare.citations import CitationSettings, HoldOut, parse_settings, prepare_citations
    from sciprism.prepare.samplers.fields import FieldBalance
    from sciprism.prepare.samplers.triplets import GIVEN
    from sciprism.prepare.sources.citation_corpus import CitationSources

    sources = CitationSources(files=tuple(files), edges=edges, link_strengths=link_strengths, triplets=triplets)
    sources = replace(sources, fields=tuple(field or ()), shards=tuple(shard or ()), exclude=tuple(exclude or ()))
    options, held = parse_settings(sampler := GIVEN if triplets else sampler, option or ()), cast("HoldOut", hold_out)
    balance = FieldBalance(sampling_exponent, max_per_field, min_multi_field, seed)
    settings = CitationSettings(sampler, options, balance, dev, held, require_abstract, seed, workers)
    print_preparation(prepare_citations(out, sources, settings), as_json)
